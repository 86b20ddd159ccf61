"""What a strategy begins in the background, before it is needed."""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

from turnkeep.index import HistoryView

from ._base import parts_of


class Work(Protocol):
    """Something that is begun once, and ends by itself."""

    def begin(self) -> None:
        """Begin in a thread."""
        ...

    def begin_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin on a loop that runs in this thread."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A strategy that can begin before a prune is due."""

    ahead: float | None
    """The share of the trigger from which on it does; none: it does not."""

    def prepare(self, history: HistoryView, room: int, /) -> Work | None:
        """What to begin, if the window may grow by *room* tokens before the prune."""
        ...


def preparing_in(strategy: object) -> Preparing | None:
    """The first of a strategy's parts that begins early."""
    for part in parts_of(strategy):
        if isinstance(part, Preparing) and part.ahead is not None:
            return part
    return None
