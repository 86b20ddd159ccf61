"""Merging the deltas of a chat message into the message.

Servers agree on little: calls come in pieces under an index, whole, all under index 0,
or without any; ids and names come once or with every piece; content is text, a list of
parts, or first the one and then the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ._base import added

_ONCE: Final = frozenset({"id", "role", "type", "format", "index"})
"""Keys whose text is never in pieces."""

_NO_IDS: Final = (None, "", "null")
"""What stands for an id in the pieces of a call that has begun, Mistral's included."""

_SEALS: Final = frozenset({"signature", "data"})
"""What ends a piece of reasoning: another one follows."""


class Merged:
    """A message, as far as it has come."""

    def __init__(self) -> None:
        """Nothing has come."""
        self.value: dict[str, Any] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Merge the next delta."""
        for key, said in delta.items():
            if said is None:
                self.value.setdefault(key, None)
            elif key == "tool_calls" and isinstance(said, (list, tuple)):
                self._add_calls(said)
            elif key == "content":
                self.value[key] = _content(self.value.get(key), said)
            else:
                self.value[key] = _merged(key, self.value.get(key), said)

    def _add_calls(self, pieces: Sequence[Any]) -> None:
        before = self.value.get("tool_calls")
        calls: list[Any] = before if isinstance(before, list) else []
        self.value["tool_calls"] = calls
        for piece in pieces:
            if not isinstance(piece, Mapping):
                calls.append(piece)
                continue
            begun = (c for c in reversed(calls) if isinstance(c, dict))
            call = next((c for c in begun if _goes_on(c, piece)), None)
            if call is None:
                calls.append(_merged("", None, piece))
            else:
                call |= _merged("", call, piece)


def _goes_on(call: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether *piece* is more of *call*."""
    identity = piece.get("id")
    is_named = identity not in _NO_IDS
    if is_named and call.get("id") not in _NO_IDS and identity != call["id"]:
        return False
    index = piece.get("index")
    if index is not None and call.get("index") is not None:
        return bool(index == call["index"])
    # Without an index, what begins says its name.
    inner = piece.get("function") or piece.get("custom")
    return is_named or not (isinstance(inner, Mapping) and inner.get("name"))


def _merged(key: str, before: Any, said: Any) -> Any:
    """What *before* and *said* under *key* are together."""
    if isinstance(said, Mapping):
        made = dict(before) if isinstance(before, Mapping) else {}
        for inner, value in said.items():
            if value is not None:
                made[inner] = _merged(inner, made.get(inner), value)
        return made
    if isinstance(said, (list, tuple)):
        parts = list(before) if isinstance(before, (list, tuple)) else []
        for part in said:
            _add_part(parts, part)
        return parts
    if not isinstance(said, str) or not isinstance(before, str):
        return said
    if key in _ONCE:
        return before or said
    # Names come whole, by some servers with every piece.
    return before if key == "name" and said == before else before + said


def _add_part(parts: list[Any], part: Any) -> None:
    """Add a part, or more of one, to a list of parts."""
    last = parts[-1] if parts else None
    if not isinstance(part, Mapping):
        parts.append(part)
        return
    if (index := part.get("index")) is not None:
        found = (
            nth
            for nth, one in enumerate(parts)
            if isinstance(one, Mapping) and one.get("index") == index
        )
        if (nth := next(found, None)) is not None:
            parts[nth] = _merged("", parts[nth], part)
            return
    elif isinstance(last, Mapping) and _is_more(last, part):
        parts[-1] = _merged("", last, part)
        return
    parts.append(_merged("", None, part))


def _is_more(last: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether a part without an index is more of the *last* one: text, or reasoning."""
    kind = part.get("type")
    if kind != last.get("type") or not isinstance(kind, str):
        return False
    if any(last.get(key) for key in _SEALS):
        return False
    return "text" in part or "thinking" in part


def _content(before: Any, said: Any) -> Any:
    if isinstance(said, str) and not isinstance(before, (list, tuple)):
        return added(before, said)
    parts = list(before) if isinstance(before, (list, tuple)) else []
    if isinstance(before, str) and before:
        parts.append({"type": "text", "text": before})
    more = said if isinstance(said, (list, tuple)) else [{"type": "text", "text": said}]
    for part in more:
        if part != {"type": "text", "text": ""}:
            _add_part(parts, part)
    return parts
