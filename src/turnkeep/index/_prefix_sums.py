"""Prefix sums that change in logarithmic time (Fenwick trees that grow)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable


class Tally:
    """A growing list of whole numbers with sums of any prefix.

    Appending costs amortised constant time; changing one number, summing a prefix and
    finding the prefix that reaches a sum cost O(log n). A plain list of prefix sums
    would have to be rebuilt for a change in the middle: 36 ms at a million numbers.

    >>> sums = Tally([5, 1, 4])
    >>> sums.before(2), sums.reach(6), sums.total
    (6, 2, 10)
    """

    __slots__ = ("_tree", "total", "values")

    def __init__(self, values: Iterable[int] = ()) -> None:
        """The sums of *values*."""
        self.values = array("q", values)
        """The numbers themselves; change them with `set` and `add`."""
        self._tree = tree = array("q", [0])
        tree.extend(self.values)
        self.total = sum(self.values)
        """The sum of all numbers."""
        if not any(self.values):
            return
        for at in range(1, len(tree)):
            above = at + (at & -at)
            if above < len(tree):
                tree[above] += tree[at]

    def __len__(self) -> int:
        """How many numbers there are."""
        return len(self.values)

    def append(self, value: int) -> None:
        """Add a number at the end."""
        tree = self._tree
        at = len(tree)
        node, width = value, 1
        while not at & width:
            node += tree[at - width]
            width <<= 1
        tree.append(node)
        self.values.append(value)
        self.total += value

    def add(self, index: int, change: int) -> None:
        """Change a number by *change*."""
        if not change:
            return
        self.values[index] += change
        self.total += change
        tree = self._tree
        at, stop = index + 1, len(tree)
        while at < stop:
            tree[at] += change
            at += at & -at

    def set(self, index: int, value: int) -> None:
        """Put *value* in a number's place."""
        self.add(index, value - self.values[index])

    def before(self, index: int) -> int:
        """The sum of the numbers before *index*."""
        if index >= len(self.values):
            return self.total
        tree, found = self._tree, 0
        while index:
            found += tree[index]
            index &= index - 1
        return found

    def reach(self, wanted: int, less: SparseTally | None = None) -> int:
        """How many numbers from the beginning sum up to *wanted* or more.

        All numbers must be 0 or more, and none smaller than its neighbour in *less*.

        Args:
            wanted:
                The sum.
            less:
                Sums to take off.
        """
        if wanted <= 0:
            return 0
        tree = self._tree
        size = len(tree)
        at, width = 0, 1 << (size - 1).bit_length()
        while width:
            further = at + width
            if further < size:
                part = tree[further]
                if less is not None:
                    part -= less.node(at, further)
                if part < wanted:
                    at = further
                    wanted -= part
            width >>= 1
        return at + 1


class SparseTally:
    """The same for numbers that are mostly 0: its size is that of the last other one.

    What grows at the end costs nothing here as long as it is 0.

    >>> sums = SparseTally()
    >>> sums.set(70, 5)
    >>> sums.before(70), sums.before(71), sums.before(1_000)
    (0, 5, 5)
    """

    __slots__ = ("_tree", "total", "values")

    def __init__(self) -> None:
        """All numbers are 0."""
        self.values: dict[int, int] = {}
        """Those that are not 0, by place."""
        self._tree = array("q", [0, 0])  # one more than a power of two
        self.total = 0
        """The sum of all numbers."""

    def get(self, index: int) -> int:
        """One number."""
        return self.values.get(index, 0)

    def set(self, index: int, value: int) -> None:
        """Put *value* in a number's place."""
        change = value - self.values.get(index, 0)
        if not change:
            return
        if value:
            self.values[index] = value
        else:
            del self.values[index]
        tree = self._tree
        while index + 1 >= len(tree):
            # The new root covers all there is; every other new node covers zeros.
            tree.extend(_zeros(len(tree) - 1))
            tree[-1] = self.total
        self.total += change
        at, stop = index + 1, len(tree)
        while at < stop:
            tree[at] += change
            at += at & -at

    def before(self, index: int) -> int:
        """The sum of the numbers before *index*."""
        tree, found = self._tree, 0
        if index >= len(tree):
            return self.total
        while index:
            found += tree[index]
            index &= index - 1
        return found

    def node(self, start: int, stop: int) -> int:
        """The sum from *start* up to *stop*, where these are a node of a descent."""
        if stop < len(self._tree):
            return self._tree[stop]
        # Beyond the capacity there is nothing, and a node that begins inside of it
        # and ends outside begins at the very beginning.
        return 0 if start else self.total


def _zeros(count: int) -> array[int]:
    """That many zeros."""
    return array("q", bytes(8 * count))
