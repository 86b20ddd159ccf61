from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, Self, TypeVar

from turnkeep.model import Message


class Index(Protocol):
    """Something that learns messages one by one."""

    def add(self, message: Message) -> None:
        """Learn one more message."""
        ...


IndexT = TypeVar("IndexT", bound=Index)


class Memory(Generic[IndexT]):
    """An index of the history a strategy saw last, kept while that history grows.

    A history that continues the last one (the same message objects) costs its new
    messages; any other one is read anew. A conversation that appends therefore pays for
    each text once. One history is remembered; several threads may ask.
    """

    def __init__(self, make: Callable[[], IndexT]) -> None:
        """Remember an index that *make* begins."""
        self._make = make
        self._lock = threading.Lock()
        self._index = make()
        self._seen: list[Message] = []

    @contextmanager
    def reading(self, messages: Sequence[Message]) -> Iterator[IndexT]:
        """The index of exactly *messages*; others wait until the reader is done."""
        with self._lock:
            seen = self._seen
            if len(seen) > len(messages) or not all(map(operator.is_, seen, messages)):
                self._index = self._make()
                self._seen = seen = []
            for message in messages[len(seen) :]:
                self._index.add(message)
                seen.append(message)
            yield self._index

    def __deepcopy__(self, _memo: object) -> Self:
        """A copy remembers nothing yet."""
        return type(self)(self._make)

    def __reduce__(self) -> tuple[type[Self], tuple[Callable[[], IndexT]]]:
        """What is remembered is not written anywhere."""
        return type(self), (self._make,)
