"""What a provider answered, as the end of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._format import Session
from ._notes import Notes


@attrs.frozen
class _Kind:
    """The shape of one API's answers."""

    mark: str
    """What shows it, in words."""
    wire: str
    find: Callable[[Mapping[str, Any]], list[Any] | None]
    """Its messages, one list entry a choice where there are choices; none where the
    value is no such answer."""
    is_choice: bool = False
    """Whether the entries stand for each other, so that the first one counts."""


def _choices(value: Mapping[str, Any]) -> list[Any] | None:
    if value.get("object", "chat.completion") != "chat.completion":
        return None
    return _each(value.get("choices"), "message")


def _candidates(value: Mapping[str, Any]) -> list[Any] | None:
    found = _each(value.get("candidates"), "content")
    return found and [{"role": "model", **content} for content in found]


def _each(found: Any, key: str) -> list[Any] | None:
    """What each element has under *key*; none where one is no such element."""
    if not isinstance(found, (list, tuple)) or not found:
        return None
    if not all(
        isinstance(one, dict) and isinstance(one.get(key), dict) for one in found
    ):
        return None
    return [one[key] for one in found]


def _output_items(value: Mapping[str, Any]) -> list[Any] | None:
    output = value.get("output")
    if value.get("object") == "response" and isinstance(output, (list, tuple)):
        return list(output)
    return None


def _claude_message(value: Mapping[str, Any]) -> list[Any] | None:
    if value.get("type") != "message" or value.get("role") != "assistant":
        return None
    content = value.get("content")
    if "stop_reason" not in value or not isinstance(content, (list, tuple)):
        return None
    return [{"role": "assistant", "content": content}]


def _output_message(value: Mapping[str, Any]) -> list[Any] | None:
    output = value.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if "stopReason" in value and isinstance(message, dict):
        return [message]
    return None


def _done_message(value: Mapping[str, Any]) -> list[Any] | None:
    message = value.get("message")
    if isinstance(value.get("done"), bool) and isinstance(message, dict):
        return [message]
    return None


_KINDS: Final = (
    _Kind("'choices' with messages", "openai", _choices, is_choice=True),
    _Kind("a 'response' object with its output", "openai-responses", _output_items),
    _Kind("a message with a stop_reason", "anthropic", _claude_message),
    _Kind("'candidates' with contents", "gemini", _candidates, is_choice=True),
    _Kind("an output with a stopReason", "bedrock", _output_message),
    _Kind("a message with 'done'", "ollama", _done_message),
)


def answer_mark(value: Any) -> str | None:
    """What shows that *value* is a provider's whole answer, in words."""
    if not isinstance(value, dict):
        return None
    return next((kind.mark for kind in _KINDS if kind.find(value)), None)


def read_answer(value: Any, path: str, notes: Notes) -> Session:
    """The messages of an answer, in the format of its provider.

    Of several choices the first one counts.

    Raises:
        FormatError: It is no answer that we know.
    """
    for kind in _KINDS if isinstance(value, dict) else ():
        found = kind.find(value)
        if not found:
            continue
        if kind.is_choice:
            notes.left_out("choice | the first one counts", len(found) - 1)
            found = found[:1]
        model = value.get("model", value.get("modelVersion"))
        return Session(
            found, model=model if isinstance(model, str) else None, wire=kind.wire
        )
    reason = "expected the answer of a provider (choices, output, candidates, ...)"
    raise FormatError(reason, path)
