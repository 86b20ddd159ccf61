"""Tests that the short ways of common entries say what the long ones say."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from turnkeep.errors import FormatError
from turnkeep.formats import get_format
from turnkeep.model import Message, Role

NAMES = [
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "deepseek",
    "ollama",
    "orion",
    "molo",
    "multi-llm",
    "langchain",
    "pydantic-ai",
    "lellm",
    "mermaid",
    "turnkeep",
]
TEXTS = [
    "Hello.",
    "",
    "[turnkeep:summary d9d668aa]\nShort.",
    "[turnkeep:pending 85730e05]\nLater.",
    "tool error: none",
    "Summary of prior context:\nIt was long.",
]


class Unusual(dict[str, Any]):
    """An object that no short way takes: those want plain ones."""


def entries(name: str) -> list[Any]:
    """Entries of format *name* with one text each, as `json` reads them."""
    said = [
        Message(role, text)
        for role in (Role.SYSTEM, Role.USER, Role.ASSISTANT)
        for text in TEXTS
    ]
    made: list[Any] = json.loads(json.dumps(get_format(name).encode(said)))
    return made


@pytest.mark.parametrize("name", NAMES)
def test_both_ways_read_the_same(name: str) -> None:
    """Message, kind, layout: all fields."""
    fmt = get_format(name)
    for entry in entries(name):
        short = fmt.decode(copy.deepcopy(entry))
        long = fmt.decode(Unusual(copy.deepcopy(entry)))

        assert short == long
        assert [(m.layout, m.kind) for m in short] == [(m.layout, m.kind) for m in long]
        assert fmt.encode(short) == fmt.encode(long) == [entry]


@pytest.mark.parametrize("name", ["gemini", "bedrock"])
@pytest.mark.parametrize("wrong", [{"text": 7}, {"text": None}, 7])
def test_what_is_no_text_takes_the_long_way(name: str, wrong: Any) -> None:
    """It says what the long way says: an error, or a part that is carried along."""
    key = "parts" if name == "gemini" else "content"
    fmt = get_format(name)

    def outcome(kind: type[dict[str, Any]]) -> Any:
        try:
            return fmt.decode(kind({"role": "user", key: [{"text": "a"}, wrong]}))
        except FormatError as error:
            return str(error)

    assert outcome(dict) == outcome(Unusual)


@pytest.mark.parametrize("role", [Role.TOOL_CALL, Role.TOOL_RESULT])
@pytest.mark.parametrize("name", NAMES)
def test_text_of_a_tools_role_can_be_written(name: str, role: Role) -> None:
    """Made by hand, without a call or a result in it: the text survives."""
    fmt = get_format(name)

    written = fmt.encode([Message(role, "odd")])

    assert all(fmt.decode(entry) for entry in written)
    assert "odd" in json.dumps(written) or role is Role.TOOL_RESULT


def test_a_result_that_could_not_be_written_back_keeps_its_first_line() -> None:
    """Two signs of one failure: taking one off would lose it."""
    fmt = get_format("openai-responses")
    said = "[turnkeep:error]\ntool error: gone"
    item = {"type": "function_call_output", "call_id": "c1", "output": said}

    decoded = fmt.decode(item)

    assert decoded[0].tool_results[0].text == said
    assert fmt.encode(decoded) == [item]
