"""Whether an entry could be a chat message of a dialect, and what speaks for it."""

from __future__ import annotations

from typing import Any

from .._marks import NEVER, Judgement, part_types

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
"""Part types that no chat message has."""
_OPENAI = {"image_url", "input_audio", "file", "refusal"}
_MISTRAL = {"document_url", "reference"}
_CUSTOM = "a custom call"
_NOT_MISTRAL = {"function_call", "reasoning", "reasoning_content", "refusal", "audio"}


def judge_chat(entry: dict[str, Any]) -> Judgement:
    """The score of *entry* as an OpenAI message, and the mark that decided.

    Keys of compatible servers speak neither for nor against it.
    """
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"role {role!r}"
    if not _speaks(entry) or entry.keys() & {"parts", "images", "tool_name"}:
        return NEVER, "keys of another format"
    if kinds := part_types(entry) & _ELSEWHERE:
        return NEVER, f"a part of type {min(kinds, key=str)!r}"
    calls = entry.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        return _judge_calls(calls)
    if role == "tool":
        return (2, "tool_call_id") if "tool_call_id" in entry else (1, "")
    if role in ("developer", "function"):
        return 2, f"role {role!r}"
    if kinds := part_types(entry) & _OPENAI:
        return 2, f"a part of type {min(kinds, key=str)!r}"
    for key in ("reasoning", "reasoning_content"):
        if isinstance(entry.get(key), str):
            return 2, key
    # Many servers with OpenAI's messages take Anthropic's cache marks in them.
    return (2, "cache_control") if _is_cached(entry) else (1, "")


def _is_cached(entry: dict[str, Any]) -> bool:
    content = entry.get("content")
    return isinstance(content, (list, tuple)) and any(
        "cache_control" in part for part in content if isinstance(part, dict)
    )


def _speaks(entry: dict[str, Any]) -> bool:
    content = entry.get("content")
    if content is not None:
        return isinstance(content, (str, list, tuple))
    return "content" in entry or bool(entry.keys() & {"tool_calls", "function_call"})


def _judge_calls(calls: Any) -> Judgement:
    best = (0, "calls without function")
    for call in calls:
        if not isinstance(call, dict):
            continue
        inner = call.get("function")
        if isinstance(inner, dict):
            if isinstance(inner.get("arguments"), str):
                return 2, "a call with arguments as text"
            best = (1, "")
        elif "custom" in call:
            return 2, _CUSTOM
    return best


def judge_deepseek(entry: dict[str, Any]) -> Judgement:
    """The score of *entry* as a DeepSeek message, and the mark that decided."""
    role = entry.get("role")
    if role == "latest_reminder":
        return 3, "role 'latest_reminder'"
    if role in ("developer", "function"):
        return NEVER, f"role {role!r}"
    score, words = judge_chat(entry)
    if entry.get("function_call") is not None or words == _CUSTOM:
        return NEVER, "a call that only OpenAI has"
    if score and isinstance(entry.get("reasoning_content"), str):
        return 3, "reasoning_content"
    return score, words


def judge_mistral(entry: dict[str, Any]) -> Judgement:
    """The score of *entry* as a Mistral message, and the mark that decided."""
    if entry.get("role") in ("developer", "function"):
        return NEVER, f"role {entry['role']!r}"
    score, words = judge_chat(entry)
    if not score or entry.keys() & _NOT_MISTRAL:
        return NEVER, words or "keys of another format"
    for part in entry["content"] if isinstance(entry.get("content"), list) else ():
        if not isinstance(part, dict):
            return NEVER, "a part that is no object"
        kind = part.get("type")
        if isinstance(part.get(kind), dict) and kind in {"file", "input_audio"}:
            return NEVER, f"OpenAI's way to write {kind}"
        if kind in _MISTRAL:
            return 3, f"a part of type {kind!r}"
        if kind == "thinking" and isinstance(part.get("thinking"), list):
            return 3, "a thinking chunk"
        if kind == "image_url" and isinstance(part.get("image_url"), str):
            return 3, "an image_url that is text"
    calls = entry.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        return _judge_mistral_calls(calls, score, words)
    return score, words


def _judge_mistral_calls(calls: Any, score: int, words: str) -> Judgement:
    for call in calls:
        inner = call.get("function") if isinstance(call, dict) else None
        if not isinstance(inner, dict):
            return NEVER, _CUSTOM
        if isinstance(inner.get("arguments"), dict) and call.get("id"):
            return 2, "a call with an id and an object of arguments"
    return score, words
