"""Tests for `turnkeep.turns`."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import (
    Entry,
    call,
    chats,
    numbered,
    placeholder,
    result,
    say,
    system,
    user,
)
from tests.invariants import pair, steps_of, superseded
from turnkeep.formats import get_format
from turnkeep.model import Message, Text, ToolCall, ToolResult
from turnkeep.turns import (
    ASSISTANT,
    MANY_CALLS,
    MANY_RESULTS,
    NOTE,
    RESULT,
    SYSTEM,
    USER,
    Answer,
    CallKey,
    Columns,
    Grouping,
    Problem,
    _at_once,
    _columns,
    _marks,
    code_of,
    entry_of,
    group_columns,
    link_id,
)
from turnkeep.turns import Entry as Row
from turnkeep.turns._marks import Marks


def group(chat: list[Entry]) -> Grouping:
    """A chat, grouped."""
    openai = get_format("openai")
    return Grouping(entry_of(m) for e in chat for m in openai.decode(e))


def members(grouping: Grouping) -> list[list[int]]:
    """The messages of each step."""
    return [grouping.members(step) for step in range(grouping.steps)]


def test_a_turn_is_a_user_message_and_what_follows() -> None:
    """What precedes the first user message is the preamble, the oldest turn."""
    grouping = group([system(), say(), user(), say(), user()])

    assert [list(grouping.steps_of(t)) for t in range(grouping.turns)] == [
        [0, 1],
        [2, 3],
        [4],
    ]
    assert grouping.question_of(0) is None
    assert grouping.question_of(2) == 4


def test_a_call_and_all_its_results_are_one_step() -> None:
    """Parallel calls, answered in any order."""
    grouping = group([user(), call("a", "b"), result("b"), result("a"), say()])

    assert members(grouping) == [[0], [1, 2, 3], [4]]


def test_a_late_result_joins_its_step_and_turn() -> None:
    """Wherever it stands; and it is newest when it has just arrived."""
    grouping = group([user(), call("a"), user(), say(), result("a")])

    assert members(grouping) == [[0], [1, 4], [2], [3]]
    assert grouping.newest == 1
    assert grouping.displaced == {4: 1}


def test_a_user_text_between_parallel_results() -> None:
    """The second result still belongs to the calls before the text."""
    grouping = group([user(), call("a", "b"), result("a"), user(), result("b"), say()])

    assert members(grouping) == [[0], [1, 2, 4], [3], [5]]


def test_ids_repeat_and_pair_with_the_nearest_unanswered_call() -> None:
    """A map over the whole history would mix these up."""
    grouping = group(
        [user(), call("x"), result("x"), call("x"), result("x"), user(), call("x")]
    )

    assert members(grouping) == [[0], [1, 2], [3, 4], [5], [6]]
    assert [c.message for c in grouping.open_calls] == [6]


def test_nearest_open_call_wins_among_two() -> None:
    """Two open calls of one id: the newer one is answered first."""
    grouping = group([user(), call("x"), user(), call("x"), result("x"), result("x")])

    assert members(grouping) == [[0], [1, 5], [2], [3, 4]]


def test_the_same_id_twice_in_one_message() -> None:
    """The first call of the message is answered first."""
    grouping = group([user(), call("x", "x"), result("x")])

    assert [(c.message, c.position) for c in grouping.open_calls] == [(1, 1)]


def test_assistant_entries_in_a_row_are_one_message() -> None:
    """As Responses items and session lines are."""
    grouping = group([user(), say(), call("a"), call("b"), result("a"), result("b")])

    assert members(grouping) == [[0], [1, 2, 3, 4, 5]]


def test_results_without_ids_are_paired_by_name() -> None:
    """As Gemini's and Ollama's are, in order."""
    rows = [
        Row(USER),
        Row(ASSISTANT, (CallKey("1", "f"), CallKey(None, "g"), CallKey(None, "f"))),
        Row(RESULT, (), (Answer(None, "g", True), Answer(None, "f", True))),
        Row(RESULT, (), (Answer(None, "f", True),)),
        Row(RESULT, (), (Answer(None, "f", True),)),
    ]

    grouping = Grouping(rows)

    assert not grouping.open_calls
    assert [(p.kind, p.message, p.call_id) for p in grouping.problems] == [
        ("duplicate_result", 4, "f")
    ]
    assert grouping.was_closed("f")


def test_calls_without_ids_are_found_by_name() -> None:
    """`open_of` takes the name where there is no id."""
    grouping = Grouping([Row(ASSISTANT, (CallKey(None, "f"), CallKey("i", "g")))])

    assert [c.name for c in grouping.open_of("f")] == ["f"]
    assert [c.name for c in grouping.open_of("i")] == ["g"]
    assert not grouping.open_of("nothing")


def test_orphans_and_duplicates_are_named() -> None:
    """A duplicate stays with its call, an orphan is a step of its own."""
    grouping = group([user(), call("a"), result("a"), result("a"), result("z"), say()])

    assert [(p.kind, p.message, p.call_id) for p in grouping.problems] == [
        ("duplicate_result", 3, "a"),
        ("orphan_result", 4, "z"),
    ]
    assert members(grouping) == [[0], [1, 2, 3], [4], [5]]


@pytest.mark.parametrize("words", [(), (Text("and now?"),)], ids=["alone", "words"])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_second_result_in_the_same_message_is_a_duplicate(
    words: tuple[Text, ...], *, at_once: bool
) -> None:
    """As one in a message of its own is, and what follows is grouped as ever."""
    start = [user(), call("a")]
    grouping = group_columns(columns_of(rows_of(start))) if at_once else group(start)
    twice = Message.user((ToolResult("a", "1"), ToolResult("a", "2"), *words))

    grouping.add(entry_of(twice))
    grouping.add(entry_of(Message.assistant("ok")))

    assert grouping.problems == [Problem("duplicate_result", 2, 1, "a")]
    assert members(grouping) == ([[0], [1], [2], [3]] if words else [[0], [1, 2], [3]])
    assert not grouping.open_calls


def test_a_placeholder_leaves_its_call_open_and_gives_way() -> None:
    """So does an interim answer; a final one closes."""
    chat = [user(), call("a"), placeholder("a"), user(), placeholder("a", "still")]

    grouping = group(chat)

    assert [c.answer for c in grouping.open_calls] == [(4, 0)]
    assert grouping.superseded == {(2, 0): 4}
    later = group([*chat, result("a")])
    assert not later.open_calls
    assert later.superseded == {(2, 0): 4, (4, 0): 5}


def test_placeholders_spread_over_calls_of_one_id() -> None:
    """Each call of the message gets one before any gets a second."""
    grouping = group([user(), call("x", "x"), placeholder("x"), placeholder("x")])

    assert [c.answer for c in grouping.open_calls] == [(2, 0), (3, 0)]


def test_display_messages_are_part_of_what_precedes_them() -> None:
    """They open no turn, break no run, and are never newest."""
    messages = [
        Message.user("a"),
        Message.assistant("b"),
        Message.system("Worked for 5 s", kind="run_summary"),
        Message.assistant("c"),
        Message.system("Worked for 9 s", kind="run_summary"),
    ]

    grouping = Grouping(map(entry_of, messages))

    assert members(grouping) == [[0], [1, 2, 3, 4]]
    assert grouping.newest == 1


def test_one_message_with_results_of_two_steps_ties_them() -> None:
    """They can only leave together."""
    both = Message(
        "tool_result",
        (ToolResult("a", "1"), ToolResult("b", "2")),
    )
    messages = [
        Message.user("q"),
        Message.assistant("", tool_calls=[ToolCall("a", "f")]),
        Message.user("r"),
        Message.assistant("", tool_calls=[ToolCall("b", "f")]),
        both,
    ]

    grouping = Grouping(map(entry_of, messages))

    assert grouping.ties == {1: {1, 3}, 3: {1, 3}}


def test_a_user_message_with_results_and_words_opens_a_turn() -> None:
    """It is tied to the step it answers."""
    messages = [
        Message.user("q"),
        Message.assistant("", tool_calls=[ToolCall("a", "f")]),
        Message.user((ToolResult("a", "1"), Text("and now?"))),
    ]

    grouping = Grouping(map(entry_of, messages))

    assert grouping.turns == 2
    assert grouping.ties == {1: {1, 2}, 2: {1, 2}}
    assert not grouping.open_calls


def test_a_user_message_of_results_only_opens_no_turn() -> None:
    """Whatever its role says."""
    messages = [
        Message.user("q"),
        Message.assistant("", tool_calls=[ToolCall("a", "f")]),
        Message.user((ToolResult("a", "1"),)),
    ]

    assert Grouping(map(entry_of, messages)).turns == 1


def test_bare_calls_are_those_with_nothing_but_results_behind() -> None:
    """Others need a stand-in to be sent."""
    waiting = group([user(), call("a", "b"), result("a")])
    passed = group([user(), call("a", "b"), result("a"), user()])

    assert not any(map(waiting.needs_stand_in, waiting.open_calls))
    assert [c.id for c in passed.open_calls if passed.needs_stand_in(c)] == ["b"]


def test_a_call_with_other_assistant_entries_behind_it() -> None:
    """Whether it can be sent bare depends on where results must stand."""
    grouping = group([user(), call("a"), say()])
    (waiting,) = grouping.open_calls

    assert grouping.needs_stand_in(waiting)
    assert not grouping.needs_stand_in(waiting, per_message=False)


@given(chats(broken=True))
def test_pairing_always_agrees_with_the_slow_way(chat: list[Entry]) -> None:
    """Steps, open calls, replaced placeholders and misfits."""
    answers, still_open = pair(chat)

    grouping = group(chat)

    assert {(c.message, c.position) for c in grouping.open_calls} == still_open
    assert {message for message, _ in grouping.superseded} == superseded(chat)
    unpaired = {a for a, e in enumerate(chat) if e["role"] == "tool"} - answers.keys()
    assert {p.message for p in grouping.problems} == unpaired
    if not unpaired:
        assert members(grouping) == steps_of(chat)


@given(chats(broken=True))
def test_every_message_is_always_in_one_step_and_every_step_in_one_turn(
    chat: list[Entry],
) -> None:
    """Steps partition the messages; turns partition the steps."""
    grouping = group(chat)

    inside = [i for step in members(grouping) for i in step]
    assert sorted(inside) == list(range(len(chat)))
    steps = [s for t in range(grouping.turns) for s in grouping.steps_of(t)]
    assert steps == list(range(grouping.steps))
    assert all(s in grouping.steps_of(grouping.turn_of(s)) for s in steps)
    assert all(
        grouping.step_of[i] == s
        for s, step in enumerate(members(grouping))
        for i in step
    )


def rows_of(chat: list[Entry]) -> list[Row]:
    """A chat as grouping sees it."""
    openai = get_format("openai")
    return [entry_of(m) for e in chat for m in openai.decode(e)]


def columns_of(rows: list[Row]) -> Columns:
    """Rows as columns."""
    codes = bytes(map(code_of, rows))
    return Columns(
        codes,
        [
            link_id(key)
            for row, code in zip(rows, codes, strict=True)
            if code != MANY_CALLS
            for key in row.calls
        ],
        [
            link_id(answer)
            for row, code in zip(rows, codes, strict=True)
            if code != MANY_RESULTS
            for answer in row.results
        ],
        lambda index: list(rows[index].calls),
        {n: rows[n].results for n, code in enumerate(codes) if code == MANY_RESULTS},
        [n for n, row in enumerate(rows) if row.is_summary],
    )


def state_of(grouping: Grouping) -> dict[str, object]:
    """Everything a grouping knows, comparable."""
    state = {
        name: getattr(grouping, name)
        for name in Grouping.__slots__
        # What the newest message did is said of one that was added alone, and what was
        # closed right behind its call is looked up in the columns.
        if name not in ("_open", "_names", "_closed", "_reclosed", "answered", "opened")
    }
    state["open"] = [(c.message, c.position, c.answer) for c in grouping.open_calls]
    return state


def answers_of(grouping: Grouping) -> dict[str, object]:
    """What a grouping says when asked about one step, turn or message at a time."""
    steps, turns = range(grouping.steps), range(grouping.turns)
    return {
        "step": [grouping.step_at(i) for i in range(len(grouping))],
        "turn": [grouping.turn_of(s) for s in steps],
        "steps": [grouping.steps_of(t) for t in turns],
        "questions": [grouping.question_of(t) for t in turns],
        "asks": [grouping.is_question(s) for s in steps],
        "members": [grouping.members(s) for s in steps],
        "spans": [grouping.span(s, grouping.steps) for s in steps],
        "newest": grouping.newest,
        "bare": [grouping.needs_stand_in(call) for call in grouping.open_calls],
        "run": [
            grouping.needs_stand_in(call, per_message=False)
            for call in grouping.open_calls
        ],
    }


@contextlib.contextmanager
def in_blocks_of(size: int) -> Iterator[None]:
    """Look at columns in blocks of *size*, so that short histories have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_columns, "_BLOCK", size)
        patch.setattr(_marks, "_BLOCK", size)
        patch.setattr(_marks, "_MANY", 3 * size)
        patch.setattr(_at_once, "_MANY", 3 * size)
        yield


call_keys = st.builds(
    CallKey, st.sampled_from(["a", "b", None]), st.sampled_from(["f", "g"])
)
answers = st.builds(
    lambda key, final: Answer(key.id, None if key.id else key.name, final),
    call_keys,
    st.sampled_from([True, True, True, False]),
)
plain_rows = st.sampled_from(
    [
        [Row(SYSTEM)],
        [Row(USER)],
        [Row(USER)],
        [Row(ASSISTANT)],
        [Row(NOTE)],
        [Row(USER, is_summary=True)],
    ]
)


@st.composite
def rounds(draw: st.DrawFn) -> list[Row]:
    """A message with calls and its results, in one message, in several, or muddled."""
    calls = draw(st.lists(call_keys, min_size=1, max_size=3))
    given_ = [Answer(key.id, None if key.id else key.name, final=True) for key in calls]
    given_ = draw(st.permutations(given_))
    if draw(st.booleans()):
        given_ += draw(st.lists(answers, max_size=2))
    parts = [given_] if draw(st.booleans()) else [[answer] for answer in given_]
    results = [Row(RESULT, (), tuple(part)) for part in parts if part]
    more = draw(st.one_of(st.just([]), st.just([]), plain_rows))
    at = draw(st.integers(0, len(results)))
    return [Row(ASSISTANT, tuple(calls)), *results[:at], *more, *results[at:]]


stray_rows = st.lists(answers, min_size=1, max_size=3).map(
    lambda given: [Row(RESULT, (), tuple(given))]
)
histories_of_rows = st.lists(
    st.one_of(rounds(), rounds(), plain_rows, stray_rows), max_size=8
).map(lambda parts: [row for part in parts for row in part])


@given(
    chats(broken=True, max_length=20).map(rows_of) | histories_of_rows,
    st.integers(0, 20),
    st.integers(1, 9),
)
def test_columns_always_group_as_rows_do(
    rows: list[Row], split: int, block: int
) -> None:
    """All at once, or the first part at once and the rest one by one."""
    whole = Grouping(rows)
    with in_blocks_of(block):
        at_once = group_columns(columns_of(rows))
        in_part = group_columns(columns_of(rows[:split]))
        for row in rows[split:]:
            in_part.add(row)

        for grouping in (at_once, in_part):
            assert answers_of(grouping) == answers_of(whole)
            assert state_of(grouping) == state_of(whole)
            assert grouping.before_turn_of(len(rows)) is None
            assert answers_of(grouping) == answers_of(whole)
        for call_id in ("a", "b", "c", "f", "g", "z"):
            assert at_once.was_closed(call_id) == whole.was_closed(call_id)


@given(
    st.lists(st.booleans(), max_size=60).map(bytearray), st.data(), st.integers(1, 9)
)
def test_marks_always_count_right(
    flags: bytearray, data: st.DataObject, block: int
) -> None:
    """Asked about one place, or all of them, in any order."""
    places = [i for i, flag in enumerate(flags) if flag]
    with in_blocks_of(block):
        marks = Marks(flags)
        numbers = range(marks.total)

        asked = (
            data.draw(st.lists(st.sampled_from(numbers), max_size=40))
            if numbers
            else []
        )
        assert marks.total == len(places)
        assert [marks.nth(n) for n in asked] == [places[n] for n in asked]
        assert [marks.before(i) for i in range(len(flags) + 1)] == [
            sum(flags[:i]) for i in range(len(flags) + 1)
        ]
        assert list(marks.places()) == places
        assert [marks.nth(n) for n in numbers] == places


def test_grouping_is_linear() -> None:
    """Ten times the history takes ten times the work: calls of one id, all open."""
    work = {}
    for length in (1_000, 10_000):
        chat = numbered([call("same") for _ in range(length)])
        rows = [Row(ASSISTANT, (CallKey("same", "f"),)) for _ in chat]
        answers = [Row(RESULT, (), (Answer("same", None, True),)) for _ in chat]
        touched = 0

        class Counting(list):  # type: ignore[type-arg]
            """A stack that counts how many entries are looked at."""

            def __reversed__(self) -> Any:
                nonlocal touched
                for item in list.__reversed__(self):
                    touched += 1
                    yield item

            def __getitem__(self, at: Any) -> Any:
                nonlocal touched
                touched += 1
                return list.__getitem__(self, at)

        grouping = Grouping(
            row
            for pair_ in zip(rows, [Row(USER)] * length, strict=True)
            for row in pair_
        )
        grouping._open = {k: Counting(v) for k, v in grouping._open.items()}
        for row in answers:
            grouping.add(row)
        work[length] = touched
        assert not grouping.open_calls

    assert work[10_000] <= 11 * work[1_000]


def test_notes_of_ours_open_no_turn() -> None:
    """They leave with the step they follow, and part later results from it."""
    shown = user("[turnkeep:bridge d9b731da]\nShown by the tool result a:")
    grouping = group([user(), call("a", "b"), result("a"), shown, result("b"), say()])

    assert grouping.turns == 1
    assert members(grouping) == [[0], [1, 2, 3, 4], [5]]
    assert grouping.displaced == {4: 1}
    late = group([user(), call("a"), user(), result("a"), shown, say()])
    assert members(late) == [[0], [1, 3, 4], [2], [5]]
    alone = group([shown, user()])
    assert members(alone) == [[0], [1]]
    assert alone.turns == 2
