"""Every operation of a store in a database, described once and not yet run."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime
from typing import Any, Generic, TypeVar

import attrs

from turnkeep.model import freeze

from . import _sql_read, _sql_write
from ._base import MakeChange
from ._sql import Append, Dialect, Head, Query, Rows
from ._sql_append import Heads
from ._sql_check import check
from ._values import CallRecord, Change, Damage, Delta, Hit, Info, Row, Snapshot

T = TypeVar("T")


@attrs.frozen
class Operation(Generic[T]):
    """What a store does; run by a connection that waits, or by one that is awaited."""

    steps: Generator[Query, Rows, T]
    """To be run in one transaction."""
    writes: bool = False
    """Whether that transaction writes."""
    first: Append | None = None
    """What to try before; where it succeeds, its version is the answer."""


class SqlOperations:
    """The operations of a store in a database; see `Store` for what each does."""

    def __init__(self, dialect: Dialect) -> None:
        """As one database says them."""
        self.dialect = dialect
        self.heads = Heads()

    def _left(
        self, steps: Generator[Query, Rows, Head], first: Append | None = None
    ) -> Operation[int]:
        """A write that leaves a conversation at a version, which is remembered."""

        def written() -> Generator[Query, Rows, int]:
            return self.heads.keep((yield from steps))

        return Operation(written(), writes=True, first=first)

    def create(
        self,
        conversation_id: str,
        change: Change = Change(),  # noqa: B008
    ) -> Operation[int]:
        """See `Store.create`."""
        return self._left(_sql_write.create(self.dialect, conversation_id, change))

    def write(
        self, conversation_id: str, change: Change, *, expected: int
    ) -> Operation[int]:
        """See `Store.write`."""
        first = self.heads.append(conversation_id, change, expected)
        steps = _sql_write.write(self.dialect, conversation_id, change, expected)
        return self._left(steps, first)

    def update(
        self, conversation_id: str, make: MakeChange, *, since: int
    ) -> Operation[Delta]:
        """See `Store.update`."""

        def written() -> Generator[Query, Rows, Delta]:
            steps = _sql_read.update(self.dialect, conversation_id, make, since)
            delta, left = yield from steps
            self.heads.keep(left)
            return delta

        return Operation(written(), writes=True)

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> Operation[None]:
        """See `Store.put_state`."""
        steps = _sql_read.put_state(self.dialect, conversation_id, freeze(state))
        return Operation(steps, writes=True)

    def delete(self, conversation_id: str) -> Operation[bool]:
        """See `Store.delete`."""
        steps = _sql_write.delete(self.dialect, conversation_id)
        return Operation(steps, writes=True)

    def compact(self, conversation_id: str) -> Operation[None]:
        """See `Store.compact`."""

        def written() -> Generator[Query, Rows, None]:
            steps = _sql_read.compact(self.dialect, conversation_id)
            self.heads.keep((yield from steps))

        return Operation(written(), writes=True)

    def read(self, conversation_id: str) -> Operation[Snapshot]:
        """See `Store.read`."""
        return Operation(_sql_read.read(conversation_id))

    def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Operation[Snapshot]:
        """See `Store.read_tail`."""
        return Operation(_sql_read.read_tail(conversation_id, messages, tokens, held))

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> Operation[tuple[Row, ...]]:
        """See `Store.read_messages`."""
        return Operation(_sql_read.read_messages(conversation_id, message_ids))

    def read_since(self, conversation_id: str, version: int) -> Operation[Delta]:
        """See `Store.read_since`."""
        return Operation(_sql_read.read_since(conversation_id, version))

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> Operation[tuple[Info, ...]]:
        """See `Store.conversations`."""
        return Operation(_sql_read.conversations(self.dialect, contains, limit))

    def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> Operation[tuple[Hit, ...]]:
        """See `Store.search`."""
        return Operation(_sql_read.search(self.dialect, query, conversation_id, limit))

    def due(self, now: datetime) -> Operation[tuple[tuple[str, CallRecord], ...]]:
        """See `Store.due`."""
        return Operation(_sql_read.due(now))

    def check(
        self, conversation_id: str | None = None
    ) -> Operation[tuple[Damage, ...]]:
        """See `Store.check`."""
        return Operation(check(conversation_id))
