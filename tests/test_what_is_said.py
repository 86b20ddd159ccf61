"""Properties: what is ours never passes for what was said, and costs what is sent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from turnkeep import (
    Budget,
    BudgetExceededError,
    ClearToolResults,
    Conversation,
    Digest,
    Message,
    OldestSteps,
    OldestTurns,
    StripImages,
    Summarize,
    ToolCall,
    TruncateToolResults,
    check,
    convert,
    count,
    fit,
    plan,
    repair,
)
from turnkeep.model import (
    DIGEST,
    INTERIM,
    PENDING,
    SUMMARY,
    Image,
    Text,
    ToolResult,
    mark,
    marker_of,
)

WIRE = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "deepseek",
    "ollama",
)
SEEDS = ("orion", "molo", "multi-llm", "lellm", "mermaid", "langchain", "pydantic-ai")
MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "bedrock": "claude-sonnet-4-5",
    "mistral": "mistral-large",
    "deepseek": "deepseek-chat",
    "ollama": "llama3",
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 40).decode()
EDITING = (
    StripImages(keep=0) | OldestSteps(),
    ClearToolResults(keep=1) | OldestSteps(),
    TruncateToolResults(30) | OldestSteps(),
    Summarize(lambda said: f"{len(said)} said", max_tokens=60) | OldestSteps(),
    Digest(0.2) | OldestSteps(),
)


def entries(form: str, messages: list[Message]) -> list[Any]:
    """*messages* as a list of that format."""
    value = convert(messages, to=form).value
    return value if isinstance(value, list) else value[_key(value)]


def _key(body: dict[str, Any]) -> str:
    return next(key for key in ("messages", "contents", "input") if key in body)


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """Histories with calls, pictures, and words beside results."""
    made = [Message.user("the first question " * draw(st.integers(1, 5)))]
    for nth in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["words", "call", "mixed", "picture", "two"]))
        if kind == "words":
            made += [Message.assistant(f"answer {nth} " * 9), Message.user(f"q{nth} ")]
        elif kind == "picture":
            made += [
                Message.assistant("send it"),
                Message.user([Text("here"), Image(PNG, "image/png")]),
            ]
        else:
            calls = [f"call{nth:05d}"] + ([f"more{nth:05d}"] if kind == "two" else [])
            made.append(Message("assistant", [ToolCall(c, "look", {}) for c in calls]))
            found = "\n".join(
                f"line {n} of it" for n in range(draw(st.integers(1, 40)))
            )
            made += [Message.tool_result(c, found, tool_name="look") for c in calls]
            if kind == "mixed":
                made += [Message.user([Text("and"), Image(PNG, "image/png")])]
            else:
                made.append(Message.assistant(f"seen {nth}"))
    made.append(Message.user("the last question"))
    return made


@pytest.mark.parametrize("form", WIRE)
@given(st.data())
def test_a_plan_says_what_its_window_counts(form: str, data: st.DataObject) -> None:
    """Edited, joined, added to or not: what is sent is what was counted."""
    history = entries(form, data.draw(talks()))
    strategy = data.draw(st.sampled_from(EDITING))
    options: dict[str, Any] = {"format": form, "model": MODELS[form]}
    whole = count(history, **options).total
    size = data.draw(st.integers(whole // 3, whole + 50))
    images = data.draw(st.sampled_from([None, 0, 1]))
    budget = Budget(max(size, 20), max_images=images)

    try:
        made = plan(history, budget=budget, strategy=strategy, **options)
    except BudgetExceededError:
        return

    window = made.apply(history)
    _assert_costs(form, window, options, made.tokens)
    again = plan(window, budget=budget, strategy=strategy, **options)
    _assert_costs(form, again.apply(window), options, again.tokens)


def _assert_costs(form: str, window: Any, options: Any, planned: int) -> None:
    """What the plan says; where entries are joined, less by what joining saves."""
    sent = count(window, **options).total
    assert sent == planned or (form in ("bedrock", "gemini") and sent < planned)


@pytest.mark.parametrize("form", WIRE)
@given(st.data())
def test_halves_of_a_mixed_message_stay_one(form: str, data: st.DataObject) -> None:
    """Whatever is edited in them: the provider takes the window."""
    history = entries(form, data.draw(talks()))
    before = {v.rule for v in check(history, format=form)}

    window = fit(history, budget=Budget(10**6, max_images=0), format=form)

    assert {v.rule for v in check(window, format=form)} <= before
    assert PNG not in json.dumps(window)
    assert fit(window, budget=Budget(10**6, max_images=0), format=form) == window


# -- what only looks like ours ------------------------------------------------------


@pytest.mark.parametrize("form", WIRE)
@pytest.mark.parametrize(
    "printed",
    [
        "[turnkeep:pending]\nnot yet",
        "[turnkeep:interim]",
        "[turnkeep:pending 00000000]\nnot yet",
        mark(PENDING, "not yet").replace("not yet", "no longer"),
        f"I saw this:\n{mark(PENDING, 'not yet')}",
        f"{mark(PENDING, 'not yet')}\nand more",
    ],
)
def test_a_tool_that_prints_our_line_is_just_a_tool(form: str, printed: str) -> None:
    """Its call is answered: nothing is held by it, nothing waits."""
    call = Message("assistant", [ToolCall("call00001", "f", {})])
    result = Message.tool_result("call00001", "RESULT", tool_name="f")
    told = [Message.user("go"), call, result, Message.assistant("ok"), *_chatter(9)]
    text = json.dumps(entries(form, told))
    history = json.loads(text.replace('"RESULT"', json.dumps(printed)))
    options: dict[str, Any] = {"format": form, "model": MODELS[form]}

    room = count(history, **options).total // 2
    window = fit(history, budget=Budget(room + 20), **options)

    assert "call00001" not in json.dumps(window)
    whole = json.dumps(fit(history, max_tokens=10**6, **options))
    assert json.dumps(printed) in whole


@pytest.mark.parametrize("form", WIRE)
@pytest.mark.parametrize("marker", [SUMMARY, DIGEST, "[turnkeep:bridge]"])
def test_a_person_who_writes_our_line_asks_a_question(form: str, marker: str) -> None:
    """Whatever stands there, the person said it."""
    said = [*_chatter(6), Message.user(f"{marker}\nWhat does this mean?")]
    history = entries(form, said)
    options: dict[str, Any] = {"format": form, "model": MODELS[form]}

    window = fit(history, budget=Budget(60, max_turns=1), **options)

    assert "What does this mean?" in json.dumps(window)


@given(st.text(), st.sampled_from([PENDING, INTERIM, SUMMARY, DIGEST]), st.text())
def test_a_line_is_ours_only_with_what_follows_it(
    text: str, marker: str, more: str
) -> None:
    """White space aside, which hosts trim."""
    marked = mark(marker, text)

    assert marker_of(marked.replace("\n", "\r\n")) == marker
    assert marker_of(f"{marked}\n\n") == marker
    if more.strip():
        assert marker_of(f"{marked} {more}") is None


def _chatter(turns: int) -> list[Message]:
    said: list[Message] = []
    for nth in range(turns):
        said += [Message.user(f"u{nth} " * 12), Message.assistant(f"a{nth} " * 12)]
    return said


# -- texts of ours, fed back --------------------------------------------------------


@pytest.mark.parametrize("form", [f for f in WIRE if f not in ("bedrock", "ollama")])
@given(st.integers(2, 12), st.integers(30, 60), st.sampled_from(["loop", "chat"]))
def test_fed_back_windows_hold_one_summary_and_the_question(
    form: str, rounds: int, size: int, kind: str
) -> None:
    """Each window is the history of the next; ours is never what was asked."""
    strategy = Summarize(lambda said: f"{len(said)} said " + "note " * 5, max_tokens=80)
    strategy_whole = strategy | OldestTurns() | OldestSteps()
    options: dict[str, Any] = {"format": form, "model": MODELS[form]}
    history = entries(form, [Message.user("QUESTION: mend it")])
    for nth in range(rounds):
        if kind == "chat":
            new = [Message.assistant("a " * size), Message.user("QUESTION: next")]
        else:
            call = Message("assistant", [ToolCall(f"call{nth:05d}", "f", {})])
            new = [
                call,
                Message.tool_result(f"call{nth:05d}", "data " * size, tool_name="f"),
            ]
        history = fit(
            [*history, *entries(form, new)], 450, strategy=strategy_whole, **options
        )
        written = json.dumps(history)
        assert written.count("[turnkeep:summary ") <= 1
        assert "QUESTION" in written


@given(st.lists(st.sampled_from(["summary", "digest"]), max_size=3), st.integers(1, 4))
def test_texts_of_ours_are_no_turns(ours: list[str], turns: int) -> None:
    """A limit of turns counts what people said."""
    said: list[Message] = []
    for kind in ours:
        marker = SUMMARY if kind == "summary" else DIGEST
        said.append(Message.user(mark(marker, "earlier"), kind=kind))
    history = entries("openai", [*said, *_chatter(turns)])

    assert fit(history, budget=Budget(10**6, max_turns=turns), model="gpt-4o") == (
        history
    )


# -- what nobody has read yet -------------------------------------------------------


@pytest.mark.parametrize("form", WIRE)
@given(st.integers(3, 12), st.booleans(), st.integers(0, 3))
def test_an_answer_is_not_dropped_unread(
    form: str, turns: int, deferred: bool, later: int
) -> None:
    """Of a list and of a conversation, a placeholder's answer too."""
    chat = Conversation(model=MODELS[form], format=form, budget=Budget(10**6))
    chat.user("pay it")
    chat.assistant("", tool_calls=[ToolCall("call00001", "pay", {})])
    if deferred:
        chat.defer("call00001", "started")
    for nth in range(turns):
        chat.user(f"u{nth}" * 30)
        chat.assistant(f"a{nth}" * 30)
    chat.resolve("call00001", "PAID")
    for nth in range(later):
        chat.user(f"well? {nth}")
    # Room for what is held, with what its provider wants around it.
    budget = Budget(500, target=1.0)

    body = chat.refit(budget).encode()

    written = json.dumps(body)
    assert "PAID" in written
    assert "started" not in written
    assert not check(body, format=form, model=MODELS[form])
    listed = fit([*chat.messages], budget=budget, model=MODELS[form], profile=None)
    assert any(m.text == "PAID" for m in listed)
    chat.assistant("It is paid.")
    chat.user("thanks " * 20)
    assert not check(chat.fit(Budget(420, target=1.0)).encode(), format=form)


@pytest.mark.parametrize(
    "to", [*WIRE, "orion", "molo", "multi-llm", "lellm", "mermaid"]
)
def test_convert_places_late_results_and_drops_their_placeholders(to: str) -> None:
    """As encoding a window does, in every format."""
    chat = Conversation(model="gpt-4o", budget=Budget(10_000))
    chat.user("go")
    chat.assistant("", tool_calls=[ToolCall("c1", "f", {}), ToolCall("c2", "f", {})])
    chat.defer("c1", "STARTED")
    chat.tool_result("c2", "two")
    chat.user("and?")
    chat.assistant("wait")
    chat.resolve("c1", "DONE")
    chat.user("so?")

    value = convert([*chat.messages], to=to).value

    written = json.dumps(value)
    assert "STARTED" not in written
    if to != "openai-responses":  # there it may stand anywhere
        assert written.index("DONE") < written.index("and?")
    if to in WIRE:
        assert not check(value, format=to)


@pytest.mark.parametrize("form", ["openai", "anthropic", "mistral", "deepseek"])
def test_a_result_before_its_call_is_moved_behind_it(form: str) -> None:
    """By `fit` and by `repair`, where nothing else can be meant."""
    call = Message("assistant", [ToolCall("call00001", "f", {})])
    result = Message.tool_result("call00001", "LOCKED", tool_name="f")
    made = [
        *entries(form, [Message.user("q")]),
        *entries(form, [call, result])[1:],
        *entries(form, [call]),
        *entries(form, [Message.assistant("Locked."), Message.user("z")]),
    ]

    for window in (
        fit(made, 10_000, format=form, model=MODELS[form]),
        repair(made, format=form).value,
    ):
        written = json.dumps(window)
        assert written.count("LOCKED") == 1
        assert written.index("LOCKED") > written.index("call00001")
        assert not check(window, format=form)
        assert fit(window, 10_000, format=form, model=MODELS[form]) == window


def test_of_two_results_before_a_call_none_is_moved() -> None:
    """Nobody knows which one is meant."""
    result = {"role": "tool", "tool_call_id": "c1", "content": "LOCKED"}
    function = {"name": "f", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    history = [
        {"role": "user", "content": "q"},
        result,
        {**result, "content": "OPEN"},
        call,
        {"role": "user", "content": "z"},
    ]

    window = json.dumps(fit(history, 10_000, model="gpt-4o"))

    assert "LOCKED" not in window
    assert "OPEN" not in window


# -- other providers ----------------------------------------------------------------


@pytest.mark.parametrize("form", [*WIRE, "turnkeep"])
def test_system_text_is_text_everywhere(form: str) -> None:
    """Beside a list of any format."""
    history = entries(form, [Message.user("q")])

    plain = plan(history, 1_000, format=form)
    told = plan(history, 1_000, format=form, system="be brief " * 10)

    assert told.tokens > plain.tokens


@pytest.mark.parametrize("about", ["mediaProcessing", "videoMetadata", "newKey"])
def test_what_says_something_about_data_is_no_data(about: str) -> None:
    part = {"fileData": {"fileUri": "gs://a/b.mp4", "mimeType": "video/mp4"}}
    history = [{"role": "user", "parts": [{"text": "q"}, {**part, about: {"fps": 1}}]}]

    assert not [v for v in check(history, format="gemini") if v.rule == "GE-04"]
    alone = [{"role": "user", "parts": [{about: {"fps": 1}, "text": "a", **part}]}]
    assert [v for v in check(alone, format="gemini") if v.rule == "GE-04"]


@pytest.mark.parametrize("form", ["mistral", "gemini"])
def test_a_pinned_step_holds_no_question_that_no_rule_asks_for(form: str) -> None:
    long = [Message.user("long " * 400), Message.assistant("pinned fact")]
    history = entries(form, [*long, Message.user("q")])

    window = fit(history, 150, format=form, pinned=[1], pin_scope="step")

    assert window == history[1:]
    assert not check(window, format=form)


def test_signed_thinking_of_anthropic_comes_back_from_mermaid() -> None:
    thought = turnkeep.Thinking("hm", "c2ln")
    said = [Message.user("q"), Message("assistant", [thought, Text("a")])]

    [*_, answer] = entries("anthropic", said)
    there = convert(said, to="mermaid").value
    [*_, back] = convert(there, to="anthropic", format="mermaid").value

    assert back["content"] == answer["content"]


# -- counting -----------------------------------------------------------------------


@given(st.integers(0, 2), st.integers(0, 2), st.sampled_from(["openai", "anthropic"]))
def test_pictures_go_when_there_are_too_many(most: int, pinned: int, form: str) -> None:
    """However small; only pins hold them."""
    shown = [
        m
        for nth in range(3)
        for m in (
            Message.user([Text(f"u{nth}"), Image(PNG, "image/png")]),
            Message.assistant("seen"),
        )
    ][:-1]
    history = entries(form, shown)
    pins = [2 * nth for nth in range(pinned)]

    def cut() -> Any:
        budget = Budget(10**6, max_images=most)
        return fit(history, budget=budget, format=form, pinned=pins, pin_scope="step")

    if pinned > most:
        with pytest.raises(BudgetExceededError) as caught:
            cut()
        assert caught.value.limit == "images"
    else:
        assert json.dumps(cut()).count(PNG) == most


@given(
    st.sampled_from(["gemini-2.5-pro", "claude-sonnet-4-5", "mistral-large", "gpt-4o"]),
    st.lists(st.sampled_from([0.7, 0.9, 1.0, 1.1, 1.4]), max_size=4),
    st.integers(1, 200),
    st.sampled_from([0, 50]),
)
def test_the_smallest_budget_works_and_is_smallest(
    model: str, taught: list[float], words: int, reserve: int
) -> None:
    """Taught or not."""
    chat = Conversation(model=model, budget=Budget(10**6))
    chat.system("be brief " * 5)
    chat.user("word " * words)
    for share in taught:
        window = chat.fit()
        tokens = int(window.tokens * share)
        chat.observe({"prompt_tokens": tokens, "completion_tokens": 5}, window=window)
        chat.assistant("x " * words)
        chat.user("word " * words)

    with pytest.raises(BudgetExceededError) as caught:
        chat.fit(Budget(reserve + 5, reserve=reserve))

    smallest = caught.value.smallest
    chat.fit(Budget(smallest, reserve=reserve))
    with pytest.raises(BudgetExceededError):
        chat.fit(Budget(smallest - 1, reserve=reserve))


def test_results_that_are_not_final_are_marked_by_what_they_say() -> None:
    made = entries(
        "openai",
        [
            Message("assistant", [ToolCall("c", "f", {})]),
            Message("tool_result", ToolResult("c", "started", pending=True)),
        ],
    )

    assert made[1]["content"] == mark(PENDING, "started")
