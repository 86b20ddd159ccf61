"""Counts that were taken, by what was counted and who counted it.

A host sends its list again and again, often read anew from JSON, and what a message
says decides what it costs. So the key is a print of what it says: no object's address,
which is used again, and no dict, which takes no weak reference and may have changed.
Prints are salted as hashes of texts are, and never stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from marshal import dumps
from typing import Any, Final
from weakref import WeakKeyDictionary

from ._base import RequestCounter
from ._estimate import ApproximateCounter
from ._fast import FastCounter
from ._rules import Rules
from ._tiktoken import TiktokenCounter

_GENERATION: Final = 100_000
"""Counts until the older half is forgotten: about 10 MB in all."""

_VERSION: Final = 2
"""Of marshal's format: later ones depend on who else holds a text."""

_DEEPEST: Final = 20
_BULKY: Final = frozenset(
    {"document", "file", "image", "image_url", "inlineData", "inline_data", "source"}
)
"""Parts that may hold base64, which marshal would write out to have it hashed."""

_OURS: Final = (TiktokenCounter, FastCounter, ApproximateCounter)


class CountTable:
    """Counts by key, those of the last 100,000 to 200,000 that were asked for.

    Two generations bound it without bookkeeping: what is asked for moves to the young
    one; when that is full, it becomes the old one, and the old one goes. May be used
    by several threads, which at worst count twice.

    >>> table = CountTable(limit=2)
    >>> table.put(1, 10), table.put(2, 20), table.put(3, 30)
    (None, None, None)
    >>> table.get(1), table.get(3), table.get(4)
    (10, 30, None)
    """

    def __init__(self, limit: int = _GENERATION) -> None:
        """Keep at most twice *limit* counts."""
        self._limit = limit
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def get(self, key: int) -> int | None:
        """The count that was put under *key*; none if it was not, or long ago."""
        known = self._young.get(key)
        if known is None:
            known = self._old.get(key)
            if known is not None:
                self.put(key, known)
        return known

    def get_many(self, keys: Iterable[int]) -> list[int | None]:
        """The same for many keys: a lookup in C for all that is young."""
        found = list(map(self._young.get, keys))
        if None in found:
            found = [
                self.get(key) if known is None else known
                for key, known in zip(keys, found, strict=True)
            ]
        return found

    def put(self, key: int, tokens: int) -> None:
        """Keep a count."""
        young = self._young
        young[key] = tokens
        if len(young) > self._limit:
            self._old, self._young = young, {}


COUNTS: Final = CountTable()
"""The table of this process."""

_SALTS: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
_SERIAL: Final = count()


def salt_of(counter: Any, form: str) -> int | None:
    """What to mix into the prints of what *counter* counts in the format called *form*.

    Our own counters are the same where their names are; anyone else's (a callable, a
    counter of texts) only where it is the same object, for as long as it lives. None
    where it cannot be told: then nothing may be kept.
    """
    text = counter.text if isinstance(counter, Rules) else None
    if isinstance(text, _OURS):
        return hash((type(counter), counter.name, form))
    theirs = counter if text is None else text
    try:
        # A number, not an address: nobody else gets it when the counter is gone.
        serial = _SALTS.setdefault(theirs, next(_SERIAL))
    except TypeError:
        return None  # it takes no weak reference, or has no hash
    rule = counter.name if isinstance(counter, RequestCounter) else None
    return hash((serial, type(counter), rule, form))


def prints_of(entries: Iterable[Any], salt: int) -> list[int]:
    """A number for each entry that is the same for whatever says the same; else 0.

    Costs a look at each key and value: a text keeps its hash. Entries that JSON cannot
    say have no print.
    """
    made: list[int] = []
    add = made.append
    for entry in entries:
        if type(entry) is not dict:
            add(0)
            continue
        text = entry.get("content")
        if type(text) is str:
            # Most entries of most chats: a text, or a text that answers a call.
            size, role = len(entry), entry.get("role")
            if size == 2 and type(role) is str:
                add(hash((role, text)) ^ salt)
                continue
            call = entry.get("tool_call_id")
            if size == 3 and type(call) is str and type(role) is str:
                add(hash((role, text, call)) ^ salt)
                continue
        try:
            if not _is_bulky(entry.get("parts") if text is None else text):
                add(hash(dumps(entry, _VERSION)) ^ salt)
            else:
                add(hash(_leaves(entry, 0)) ^ salt)
        except (TypeError, ValueError):
            add(0)
    return made


def _is_bulky(parts: Any) -> bool:
    """Whether a picture or a file may be among *parts*."""
    return type(parts) is list and any(
        type(part) is dict
        and (not _BULKY.isdisjoint(part) or type(part.get("content")) is list)
        for part in parts
    )


def _leaves(value: Any, depth: int) -> Any:
    """What *value* says, as a value that can be hashed.

    Raises:
        TypeError: JSON cannot say it, or it is too deep to be looked at.
    """
    kind = type(value)
    if kind is str or value is None:
        return value
    if depth < _DEEPEST:
        if kind is dict:
            return (dict, *value, *[_leaves(v, depth + 1) for v in value.values()])
        if kind is list:
            return (list, *[_leaves(v, depth + 1) for v in value])
    if kind in (bool, int, float):
        return kind, value  # 1, True and 1.0 are equal, and are not the same
    raise TypeError
