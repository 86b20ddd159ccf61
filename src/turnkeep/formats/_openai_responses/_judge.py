"""Whether an item could be one of Responses', and what speaks for it."""

from __future__ import annotations

from typing import Any, Final

from .._marks import CARRIED, COMMON, NEVER, Judgement, part_types
from ._items import KNOWN

_ROLES: Final = frozenset({"system", "developer", "user", "assistant"})
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ELSEWHERE: Final = frozenset({"tool_calls", "tool_call_id", "function_call", "parts"})
"""Keys that no item has."""


def judge_item(item: dict[str, Any]) -> Judgement:
    """The score of *item*, and the mark that decided; new types are carried."""
    kind, role = item.get("type"), item.get("role")
    if isinstance(kind, str) and kind in KNOWN - {"message"}:
        return 3, f"an item of type {kind!r}"
    if item.keys() == {"id"}:
        return CARRIED, ""  # a reference that leaves its type out
    if keys := item.keys() & _ELSEWHERE:
        return NEVER, f"the key {min(keys)!r}"
    if role is None and isinstance(kind, str) and kind != "message":
        return CARRIED, ""
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"type {kind!r}, role {role!r}"
    if not isinstance(item.get("content"), (str, list, tuple)):
        return NEVER, "no content of its kind"
    kinds = part_types(item)
    if own := kinds & _PARTS:
        return 3, f"a part of type {min(own, key=str)!r}"
    if kinds - {"refusal"}:
        return NEVER, "parts of another format"
    if kind == "message":
        return 2, "an item of type 'message'"
    return (COMMON, "") if kind is None else (CARRIED, "")
