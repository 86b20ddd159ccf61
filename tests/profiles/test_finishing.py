"""What finishing does, case by case: merges, bridges, reasoning, refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import pytest

import turnkeep
from tests.profiles.histories import Json
from turnkeep import Budget, BudgetExceededError, Conversation, ToolCall
from turnkeep.formats._neighbours import join_all, joiner_of
from turnkeep.index import HistoryView
from turnkeep.model import BRIDGE, Message, Text, Thinking, marker_of
from turnkeep.plans import Cause, Drop, Edit, Insert, Replace
from turnkeep.profiles import check_request
from turnkeep.strategies import DEFAULT

LONG = "and so on " * 40
BOUND = "claude-opus-5-5"
WHOLE = "claude-sonnet-4-5"


def think(mark: str, *blocks: Json) -> Json:
    """An assistant message that reasons."""
    block = {"type": "thinking", "thinking": "hm " * 60, "signature": f"sign {mark}"}
    return {"role": "assistant", "content": [block, *blocks]}


def text(said: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": said}


def use(nth: int) -> Json:
    """A call."""
    return {"type": "tool_use", "id": f"toolu_{nth}", "name": "look", "input": {}}


def found(nth: int, said: str = "found") -> Json:
    """A message with its result."""
    result = {"type": "tool_result", "tool_use_id": f"toolu_{nth}", "content": said}
    return {"role": "user", "content": [result]}


def user(said: str) -> Json:
    """A question."""
    return {"role": "user", "content": said}


def body(model: str, messages: list[Json], mode: str | None = None) -> Json:
    """A request to Claude."""
    made: Json = {"model": model, "messages": messages, "max_tokens": 4096}
    made["tools"] = [{"name": "look", "input_schema": {"type": "object"}}]
    if mode:
        made["thinking"] = {"type": mode, "budget_tokens": 2048}
    return made


TALK = [
    user(f"first {LONG}"),
    think("1", text("one")),
    user("second"),
    think("2", text("two")),
    user("third"),
]
ROUND = [
    user(f"first {LONG}"),
    think("1", text("one")),
    user("second"),
    think("2", use(1)),
    found(1, LONG),
    think("3", use(2)),
    found(2),
]


def share(request: Json, percent: int) -> int:
    """So many per cent of its messages' tokens; the margin of the estimate added."""
    counted = turnkeep.count(request)
    fixed = counted.tools + counted.overhead
    tokens = fixed + (counted.total - fixed) * percent // 100
    return int(tokens * (1 + counted.margin)) + 1


def thoughts(request: Json) -> list[str]:
    """The signatures a request holds."""
    return [
        block["signature"]
        for entry in request["messages"]
        if isinstance(entry["content"], list)
        for block in entry["content"]
        if block["type"] == "thinking"
    ]


def test_bound_reasoning_goes_when_something_else_does() -> None:
    """All of it, and the plan says so."""
    request = body(BOUND, TALK)
    plan = turnkeep.plan(request, share(request, 30))
    window = plan.apply(request)

    assert plan.dropped
    assert thoughts(window) == []
    assert check_request(window, format="anthropic", original=request) == []
    assert {d.cause for d in plan.edited} == {Cause.PROFILE}
    assert any("reasoning of 2 messages" in warning for warning in plan.warnings)


def test_no_more_goes_than_has_to() -> None:
    """Steps are counted without the reasoning that they lose."""
    request = body(BOUND, [user("first"), *TALK[1:]])
    without = [
        {**entry, "content": [b for b in entry["content"] if b["type"] == "text"]}
        if entry["role"] == "assistant"
        else entry
        for entry in request["messages"]
    ]

    plan = turnkeep.plan(request, share(body(BOUND, without), 100) + 10)

    assert plan.pruned
    assert len(plan.dropped) == 0
    assert thoughts(plan.apply(request)) == []


def test_reasoning_that_is_not_bound_stays() -> None:
    """Other models take it behind a cut."""
    request = body(WHOLE, TALK)

    window = turnkeep.fit(request, share(request, 60))

    assert thoughts(window) == ["sign 2"]


def test_enabled_thinking_seals_the_history() -> None:
    """Nothing before the round in progress may change: the error says why."""
    request = body(BOUND, ROUND, "enabled")

    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(request, share(request, 60))

    assert {"signature"} <= {held.cause for held in caught.value.held}
    clears = turnkeep.ClearToolResults(keep=0)
    with pytest.raises(BudgetExceededError):
        turnkeep.fit(request, share(request, 90), strategy=clears)


def test_a_sealed_history_that_fits_misses_its_target() -> None:
    """A warning; nothing is edited or added either."""

    class Meddler:
        """Proposes what would break the seal."""

        def propose(self, history: HistoryView, /) -> Iterator[Edit]:
            """An edit, an insertion, and everything else."""
            yield Insert(Message.user("by the way"), 1, "word")
            short = history.message(0).evolve(content=(Text("first"),))
            yield Replace(0, short, "word")
            yield from DEFAULT.propose(history)

    request = body(BOUND, ROUND, "enabled")
    budget = Budget(share(request, 100) + 5, trigger=0.5, target=0.4)

    plan = turnkeep.plan(request, budget=budget, strategy=Meddler())

    assert plan.apply(request) == request
    assert {"insert a message", "edit message 0"} <= {r.edit for r in plan.refused}
    assert any("while thinking is enabled" in warning for warning in plan.warnings)


def test_the_round_in_progress_keeps_its_reasoning_whole() -> None:
    """Older turns go first; the round is not cut while that is enough."""
    request = body(WHOLE, ROUND)
    window = turnkeep.fit(request, share(request, 75))
    assert thoughts(window) == ["sign 2", "sign 3"]

    # The older of its loop may go whole, as the reasoning of the newest stays.
    tight = turnkeep.fit(request, share(request, 35))
    assert thoughts(tight) == ["sign 3"]
    assert check_request(tight, format="anthropic", original=request) == []
    tight = turnkeep.fit(body(WHOLE, ROUND, "enabled"), share(request, 35))
    assert thoughts(tight) == ["sign 3"]

    # When that is not enough, the newest round's reasoning goes as well.
    tight = turnkeep.fit(request, share(request, 20))
    assert thoughts(tight) == []
    assert check_request(tight, format="anthropic", original=request) == []

    # With thinking enabled that is no way out.
    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(body(WHOLE, ROUND, "enabled"), share(request, 20))
    assert {"newest", "signature"} & {held.cause for held in caught.value.held}


def test_over_budget_by_choice_still_keeps_the_round_whole() -> None:
    """`on_overflow="send"` strips the round before it sends too much."""
    request = body(WHOLE, ROUND)

    window = turnkeep.fit(request, 10, on_overflow="send")

    assert thoughts(window) == []
    assert check_request(window, format="anthropic", original=request) == []


def test_edits_may_not_touch_the_reasoning_of_the_round() -> None:
    """Neither take from it nor add to it."""

    @attrs.frozen
    class Edits:
        """Sends a message with other blocks."""

        message: int
        blocks: tuple[Any, ...]

        def propose(self, history: HistoryView, /) -> Iterator[Edit]:
            """One edit."""
            old = history.message(self.message)
            calls = tuple(old.tool_calls)
            content = old.evolve(content=(*self.blocks, *calls))
            yield Replace(self.message, content, "word")
            yield from DEFAULT.propose(history)

    request = body(WHOLE, ROUND)
    limit = share(request, 85)
    for edits in (Edits(5, ()), Edits(5, (Thinking("forged", signature="x"),))):
        plan = turnkeep.plan(request, limit, strategy=edits)
        assert "reasoning" in plan.refused[0].reason


def test_deepseek_and_gemini_get_back_what_they_gave() -> None:
    """Reasoning behind calls, and the signatures of calls."""

    class Bare:
        """Sends the calls alone."""

        def propose(self, history: HistoryView, /) -> Iterator[Edit]:
            """One edit, then the default."""
            old = history.message(1)
            made = old.tool_calls[0]
            call = ToolCall(made.id, made.name, {})
            yield Replace(1, old.evolve(content=(call,)), "word")
            yield Replace(2, history.message(2).evolve(content=()), "word")
            yield from DEFAULT.propose(history)

    made = {"id": "c1", "type": "function"}
    chat = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": LONG,
            "tool_calls": [{**made, "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    deep = turnkeep.plan(
        chat, 60, model="deepseek-v4", strategy=Bare(), on_overflow="send"
    )
    assert "behind calls" in deep.refused[0].reason

    call = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s1"}
    answer = {"functionResponse": {"name": "f", "response": {"output": "done"}}}
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": LONG}, call]},
        {"role": "user", "parts": [answer]},
    ]
    gem = turnkeep.plan(
        contents, 30, format="gemini", strategy=Bare(), on_overflow="send"
    )
    assert "signatures of calls" in gem.refused[0].reason


def test_responses_keep_reasoning_with_what_follows() -> None:
    """A reasoning item is not edited away from the call behind it."""

    class Thoughtless:
        """Empties the reasoning."""

        def propose(self, history: HistoryView, /) -> Iterator[Edit]:
            """One edit, then the default."""
            yield Replace(1, history.message(1).evolve(content=()), "word")
            yield from DEFAULT.propose(history)

    summary = [{"type": "summary_text", "text": LONG}]
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    items = [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "id": "rs_1", "summary": summary},
        {**call, "id": "fc_1", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ]

    plan = turnkeep.plan(
        items,
        60,
        format="openai-responses",
        strategy=Thoughtless(),
        on_overflow="send",
    )

    assert "what follows it" in plan.refused[0].reason


def bedrock(*said: str) -> list[Json]:
    """Messages by turns: `u:` and `a:` in front of their text."""
    roles = {"u": "user", "a": "assistant"}
    return [{"role": roles[s[0]], "content": [{"text": s[2:]}]} for s in said]


def test_bedrock_turns_go_whole() -> None:
    """A question that is proposed early waits for the rest of its turn."""
    messages = bedrock(f"u:{LONG}", "a:one", "u:two", "a:two", "u:three")

    class Picky:
        """Gives up questions only."""

        def propose(self, history: HistoryView, /) -> Iterator[Edit]:
            """The first question, then the first answer."""
            yield Drop(history.steps[0])
            yield Drop(history.steps[1])

    plan = turnkeep.plan(messages, 70, format="bedrock", strategy=Picky())

    assert plan.dropped.ids == ("0", "1")
    assert check_request(plan.apply(messages), format="bedrock") == []


def test_bedrock_stand_ins_join_what_follows() -> None:
    """Three user messages in a row become one; the plan names the join."""
    call = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    messages = [
        *bedrock("u:go"),
        {"role": "assistant", "content": [call]},
        *bedrock("u:and now?"),
    ]

    plan = turnkeep.plan(messages, 10_000, format="bedrock")
    window = plan.apply(messages)

    assert [entry["role"] for entry in window] == ["user", "assistant", "user"]
    assert list(window[2]["content"][0]) == ["toolResult"]
    assert window[2]["content"][1] == {"text": "and now?"}
    assert len(plan.joined) == 1
    assert plan.tokens >= turnkeep.count(window, format="bedrock").total
    assert "join  1 entries" in str(plan)
    assert check_request(window, format="bedrock") == []


def test_gemini_responses_of_one_turn_stand_together() -> None:
    """A stand-in joins the response beside it; text stays apart."""
    calls = [{"functionCall": {"name": f"f{n}", "args": {}}} for n in range(2)]
    answer = {"functionResponse": {"name": "f0", "response": {"output": "done"}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": [answer]},
        {"role": "user", "parts": [{"text": "and now?"}]},
    ]

    plan = turnkeep.plan(contents, 10_000, format="gemini")
    window = plan.apply(contents)

    assert [len(entry["parts"]) for entry in window] == [1, 2, 2, 1]
    assert window[3] is contents[3]
    assert plan.joined
    assert check_request(window, format="gemini") == []


def test_gemini_joins_calls_with_what_the_model_said() -> None:
    """A call behind an answer is refused; behind nothing else it is joined."""
    join = joiner_of("gemini")
    assert join is not None
    said = {"role": "model", "parts": [{"text": "so"}]}
    call = {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}
    asked = {"role": "user", "parts": [{"text": "go"}]}

    made = join_all([said, call, said, asked, asked], join)

    joined = {"role": "model", "parts": [*said["parts"], *call["parts"]]}
    assert made == [joined, said, asked, asked]
    assert joiner_of("openai") is None


def test_mistral_gets_a_word_between_a_stand_in_and_the_user() -> None:
    """Its servers refuse a user message right behind a tool message."""
    chat = Conversation(model="mistral-large-latest", format="mistral")
    chat.user("go")
    chat.assistant("", tool_calls=[ToolCall("call00001", "f", {})])
    chat.user("and now?")

    window = chat.fit(Budget(10_000))
    roles = [entry["role"] for entry in window.encode()["messages"]]

    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    (bridge,) = [i for i in window.plan.inserted if i.cause == Cause.PROFILE]
    assert marker_of(bridge.message.text) == BRIDGE
    assert bridge.tokens > 0


def test_that_word_stands_behind_all_results() -> None:
    """Of two parallel calls one is answered; what people alone see is skipped."""
    chat = Conversation(model="mistral-large-latest", format="mistral")
    chat.user("go")
    made = [ToolCall("call00001", "f", {}), ToolCall("call00002", "f", {})]
    chat.assistant("", tool_calls=made)
    chat.resolve("call00001", "done")
    chat.append(Message("system", (Text("1 of 2"),), kind="run_summary"))
    chat.user("and now?")

    request = chat.fit(Budget(10_000)).encode()

    roles = [entry["role"] for entry in request["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
    model = "mistral-large-latest"
    assert check_request(request, format="mistral", model=model) == []


def test_what_people_alone_see_does_not_end_a_round() -> None:
    """The round in progress is found behind it."""
    chat = Conversation(model=WHOLE, format="anthropic", tools=TOOLS)
    chat.user("go " * 200)
    chat.assistant("gone")
    chat.user("and now?")
    thought = Thinking("hm " * 60, signature="s1")
    chat.append(Message("assistant", (thought, ToolCall("c1", "f", {}))))
    chat.resolve("c1", "done")
    chat.append(Message("system", (Text("1 of 1"),), kind="run_summary"))

    window = chat.fit(Budget(900, target=0.9))

    assert any(thought in message.content for message in window.messages)
    assert window.plan.dropped


def test_a_late_result_leaves_the_end_to_the_user() -> None:
    """The list would end on the assistant, which Claude refuses."""
    chat = Conversation(model="claude-opus-4-6", format="anthropic", tools=TOOLS)
    chat.user("go")
    chat.assistant("", tool_calls=[ToolCall("c1", "f", {})])
    chat.user("and now?")
    chat.assistant("I wait.")
    chat.resolve("c1", "done")

    window = chat.fit(Budget(10_000))
    request = window.encode()

    assert [entry["role"] for entry in request["messages"]][-2:] == [
        "assistant",
        "user",
    ]
    assert check_request(request, format="anthropic", model="claude-opus-4-6") == []


TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


@pytest.mark.parametrize(
    ("model", "roles"),
    [
        ("claude-opus-5-5", ["user", "system", "assistant", "user"]),
        ("claude-sonnet-4-5", ["user", "assistant", "user"]),
    ],
)
def test_system_text_stands_where_it_is_taken(model: str, roles: Sequence[str]) -> None:
    """In its place where the model takes it there, else in front."""
    chat = Conversation(model=model, format="anthropic")
    chat.system("Help.")
    chat.user("go")
    chat.system("Be calm.")
    chat.assistant("gone")
    chat.system("Be quick.")
    chat.user("and now?")

    request = chat.fit(Budget(10_000)).encode()

    assert [entry["role"] for entry in request["messages"]] == roles
    assert "Be quick." in str(request["system"])
    assert ("Be calm." in str(request["system"])) == ("system" not in roles)
    assert check_request(request, format="anthropic", model=model) == []


def test_a_held_step_holds_its_question() -> None:
    """A pin of scope "step" holds its step; no rule of this API asks for more."""
    messages = [*ROUND[:6], found(2), think("4", text("so")), user(LONG), user("last")]
    request = body("claude-opus-4-6", messages)

    plan = turnkeep.plan(request, share(request, 80), pinned=[5], pin_scope="step")

    causes = {d.id: d.cause for d in plan.kept}
    assert causes.get("2") != Cause.PROFILE
    assert causes["5"] == Cause.PINNED
