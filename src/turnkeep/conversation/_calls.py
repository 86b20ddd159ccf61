from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any

import attrs
from sortedcontainers import SortedList

from turnkeep.model import EMPTY, FrozenDict, freeze
from turnkeep.stores import CallRecord


class CallState(StrEnum):
    """Where a tool call stands.

    `open`: no result at all. `pending`: a placeholder stands for it. `interim`: an
    answer came, but not the last one. The rest are final: the first one counts.
    """

    OPEN = "open"
    PENDING = "pending"
    INTERIM = "interim"
    RESOLVED = "resolved"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ABANDONED = "abandoned"
    """Nobody waits for it any more; its step is an ordinary one."""


ANSWERED = frozenset({CallState.RESOLVED, CallState.CANCELLED, CallState.EXPIRED})
"""States that come with a final result in the history."""


@attrs.frozen
class PendingCall:
    """A call without a final result that is still awaited."""

    id: str
    name: str
    since: datetime | None
    """When the call was made; `None` where the history does not say."""
    message_id: str
    """The message that makes the call."""
    state: CallState = CallState.OPEN
    expires_at: datetime | None = None
    waits_for: FrozenDict = attrs.field(default=EMPTY, converter=freeze)
    """Whom or what it waits for: any JSON object of the caller's."""


@attrs.frozen
class CallNote:
    """What the conversation knows about a call beyond its messages."""

    state: CallState | None = None
    """Set once nobody waits any more; `open`, `pending` and `interim` show in the
    history."""
    since: datetime | None = None
    expires_at: datetime | None = None
    waits_for: FrozenDict = attrs.field(default=EMPTY, converter=freeze)
    closed_at: datetime | None = None

    @classmethod
    def of(cls, record: CallRecord) -> CallNote:
        """What a store keeps.

        Raises:
            ValueError: Its state is none that we know.
        """
        return cls(
            None if record.state is None else CallState(record.state),
            record.since,
            record.expires_at,
            record.waits_for,
            record.closed_at,
        )

    def record(self, place: CallPlace) -> CallRecord:
        """The same for a store."""
        return CallRecord(
            place[0],
            place[1],
            None if self.state is None else self.state.value,
            self.since,
            self.expires_at,
            self.closed_at,
            self.waits_for,
        )


CallPlace = tuple[str, int]
"""A call's address: the id of its message, and its place among that message's calls."""


class CallBook:
    """Notes by call, with the deadlines in order."""

    def __init__(self) -> None:
        """An empty book."""
        self._notes: dict[CallPlace, CallNote] = {}
        self._due: SortedList[Any] = SortedList()

    def __getitem__(self, place: CallPlace) -> CallNote:
        """The note on a call; an empty one if there is none."""
        return self._notes.get(place, _NOTHING)

    def __setitem__(self, place: CallPlace, note: CallNote) -> None:
        """Replace the note on a call. Logarithmic in the number of deadlines."""
        old = self._notes.get(place, _NOTHING)
        if old.expires_at is not None and old.state is None:
            self._due.discard((old.expires_at, place))
        if note == _NOTHING:
            self._notes.pop(place, None)
            return
        self._notes[place] = note
        if note.expires_at is not None and note.state is None and not note.closed_at:
            self._due.add((note.expires_at, place))

    def __contains__(self, place: CallPlace) -> bool:
        """Whether there is a note on a call."""
        return place in self._notes

    def due(self, now: datetime) -> list[CallPlace]:
        """Calls whose deadline is *now* or earlier, the earliest first."""
        stop = self._due.bisect_right((now, ("\U0010ffff", 0)))
        return [place for _, place in self._due[:stop]]

    def items(self) -> Iterator[tuple[CallPlace, CallNote]]:
        """Every note."""
        return iter(self._notes.items())

    def keep_only(self, message_ids: set[str]) -> None:
        """Forget the calls of messages that are gone."""
        for place in [p for p in self._notes if p[0] not in message_ids]:
            self[place] = _NOTHING

    def copy(self) -> CallBook:
        """An independent copy."""
        book = CallBook()
        for place, note in self._notes.items():
            book[place] = note
        return book


_NOTHING = CallNote()
