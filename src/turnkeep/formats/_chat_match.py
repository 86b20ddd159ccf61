"""Whether an entry could be a chat message, and what speaks for it."""

from __future__ import annotations

from typing import Any

from ._chat_open import part_types

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_ELSEWHERE = {
    "tool_use",
    "tool_result",
    "redacted_thinking",
    "input_text",
    "output_text",
    "input_image",
    "input_file",
    "tool_call",
    None,
}
"""Part types that only other formats have."""
_HERE = {"image_url", "input_audio", "file", "refusal"}


def judge_chat(entry: dict[str, Any]) -> tuple[int, str]:
    """The score of *entry* as an OpenAI message, and the mark that decided.

    Keys of compatible servers speak neither for nor against it.
    """
    role = entry.get("role")
    if role not in _ROLES:
        return 0, f"role {role!r}"
    if "content" not in entry and not entry.keys() & {"tool_calls", "function_call"}:
        return 0, "neither content nor calls"
    if kinds := part_types(entry) & _ELSEWHERE:
        return 0, f"a part of type {min(kinds, key=str)!r}"
    calls = entry.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        return _judge_calls(calls)
    if role == "tool":
        return (2, "tool_call_id") if "tool_call_id" in entry else (1, "")
    if role in {"developer", "function"}:
        return 2, f"role {role!r}"
    if kinds := part_types(entry) & _HERE:
        return 2, f"a part of type {min(kinds, key=str)!r}"
    return 1, ""


def _judge_calls(calls: Any) -> tuple[int, str]:
    for call in calls:
        inner = call.get("function") if isinstance(call, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("arguments"), str):
            return 2, "a call with arguments as text"
        if isinstance(inner, dict) or (isinstance(call, dict) and "custom" in call):
            return 1, ""
    return 0, "calls without function"
