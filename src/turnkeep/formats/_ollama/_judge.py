"""Whether an entry could be one of Ollama's messages, and what speaks for it."""

from __future__ import annotations

from typing import Any, Final

from .._marks import COMMON, NEVER, Judgement

_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
_ELSEWHERE: Final = frozenset({"function_call", "refusal", "audio", "parts"})
"""Keys that no message of Ollama's has."""


def judge_ollama(entry: dict[str, Any]) -> Judgement:
    """The score of *entry*, and the mark that decided; its content may be null."""
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"role {role!r}"
    content = entry.get("content")
    if content is not None and not isinstance(content, str):
        return NEVER, "content that is no text"
    if keys := entry.keys() & _ELSEWHERE:
        return NEVER, f"the key {min(keys)!r}"
    calls = entry.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        for call in calls:
            inner = call.get("function") if isinstance(call, dict) else None
            arguments = inner.get("arguments") if isinstance(inner, dict) else None
            if not isinstance(arguments, dict):
                return NEVER, "arguments that are no object"
        return (2 if "id" in calls[0] else 3), "a call with an object of arguments"
    for key, kind in (("images", list), ("tool_name", str), ("thinking", str)):
        if isinstance(entry.get(key), kind):
            return 3, key
    if "tool_call_id" in entry or "content" in entry:
        return COMMON, ""
    return NEVER, "no content"
