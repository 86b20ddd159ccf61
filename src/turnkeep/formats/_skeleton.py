"""What of an entry a judge may look at, as a value that is the same for its likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_SAID: Final = frozenset({"role", "type"})
"""Keys whose texts say what an entry or a part is."""

_LONGEST: Final = 64
"""Characters of such a text: no name that anybody knows is longer."""

_LISTS: Final = frozenset(
    {"content", "parts", "tool_calls", "blocks", "items", "attributes"}
)
"""Lists of an entry whose elements are looked at."""

_NAMED: Final = "key"
"""Where such an element, an attribute of a trace, says what it is."""

_INSIDE: Final = frozenset({"function", "custom"})
"""Objects in such an element that are looked at."""

_ENTRY, _PART, _INNER = range(3)

_MOST: Final = 250
"""Entries that are looked at."""
_LATE: Final = 50
"""How many of them are the last ones of a longer list."""


def skeleton(entry: Any) -> Any:
    """The keys of *entry* in order, and for each what kind of value it has.

    Of a text it tells only whether it is empty, save under `role` and `type`; of a
    list of parts the distinct skeletons; of anything else the type. Two entries with
    equal skeletons look the same to every `Judge`. Linear in keys and parts, never in
    the length of texts.
    """
    return _of_object(entry, _ENTRY) if isinstance(entry, dict) else _of_value(entry)


def _of_object(value: dict[Any, Any], depth: int) -> tuple[Any, ...]:
    made: list[Any] = [*value]
    for key, item in value.items():
        if type(item) is str:
            if key in _SAID or (depth == _PART and key == _NAMED):
                made.append(item[:_LONGEST])
            else:
                made.append(str if item else "")
        elif depth == _ENTRY and key in _LISTS:
            made.append(_of_parts(item))
        elif depth == _PART and key in _INSIDE and isinstance(item, dict):
            made.append(_of_object(item, _INNER))
        else:
            made.append(_of_value(item))
    return tuple(made)


def _of_parts(parts: Any) -> Any:
    if isinstance(parts, (list, tuple)):
        seen = [
            _of_object(part, _PART) if isinstance(part, dict) else _of_value(part)
            for part in parts
        ]
        return tuple(dict.fromkeys(seen))  # in the order in which they first appear
    return _of_object(parts, _INNER) if isinstance(parts, dict) else _of_value(parts)


def _of_value(value: Any) -> Any:
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if isinstance(value, (str, list, tuple)) and not value:
        return kind, False
    return kind


def skeletons(entries: Sequence[Any]) -> dict[Any, int]:
    """The distinct skeletons of *entries*, and where each first stands.

    Looks at no more than 250 of them: the first 200 and the last 50.
    """
    found: dict[Any, int] = {}
    late = max(len(entries) - _LATE, 0)
    if len(entries) <= _MOST:
        head, late = entries, len(entries)
    else:
        head = entries[: _MOST - _LATE]
    for nth, entry in enumerate(head):
        found.setdefault(skeleton(entry), nth)
    for nth, entry in enumerate(entries[late:], late):
        found.setdefault(skeleton(entry), nth)
    return found
