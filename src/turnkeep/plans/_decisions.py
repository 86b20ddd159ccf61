from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias, overload

import attrs

from turnkeep.model import Message

Action: TypeAlias = Literal["keep", "drop", "edit"]


@attrs.frozen
class Run:
    """Neighbouring messages that were decided alike."""

    start: int
    """Index of the first message."""
    stop: int
    """Index behind the last message."""
    action: Action
    cause: str

    def __len__(self) -> int:
        """Number of messages."""
        return self.stop - self.start


@attrs.frozen
class Decision:
    """What happens to one message, and why."""

    index: int
    id: str
    action: Action
    cause: str
    tokens: int
    """Tokens it has in the history."""
    tokens_after: int
    """Tokens it has in the window; 0 when dropped."""


@attrs.frozen
class Inserted:
    """A message of ours that the window holds and the history does not."""

    after: int
    """Index of the message it follows; -1 for the beginning."""
    message: Message
    tokens: int
    cause: str
    call_id: str | None = None
    """The open call it stands in for."""


@attrs.frozen
class Refused:
    """An edit that was proposed and not taken, and why."""

    edit: str
    reason: str


class Decisions(Sequence[Decision]):
    """The decisions of one kind, made from runs as they are asked for.

    `len` costs the number of runs; iterating costs the number of messages.
    """

    __slots__ = ("_make", "runs")

    def __init__(
        self, runs: Sequence[Run], make: Callable[[int, Action, str], Decision]
    ) -> None:
        """Decisions over *runs*."""
        self.runs: tuple[Run, ...] = tuple(runs)
        self._make = make

    def __len__(self) -> int:
        """Number of messages."""
        return sum(map(len, self.runs))

    def __iter__(self) -> Iterator[Decision]:
        """Every decision, in the order of the history."""
        for run in self.runs:
            for index in range(run.start, run.stop):
                yield self._make(index, run.action, run.cause)

    @overload
    def __getitem__(self, at: int) -> Decision: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Decision]: ...
    def __getitem__(self, at: int | slice) -> Decision | Sequence[Decision]:
        """One decision, or a list of them."""
        if isinstance(at, slice):
            return list(self)[at]
        left = at if at >= 0 else at + len(self)
        for run in self.runs:
            if 0 <= left < len(run):
                return self._make(run.start + left, run.action, run.cause)
            left -= len(run)
        msg = f"decision {at} of {len(self)}"
        raise IndexError(msg)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the messages, in order."""
        return tuple(decision.id for decision in self)

    def __repr__(self) -> str:
        """Show the runs."""
        return f"Decisions({len(self)} messages in {len(self.runs)} runs)"
