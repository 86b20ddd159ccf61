"""JSON that is handed out many times: each time a copy that shares no container.

`copy.deepcopy` looks at every value each time. Here a value is looked at once, when it
is put in, and what is noted is where its objects and arrays stand; a copy then touches
those alone. Texts and numbers are shared, as nobody can change them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Branches: TypeAlias = "tuple[tuple[str | int, Inside], ...]"
Inside: TypeAlias = tuple[tuple[str | int, ...], Branches]
"""Where the containers in a container stand: the keys that lead down from one to the
next as long as there is only one, and behind them the keys of several."""

_CONTAINERS = (dict, list)
_NOTHING: Inside = ((), ())


def unshared(value: Any) -> Any:
    """A copy of a JSON value; other objects in it are shared. Linear in its size."""
    if type(value) not in _CONTAINERS:
        return value
    holder = [value]
    _part(holder, ((0, _inside(value)),))
    return holder[0]


class Masters:
    """Objects in a row, of which copies are asked for again and again."""

    __slots__ = ("_insides", "entries")

    def __init__(self, entries: Iterable[dict[str, Any]] = ()) -> None:
        """With *entries*, which belong to this from now on."""
        self.entries: list[dict[str, Any]] = []
        self._insides: list[Inside | None] = []
        self.put(0, 0, list(entries))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.entries)

    def put(self, start: int, stop: int, entries: list[dict[str, Any]]) -> None:
        """Set *entries* in the place of those from *start* to *stop*."""
        self.entries[start:stop] = entries
        insides = map(_inside, entries)
        self._insides[start:stop] = [None if i is _NOTHING else i for i in insides]

    def copies(self) -> list[dict[str, Any]]:
        """All of them, copied; costs their containers."""
        made = list(map(dict.copy, self.entries))
        for entry, inside in zip(made, self._insides, strict=True):
            if inside is not None:
                # In line what `_part` does: nearly every entry has one block.
                holder: Any = entry
                for key in inside[0]:
                    holder[key] = child = holder[key].copy()
                    holder = child
                if inside[1]:
                    _part(holder, inside[1])
        return made


def _part(holder: Any, branches: Branches) -> None:
    """Put copies in the place of all containers that *branches* lead to."""
    for key, (chain, deeper) in branches:
        holder[key] = child = holder[key].copy()
        for step in chain:
            child[step] = below = child[step].copy()
            child = below
        if deeper:
            _part(child, deeper)


def _inside(value: Any) -> Inside:
    chain: list[str | int] = []
    while True:
        pairs = value.items() if type(value) is dict else enumerate(value)
        found = [(key, item) for key, item in pairs if type(item) in _CONTAINERS]
        if len(found) != 1:
            break
        key, value = found[0]
        chain.append(key)
    if not chain and not found:
        return _NOTHING
    return tuple(chain), tuple((key, _inside(item)) for key, item in found)
