"""Tests for the format `adk`: what its program writes, and known damage."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep import check
from turnkeep.errors import FormatError
from turnkeep.formats import detect, open_messages


def event(nth: int, author: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An event at second *nth*, in an invocation of its own unless *more* says so."""
    role = "user" if author == "user" else "model"
    if any("functionResponse" in part for part in parts):
        role = "user"
    return {
        "author": author,
        "invocationId": f"e{nth}",
        "timestamp": float(nth),
        "content": {"role": role, "parts": list(parts)} if parts else None,
        **more,
    }


def text(what: str) -> dict[str, Any]:
    return {"text": what}


def call(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": {}}}


def answer(call_id: str, output: str, name: str = "f") -> dict[str, Any]:
    response = {"result": output}
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def compaction(start: float, end: float, summary: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [text(summary)]}
    made = {"startTimestamp": start, "endTimestamp": end, "compactedContent": content}
    return {"actions": {"compaction": made}}


def rewind(invocation: str) -> dict[str, Any]:
    return {"actions": {"rewindBeforeInvocationId": invocation}}


TALK = [
    event(1, "user", text("a")),
    event(2, "agent", text("b")),
    event(3, "user", text("c")),
    event(4, "agent", text("d")),
]


def test_reads_both_spellings_and_bare_events() -> None:
    snake = [
        {"author": "user", "invocation_id": "e1", "content": {"parts": [text("a")]}},
        {
            "author": "agent",
            "invocation_id": "e1",
            "content": {"role": "model", "parts": [{"function_call": {"name": "f"}}]},
        },
    ]

    assert detect(snake).format == detect({"events": TALK}).format == "adk"
    assert spoken(snake) == ["user: a", "assistant: f(None)"]


@pytest.mark.parametrize(
    ("target", "left"),
    [("e3", "ab"), ("e1", ""), ("nowhere", "abcd")],
)
def test_a_rewind_voids_what_follows_its_invocation(target: str, left: str) -> None:
    back = event(5, "user", text("undo"), **rewind(target))
    lines = spoken({"events": [*TALK, back, event(6, "user", text("z"))]})

    assert "".join(line[-1] for line in lines) == f"{left}z"


def test_a_compaction_stands_for_its_span_of_time() -> None:
    events = [*TALK, event(5, "user", **compaction(1, 2, "ab")), TALK[3]]

    assert spoken({"events": events[:5]}) == [
        "assistant: ab",
        "user: c",
        "assistant: d",
    ]
    assert "2 events (replaced by a compaction)" in notes_of({"events": events})


def test_a_wider_compaction_holds_what_a_narrower_one_held() -> None:
    events = [
        *TALK,
        event(5, "user", **compaction(1, 2, "ab")),
        event(6, "user", **compaction(1, 4, "first")),
        event(7, "user", **compaction(1, 4, "again")),
        event(8, "user", text("z")),
    ]

    assert spoken({"events": events}) == ["assistant: again", "user: z"]


def test_a_compaction_without_its_times_is_refused() -> None:
    events = [*TALK, {**TALK[0], "actions": {"compaction": {"startTimestamp": 1}}}]

    with pytest.raises(FormatError, match="endTimestamp must be a number") as caught:
        open_messages({"events": events})

    assert caught.value.path == "$.events[4].actions.compaction.endTimestamp"


def test_a_pending_answer_that_was_compacted_away_is_no_crash() -> None:
    """google/adk-python#5602, 7236: what is left is an answer without its call."""
    events = [
        event(1, "user", text("a")),
        event(2, "agent", call("c1"), longRunningToolIds=["c1"]),
        event(3, "user", **compaction(1, 2, "ab")),
        event(4, "user", answer("c1", "late")),
    ]
    session = {"events": events}

    assert spoken(session) == ["assistant: ab", "c1 = late"]
    assert any(violation.rule.startswith("GE") for violation in check(session))


def test_the_last_answer_of_a_long_running_call_counts() -> None:
    running = {"longRunningToolIds": ["c1"]}
    events = [
        event(1, "user", text("a")),
        event(2, "agent", call("c1"), **running),
        event(3, "agent", answer("c1", "started")),
        event(4, "user", answer("c1", "done")),
    ]

    assert spoken({"events": events})[-1] == "c1 = done"
    assert "1 interim answer" in notes_of({"events": events})
    assert spoken({"events": events[:3]})[-1] == "c1 = started"
    assert "maybe interim: 1 ('c1')" in notes_of({"events": events[:3]})


def test_what_only_the_framework_reads_is_left_out() -> None:
    """Parts of a streamed event, and questions whether a tool may run."""
    asks = "adk_request_confirmation"
    events = [
        event(1, "user", text("a")),
        event(2, "agent", text("b"), partial=True),
        event(3, "agent", call("q", asks)),
        event(4, "user", answer("q", "yes", asks)),
        event(5, "agent"),
        event(6, "other", text("c")),
        event(7, "agent", text("d")),
    ]

    assert spoken({"events": events}) == ["user: a", "assistant: c", "assistant: d"]
    assert "the words of 2 agents" in notes_of({"events": events})


def test_results_stand_right_behind_their_calls() -> None:
    """As the framework sends them, however late they came; the last one counts."""
    calls = event(2, "agent", call("a"), call("b"))
    events = [
        event(1, "user", text("go")),
        calls,
        event(3, "agent", answer("a", "asked")),
        event(4, "agent", answer("b", "2")),
        event(5, "agent", text("wait")),
        event(6, "user", text("now?")),
        event(7, "agent", answer("a", "1"), text("by the way")),
        event(8, "agent", text("done")),
    ]

    assert spoken(events) == [
        "user: go",
        "assistant: f(a) f(b)",
        "a = 1",
        "b = 2",
        "assistant: wait",
        "user: now?",
        "user: by the way",
        "assistant: done",
    ]
    assert "1 interim answer (the last one counts)" in notes_of(events)
    assert check(events) == []


def test_the_newest_result_stays_last() -> None:
    """The model has not read it."""
    events = [
        event(1, "user", text("go")),
        event(2, "agent", call("a")),
        event(3, "agent", text("wait")),
        event(4, "agent", answer("a", "1")),
    ]

    assert spoken(events)[-1] == "a = 1"


def test_halves_of_pairs_are_said() -> None:
    """google/adk-python#5602 and #7236."""
    events = [event(1, "user", answer("gone", "x")), event(2, "agent", call("open"))]

    assert "calls without a result: 1 ('open')" in notes_of(events)
    assert "results without a call: 1 ('gone')" in notes_of(events)


def test_ids_that_are_used_again_keep_each_result() -> None:
    events = [
        event(1, "agent", call("a")),
        event(2, "agent", answer("a", "1")),
        event(3, "agent", call("a")),
        event(4, "agent", answer("a", "2")),
    ]

    assert spoken(events)[1::2] == ["a = 1", "a = 2"]
