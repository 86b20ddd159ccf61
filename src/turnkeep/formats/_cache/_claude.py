"""Anthropic's `cache_control`: on tools, system blocks, and blocks of messages.

Which blocks have the key: the request types of the official SDK (anthropic 2.14.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ._spots import KeyMarks, has_text

_CARRY: Final = frozenset(
    {
        "image",
        "document",
        "search_result",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "container_upload",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    }
)


class ClaudeMarks(KeyMarks):
    """See `Marks`."""

    key = "cache_control"
    default = "5m"

    def mark(self, ttl: str) -> dict[str, Any]:
        """The value of the key; the usual life is not said."""
        made = {"type": "ephemeral"}
        return made if ttl == self.default else {**made, "ttl": ttl}

    @property
    def takes(self) -> bool:
        """All of them."""
        return True

    def blocks(self, entry: Any) -> Sequence[Any]:
        """See `Marks.blocks`."""
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return content if isinstance(content, (list, tuple)) else ()

    def carries(self, entry: Any, block: Any) -> bool:
        """Never thinking, never empty text."""
        del entry
        kind = block.get("type")
        return has_text(block) if kind == "text" else kind in _CARRY

    def run(self, block: Any) -> str:
        """A run of calls and a run of results count as one position each."""
        kind = block.get("type")
        return kind if kind in ("tool_use", "tool_result") else ""

    def marked(self, entry: Any, block: int, ttl: str) -> Any:
        """See `Marks.marked`."""
        content = self.with_key(entry["content"], block, ttl, "text")
        return {**entry, "content": content}

    def frame(self, body: Mapping[str, Any], ttl: str, *, tools: bool) -> Any:
        """See `Marks.frame`; a deferred tool is never marked (AN-33)."""
        if not tools:
            system = body.get("system")
            blocks = self.blocks({"content": system})
            nth = _last(blocks, _is_text)
            if nth is None:
                return None
            return {**body, "system": self.with_key(system, nth, ttl, "text")}
        listed = body.get("tools")
        nth = _last(listed if isinstance(listed, list) else (), _is_sent)
        if nth is None:
            return None
        return {**body, "tools": self.with_key(listed, nth, ttl, "")}


def _last(blocks: Sequence[Any], fits: Any) -> int | None:
    for nth in range(len(blocks) - 1, -1, -1):
        if isinstance(blocks[nth], dict) and fits(blocks[nth]):
            return nth
    return None


def _is_text(block: Any) -> bool:
    return block.get("type") == "text" and has_text(block)


def _is_sent(tool: Any) -> bool:
    return not tool.get("defer_loading")
