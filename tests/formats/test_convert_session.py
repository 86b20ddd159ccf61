"""A Claude Code session goes to `openai` and back to `anthropic`, and stays itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.generators import decoded
from tests.paths import needs_corpus, read_corpus
from turnkeep.formats import Format, get_format
from turnkeep.model import DISPLAY_KINDS, Message, Text, ToolCall, ToolResult

SESSIONS = get_format("claude-code")
ANTHROPIC = get_format("anthropic")
OTHERS = ["openai", "openai-responses", "gemini", "bedrock", "anthropic", "mistral"]


def told(messages: Sequence[Message]) -> list[tuple[str, Any]]:
    """What is said, called and answered, in order; no matter in how many messages."""
    return list(_told(messages))


def _told(messages: Sequence[Message]) -> Iterator[tuple[str, Any]]:
    for message in messages:
        for block in message.content:
            match block:
                case ToolCall():
                    yield "call", (block.id, block.name, block.arguments)
                case ToolResult():
                    yield "result", (block.tool_call_id, block.text, block.is_error)
                case Text():
                    yield str(message.role), block.text
                case _:
                    pass


def through(fmt: Format, messages: Sequence[Message]) -> list[Message]:
    """*messages* as they come back from a request in format *fmt*."""
    body = fmt.encode_request(messages)
    envelope = fmt.open(body)
    system = fmt.decode_system(envelope.system) if envelope.system else ()
    return [*system, *decoded(fmt.decode, list(envelope.entries))]


def sessions() -> Iterator[list[Message]]:
    """Every recorded session, as messages of its main line."""
    for record in read_corpus("claude-code"):
        entries = SESSIONS.open(record["body"]).entries
        yield decoded(SESSIONS.decode, list(entries))


@needs_corpus
@pytest.mark.parametrize("name", OTHERS)
def test_texts_calls_results_and_pairing_survive(name: str) -> None:
    """There, and back to `anthropic`, whose blocks a session is made of."""
    count = 0
    for session in sessions():
        expected = told(session)

        there = through(get_format(name), session)
        back = through(ANTHROPIC, there)

        assert told(there) == expected
        assert told(back) == expected
        assert all(m.kind not in DISPLAY_KINDS for m in back)
        count += len(expected)
    assert count > 30


@needs_corpus
def test_a_session_needs_no_detour_to_anthropic() -> None:
    """Its blocks are Anthropic's own: reasoning and unknown keys come along."""
    for session in sessions():
        there = through(ANTHROPIC, session)

        assert [m.content for m in there] == [m.content for m in session]
        assert all(not m.extra for m in there)
