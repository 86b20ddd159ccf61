"""OpenAI's `prompt_cache_breakpoint`, from GPT-5.6 on: on parts of what is read.

Which parts have the key: the request types of the official SDK (openai 3.57.0). A text
in place of parts is made into one where a person or the host speaks. Results are marked
where they are parts already: nobody says that a text and a list of one part are the
same prompt there, and the newest message is a breakpoint by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from turnkeep.providers import takes_breakpoints

from ._spots import KeyMarks, has_text

_SPEAKERS: Final = ("user", "system", "developer")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")


class _Breakpoints(KeyMarks):
    """What both of OpenAI's APIs share."""

    key = "prompt_cache_breakpoint"
    default = "30m"
    text: ClassVar[str]
    """The type of a part that is text."""
    parts: ClassVar[frozenset[str]]
    """Types of parts that have the key."""

    def mark(self, ttl: str) -> dict[str, Any]:
        """The value of the key; the usual life is that of the request."""
        made = {"mode": "explicit"}
        return made if ttl == self.default else {**made, "ttl": ttl}

    @property
    def takes(self) -> bool:
        """From GPT-5.6 on; earlier models cache by themselves."""
        return takes_breakpoints(self.model)

    def run(self, block: Any) -> str:
        """There is no look-back over blocks."""
        del block
        return ""

    def _said(self, entry: Any) -> Any:
        """The content that may be marked."""
        raise NotImplementedError

    def blocks(self, entry: Any) -> Sequence[Any]:
        """See `Marks.blocks`."""
        said = self._said(entry) if isinstance(entry, dict) else None
        if isinstance(said, str):
            return [{"type": self.text, "text": said}]
        # What cannot be marked is one block all the same.
        return said if isinstance(said, (list, tuple)) and said else [None]

    def carries(self, entry: Any, block: Any) -> bool:
        """Never empty text."""
        del entry
        kind = block.get("type")
        return kind in self.parts and (kind != self.text or has_text(block))

    def frame(self, body: Mapping[str, Any], ttl: str, *, tools: bool) -> Any:
        """Neither `instructions` nor tools have the key."""
        del body, ttl, tools


class ChatMarks(_Breakpoints):
    """Chat completions."""

    text = "text"
    parts = frozenset({"text", "image_url", "input_audio", "file"})

    def _said(self, entry: Any) -> Any:
        role, content = entry.get("role"), entry.get("content")
        if role in _SPEAKERS or (role == "tool" and not isinstance(content, str)):
            return content
        return None

    def marked(self, entry: Any, block: int, ttl: str) -> Any:
        """See `Marks.marked`."""
        content = self.with_key(entry["content"], block, ttl, self.text)
        return {**entry, "content": content}


class ResponsesMarks(_Breakpoints):
    """Responses: `input` items."""

    text = "input_text"
    parts = frozenset({"input_text", "input_image", "input_file"})

    def _said(self, entry: Any) -> Any:
        if entry.get("type") in _RESULTS:
            output = entry.get("output")
            return None if isinstance(output, str) else output
        return entry.get("content") if entry.get("role") in _SPEAKERS else None

    def marked(self, entry: Any, block: int, ttl: str) -> Any:
        """See `Marks.marked`."""
        key = "output" if entry.get("type") in _RESULTS else "content"
        return {**entry, key: self.with_key(entry[key], block, ttl, self.text)}
