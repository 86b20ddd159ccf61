"""Tests for the format `librechat`: conversations that it exported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import match_format, open_messages


def said(message_id: str, parent: str | None, *parts: Any, **more: Any) -> Any:
    return {
        "messageId": message_id,
        "parentMessageId": parent,
        "isCreatedByUser": False,
        "content": list(parts),
        **more,
    }


def asks(message_id: str, parent: str | None, text: str, **more: Any) -> Any:
    return said(message_id, parent, isCreatedByUser=True, text=text, **more)


def call(call_id: str, **more: Any) -> dict[str, Any]:
    made = {"id": call_id, "name": "f", "args": "{}", **more}
    return {"type": "tool_call", "tool_call": made}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"conversationId": "c", "messages": list(messages), **more}


def test_calls_in_a_row_are_parallel() -> None:
    parts = [
        {"type": "text", "text": {"value": "Look."}},
        call("a", output="1"),
        call("b", output="2"),
        {"type": "text", "text": "Done."},
        call("c", progress=0.1),
    ]
    session = chat(said("m", None, *parts))

    assert spoken(session) == [
        "assistant: Look. f(a) f(b)",
        "a = 1",
        "b = 2",
        "assistant: Done. f(c)",
    ]
    assert "calls without a result: 1" in notes_of(session)


def test_takes_the_newest_branch_by_its_time() -> None:
    session = chat(
        asks("a", None, "a", createdAt="1"),
        asks("c", "a", "c", createdAt="3"),
        asks("b", "a", "b", createdAt="2"),
        options={"model": "m"},
    )

    assert spoken(session) == ["user: a", "user: c"]
    assert open_messages(session)[1].model == "m"


def test_pictures_errors_and_parts_without_a_place() -> None:
    url = {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}
    session = chat(
        asks("a", None, "", content=[url, {"type": "summary"}, {"type": "x"}]),
        said("b", "a", error=True, text="failed"),
        said("c", "b", text="plain", unfinished=True),
    )

    assert spoken(session) == ["user: <image>", "assistant: plain"]
    for word in ("1 summary (", "1 part of type x", "1 error (", "is unfinished"):
        assert word in notes_of(session)


def test_a_tree_of_any_depth_is_read() -> None:
    """Children of children: no recursion that a deep one would exhaust."""
    deep = asks("m5000", None, "end")
    for nth in range(5_000, 0, -1):
        deep = asks(f"m{nth - 1}", None, "x", children=[deep])
        deep["children"][0]["parentMessageId"] = f"m{nth - 1}"
    session = {"conversationId": "c", "messagesTree": [deep]}

    assert len(open_messages(session, "librechat")[1].entries) == 5_001


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "image_url", "image_url": {}}, ".image_url"),
        ({"type": "tool_call", "tool_call": []}, ".tool_call"),
    ],
)
def test_refuses_parts_of_a_wrong_type(part: Any, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        open_messages(chat(said("a", None, part)))

    assert caught.value.path == f"$.messages[0].content[0]{path}"


def test_messages_without_an_id_are_no_mark() -> None:
    value = {"conversationId": "c", "messages": [{"text": "a"}], "messagesTree": 7}

    assert match_format(value, "librechat").score == 0


def test_a_call_that_is_not_done_is_open() -> None:
    """Its output is empty until then; one that is there counts, whatever is said."""
    empty = call("a", output="", progress=0.1)
    started = call("b", output="half", progress=0.5)
    done = call("c", output="", progress=1)
    value = chat(asks("1", None, "go"), said("2", "1", empty, started, done))

    assert [line for line in spoken(value) if " = " in line] == ["b = half", "c = "]
    assert "calls without a result: 1" in notes_of(value)
