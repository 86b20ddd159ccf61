"""Entries that a hole made neighbours and that their provider wants as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

Joiner = Callable[[Any, Any], Any]
"""From two neighbouring entries to the one that says both; none where they may stay."""


def joiner_of(name: str) -> Joiner | None:
    """How format *name* joins entries; none where neighbours are always accepted."""
    return _JOINERS.get(name)


def join_all(entries: Iterable[Any], join: Joiner) -> list[Any]:
    """*entries* with every pair joined that has to be. Linear."""
    made: list[Any] = []
    for entry in entries:
        both = join(made[-1], entry) if made else None
        if both is None:
            made.append(entry)
        else:
            made[-1] = both
    return made


def rejoin(entries: list[Any], key: str) -> list[Any]:
    """The parts of one entry as one again, results first; *key* holds the content.

    Costs the blocks. What is no list of parts of one role stays as it is.
    """
    if len(entries) < 2 or len({entry.get("role") for entry in entries}) > 1:
        return entries
    blocks: list[Any] = []
    whole: dict[str, Any] = {}
    for entry in entries:
        said = entry.get(key)
        if isinstance(said, str):
            said = [{"type": "text", "text": said}]
        if not isinstance(said, list):
            return entries
        blocks += said
        whole = {**entry, **whole}
    blocks.sort(key=lambda block: not _RESULTS.intersection(_kinds(block)))
    return [{**whole, key: blocks}]


def _kinds(block: Any) -> set[Any]:
    return {*block, block.get("type")}


_RESULTS: Final = frozenset(
    {"tool_result", "toolResult", "functionResponse", "function_response"}
)
_CONTENT: Final = {"anthropic": "content", "bedrock": "content", "gemini": "parts"}


def content_key_of(name: str) -> str | None:
    """The key of the blocks of an entry that can hold results and words together."""
    return _CONTENT.get(name)


def _join_bedrock(before: Any, entry: Any) -> Any:
    """Roles alternate (BR-03), and results stand in one message (BR-06)."""
    if before.get("role") != entry.get("role"):
        return None
    content = [*before["content"], *entry["content"]]
    content.sort(key=lambda block: "toolResult" not in block)
    return {**before, **entry, "content": content}


def _join_gemini(before: Any, entry: Any) -> Any:
    """Responses stand in one content (GE-06), calls behind nothing of the model's."""
    is_model = entry.get("role") == "model"
    if (before.get("role") == "model") != is_model:
        return None
    if is_model:
        joins = _holds(entry, _CALLS)
    else:
        joins = _holds(before, _RESPONSES) and _holds(entry, _RESPONSES)
    if not joins:
        return None
    parts = [*(before.get("parts") or ()), *(entry.get("parts") or ())]
    return {**before, **entry, "parts": parts}


def _holds(entry: Any, keys: frozenset[str]) -> bool:
    return any(keys & part.keys() for part in entry.get("parts") or ())


_CALLS: Final = frozenset({"functionCall", "function_call"})
_RESPONSES: Final = frozenset({"functionResponse", "function_response"})

_JOINERS: Final[dict[str, Joiner]] = {
    "bedrock": _join_bedrock,
    "gemini": _join_gemini,
}
