"""Which messages have something that few have, found as it is asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from turnkeep.model import Message


class Spotted:
    """The messages of which something is true, in order; looks at each once."""

    __slots__ = ("_found", "_is_one", "_looked", "_stale")

    def __init__(self, is_one: Callable[[Message], bool]) -> None:
        """Those of which *is_one* is true; nothing looked at yet."""
        self._is_one = is_one
        self._found: list[int] = []
        self._looked = 0
        self._stale: set[int] = set()

    def among(self, messages: Sequence[Message]) -> list[int]:
        """Their indexes among *messages*, which only grow. Costs what is new."""
        found, is_one = self._found, self._is_one
        for index in self._stale:
            at = bisect_left(found, index)
            known = at < len(found) and found[at] == index
            if is_one(messages[index]) != known:
                found[at : at + known] = [] if known else [index]
        self._stale.clear()
        for index in range(self._looked, len(messages)):
            if is_one(messages[index]):
                found.append(index)
        self._looked = len(messages)
        return found

    def cut_off(self, length: int) -> None:
        """Forget what stands behind so many messages; costs what is found."""
        self._found = self._found[: bisect_left(self._found, length)]
        self._looked = min(self._looked, length)
        self._stale = {index for index in self._stale if index < length}

    def forget(self, index: int) -> None:
        """Look at a message again: it says something else."""
        if index < self._looked:
            self._stale.add(index)
