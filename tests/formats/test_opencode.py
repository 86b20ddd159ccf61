"""Tests for the format `opencode`: what its program writes, and known damage.

The numbers behind a repository's name are its issues, where that damage is reported.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import match_format, open_messages

MODEL = {"providerID": "anthropic", "modelID": "claude-x"}


def user(number: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": f"m{number}", "role": "user", "model": MODEL, **info},
        "parts": [{"id": f"p{nth}", **part} for nth, part in enumerate(parts)],
    }


def model(number: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": f"m{number}", "role": "assistant", **MODEL, **info},
        "parts": [{"id": f"p{nth}", **part} for nth, part in enumerate(parts)],
    }


def text(what: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": what, **more}


def run(call_id: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": call_id, "tool": "f", "state": state}


def opencode(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"info": {"id": "ses_1"}, "messages": list(messages)}


DONE = {"status": "completed", "input": {}, "output": "ok"}
ASKS_SUMMARY = {"type": "compaction", "tail_start_id": "m2"}


def test_opencode_is_read_in_the_order_of_its_ids() -> None:
    session = opencode(user(2, text("b")), user(1, text("a")))

    assert spoken(session) == ["user: a", "user: b"]


def test_opencode_answers_calls_that_were_given_up() -> None:
    """anomalyco/opencode#10616: calls without result, their input empty."""
    session = opencode(
        user(1, text("go")),
        model(2, run("c1", status="pending", input={}), run("c2", **DONE)),
        user(3, text("again")),
        model(4, run("c3", status="running", input={"a": 1})),
    )

    assert spoken(session) == [
        "user: go",
        "assistant: f(c1) f(c2)",
        "c1 ! [Tool execution was interrupted]",
        "c2 = ok",
        "user: again",
        "assistant: f(c3)",
    ]
    assert "without a result: 1 ('c3'); resumed, opencode" in notes_of(session)
    assert "given up: 1 ('c1')" in notes_of(session)


def test_opencode_takes_the_newest_finished_compaction() -> None:
    """anomalyco/opencode#27594: a second one."""
    session = opencode(
        user(1, text("a")),
        model(2, text("b")),
        user(3, ASKS_SUMMARY),
        model(4, text("first summary"), summary=True, finish="stop"),
        user(5, {"type": "compaction", "tail_start_id": "m5"}),
        model(6, text("second summary"), summary=True, finish="stop"),
        user(7, text("c")),
        user(8, {"type": "compaction"}),
        model(9, text("half"), summary=True),
    )

    found = spoken(session)

    assert found[:2] == ["user: What did we do so far?", "assistant: second summary"]
    assert "first summary" not in str(found)
    assert found[2] == "user: c"
    assert "a compaction was not finished" in notes_of(session)


def test_opencode_sends_anothers_reasoning_as_text() -> None:
    signed = {"metadata": {"anthropic": {"signature": "s"}}}
    other = {"providerID": "openai", "modelID": "gpt"}
    thought = {"type": "reasoning", "text": "hm"}
    session = opencode(
        user(1, text("a")),
        model(2, {**thought, **signed}),
        model(3, thought, **other),
        model(4, thought),
        user(5, text("b")),
    )

    assert spoken(session)[1:3] == ["assistant: <thinking>", "assistant: hm"]
    assert "1 thought (it has no signature" in notes_of(session)


@pytest.mark.parametrize(
    ("error", "parts", "is_sent"),
    [
        ({"name": "APIError"}, [text("x")], False),
        ({"name": "MessageAbortedError"}, [text("x")], True),
        ({"name": "MessageAbortedError"}, [{"type": "step-start"}], False),
    ],
)
def test_opencode_sends_no_failed_answer(
    error: Any, parts: list[Any], is_sent: bool
) -> None:
    session = opencode(user(1, text("a")), model(2, *parts, error=error))

    assert (len(spoken(session)) == 2) == is_sent


def test_opencode_parts() -> None:
    """Ignored text, files, pictures in results, parts of no kind that we know."""
    data = "data:image/png;base64,AA=="
    picture = {"type": "file", "mime": "image/png", "url": data}
    session = opencode(
        user(
            1,
            text("a"),
            text("not this", ignored=True),
            picture,
            {"type": "file", "mime": "text/plain", "url": "file:///a"},
            {"type": "unheard"},
        ),
        model(2, run("c", **DONE, attachments=[picture]), {"type": "step-finish"}),
    )
    _, envelope = open_messages(session)

    assert [b["type"] for b in envelope.entries[0]["content"]] == ["text", "image"]
    assert [b["type"] for b in envelope.entries[2]["content"][0]["content"]] == [
        "text",
        "image",
    ]
    said = "\n".join(envelope.notes)
    assert "1 part of type unheard" in said
    assert "1 text (not sent)" in said
    assert "1 file (" in said


def test_opencode_parts_a_message_by_its_steps() -> None:
    step = {"type": "step-start"}
    session = opencode(model(1, step, run("c1", **DONE), step, text("x"), step))

    assert spoken(session) == ["assistant: f(c1)", "c1 = ok", "assistant: x"]


def test_opencode_without_messages_is_an_empty_session() -> None:
    assert spoken(opencode()) == []


def test_opencode_refuses_an_unknown_role() -> None:
    message = {"info": {"id": "m", "role": "robot"}, "parts": []}

    with pytest.raises(FormatError, match="unknown role 'robot'") as caught:
        open_messages(opencode(message))

    assert caught.value.path == "$.messages[0].info.role"


def test_opencode_leaves_out_what_is_empty() -> None:
    session = opencode(
        user(1, text("")),
        model(2, text(""), {"type": "reasoning", "text": ""}, {"type": "unheard"}),
        model(3, {"type": "reasoning", "text": ""}, modelID="other"),
    )

    assert spoken(session) == []
    assert "1 part of type unheard" in notes_of(session)


def test_opencode_is_known_by_the_first_message_that_has_its_keys() -> None:
    value = {"info": {}, "messages": [{}, user(1, text("a"))]}

    assert "messages[1]" in match_format(value, "opencode").reason


def test_opencode_takes_the_summary_that_names_its_request() -> None:
    """A failed attempt may stand between a request for a summary and its answer."""
    failed = model(3, summary=True, finish="stop", error={"name": "X"}, parentID="m2")
    summary = model(4, text("short"), summary=True, finish="stop", parentID="m2")
    session = opencode(
        user(1, text("old")),
        user(2, {"type": "compaction"}),
        failed,
        summary,
        user(5, text("next")),
    )

    assert spoken(session) == [
        "user: What did we do so far?",
        "assistant: short",
        "user: next",
    ]
    summary["info"]["parentID"] = "m0"
    assert spoken(session)[0] == "user: old"
    assert "was not finished" in notes_of(session)


def test_opencode_says_what_was_stored_empty() -> None:
    """anomalyco/opencode#2720: rows of no bytes, which a full disk leaves behind."""
    session = opencode(user(1, text("a"), {}), {"info": {"id": "m2"}, "parts": []})

    assert spoken(session) == ["user: a"]
    assert "1 part (it was stored empty)" in notes_of(session)
    assert "1 message (it was stored empty)" in notes_of(session)
