from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate, compress

_BLOCK = 512
_MANY = 1_024


class Marks:
    """Where the marked ones of many things are, for few questions or for all of them.

    Making one costs a pass in C; the first questions cost a block of it each. Whoever
    asks often gets an array, which costs ten times as much.

    >>> marks = Marks(bytearray([1, 0, 0, 1, 1]))
    >>> marks.total, marks.nth(1), marks.before(3)
    (3, 3, 1)
    """

    __slots__ = ("_before", "_blocks", "_flags", "_looks", "_places", "total")

    def __init__(self, flags: bytes | bytearray) -> None:
        """Marked is what has a 1 in *flags*; all others must have a 0."""
        self._flags = flags
        blocks = range(0, len(flags), _BLOCK)
        counts = [flags.count(1, at, at + _BLOCK) for at in blocks]
        self._before = list(accumulate(counts, initial=0))
        """How many are marked before each block."""
        self.total = self._before[-1]
        """How many are marked."""
        self._blocks: dict[int, list[int]] = {}
        self._places: array[int] | None = None
        self._looks = 0

    def nth(self, nth: int) -> int:
        """Where the *nth* marked one is."""
        if self._places is None:
            self._looks += 1
            if self._looks <= _MANY:
                return self._find(nth)
        return self.places()[nth]

    def _find(self, nth: int) -> int:
        block = bisect_right(self._before, nth) - 1
        found = self._blocks.get(block)
        if found is None:
            start = block * _BLOCK
            flags = self._flags[start : start + _BLOCK]
            found = list(compress(range(start, start + _BLOCK), flags))
            self._blocks[block] = found
        return found[nth - self._before[block]]

    def before(self, place: int) -> int:
        """How many are marked before *place*."""
        block = place // _BLOCK
        return self._before[block] + self._flags.count(1, block * _BLOCK, place)

    def places(self) -> array[int]:
        """Where all marked ones are; the same array each time. Linear once."""
        if self._places is None:
            every = compress(range(len(self._flags)), self._flags)
            # From a list: an array that grows item by item takes twice as long.
            self._places = array("i", list(every))
        return self._places

    def numbers(self) -> array[int]:
        """The number, from 0, of the last marked one up to each. Linear."""
        return array("i", list(accumulate(self._flags, initial=-1)))[1:]
