from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._shape import as_object
from ._base import Found, added, inner, parts_of, stated, text_or_none

_COUNTS: Final = ("prompt_eval_count", "eval_count")
_TEXTS: Final = ("content", "thinking")
_LISTS: Final = ("tool_calls", "images")


class OllamaAnswers:
    """Answers of Ollama's chat API."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It has a message, beside counts and times."""
        return isinstance(response.get("message"), Mapping) and "type" not in response

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """A chunk is an answer of a few words."""
        return self.is_answer(chunk)

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The message in all of them, beside the counts of the last."""
        joined: dict[str, Any] = {}
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        for nth, chunk in enumerate(chunks):
            joined |= stated(chunk)
            path = f"$[{nth}].message"
            said = stated(inner(chunk, "message", f"$[{nth}]"))
            for key, value in said.items():
                if key in _TEXTS:
                    message[key] = added(message.get(key), value)
                elif key in _LISTS:
                    message[key] = [*message.get(key, ()), *parts_of(said, key, path)]
                else:
                    message[key] = value
        return {**joined, "message": message}

    def take(self, response: Mapping[str, Any]) -> Found:
        """The message. Calls come whole, whatever the limit."""
        told = any(response.get(key) is not None for key in _COUNTS)
        usage = dict(response) if told else None
        message = as_object(response["message"], "a message", "$.message")
        entry = stated(message)
        if not entry.get("thinking"):
            # Chunks say of most texts that there is no thinking.
            entry.pop("thinking", None)
        if isinstance(calls := entry.get("tool_calls"), (list, tuple)) and not calls:
            del entry["tool_calls"]
        entry.setdefault("content", "")
        model = text_or_none(response.get("model"))
        return Found((("$.message", entry),), usage, model)
