"""How a format is known: what it says about one entry, and about a body's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

Judgement: TypeAlias = tuple[int, str]
"""How much an entry says for a format, and the mark that says so, in words."""

NEVER: Final = 0
"""The entry has what this format never has, or what is another's."""

COMMON: Final = 1
"""It says nothing but what other formats say the same way."""

WEAK: Final = 2
"""What a mark says that a host may have put there itself: less than a named model."""

CARRIED: Final = -1
"""Nothing of it is known. It is carried beside entries that are, and claims nothing."""

Judge: TypeAlias = Callable[[Any], Judgement]
"""Looks at one entry and never raises; above `COMMON` it has a mark of its own.

It may look at keys, at the types of values and whether texts and lists are empty, at
true and false, and at the texts under `role` and `type`: whatever `skeleton` keeps.
"""


@attrs.frozen
class Marks:
    """What speaks for and against one format."""

    judge: Judge
    """What it says about an entry."""

    lists: tuple[str, ...] = ("messages",)
    """Keys under which a request body holds its list."""

    body: Mapping[str, int] = {}
    """Keys beside the list that only this format has, and how much each says."""

    objects: bool = True
    """Whether its entries are JSON objects."""

    key: str | None = None
    """A key that every body of this format has, and no other's."""


def part_types(entry: Mapping[str, Any]) -> set[str | None]:
    """The types of an entry's content parts; `None` for parts without one."""
    content = entry.get("content")
    if not isinstance(content, (list, tuple)):
        return set()
    return {
        kind if isinstance(kind := part.get("type"), str) else None
        for part in content
        if isinstance(part, dict)
    }
