"""Whether an entry could be one of Claude's messages, and what speaks for it."""

from __future__ import annotations

from typing import Any, Final

from .._marks import COMMON, NEVER, Judgement
from ._messages import ROLES

_MARKS: Final = {
    "tool_use": 3,
    "tool_result": 3,
    "redacted_thinking": 3,
    "server_tool_use": 3,
    "mcp_tool_use": 3,
    "mcp_tool_result": 3,
    "compaction": 3,
    "tool_addition": 3,
    "tool_removal": 3,
    "thinking": 2,
    "document": 2,
    "search_result": 2,
    "container_upload": 2,
}
"""Block types that only this format has, and how much each says."""

_KEYS: Final = ("cache_control", "citations")
"""Keys that only its blocks have, whatever their type."""

_FOREIGN: Final = frozenset(
    {
        "image_url",
        "input_audio",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
        "tool_call",
        "file",
    }
)
"""Block types that other formats have and this one never has."""


def judge_message(entry: dict[str, Any]) -> Judgement:
    """How much one entry looks like this format, and the mark that says so."""
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(role, str) or role not in ROLES:
        return NEVER, f"no role of Anthropic: {role!r}"
    if entry.keys() & {"tool_calls", "tool_call_id", "function_call"}:
        return NEVER, "calls beside the content"
    if isinstance(content, str):
        return COMMON, ""
    if not isinstance(content, (list, tuple)):
        return NEVER, "content is neither text nor a list"
    best, mark = COMMON, ""
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            return NEVER, "a content block without type"
        if kind in _FOREIGN:
            return NEVER, f"a block of type {kind!r}"
        score = _MARKS.get(kind, 3 if kind.endswith("_tool_result") else COMMON)
        if kind == "thinking" and not isinstance(block.get("thinking", ""), str):
            return NEVER, "a thinking chunk"
        if kind == "image" and isinstance(block.get("source"), dict):
            score = 2
        words = f"a block of type {kind!r}"
        if score == COMMON:
            own = next((key for key in _KEYS if key in block), None)
            if own is not None:
                score, words = 2, own
        if score > best:
            best, mark = score, words
    return best, mark
