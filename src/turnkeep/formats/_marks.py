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

SIGNED: Final = 6
"""What the mark of a program's own log says: no list of messages has one."""

Judge: TypeAlias = Callable[[Any], Judgement]
"""Looks at one entry and never raises; above `COMMON` it has a mark of its own.

It may look at keys, at the types of values and whether texts and lists are empty, at
true and false, and at the texts under `role` and `type` (and under `key`, in elements):
whatever `skeleton` keeps.
"""

Sign: TypeAlias = Callable[[dict[Any, Any]], str | None]
"""Looks at an object as a whole, and says in words what shows that it is of a format.

It may look anywhere in it, at a bounded part, and never raises.
"""


@attrs.frozen
class Marks:
    """What speaks for and against one format."""

    judge: Judge
    """What it says about an entry."""

    lists: tuple[str, ...] = ("messages",)
    """Keys under which a request body holds its list; none for logs, which have no
    body."""

    body: Mapping[str, int] = {}
    """Keys beside the list that only this format has, and how much each says."""

    objects: bool = True
    """Whether its entries are JSON objects."""

    key: str | None = None
    """A key that every body of this format has, and no other's."""

    sign: Sign | None = None
    """What an object says that is no body with a list of entries; where it says
    anything, it is of this format."""


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
