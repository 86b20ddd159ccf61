from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import attrs

from turnkeep.errors import NaiveTimestampError
from turnkeep.index import HistoryView, TurnView
from turnkeep.plans import Drop, Edit

from ._base import Composable


def _positive(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if not isinstance(value, timedelta) or value <= timedelta(0):
        msg = f"age must be a positive timedelta, not {value!r}"
        raise ValueError(msg)


def _aware(instance: object, attribute: object, value: datetime | None) -> None:
    del instance, attribute
    if value is not None and value.tzinfo is None:
        raise NaiveTimestampError(value)


@attrs.frozen
class OlderThan(Composable):
    """Turns that ended longer ago than *age* go, the oldest first.

    Age is measured from the newest time stamp of the history, never from the clock, so
    that the same history gives the same window tomorrow. A turn is as old as its newest
    time stamp; turns without any stay. Nothing else is offered: add `| OldestTurns()`
    to go on. Like every strategy it only acts when the budget demands it.

    Costs one look at each message.

    >>> OlderThan(timedelta(hours=12)).age.total_seconds()
    43200.0

    Args:
        age:
            How old is too old.
        now:
            Measure from here instead; with a time zone.

    Raises:
        ValueError: The age is not positive.
        NaiveTimestampError: *now* has no time zone.
    """

    age: timedelta = attrs.field(validator=_positive)
    now: datetime | None = attrs.field(default=None, validator=_aware)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the turns whose newest time stamp is too old, oldest first."""
        ended = [_newest(turn) for turn in history.turns]
        now = self.now or max((at for at in ended if at is not None), default=None)
        if now is None:
            return
        for turn, at in zip(history.turns[:-1], ended, strict=False):
            if at is not None and now - at > self.age:
                yield Drop(turn)


def _newest(turn: TurnView) -> datetime | None:
    stamps = (m.timestamp for m in turn.messages)
    return max((at for at in stamps if at is not None), default=None)
