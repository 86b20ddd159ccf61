"""Tests for the strategies that shorten: results, reasoning, pictures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.views import decide, sized, texts, tokens_of, tool, turns, window
from turnkeep import Image, Json, Message, Text, Thinking, ToolCall, ToolResult
from turnkeep.model import CLEARED, SHORTENED, mark, marker_of, unmark
from turnkeep.strategies import (
    Alternating,
    ClearToolResults,
    OldestSteps,
    StripImages,
    StripThinking,
    Superseded,
    TruncateToolResults,
)
from turnkeep.strategies._clear import PLACEHOLDER, _without_input
from turnkeep.strategies._shorten import beginning, shorten, split

GONE = mark(CLEARED, "gone")


def loop(*sizes: int, name: str = "f") -> list[Message]:
    """A question and one call and result of each size."""
    made = turns(2)
    for nth, size in enumerate(sizes):
        made += tool(f"c{nth}", sized(size), name=name)
    return made


def results(messages: list[Message]) -> list[str]:
    """Texts of the tool results."""
    return [m.text for m in messages if m.tool_results]


def cleared(messages: list[Message]) -> list[int]:
    """Which results are cleared."""
    return [n for n, text in enumerate(results(messages)) if marker_of(text) == CLEARED]


# -- ClearToolResults --------------------------------------------------------------


def test_old_results_are_cleared_oldest_first_until_the_target_is_met() -> None:
    history = loop(50, 50, 50, 50)

    sent = window(history, 185, ClearToolResults(keep=1, placeholder="gone"))

    assert cleared(sent) == [0]
    assert results(sent)[0] == GONE
    assert len(sent) == len(history)
    assert cleared(window(history, 85, ClearToolResults(1, placeholder="gone"))) == [
        0,
        1,
        2,
    ]


def test_the_plan_says_before_and_after() -> None:
    history = loop(50, 50)

    (edit,) = decide(history, 80, ClearToolResults(1, placeholder="gone")).edited

    assert (edit.id, edit.cause, edit.tokens) == ("r-c0", "cleared", 50)
    assert edit.tokens_after < 20
    assert history[2].text == sized(50)


def test_the_newest_results_are_never_cleared() -> None:
    made = decide(loop(50, 50, 50), 60, ClearToolResults(keep=3), on_overflow="send")

    assert not made.edited
    assert "over budget" in made.warnings[-1]


def test_excluded_tools_keep_their_results() -> None:
    history = [*loop(50, name="memory"), *tool("x", sized(50)), *tool("y", sized(50))]
    strategy = ClearToolResults(1, exclude_tools="memory", placeholder="gone")

    assert cleared(window(history, 130, strategy)) == [1]


def test_a_result_without_its_call_is_known_by_the_name_it_carries() -> None:
    history = [
        *turns(2),
        Message.tool_result("a", sized(50), tool_name="memory", id="r"),
        Message.tool_result("b", sized(50), id="s"),
        Message.user("now"),
    ]
    strategy = ClearToolResults(0, exclude_tools=["memory"], placeholder="gone")

    made = decide(history, 20, strategy, on_overflow="send", on_invalid="keep")

    assert list(made.edited.ids) == ["s"]


def test_pinned_and_open_results_are_left_alone() -> None:
    history = [
        *turns(2),
        *tool("a", sized(50)),
        Message.assistant(tool_calls=[ToolCall("b", "f")]),
        Message.tool_result("b", sized(50), pending=True),
        *tool("c", sized(50)),
        Message.user("now"),
    ]

    sent = window(
        history,
        150,
        ClearToolResults(0, placeholder="gone"),
        pinned=["r-a"],
        pin_scope="step",
    )

    assert cleared(sent) == [2]


def test_a_batch_below_its_minimum_is_refused_visibly() -> None:
    history = loop(30, 30, 30)
    strategy = ClearToolResults(1, placeholder="gone", clear_at_least=60)

    made = decide(history, 90, strategy | OldestSteps())

    assert not made.edited
    assert "would free" in made.refused[0].reason
    assert made.dropped


def test_a_batch_is_no_larger_than_it_must_be() -> None:
    history = loop(30, 30, 30, 30, 30)
    strategy = ClearToolResults(1, placeholder="gone", clear_at_least=40)

    assert cleared(window(history, 150, strategy)) == [0, 1]


def test_several_results_of_one_message_are_cleared_together_in_a_batch() -> None:
    two = Message.user(
        [ToolResult("a", sized(40)), ToolResult("b", sized(40))], id="rs"
    )
    history = [
        *turns(2),
        Message.assistant(tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")]),
        two,
        *tool("c", "x"),
    ]

    for strategy in (
        ClearToolResults(1, placeholder="gone", clear_at_least=50),
        ClearToolResults(1, placeholder="gone"),
    ):
        sent = window(history, 40, strategy)
        found = [r.text for m in sent for r in m.tool_results]
        assert found == [GONE, GONE, "x"]


def test_arguments_are_cleared_on_demand() -> None:
    history = [
        *turns(2),
        *tool("a", sized(30), arguments=json.dumps({"text": "y" * 80})),
        *tool("b", sized(30), arguments={"text": "y" * 80}),
        *tool("c", "x"),
    ]
    strategy = ClearToolResults(1, placeholder="gone", clear_tool_inputs=True)

    sent = window(history, 45, strategy)

    calls = [call.arguments for m in sent for call in m.tool_calls]
    assert calls == [{"cleared": CLEARED}, {"cleared": CLEARED}, {}]
    batch = ClearToolResults(
        1, placeholder="gone", clear_tool_inputs=True, clear_at_least=30
    )
    assert window(history, 45, batch) == sent
    assert window(sent, 30, strategy, on_overflow="send") == sent


@pytest.mark.parametrize(
    "asking",
    [
        [
            Thinking("hm", signature="s"),
            ToolCall("a", "f", '{"x": "yyyyyyyyyyyyyyyy"}'),
        ],
        [ToolCall("a", "f", '{"x": "yyyyyyyyyyyyyyyyyy"}', extra={"signature": "s"})],
    ],
)
def test_signed_arguments_are_never_cleared(asking: list[Any]) -> None:
    history = [
        *turns(2),
        Message.assistant(asking),
        Message.tool_result("a", sized(30)),
        *tool("c", "x"),
    ]

    made = decide(
        history,
        15,
        ClearToolResults(0, placeholder="g", clear_tool_inputs=True),
        on_overflow="send",
    )

    assert [e.cause for e in made.edited] == ["cleared"]


def test_a_call_that_another_edit_changed_is_left_alone() -> None:
    asking = Message.assistant(tool_calls=[ToolCall("a", "f", '{"x": 1}')])

    assert _without_input(asking, ToolCall("a", "f", '{"x": 2}')) is asking


def test_what_is_cleared_already_is_not_cleared_again() -> None:
    history = [*turns(2), *tool("a", GONE), *tool("b", sized(50)), *tool("c", "x")]

    assert list(
        decide(history, 25, ClearToolResults(1, placeholder="x")).edited.ids
    ) == ["r-b"]


def test_an_edit_that_does_not_shrink_is_refused_visibly() -> None:
    made = decide(loop(3, 50), 55, ClearToolResults(1), on_overflow="send")

    assert [(r.edit, r.reason) for r in made.refused] == [
        ("edit message r-c0", "it would not get smaller")
    ]


def test_the_placeholder_says_what_to_do() -> None:
    sent = window(loop(90, 20), 80, ClearToolResults(1))

    assert results(sent)[0] == mark(CLEARED, PLACEHOLDER)


@pytest.mark.parametrize("bad", [{"keep": -1}, {"clear_at_least": 1.5}])
def test_numbers_of_clearing_are_whole(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(bad))):
        ClearToolResults(**bad)


# -- TruncateToolResults ------------------------------------------------------------


def test_long_results_lose_their_middle_between_lines() -> None:
    text = "".join(f"line {n} of the log\n" for n in range(100))
    history = [*turns(2), *tool("a", text)]

    (sent,) = results(window(history, 100, TruncateToolResults(60, head=0.7)))

    assert marker_of(sent) == SHORTENED
    lines = unmark(sent).split("\n")
    assert lines[0] == "line 0 of the log"
    assert lines[-1] == "line 99 of the log"
    assert any("of 100 lines left out" in line for line in lines)
    assert set(lines) - set(text.split("\n")) == {
        line for line in lines if "left out" in line
    }


def test_one_line_of_json_is_cut_between_its_elements() -> None:
    text = json.dumps([{"id": n, "name": f"name {n}"} for n in range(100)])
    history = [*turns(2), *tool("a", text)]

    (sent,) = results(window(history, 100, TruncateToolResults(60)))

    first, middle, last = unmark(sent).split("\n")
    assert "elements left out" in middle
    assert json.loads(first + "]")[0] == {"id": 0, "name": "name 0"}
    assert json.loads("[" + last.removeprefix(","))[-1] == {"id": 99, "name": "name 99"}


def test_short_marked_and_mixed_results_are_left_alone() -> None:
    history = [
        *turns(2),
        *tool("a", "short"),
        *tool("b", mark(CLEARED, "y" * 200)),
        Message.assistant(tool_calls=[ToolCall("c", "f")]),
        Message.tool_result("c", [Json({"x": "y" * 200})]),
        *tool("d", "y" * 100),
    ]

    made = decide(history, 100, TruncateToolResults(30), on_overflow="send")

    assert not made.edited


def test_what_no_marker_fits_is_left_alone() -> None:
    assert shorten("x" * 400, 100, 3, 0.5, lambda text: len(text) // 4) is None
    assert shorten("x" * 400, 100, 90, 0.5, lambda text: len(text) * 9) is None


def test_a_counter_without_order_ends_all_the_same() -> None:
    assert shorten("x y " * 400, 400, 30, 0.5, lambda _: 10_000) is None
    assert beginning("x y " * 400, 400, 30, lambda _: 10_000) == "x y x y"


@given(st.text(max_size=400), st.integers(20, 60), st.floats(0, 1))
def test_a_cut_text_always_fits_and_says_so(text: str, limit: int, head: float) -> None:
    def measure(part: str) -> int:
        return len(part) // 3

    whole = measure(text)
    if whole <= limit:
        return

    made = shorten(text, whole, limit, head, measure)

    assert made is not None
    assert measure(made) <= limit
    assert marker_of(made) == SHORTENED
    assert measure(beginning(text, whole, limit, measure)) <= limit


@given(st.text(max_size=200))
def test_pieces_always_join_to_the_text(text: str) -> None:
    pieces, unit = split(text)

    assert "".join(pieces) == text or unit == "elements"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ('{"a": 1, "b": 2, "c": 3}', "elements"),
        ("[1, 2", "pieces"),
        ("[1]", "pieces"),
        ("a\nb\nc\nd", "lines"),
    ],
)
def test_texts_are_split_by_what_they_are(text: str, unit: str) -> None:
    assert split(text)[1] == unit


@pytest.mark.parametrize("bad", [{"max_tokens": 5}, {"head": 2}, {"head": "x"}])
def test_limits_of_truncation(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(bad))):
        TruncateToolResults(**bad)


# -- Superseded ---------------------------------------------------------------------

LONG = "the same text of a file\n" * 20
OTHER = "another text of a file\n" * 20


def read(
    call_id: str, text: str, path: str = "a.py", name: str = "read"
) -> list[Message]:
    """A read of a file."""
    return tool(call_id, text, arguments={"path": path}, name=name)


def write(call_id: str, text: str, *, is_error: bool = False) -> list[Message]:
    """A whole-file write."""
    asking, answer = tool(
        call_id, "written", {"path": "a.py", "content": text}, name="write"
    )
    if is_error:
        answer = Message.tool_result(call_id, "no", is_error=True, id=answer.id)
    return [asking, answer]


@pytest.mark.parametrize(
    ("middle", "why"),
    [
        (read("x", LONG, path="b.py"), "same text"),
        (read("x", OTHER), "same call"),
        (write("x", "new"), "a.py was written anew"),
        (read("x", OTHER, path="b.py"), None),
        (tool("x", OTHER, {"path": "a.py", "old": "x", "new": "y"}, name="edit"), None),
        (tool("x", OTHER, {"path": "a.py", "to": "b.py"}, name="write"), None),
        (tool("x", OTHER, "not json", name="write"), None),
        (tool("x", OTHER, {"content": "x"}, name="write"), None),
        (write("x", "new", is_error=True), None),
        (tool("x", OTHER, {"path": "a.py"}, name="delete"), None),
        (tool("x", OTHER, {"path": "a.py"}, name="write"), None),
    ],
)
def test_only_repeats_and_whole_writes_supersede(
    middle: list[Message], why: str | None
) -> None:
    history = [*turns(2), *read("a", LONG), *middle, Message.user("now")]

    made = decide(history, 40, Superseded(), on_overflow="send")

    edits = {e.id: made.edits[e.index][0].text for e in made.edited}
    if why is None:
        assert not edits
    else:
        assert list(edits) == ["r-a"]
        assert why in edits["r-a"]


def test_short_results_are_not_worth_a_line() -> None:
    history = [*turns(2), *read("a", "hi"), *read("b", "hi"), Message.user("now")]

    assert not decide(history, 5, Superseded(), on_overflow="send").edited


def test_unnamed_things_are_compared_by_text_alone() -> None:
    history = [
        *turns(2),
        *tool("a", LONG, name="run"),
        *tool("b", LONG, name="run"),
        *tool("c", OTHER, name="run"),
        Message.user("now"),
    ]

    made = decide(history, 50, Superseded(), on_overflow="send")

    assert list(made.edited.ids) == ["r-a"]


def test_a_second_strategy_never_undoes_the_first() -> None:
    two = Message.user([ToolResult("a", LONG), ToolResult("b", OTHER)], id="rs")
    history = [
        *turns(2),
        Message.assistant(tool_calls=[ToolCall("a", "f"), ToolCall("b", "g")]),
        two,
        *tool("c", LONG),
        Message.assistant("so"),
        Message.user("now"),
    ]

    sent = window(
        history,
        30,
        Alternating(
            TruncateToolResults(30),
            Alternating(Superseded(), ClearToolResults(0, placeholder="x")),
        ),
        on_overflow="send",
    )

    found = [r.text for m in sent for r in m.tool_results]
    assert all(map(marker_of, found))
    assert not any(marker_of(unmark(text)) for text in found)


# -- StripThinking and StripImages --------------------------------------------------


def thinker(text: str, *more: Any) -> Message:
    """An assistant message that reasons."""
    return Message.assistant([Thinking("x" * 80, signature="s"), Text(text), *more])


def count_all(message: Message) -> int:
    """Tokens with reasoning and pictures."""
    total = tokens_of(message)
    for block in message.content:
        if isinstance(block, Thinking):
            total += len(block.text) // 4
        total += 30 * isinstance(block, Image)
        if isinstance(block, ToolResult):
            total += 30 * sum(isinstance(b, Image) for b in block.content)
    return total


def test_old_reasoning_goes_and_that_of_the_current_turn_stays() -> None:
    history = [*turns(2), thinker("one"), *turns(2)[:1], thinker("two")]
    history[2] = history[2].evolve(id="u1")

    sent = window(history, 40, StripThinking(), counter=count_all)

    assert [len(m.content) for m in sent] == [1, 1, 1, 2]
    assert texts(sent) == texts(history)


def test_a_message_of_nothing_but_reasoning_is_left_to_others() -> None:
    history = [
        *turns(2),
        Message.assistant([Thinking("x" * 80)]),
        Message.user("now", id="now"),
    ]

    made = decide(history, 10, StripThinking(), counter=count_all, on_overflow="send")

    assert not made.edited


def test_old_pictures_go_oldest_first() -> None:
    picture = Image(url="https://example.org/a.png")
    history = [
        Message.user([Text("see"), picture, picture], id="u"),
        Message.assistant(tool_calls=[ToolCall("a", "shot")], id="a"),
        Message.tool_result("a", [Text("here"), picture], id="r"),
        Message.user([Text("and"), picture], id="u2"),
    ]

    def left(tokens: int, keep: int = 1) -> list[int]:
        sent = window(
            history, tokens, StripImages(keep), counter=count_all, on_overflow="send"
        )
        return [(count_all(m) - tokens_of(m)) // 30 for m in sent]

    assert left(120) == [1, 0, 1, 1]
    assert left(100) == [0, 0, 1, 1]
    assert left(70) == [0, 0, 0, 1]
    assert left(10) == [0, 0, 0, 1]
    assert left(10, keep=0) == [0, 0, 0, 0]


def test_pinned_pictures_and_reasoning_stay() -> None:
    history = [
        Message.user([Text("see"), Image(url="https://example.org/a.png")], id="u"),
        thinker("one"),
        Message.user("now"),
    ]

    made = decide(
        history,
        5,
        StripImages(0) | StripThinking(),
        counter=count_all,
        pinned=[0, 1],
        on_overflow="send",
    )

    assert not made.edited
