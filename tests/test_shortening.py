"""An agent lives on: what is too large is shortened, and nothing is fetched again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation

Entry = dict[str, Any]

MODEL = "gpt-4o"
LINES = "\n".join(f"line {i} of the log" for i in range(3_000))


def ask(text: str = "read it") -> Entry:
    return {"role": "user", "content": text}


def call(*ids: str) -> Entry:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(identity: str, text: str) -> Entry:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def say(text: str) -> Entry:
    return {"role": "assistant", "content": text}


def words(tokens: int, word: str = "data") -> str:
    """Lines of about so many tokens."""
    return "\n".join(f"{word} {i}" for i in range(tokens // 4))


def size(window: Any) -> int:
    return turnkeep.count(window, model=MODEL, format="openai").total


def contents(window: list[Entry]) -> dict[str, str]:
    """What each call got."""
    return {m["tool_call_id"]: m["content"] for m in window if m["role"] == "tool"}


@st.composite
def sessions(draw: st.DrawFn) -> list[Entry]:
    """Tool loops and chats in which some results are huge."""
    chat: list[Entry] = []
    nth = 0
    for _ in range(draw(st.integers(1, 3))):
        chat.append(ask(words(draw(st.integers(0, 40)), "please")))
        for _ in range(draw(st.integers(0, 4))):
            ids = [f"c{nth + k}" for k in range(draw(st.integers(1, 2)))]
            nth += len(ids)
            chat.append(call(*ids))
            for identity in ids:
                tokens = draw(st.sampled_from([0, 5, 60, 300, 900, 2_500]))
                body = words(tokens, draw(st.sampled_from(["data", "row"])))
                as_json = json.dumps({"rows": body.split("\n")})
                chat.append(result(identity, draw(st.sampled_from([body, as_json]))))
        if draw(st.booleans()):
            chat.append(say(words(draw(st.integers(0, 60)), "fine")))
    return chat


budgets = st.builds(
    Budget,
    st.sampled_from([600, 900, 1_500, 4_000]),
    target=st.sampled_from([0.6, 1.0]),
)


@settings(max_examples=60)
@given(sessions(), budgets)
def test_nothing_dies_of_its_results(chat: list[Entry], budget: Budget) -> None:
    """Only results are large here, so a window can always be had."""
    window = turnkeep.fit(chat, budget=budget, model=MODEL, format="openai")

    assert size(window) <= budget.max_tokens
    assert not turnkeep.check(window, format="openai")
    assert [m for m in window if m["role"] == "user"][-1] in chat
    assert turnkeep.fit(window, budget=budget, model=MODEL, format="openai") == window


BONES = 24
"""Tokens that a result takes at least once it is shortened: its first line."""


@settings(max_examples=60)
@given(
    chat=sessions(),
    budget=st.builds(Budget, st.sampled_from([250, 400, 900, 2_000])),
    strategy=st.sampled_from(
        ["chat", "agent", "memory", "largest-first", "clear-tool-results | chat"]
    ),
    pins=st.sets(st.integers(0, 12), max_size=2),
)
def test_never_an_error_where_shorter_results_would_fit(
    chat: list[Entry], budget: Budget, strategy: str, pins: set[int]
) -> None:
    """Whatever ranks, whatever is pinned: with bare results it is too large as well."""
    pinned = [nth for nth in pins if nth < len(chat)]
    kept: dict[str, Any] = {"model": MODEL, "strategy": strategy, "pinned": pinned}
    try:
        turnkeep.fit(chat, budget=budget, format="openai", **kept)
    except BudgetExceededError:
        results = [m["role"] == "tool" and n not in pins for n, m in enumerate(chat)]
        bare = [
            {**entry, "content": ""} if is_result else entry
            for entry, is_result in zip(chat, results, strict=True)
        ]
        room = Budget(max(budget.max_tokens - BONES * sum(results), 1))
        with pytest.raises(BudgetExceededError):
            turnkeep.fit(
                bare, budget=room, format="openai", on_overflow="raise", **kept
            )


@settings(max_examples=60)
@given(sessions(), budgets)
def test_no_result_gets_longer_and_no_other_text_is_touched(
    chat: list[Entry], budget: Budget
) -> None:
    """What is sent of a message is the message, or a shorter result."""
    before = {m["tool_call_id"]: m for m in chat if m["role"] == "tool"}

    for sent in turnkeep.fit(chat, budget=budget, model=MODEL, format="openai"):
        if sent["role"] != "tool" or sent in chat:
            assert sent in chat
        else:
            whole = before[sent["tool_call_id"]]
            assert sent["content"].startswith("[turnkeep:shortened")
            assert size([sent]) < size([whole])


@settings(max_examples=40)
@given(sessions(), budgets)
def test_lists_and_conversations_shorten_alike(
    chat: list[Entry], budget: Budget
) -> None:
    """The first window of a conversation is that of its list at the same target."""
    kept = Conversation.from_messages(chat, budget=budget, model=MODEL)
    first = kept.fit()
    tokens = first.plan.available

    alone = turnkeep.fit(
        chat,
        budget=Budget(budget.max_tokens, trigger=1.0, target=budget.target),
        model=MODEL,
        format="openai",
        strategy="oldest-turns | oldest-steps",
    )

    assert tokens > 0
    if budget.target == 1.0:  # else the cut of a list stands on a grid
        assert first.encode()["messages"] == alone


@settings(max_examples=40)
@given(sessions(), st.sampled_from([600, 1_500]))
def test_a_growing_session_goes_on_as_its_list_does(
    chat: list[Entry], limit: int
) -> None:
    """By sums or by the engine: the same window at each request."""
    kept = Conversation(budget=Budget(limit, target=1.0), model=MODEL)
    for index, entry in enumerate(chat):
        kept.append(entry)
        window = kept.refit()
        alone = turnkeep.fit(chat[: index + 1], limit, model=MODEL, format="openai")
        assert window.encode()["messages"] == alone


@pytest.mark.parametrize("target", [0.5, 1.0])
def test_an_older_result_keeps_its_bytes(target: float) -> None:
    """It is cut once, to a quarter of the target, and never leaves for its size."""
    budget = Budget(4_000, target=target)
    chat = [ask(), call("big"), result("big", LINES)]
    seen = set()
    for nth in range(12):
        chat += [call(f"c{nth}"), result(f"c{nth}", "small")]
        window = turnkeep.fit(chat, budget=budget, model=MODEL, format="openai")
        assert size(window) <= 4_000
        seen.add(contents(window)["big"])

    [short] = seen
    assert 500 * target < size([result("big", short)]) <= 1_000 * target + 10
    assert "line 0 of the log" in short
    assert "line 2999 of the log" in short


def test_a_conversation_keeps_them_too_and_brings_the_whole_back() -> None:
    """P9 and P7: the same bytes, saved or not, until there is room for all of it."""
    kept = Conversation(budget=Budget(4_000, target=0.5), model=MODEL)
    kept.user("read it")
    kept.extend([call("big"), result("big", LINES)])
    newest = kept.fit()
    assert 3_500 < newest.tokens <= 4_000
    seen = set()
    for nth in range(20):
        kept.extend([call(f"c{nth}"), result(f"c{nth}", words(120))])
        if nth == 9:
            kept = Conversation.from_json(kept.to_json())
        window = kept.fit()
        assert window.tokens <= 4_000
        found = [m for m in window.messages if m.tool_results]
        texts = {m.tool_results[0].tool_call_id: m.text for m in found}
        if "big" in texts:
            seen.add(texts["big"])

    assert len(seen) == 1
    assert LINES in {m.text for m in kept.fit(Budget(100_000)).messages}


def test_what_was_just_read_stays_whole_while_the_limit_allows_it() -> None:
    """The target may be missed for it, not the limit."""
    chat = [ask()]
    for nth in range(6):
        chat += [call(f"o{nth}"), result(f"o{nth}", words(300))]
    chat += [call("new"), result("new", words(3_600))]

    plan = turnkeep.plan(chat, budget=Budget(4_000, target=0.6), model=MODEL)

    assert plan.apply(chat)[-1] == chat[-1]
    assert 2_400 < plan.tokens <= 4_000


def test_the_newest_step_is_shortened_last_and_no_further_than_needed() -> None:
    """Older results that something holds give way first, the largest first."""
    chat = [
        ask("older"),
        call("waits", "done", "less"),
        result("done", words(3_000)),
        result("less", words(400)),
        ask("and now"),
        call("new"),
        result("new", words(800)),
    ]

    window = turnkeep.fit(chat, 2_600, model=MODEL, pending="waits")
    got = contents(window)

    assert got["new"] == chat[-1]["content"]
    assert got["less"] == chat[3]["content"]
    assert got["done"].startswith("[turnkeep:shortened")
    assert size(window) <= 2_600

    tight = contents(turnkeep.fit(chat, 800, model=MODEL, pending="waits"))
    assert tight["new"].startswith("[turnkeep:shortened")
    assert size([result("new", tight["new"])]) > size([result("done", tight["done"])])


def test_several_results_that_nobody_has_read_stay() -> None:
    """Behind the last word of the model, whatever step they belong to."""
    chat = [
        ask(),
        call("a", "b"),
        result("a", words(1_400)),
        result("b", words(400)),
        ask("well?"),
    ]

    window = turnkeep.fit(chat, budget=Budget(2_200, target=0.9), model=MODEL)

    assert window == chat


@pytest.mark.parametrize("large", ["question", "pinned", "system", "answer"])
def test_what_is_nobodys_to_shorten_is_an_error(large: str) -> None:
    """A person's text, what is pinned, system text; the budget it names works."""
    text = words(3_000)
    chat = [
        {"role": "system", "content": text if large == "system" else "brief"},
        ask(text if large == "question" else "q"),
        call("a"),
        result("a", text if large == "pinned" else LINES),
    ]
    options: dict[str, Any] = {"model": MODEL}
    if large == "pinned":
        options["pinned"] = [3]
    if large == "answer":
        chat.append(say(text))

    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(chat, 1_000, **options)

    smallest = caught.value.smallest
    assert size(turnkeep.fit(chat, smallest, **options)) == smallest
    with pytest.raises(BudgetExceededError):
        turnkeep.fit(chat, smallest - 1, **options)


@settings(max_examples=40)
@given(sessions(), st.integers(10, 400))
def test_the_smallest_budget_works_and_one_token_less_does_not(
    chat: list[Entry], limit: int
) -> None:
    """P4 holds with results cut to the bone."""
    try:
        turnkeep.fit(chat, limit, model=MODEL, format="openai")
    except BudgetExceededError as error:
        smallest = error.smallest
    else:
        return

    turnkeep.fit(chat, smallest, model=MODEL, format="openai")
    with pytest.raises(BudgetExceededError):
        turnkeep.fit(chat, smallest - 1, model=MODEL, format="openai")


@pytest.mark.parametrize("word", ["raise", "send"])
def test_whoever_wants_no_shortening_says_so(word: Any) -> None:
    """The other two words do what they did."""
    chat = [ask(), call("a"), result("a", LINES)]

    if word == "raise":
        with pytest.raises(BudgetExceededError):
            turnkeep.fit(chat, 1_000, model=MODEL, on_overflow=word)
    else:
        assert turnkeep.fit(chat, 1_000, model=MODEL, on_overflow=word) == chat


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            "anthropic",
            [
                {"role": "user", "content": "q"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "a", "name": "r", "input": {}},
                        {"type": "tool_use", "id": "b", "name": "r", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": LINES},
                        {"type": "tool_result", "tool_use_id": "b", "content": "ok"},
                    ],
                },
            ],
        ),
        (
            "gemini",
            [
                {"role": "user", "parts": [{"text": "q"}]},
                {
                    "role": "model",
                    "parts": [{"functionCall": {"name": "r", "args": {}}}],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "name": "r",
                                "response": {"rows": LINES.split("\n")},
                            }
                        }
                    ],
                },
            ],
        ),
        (
            "bedrock",
            [
                {"role": "user", "content": [{"text": "q"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"toolUse": {"toolUseId": "a", "name": "r", "input": {}}}
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "toolResult": {
                                "toolUseId": "a",
                                "content": [{"json": {"rows": LINES.split("\n")}}],
                            }
                        }
                    ],
                },
            ],
        ),
        (
            "openai-responses",
            [
                {"role": "user", "content": "q"},
                {
                    "type": "function_call",
                    "call_id": "a",
                    "name": "r",
                    "arguments": "{}",
                },
                {"type": "function_call_output", "call_id": "a", "output": LINES},
            ],
        ),
        (
            "ollama",
            [
                {"role": "user", "content": "q"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "r", "arguments": {}}}],
                },
                {"role": "tool", "tool_name": "r", "content": LINES},
            ],
        ),
    ],
)
@pytest.mark.parametrize("limit", [700, 3_000])
def test_every_format_lives_on(name: str, body: list[Entry], limit: int) -> None:
    """Text and JSON results, several in one message."""
    window = turnkeep.fit(body, limit, format=name)

    assert len(window) == 3
    assert window[:2] == body[:2]
    assert turnkeep.count(window, format=name).total <= limit
    assert not turnkeep.check(window, format=name)
    assert turnkeep.fit(window, limit, format=name) == window


def test_a_window_that_is_fed_back_is_shortened_further() -> None:
    """A host may own nothing but our windows: the gap grows, the text is no text."""
    chat = [ask(), call("big"), result("big", LINES)]
    window = turnkeep.fit(chat, 4_000, model=MODEL)
    window += [call("c"), result("c", words(100))]

    again = turnkeep.fit(window, 4_000, model=MODEL)
    short = contents(again)["big"]

    assert size([result("big", short)]) <= 1_010
    assert short.count("left out") == 1
    assert "of 3000 lines left out" in short
    assert "line 0 of the log" in short
    assert "line 2999 of the log" in short


def test_a_cleared_result_is_cut_to_the_bone_where_the_limit_demands_it() -> None:
    """The budget that an error names works: a placeholder is not the least there is."""
    strategy = turnkeep.ClearToolResults(keep=0, placeholder="It is gone. " * 30)
    chat = [ask(), call("c"), result("c", LINES)]

    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(chat, 5, model=MODEL, strategy=strategy)
    smallest = caught.value.smallest
    sent = turnkeep.fit(chat, smallest, model=MODEL, strategy=strategy)

    assert size(sent) <= smallest < 60
    with pytest.raises(BudgetExceededError):
        turnkeep.fit(chat, smallest - 1, model=MODEL, strategy=strategy)
