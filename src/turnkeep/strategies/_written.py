"""Summaries that were written, or are being written, and what each stands for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, Self

from turnkeep.model import Message

from ._calling import Early

MOST: Final = 64
"""Summaries that are begun early and remembered: a strategy may serve many chats."""


class Written:
    """The last few summaries, and the messages each of them stands for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[tuple[tuple[Message, ...], str]] = []

    def longest(self, covered: Sequence[Message]) -> tuple[int, str]:
        """How many of the first messages a summary covers, and what it says."""
        with self._lock:
            known = list(self._known)
        best, text = 0, ""
        for messages, said in known:
            size = len(messages)
            if best < size <= len(covered) and messages == tuple(covered[:size]):
                best, text = size, said
        return best, text

    def remember(self, covered: Sequence[Message], text: str) -> None:
        """Keep a summary; the oldest of five goes."""
        with self._lock:
            self._known = [*self._known[-4:], (tuple(covered), text)]

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
