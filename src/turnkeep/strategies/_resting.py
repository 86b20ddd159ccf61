"""Whose turn it is among several summarisers: one that failed rests for a while."""

from __future__ import annotations

from threading import Lock
from typing import Final, Self

LONGEST: Final = 64
"""Prunes that a summariser rests at most."""


class Rota:
    """The first summariser that does not rest is asked, at each prune that needs one.

    After its first failure in a row it rests for *first* such prunes, then for twice as
    many, and so on up to 64. An answer ends that.
    """

    def __init__(self, first: int = 1) -> None:
        """Nobody rests."""
        self._first = first
        self._lock = Lock()
        self._failures: dict[int, int] = {}
        self._left: dict[int, int] = {}

    def next(self, count: int) -> int | None:
        """Which of *count* summarisers is asked; none where all of them rest."""
        with self._lock:
            return next((n for n in range(count) if not self._left.get(n)), None)

    def passed(self) -> None:
        """Note a prune at which nobody was asked."""
        with self._lock:
            self._rest_on()

    def answered(self, nth: int) -> None:
        """Note that one gave an answer that is of use."""
        with self._lock:
            self._rest_on()
            self._failures.pop(nth, None)

    def failed(self, nth: int) -> int:
        """Note that one failed, or that its answer is of no use.

        Returns:
            The prunes for which it rests.
        """
        with self._lock:
            self._rest_on()
            failures = self._failures[nth] = self._failures.get(nth, 0) + 1
            self._left[nth] = min(self._first * 2 ** (failures - 1), LONGEST)
            return self._left[nth]

    def _rest_on(self) -> None:
        self._left = {nth: left - 1 for nth, left in self._left.items() if left > 1}

    def __deepcopy__(self, _memo: object) -> Self:
        return type(self)(self._first)

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (self._first,)
