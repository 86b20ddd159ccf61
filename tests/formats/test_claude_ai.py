"""Tests for the format `claude-ai`: conversations of its data export."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import open_messages


def said(sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    return {"sender": sender, "content": list(blocks), **more}


def text(what: str) -> dict[str, Any]:
    return {"type": "text", "text": what}


def call(call_id: str | None, name: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str | None, output: str = "ok", **more: Any) -> dict[str, Any]:
    content = [text(output)]
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": "c", "chat_messages": list(messages)}


def test_calls_and_results_of_one_message_are_given_apart() -> None:
    blocks = [call("a"), result("a"), call("b"), result("b", is_error=True), text("x")]

    assert spoken(chat(said("assistant", *blocks))) == [
        "assistant: f(a)",
        "a = ok",
        "assistant: f(b)",
        "b ! ok",
        "assistant: x",
    ]


def test_results_without_an_id_answer_in_order() -> None:
    blocks = [call(None, "f"), call(None, "g"), result(None, "1"), result(None, "2")]

    assert spoken(chat(said("assistant", *blocks))) == [
        "assistant: f(call_1) g(call_2)",
        "call_1 = 1",
        "call_2 = 2",
    ]


def test_halves_of_pairs_are_said() -> None:
    blocks = [result("nobody"), call("a"), {"type": "token_budget"}]
    session = chat(said("assistant", *blocks))

    assert spoken(session) == ["assistant: f(a)"]
    assert "1 result (of a call that is not there)" in notes_of(session)
    assert "calls without a result: 1" in notes_of(session)
    assert "1 block of type token_budget" in notes_of(session)


def test_reads_the_copy_where_there_are_no_blocks() -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
    }
    session = chat(
        {"sender": "human", "text": "hi", "content": []},
        said("human", picture, text("")),
    )

    assert spoken(session) == ["user: hi", "user: <image>"]


def test_takes_the_newest_branch() -> None:
    root = "00000000-0000-4000-8000-000000000000"

    def linked(uuid: str, parent: str, when: str) -> dict[str, Any]:
        return said(
            "human", text(uuid), uuid=uuid, parent_message_uuid=parent, created_at=when
        )

    session = chat(linked("a", root, "1"), linked("c", "a", "3"), linked("b", "a", "2"))

    assert spoken(session) == ["user: a", "user: c"]
    assert "does not mark the branch" in notes_of(session)


def test_an_export_without_links_is_read_in_its_order() -> None:
    assert spoken(chat(said("human", text("a")), said("human", text("b")))) == [
        "user: a",
        "user: b",
    ]


def test_refuses_an_unknown_sender() -> None:
    with pytest.raises(FormatError, match="unknown sender 'robot'") as caught:
        open_messages(chat(said("robot")))

    assert caught.value.path == "$.chat_messages[0].sender"


def test_reads_the_copy_where_the_blocks_are_empty() -> None:
    assert spoken(chat(said("human", text(""), text=" hi"))) == ["user:  hi"]
    assert spoken(chat(said("human", text("yo"), text="yo"))) == ["user: yo"]
