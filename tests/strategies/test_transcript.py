"""Tests for `turnkeep.strategies.transcript`."""

from __future__ import annotations

from turnkeep import Document, Image, Json, Message, Opaque, Thinking, ToolCall
from turnkeep.model import SUMMARY, Role, ToolResult, mark
from turnkeep.strategies import transcript


def test_everything_that_was_said_is_written_out() -> None:
    """Who, with its id; calls with their arguments, results with their tool."""
    told = transcript(
        [
            Message.user(mark(SUMMARY, "They met."), kind="summary"),
            Message.user("Look.", id="m1"),
            Message.assistant("Hm.", tool_calls=[ToolCall("c", "see", '{"a": 1}')]),
            Message(
                Role.TOOL_RESULT,
                [ToolResult("c", [Json({"b": 2}), Image(url="u")], is_error=True)],
            ),
        ]
    )

    assert told == (
        "[summary of what came before]\nThey met.\n\n"
        "[user, m1]\nLook.\n\n"
        '[assistant]\nHm.\nsee({"a": 1})\n\n'
        '[tool]\nsee (failed): {"b": 2}\n[a picture]'
    )


def test_what_is_no_text_is_a_line() -> None:
    """Pictures, files and what nobody knows; reasoning is left out."""
    blocks = [
        Thinking("hidden"),
        Image(url="u"),
        Document(title="a.pdf", url="u"),
        Document(url="u"),
        Document(text="said", media_type="text/plain"),
        Opaque({"type": "web_thing"}),
        Opaque({}),
    ]

    told = transcript([Message(Role.ASSISTANT, blocks)])

    assert told.splitlines()[1:] == [
        "[a picture]",
        "[a file: a.pdf]",
        "[a file]",
        "said",
        "[web_thing]",
        "[something]",
    ]
