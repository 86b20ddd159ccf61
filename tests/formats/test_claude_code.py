"""Tests for the format `claude-code`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.block_checks import check_corpus, read, refuse
from tests.generators import decoded
from tests.paths import needs_corpus
from turnkeep import check
from turnkeep.errors import FormatError
from turnkeep.formats import get_format, match_format
from turnkeep.model import Message, Role, Text, Thinking, ToolCall, same

FMT = get_format("claude-code")


def line(
    uuid: str, parent: str | None, said: Any = "hi", **more: Any
) -> dict[str, Any]:
    """A user line; its message is the model's when *more* has one of type assistant."""
    role = more.get("type", "user")
    message = {"role": role, "content": said, **more.pop("message", {})}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        **more,
        "message": message,
    }


def said(uuid: str, parent: str | None, *blocks: Any, **more: Any) -> dict[str, Any]:
    message_id = more.pop("message_id", f"msg_{uuid}")
    return line(
        uuid, parent, list(blocks), type="assistant", message={"id": message_id}, **more
    )


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "x"}


def text(what: str) -> dict[str, Any]:
    return {"type": "text", "text": what}


def main_line(lines: list[Any]) -> list[str]:
    """The ids of the main line, after checking that all lines can be put back."""
    envelope = FMT.open(lines)
    messages = decoded(FMT.decode, list(envelope.entries))

    assert same(envelope.replace(FMT.encode(messages)), lines)
    return [entry["uuid"] for entry in envelope.entries]


def notes(lines: list[Any]) -> str:
    """What the reader says."""
    return "\n".join(FMT.open(lines).notes)


@needs_corpus
def test_recorded_sessions_come_back_equal() -> None:
    check_corpus(FMT)


def test_a_line_gives_its_message_with_id_and_time() -> None:
    asked, answered, given_back = read(
        FMT,
        line("u1", None, "go", timestamp="2026-01-02T03:04:05.678Z"),
        said("a1", "u1", {"type": "thinking", "thinking": "hm"}, call("t1")),
        line("u2", "a1", [result("t1")], toolUseResult={"stdout": "x", "code": 0}),
    )

    assert (asked.id, asked.text) == ("u1", "go")
    assert asked.timestamp == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    assert answered.tool_calls[0].id == "t1"
    assert answered.metadata["message"]["id"] == "msg_a1"
    assert answered.content[0] == Thinking("hm")
    assert given_back.role is Role.TOOL_RESULT
    assert given_back.metadata["toolUseResult"] == {"stdout": "x", "code": 0}


def test_results_and_text_of_one_line_are_two_messages() -> None:
    first, second = read(FMT, line("u1", None, [result("t1"), text("and?")]))

    assert (first.id, second.id) == ("u1", "u1/text")
    assert (first.role, second.role) == (Role.TOOL_RESULT, Role.USER)
    other = FMT.decode(line("u2", None, [result("t2")]))
    assert len(FMT.encode([*other, second])) == 2


def test_summaries_and_meta_lines_have_a_kind() -> None:
    summary, meta, marked, plain = read(
        FMT,
        line("a", None, isCompactSummary=True),
        line("b", "a", isMeta=True),
        line("c", "b", "[turnkeep:digest 1c5d91c6]\nx", isMeta=True),
        line("d", "c", isMeta=False),
    )

    assert [m.kind for m in (summary, meta, marked, plain)] == [
        "summary",
        "meta",
        "digest",
        None,
    ]


def test_a_rewound_branch_is_left_apart() -> None:
    lines = [
        line("u1", None),
        said("a1", "u1", text("x")),
        line("u2", "a1", "first try"),
        said("a2", "u2", text("x")),
        line("u3", "a1", "second try"),
    ]

    assert main_line(lines) == ["u1", "a1", "u3"]


def test_side_chains_are_left_apart() -> None:
    """The talk of subagents is not the talk with the user."""
    lines = [
        line("u1", None),
        line("s1", None, isSidechain=True),
        said("s2", "s1", text("x"), isSidechain=True),
        said("a1", "u1", text("x")),
        line("s3", "s2", isSidechain=True),
    ]

    assert main_line(lines) == ["u1", "a1"]


def test_events_carry_the_chain_and_are_no_messages() -> None:
    lines = [
        {"type": "summary", "summary": "x", "leafUuid": "a1"},
        {"type": "file-history-snapshot", "snapshot": {}},
        line("u1", None),
        {"type": "system", "uuid": "e1", "parentUuid": "u1", "content": "hook"},
        said("a1", "e1", text("x")),
        said("a2", "a1", text("API Error"), isApiErrorMessage=True),
        line("u2", "a2"),
    ]

    assert main_line(lines) == ["u1", "a1", "u2"]
    assert all(not FMT.decode(event) for event in (lines[0], lines[3], lines[5]))


def test_a_compact_summary_starts_anew() -> None:
    """What went before it is not sent any more."""
    lines = [
        line("u1", None),
        said("a1", "u1", text("x")),
        {"type": "system", "subtype": "compact_boundary", "uuid": "b"},
        line("s", "b", "Summary: ...", isCompactSummary=True),
        line("u2", "s"),
    ]

    assert main_line(lines) == ["s", "u2"]


def boundary(uuid: str, **said: Any) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "compactMetadata": said,
    }


PRESERVED = [
    pytest.param({"preservedMessages": {"uuids": ["u2", "a2"]}}, id="list"),
    pytest.param(
        {"preservedSegment": {"headUuid": "u2", "tailUuid": "a2"}}, id="segment"
    ),
]


@pytest.mark.parametrize("said_of_it", PRESERVED)
def test_a_compaction_keeps_the_lines_that_it_preserved(said_of_it: Any) -> None:
    """They stand before it in the file, and behind its summary in the context."""
    lines = [
        line("u1", None),
        said("a1", "u1", text("x")),
        line("u2", "a1"),
        said("a2", "u2", text("y")),
        boundary("b", **said_of_it),
        line("s", "b", "Summary: ...", isCompactSummary=True),
        line("u3", "a2"),
    ]

    assert main_line(lines) == ["s", "u2", "a2", "u3"]
    assert main_line([*lines, line("u4", "s")]) == ["s", "u2", "a2", "u4"]


def test_the_newest_of_two_compactions_counts() -> None:
    lines = [
        line("u1", None),
        boundary("b1", preservedMessages={"uuids": ["u1"]}),
        line("s1", "b1", isCompactSummary=True),
        line("u2", "s1"),
        boundary("b2", preservedMessages={"uuids": ["u2", "gone"]}),
        line("s2", "b2", isCompactSummary=True),
        line("u3", "s2"),
    ]

    assert main_line(lines) == ["s2", "u2", "u3"]
    assert "preserved, missing: 1" in notes(lines)


def test_a_compaction_that_preserved_nothing_is_not_anothers() -> None:
    lines = [
        line("u1", None),
        boundary("b1", preservedMessages={"uuids": ["u1"]}),
        line("s1", "b1", isCompactSummary=True),
        line("s2", None, isCompactSummary=True),
        line("u2", "s2"),
    ]

    assert main_line(lines) == ["s2", "u2"]


def test_lines_that_are_repeated_count_where_they_stood_first() -> None:
    """anthropics/claude-code#40363, 48936, 92089, 66454: copies cut the chain."""
    talk = [line("u1", None), said("a1", "u1", text("x")), line("u2", "a1")]
    copies = [{**entry, "parentUuid": None} for entry in talk]

    assert main_line([*talk, *copies]) == ["u1", "a1", "u2"]
    assert main_line([*talk, *copies, line("u3", "u2")]) == ["u1", "a1", "u2", "u3"]
    assert "3 lines (written before)" in notes([*talk, *copies])


def test_copies_of_a_line_go_with_it() -> None:
    """Else the first of them would be taken for it when the file is read again."""
    talk = [line("u1", None), line("u2", "u1"), line("u1", None)]
    envelope = FMT.open(talk)

    shorter = envelope.replace([talk[1]])

    assert shorter == [talk[1]]
    assert list(FMT.open(shorter).entries) == [talk[1]]


def test_a_branch_whose_parent_was_never_written_is_said() -> None:
    """anthropics/claude-code#22526, 61188, 46603."""
    lines = [line("u1", None), line("u2", "never"), said("a2", "u2", text("x"))]

    assert main_line(lines) == ["u1", "u2", "a2"]
    assert "behind one that was never written: 1" in notes(lines)


def test_a_subagents_own_file_is_read() -> None:
    """Every line of it is marked as a side chain."""
    lines = [
        line("s1", None, isSidechain=True),
        said("s2", "s1", text("x"), isSidechain=True),
        {"type": "progress", "uuid": "p", "parentUuid": "s2"},
        line("s3", "p", isSidechain=True),
    ]

    assert main_line(lines) == ["s1", "s2", "s3"]


def test_what_is_left_out_is_said() -> None:
    lines = [
        {"type": "mode", "mode": "x"},
        line("u1", None),
        {"type": "attachment", "uuid": "t", "parentUuid": "u1", "attachment": {}},
        said("old", "u1", text("x")),
        line("side", None, isSidechain=True),
        said("a1", "u1", text("API Error"), isApiErrorMessage=True),
        said("a2", "u1", call("c")),
    ]

    assert main_line(lines) == ["u1", "a2"]
    assert FMT.open(lines).notes == (
        "calls without a result: 1; resumed, Claude Code would leave them out",
        (
            "attachments: 1, with 2 characters; the reminders that are sent for them "
            "are not stored and not counted"
        ),
        "left out: 1 line of bookkeeping",
        "left out: 1 message (on another branch)",
        "left out: 1 message of a side chain (a subagent's own)",
        "left out: 1 notice of a failed request",
    )


def test_check_judges_the_messages_and_not_the_lines() -> None:
    """A line has keys that no provider takes; what is sent has none of them."""
    lines = [
        line("u1", None),
        said("a1", "u1", call("t1")),
        line("r1", "a1", [result("t1")]),
    ]

    assert check(lines) == []
    (found,) = check(lines[:2])
    assert (found.rule, found.where) == ("AN-10", "$[1].content[0]")


def test_parallel_calls_on_branches_of_their_own_belong_to_the_line() -> None:
    """One model message, two lines; each result hangs on the line of its call."""
    lines = [
        line("u1", None),
        said("a1", "u1", call("t1"), message_id="m"),
        said("a2", "a1", call("t2"), message_id="m"),
        line("r1", "a1", [result("t1")]),
        line("r2", "a2", [result("t2")]),
        said("a3", "r2", text("done")),
    ]

    assert main_line(lines) == ["u1", "a1", "a2", "r1", "r2", "a3"]


def test_a_damaged_call_is_left_to_reading() -> None:
    """`open` looks at links alone; `decode` has the path."""
    (entry,) = FMT.open([said("a1", None, {**call("x"), "id": 7})]).entries

    refuse(FMT, entry, ".message.content[0].id", "must be a string")


def test_a_call_on_a_branch_of_its_own_brings_its_result() -> None:
    lines = [
        line("u1", None),
        said("a1", "u1", call("t1"), message_id="m"),
        said("a2", "a1", call("t2"), message_id="m"),
        line("r2", "a2", [result("t2")]),
        line("r1", "a1", [result("t1")]),
        said("a3", "r1", text("done")),
    ]

    assert main_line(lines) == ["u1", "a1", "a2", "r2", "r1", "a3"]


def test_a_second_answer_on_another_branch_stays_apart() -> None:
    lines = [
        line("u1", None),
        said("a1", "u1", call("t1")),
        line("r1", "a1", [result("t1")]),
        line("r2", "a1", [result("t1")]),
    ]

    assert main_line(lines) == ["u1", "a1", "r2"]


def test_lines_out_of_order_follow_their_links() -> None:
    lines = [
        said("a1", "u1", call("t1")),
        line("u1", None),
        line("r1", "a1", [result("t1")]),
        said("x", "nowhere", text("left over"), message_id="y"),
        line("u2", "a1"),
    ]

    assert main_line(lines) == ["u1", "a1", "r1", "u2"]


def test_lines_without_links_follow_each_other() -> None:
    lines: list[Any] = [
        {"type": "user", "message": {"role": "user", "content": "a"}},
        {"type": "assistant", "message": {"role": "assistant", "content": []}},
    ]

    assert list(FMT.open(lines).entries) == lines


def test_a_line_whose_parent_was_cut_away_follows_the_one_before() -> None:
    lines = [line("u1", None), line("u2", "gone"), line("u3", "u2")]

    assert main_line(lines) == ["u1", "u2", "u3"]


@pytest.mark.parametrize("key", ["lines", "loglines"])
def test_exports_of_whole_sessions(key: str) -> None:
    export = {key: [line("u1", None)], "title": "x"}

    envelope = FMT.open(export)

    assert envelope.path == f"$.{key}"
    assert envelope.is_body
    assert envelope.replace([]) == {key: [], "title": "x"}
    assert match_format(export, FMT.name).score == 4


def test_fewer_and_new_lines_are_put_in_their_places() -> None:
    """What is left apart keeps its place among what stays."""
    snapshot = {"type": "file-history-snapshot"}
    lines = [line("u1", None), snapshot, said("a1", "u1"), snapshot, line("u2", "a1")]
    envelope = FMT.open(lines)
    new = line("n", None, "[turnkeep:digest 1c5d91c6]\nx")

    assert envelope.replace([lines[0], lines[4]]) == [
        lines[0],
        snapshot,
        snapshot,
        lines[4],
    ]
    assert envelope.replace([lines[0], new, lines[2], lines[4]]) == [
        lines[0],
        new,
        snapshot,
        lines[2],
        snapshot,
        lines[4],
    ]
    assert envelope.replace([]) == [snapshot, snapshot]


def test_lines_without_ids_are_found_by_what_they_say() -> None:
    bare = [
        {"type": "user", "message": {"role": "user", "content": what}} for what in "abc"
    ]
    envelope = FMT.open([bare[0], {"type": "x"}, bare[1], bare[2]])

    assert envelope.replace([bare[0], bare[2]]) == [bare[0], {"type": "x"}, bare[2]]


def test_an_edited_message_keeps_its_line() -> None:
    (message,) = FMT.decode(line("u1", None, [result("t1")], toolUseResult={"a": 1}))
    shorter = message.evolve(content=[Message.tool_result("t1", "y").content[0]])

    (written,) = FMT.encode([shorter])

    assert written["toolUseResult"] == {"a": 1}
    assert written["message"]["content"][0]["content"] == "y"


def test_messages_of_other_origin_become_linked_lines() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    history = [
        Message.system("Be kind.", id="m0"),
        Message.user("go", id="m1", timestamp=when),
        Message.assistant("Well.", tool_calls=[ToolCall(None, "f")], id="m2"),
        Message.tool_result(None, "x", tool_name="f"),
        Message.assistant("Done.", id="m4"),
        Message.user("so far", kind="summary"),
        Message.assistant(""),
        Message.assistant([Thinking("hm")]),
        Message.assistant("shown", kind="run_summary"),
    ]

    lines = FMT.encode(history)

    assert [entry.get("uuid") for entry in lines] == ["m0", "m1", "m2", None, "m4"] + [
        None
    ] * 2
    assert [entry.get("parentUuid") for entry in lines[:3]] == [None, "m0", "m1"]
    assert lines[1]["timestamp"] == "2026-01-02T00:00:00+00:00"
    assert lines[5]["isCompactSummary"] is True
    again = decoded(FMT.decode, lines)
    assert [m.text for m in again] == [
        "Be kind.",
        "go",
        "Well.",
        "x",
        "Done.",
        "so far",
        "",
    ]
    assert again[0].role is Role.SYSTEM
    assert again[2].tool_calls[0].id == again[3].tool_results[0].tool_call_id


def test_requests_and_losses() -> None:
    body = FMT.encode_request([Message.user("go")], tools=[1])

    assert body["lines"] == FMT.encode([Message.user("go")])
    assert FMT.decode_system(None) == ()
    assert FMT.losses(Message.user("go", metadata={"a": 1})) == []
    assert FMT.losses(Message.assistant([Thinking("hm", "sig")])) == []
    unsigned = Message.assistant([Thinking("hm")], layout="claude-code:[]")
    assert FMT.losses(unsigned) == []
    assert len(get_format("anthropic").losses(unsigned)) == 1
    assert FMT.losses(Message.user("go", pinned=True)) == ["the pin"]


def test_has_no_system_text() -> None:
    with pytest.raises(FormatError):
        FMT.decode_system("Be kind.")


HOSTILE: list[tuple[Any, str, str]] = [
    ("x", "", "must be an object"),
    ({"type": "user"}, "", "'message' is missing"),
    ({"type": "user", "message": "x"}, ".message", "must be an object"),
    ({"type": "user", "message": {}}, ".message", "'role' is missing"),
    ({"type": "user", "message": {"role": "user"}}, ".message", "'content' is missing"),
    (
        {"type": "user", "message": {"role": "robot", "content": ""}},
        ".message.role",
        "unknown role",
    ),
    (line("u", None, [1]), ".message.content[0]", "must be an object"),
    (line("u", None, [{"type": "text"}]), ".message.content[0]", "'text' is missing"),
    (line("u", None, timestamp=7), ".timestamp", "must be a string"),
    (line("u", None, timestamp="yesterday"), ".timestamp", "no ISO 8601"),
    (line("u", None, timestamp="2026-01-02T03:04:05"), ".timestamp", "no time zone"),
    ({**line("u", None), "uuid": 7}, ".uuid", "must be a string"),
    (line("u", None, usage={"a": float("inf")}), ".usage.a", "not JSON"),
]


@pytest.mark.parametrize(("entry", "path", "reason"), HOSTILE)
def test_refuses_with_one_error_and_its_path(
    entry: Any, path: str, reason: str
) -> None:
    refuse(FMT, entry, path, reason)


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (7, "$", "lines of a session"),
        ({"messages": []}, "$", "lines of a session"),
        ({"lines": {}}, "$.lines", "must be an array"),
        ([line("a", None), 7], "$[1]", "must be an object"),
        ([{"uuid": "a"}], "$[0].type", "must be a string"),
        ([{**line("a", None), "uuid": 7}], "$[0].uuid", "must be a string"),
        ([{**line("a", None), "parentUuid": []}], "$[0].parentUuid", "be a string"),
        ([line("a", None, isMeta="yes")], "$[0].isMeta", "must be a boolean"),
        ([line("a", "b"), line("b", "a")], "$[1].parentUuid", "in a circle"),
    ],
)
def test_refuses_to_open_what_is_no_session(value: Any, path: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as caught:
        FMT.open(value)

    assert caught.value.path == path


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([], 1),
        ([line("a", None)], 4),
        ([{"type": "summary", "leafUuid": "x"}, line("a", None)], 4),
        ([{"type": "system", "uuid": "x", "parentUuid": None}], 2),
        ([{"type": "message", "role": "user", "content": "x"}], 0),
        ([{"type": "function_call", "call_id": "x"}], 0),
        ([{"role": "user", "content": "x"}], 0),
        ([7], 0),
        ({"messages": []}, 0),
    ],
)
def test_is_recognised_by_its_shape(value: Any, score: int) -> None:
    match = match_format(value, FMT.name)

    assert match.score == score
    assert match.reason


def event(uuid: str, parent: str | None, kind: str, call_id: str) -> dict[str, Any]:
    """A line of some kind."""
    match kind:
        case "user":
            return line(uuid, parent, "hi", cwd="/tmp")  # noqa: S108 - only a text
        case "assistant":
            return said(uuid, parent, text("x"), requestId="r")
        case "call":
            return said(uuid, parent, call(call_id), message_id="m")
        case "result":
            return line(uuid, parent, [result(call_id), text("y")])
        case "progress":
            return {"type": "progress", "uuid": uuid, "parentUuid": parent}
        case "side":
            return line(uuid, parent, isSidechain=True)
        case _:
            return line(uuid, parent, isCompactSummary=True)


KINDS = ["user", "assistant", "call", "result", "progress", "side", "summary"]


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Sessions with branches, side chains, calls, events and links to nowhere."""
    lines: list[dict[str, Any]] = []
    for nth in range(draw(st.integers(0, 9))):
        parents = [None, "gone", *(entry["uuid"] for entry in lines)]
        call_id = f"t{draw(st.integers(0, 2))}"
        kind = draw(st.sampled_from(KINDS))
        made = event(f"l{nth}", draw(st.sampled_from(parents)), kind, call_id)
        if draw(st.integers(0, 5)) == 0:
            del made["parentUuid"]
        lines.append(made)
    return lines


@given(lines=sessions())
def test_any_session_is_put_back_equal(lines: list[Any]) -> None:
    """The main line is in it once, in order, and ends where the session ends."""
    uuids = main_line(lines)

    assert len(set(uuids)) == len(uuids)
    messages = [
        entry["uuid"]
        for entry in lines
        if entry["type"] != "progress" and not entry["isSidechain"]
    ]
    if not messages:
        # A file of side chains alone is a subagent's own.
        messages = [entry["uuid"] for entry in lines if entry["type"] != "progress"]
    assert set(uuids) <= set(messages)
    if messages:
        assert messages[-1] in uuids
    places = [messages.index(uuid) for uuid in uuids]
    assert all(left < right for left, right in pairwise(places))


@given(lines=sessions(), data=st.data())
def test_copies_change_nothing(lines: list[Any], data: st.DataObject) -> None:
    """Whatever is appended once more, with or without its parent."""
    copies = data.draw(st.lists(st.sampled_from(lines), max_size=5)) if lines else []
    cut = [{**entry, "parentUuid": None} for entry in copies]

    assert main_line([*lines, *cut]) == main_line(lines)


@given(lines=sessions(), kept=st.sets(st.integers(0, 9)))
def test_nothing_apart_is_lost_when_lines_go(lines: list[Any], kept: set[int]) -> None:
    envelope = FMT.open(lines)
    entries = [e for nth, e in enumerate(envelope.entries) if nth in kept]
    ours = [entry["uuid"] for entry in envelope.entries]

    written = envelope.replace(entries)

    gone = set(ours) - {entry["uuid"] for entry in entries}
    assert written == [entry for entry in lines if entry["uuid"] not in gone]


def test_long_sessions_take_linear_time() -> None:
    """Twenty thousand lines, none of which is looked at more than a few times."""
    start = datetime(2026, 1, 2, tzinfo=UTC)
    lines = [
        line(f"l{n}", f"l{n - 1}" if n else None, f"{start + timedelta(seconds=n)}")
        for n in range(20_000)
    ]

    assert len(FMT.open(lines).entries) == 20_000
    assert FMT.decode(lines[5])[0].content == (Text("2026-01-02 00:00:05+00:00"),)


def test_a_preserved_segment_without_its_chain_is_its_two_ends() -> None:
    """Where the links between them were lost."""
    ends = {"headUuid": "u1", "tailUuid": "u3"}
    lines = [
        line("u1", None),
        line("u2", "u1"),
        line("u3", None),
        boundary("b", preservedSegment=ends),
        line("s", "b", isCompactSummary=True),
        boundary("c", preservedSegment=7),
    ]

    assert main_line(lines) == ["s", "u1", "u3"]
    assert main_line([*lines, line("t", "c", isCompactSummary=True)]) == ["t"]


def test_a_preserved_segment_passes_lines_without_an_id() -> None:
    bare = {key: v for key, v in line("x", "u1").items() if key != "uuid"}
    tail = {key: v for key, v in line("u3", None).items() if key != "parentUuid"}
    ends = {"headUuid": "u1", "tailUuid": "u3"}
    lines = [
        line("u1", None),
        bare,
        tail,
        boundary("b", preservedSegment=ends),
        line("s", "b", isCompactSummary=True),
    ]

    assert main_line(lines) == ["s", "u1", "u3"]
