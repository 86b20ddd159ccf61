from __future__ import annotations

import json
from typing import Any


class ChatTalk:
    """Messages of OpenAI's chat format, as a log is read from its start.

    What the assistant says and calls in a row is one message, because its results must
    follow it at once.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.entries: list[dict[str, Any]] = []
        self._calls = 0
        self.waiting: list[str] = []
        """Ids of the calls without a result, oldest first."""

    def system(self, text: str) -> None:
        """System text in its place."""
        self.entries.append({"role": "system", "content": text})

    def user(self, parts: list[Any]) -> None:
        """What a person said; nothing where there are no parts."""
        if parts:
            self.entries.append({"role": "user", "content": plain(parts)})

    def says(self, parts: list[Any]) -> None:
        """What the assistant said."""
        last = self._open_turn()
        if parts and (last is None or last["content"] is not None):
            self.entries.append({"role": "assistant", "content": plain(parts)})
        elif parts and last is not None:
            last["content"] = plain(parts)

    def thinks(self, text: str) -> None:
        """What the assistant thought, where servers of this format put it."""
        last = self._open_turn() or {}
        if "reasoning_content" in last and last["content"] is None:
            last["reasoning_content"] += f"\n{text}"
            return
        entry = {"role": "assistant", "content": None, "reasoning_content": text}
        self.entries.append(entry)

    def call(self, call_id: Any, name: str, arguments: Any) -> str:
        """A call, in the assistant's last message where that is still open.

        Args:
            call_id:
                Its id; one is made where the log has none.
            name:
                The tool's.
            arguments:
                Text or a JSON value.

        Returns:
            The id that it got.
        """
        named = call_id if isinstance(call_id, str) and call_id else self._new_id()
        text = arguments if isinstance(arguments, str) else _compact(arguments)
        function = {"name": name, "arguments": text or "{}"}
        last = self._open_turn()
        if last is None:
            last = {"role": "assistant", "content": None}
            self.entries.append(last)
        calls = last.setdefault("tool_calls", [])
        calls.append({"id": named, "type": "function", "function": function})
        self.waiting.append(named)
        return named

    def _new_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def result(self, call_id: str, content: str) -> None:
        """The result of a call."""
        if call_id in self.waiting:
            self.waiting.remove(call_id)
        entry = {"role": "tool", "tool_call_id": call_id, "content": content}
        self.entries.append(entry)

    def _open_turn(self) -> dict[str, Any] | None:
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last["role"] == "assistant" else None


def text_part(text: str) -> dict[str, Any]:
    """A part that is a text."""
    return {"type": "text", "text": text}


def image_part(url: str) -> dict[str, Any]:
    """A part that is an image, by its address."""
    return {"type": "image_url", "image_url": {"url": url}}


def plain(parts: list[Any]) -> Any:
    """*parts*, or the text where one text is all there is."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]
    return parts


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
