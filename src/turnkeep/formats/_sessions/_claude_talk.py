from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ClaudeTalk:
    """Messages of Anthropic's format, as a log is read from its start.

    A log that keeps calls and results in one place is told apart here: results follow
    the assistant message of their calls, in a user message of their own.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.entries: list[dict[str, Any]] = []
        self._results: list[Any] = []
        self._is_over = True
        """Whether the assistant's last message has ended."""

    def user(self, blocks: Sequence[Any]) -> None:
        """What a person said, behind the results that are due."""
        self.flush()
        if blocks:
            self.entries.append({"role": "user", "content": list(blocks)})

    def says(self, block: dict[str, Any]) -> None:
        """A block of the assistant; behind results it begins a new message."""
        if self._results:
            self.flush()
        if self._is_over:
            self.entries.append({"role": "assistant", "content": []})
            self._is_over = False
        self.entries[-1]["content"].append(block)

    def calls(self, call_id: str, name: str, arguments: Any) -> None:
        """A call; calls in a row are parallel, wherever their results stand."""
        block = call_block(call_id, name, arguments)
        if self._is_over:
            self.says(block)
        else:
            self.entries[-1]["content"].append(block)

    def result(self, call_id: str, content: Any, *, is_error: bool = False) -> None:
        """The result of a call; it stands behind the message that made it."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        if is_error:
            block["is_error"] = True
        self._results.append(block)

    def flush(self) -> None:
        """End the assistant's message: give the results that are due."""
        if self._results:
            self.entries.append({"role": "user", "content": self._results})
            self._results = []
        self._is_over = True


def text_block(text: str) -> dict[str, Any]:
    """A block that is a text."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A block that is a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def image_block(data: str, media_type: str) -> dict[str, Any]:
    """A block that is an image or, by its media type, a document."""
    kind = "image" if media_type.startswith("image/") else "document"
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": kind, "source": source}
