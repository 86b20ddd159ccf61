"""Summaries that were written, or are being written, and what each stands for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, Self

import attrs

from turnkeep.model import Message

from ._calling import Early
from ._said import Said

MOST: Final = 64
"""Summaries that are begun early and remembered: a strategy may serve many chats."""


@attrs.frozen
class Summary:
    """What stands for the first messages of a history."""

    sources: tuple[Message, ...]
    said: Said
    nth: int
    """Who said it."""


class Written:
    """The last few summaries, and the messages each of them stands for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[Summary] = []

    def longest(self, covered: Sequence[Message]) -> Summary | None:
        """The summary that stands for most of the first messages."""
        with self._lock:
            known = list(self._known)
        best: Summary | None = None
        for one in known:
            size = len(one.sources)
            if (
                (best is None or len(best.sources) < size)
                and size <= len(covered)
                and one.sources == tuple(covered[:size])
            ):
                best = one
        return best

    def remember(self, summary: Summary) -> None:
        """Keep a summary; the oldest of five goes."""
        with self._lock:
            self._known = [*self._known[-4:], summary]

    def __deepcopy__(self, _memo: object) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


class Begun:
    """The summaries that were begun before they were needed."""

    def __init__(self) -> None:
        """None is."""
        self._lock = threading.Lock()
        self._known: list[Early] = []

    def add(self, early: Early) -> None:
        """Remember one; the oldest of 64 goes."""
        with self._lock:
            self._known = [*self._known[1 - MOST :], early]

    def remove(self, early: Early) -> None:
        """Forget one that failed."""
        with self._lock:
            self._known = [known for known in self._known if known is not early]

    def newest_first(self) -> list[Early]:
        """All of them."""
        with self._lock:
            return self._known[::-1]

    def __deepcopy__(self, _memo: object) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()
