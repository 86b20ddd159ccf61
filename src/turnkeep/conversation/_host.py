"""A host's list as it was last seen, and what of it is still the same.

Entries are remembered twice: as the host's own objects, so that a list of the same
objects is recognised at the cost of comparing addresses, and as copies of what they
said, because an object that is changed in place stays the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from turnkeep.formats import read_entry
from turnkeep.model import Message

WATCHED: Final = 400
"""Entries at the end that are compared by value at every call. An entry that is changed
in place behind more than these is only found where the host says so."""

_PROBES: Final = 16
_PLAIN: Final = frozenset({dict, Message, tuple, str})
"""Types that compare by value and have nothing else to say."""


def copy_of(value: Any) -> Any:
    """What *value* says now: lists and objects anew, all else shared."""
    kind = type(value)
    if kind is dict:
        return {key: copy_of(item) for key, item in value.items()}
    if kind is list:
        return [copy_of(item) for item in value]
    return value


class HostList:
    """What is known of a host's list: entries, copies, and the messages of each."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.objects: list[Any] = []
        """The host's entries."""
        self.copies: list[Any] = []
        """What each said, as it would be sent."""
        self.ids: list[tuple[str, ...]] = []
        """The messages of each."""
        self.places: dict[str, int] = {}
        """The entry of each message, and of some that went."""
        self.count = 0
        """How many messages the list holds."""
        self.head = 0
        """How many entries stand beside the list: 1 for system text, else 0."""
        self.plain = True
        """Whether all entries are dicts or messages, which compare in C."""

    def __len__(self) -> int:
        """Number of entries."""
        return len(self.objects)

    def replace(
        self,
        start: int,
        stop: int,
        entries: Sequence[Any],
        copies: Sequence[Any],
        ids: Sequence[tuple[str, ...]],
    ) -> None:
        """Put entries in place of others; costs what is put, and what moves.

        Lists that windows look at stay as they are: only growing is done in place.
        """
        known = len(self.objects)
        gone = sum(map(len, self.ids[start:stop]))
        if start < known:
            self.objects = [*self.objects[:start], *entries, *self.objects[stop:]]
            self.copies = [*self.copies[:start], *copies, *self.copies[stop:]]
            self.ids = [*self.ids[:start], *ids, *self.ids[stop:]]
        else:
            self.objects += entries
            self.copies += copies
            self.ids += ids
        self.count += sum(map(len, ids)) - gone
        if stop < known and stop - start != len(entries):
            self.places = {one: n for n, own in enumerate(self.ids) for one in own}
        else:
            # Ids that went may stay: nobody has them any more.
            self.places.update((o, n) for n, own in enumerate(ids, start) for o in own)
        self.plain = self.plain and _PLAIN.issuperset(map(type, entries))

    def rebind(self, entries: Sequence[Any]) -> None:
        """Take over other objects that say the same, so that they are known next time.

        Costs a look at a few of them where they are the known ones.
        """
        if self._is_same(entries, len(self.objects)):
            return
        self.objects = list(entries)
        self.plain = _PLAIN.issuperset(map(type, entries))

    def differs(self, nth: int, entry: Any) -> bool:
        """Whether an entry says something else than when it was seen."""
        known = self.copies[nth]
        try:
            return bool(known != read_entry(entry))
        except Exception:  # noqa: BLE001 - foreign code may raise anything
            return entry is not self.objects[nth]

    # -- what is the same --------------------------------------------------------------

    def same_beginning(
        self,
        entries: Sequence[Any],
        watched: Iterable[int] = (),
        *,
        deep: bool = False,
    ) -> int:
        """How many entries at the beginning of *entries* are as they were.

        Costs a comparison of addresses where they are the known objects, else of
        values.

        Args:
            entries: The host's list as it is now.
            watched: Entries that are compared by value although they are the same.
            deep: Compare all by value.
        """
        most = min(len(self.objects), len(entries))
        if not deep and self._is_known(entries, most):
            start = max(most - WATCHED, 0)
            for nth in sorted({n for n in watched if n < start}):
                if self.differs(nth, entries[nth]):
                    return nth
            return start + self._equal(entries, start, start, most - start)
        return self._equal(entries, 0, 0, most)

    def same_end(self, entries: Sequence[Any], start: int) -> int:
        """How many at the end are as they were, *start* at the beginning apart."""
        most = min(len(self.objects), len(entries)) - start
        if most <= 0:
            return 0
        known, now = len(self.objects), len(entries)

        def same(low: int, high: int) -> bool:
            return self._same_values(entries, known - high, now - high, high - low)

        low, high = 0, 1
        while same(low, high):
            if high == most:
                return most
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            if same(low, middle):
                low = middle
            else:
                high = middle
        return low

    def _is_known(self, entries: Sequence[Any], most: int) -> bool:
        """Whether the first *most* are the very objects, or say what those say now."""
        if not self._is_same(entries, most):
            return False
        try:
            return self.objects[:most] == list(entries[:most])
        except Exception:  # noqa: BLE001 - foreign code may raise anything
            return False

    def _is_same(self, entries: Sequence[Any], most: int) -> bool:
        """Whether a few of the first *most* are the very objects."""
        objects = self.objects
        step = max(most // _PROBES, 1)
        return all(objects[n] is entries[n] for n in range(0, most, step)) and (
            not most or objects[most - 1] is entries[most - 1]
        )

    def _equal(self, entries: Sequence[Any], old: int, new: int, most: int) -> int:
        """How many from *old* on say what those from *new* on do."""
        if self._same_values(entries, old, new, most):
            return most
        low, high = 0, most  # the first *low* are the same, not all *high* are
        while high - low > 1:
            middle = (low + high) // 2
            if self._same_values(entries, old + low, new + low, middle - low):
                low = middle
            else:
                high = middle
        return low

    def _same_values(
        self, entries: Sequence[Any], old: int, new: int, size: int
    ) -> bool:
        """Whether *size* entries say what others said."""
        try:
            if self.copies[old : old + size] == list(entries[new : new + size]):
                return True
        except Exception:  # noqa: BLE001, S110 - foreign code may raise anything
            pass
        if self.plain and _PLAIN.issuperset(map(type, entries[new : new + size])):
            return False
        return not any(self.differs(old + n, entries[new + n]) for n in range(size))
