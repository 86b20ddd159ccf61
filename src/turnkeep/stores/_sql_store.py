"""What the stores in databases share: every operation but how it is run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable
from datetime import datetime
from typing import Any, TypeVar

from turnkeep.model import freeze

from . import _sql_read, _sql_write
from ._base import MakeChange
from ._closing import Closing
from ._sql import Append, Dialect, Query, Rows
from ._sql_append import Heads
from ._sql_check import check
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    Row,
    Snapshot,
)

T = TypeVar("T")


class SqlStore(Closing):
    """A store whose operations are statements; see `Store` for what each does."""

    _dialect: Dialect
    _heads: Heads

    @abstractmethod
    def _append(self, one: Append) -> bool:
        """Append a message; False if a conversation or an id is not as expected.

        Nothing is written then.
        """

    @abstractmethod
    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        """Run an operation in a transaction that writes."""

    @abstractmethod
    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        """Run an operation on one moment of the database."""

    def create(self, conversation_id: str, change: Change = Change()) -> int:  # noqa: B008
        """See `Store.create`."""
        made = _sql_write.create(self._dialect, conversation_id, change)
        return self._heads.keep(self._write(made))

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """See `Store.write`."""
        one = self._heads.append(conversation_id, change, expected)
        if one is not None and self._append(one):
            return self._heads.keep(one.left)
        made = _sql_write.write(self._dialect, conversation_id, change, expected)
        return self._heads.keep(self._write(made))

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """See `Store.update`."""
        made = _sql_read.update(self._dialect, conversation_id, make, since)
        delta, left = self._write(made)
        self._heads.keep(left)
        return delta

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """See `Store.put_state`."""
        return self._write(
            _sql_read.put_state(self._dialect, conversation_id, freeze(state))
        )

    def delete(self, conversation_id: str) -> bool:
        """See `Store.delete`."""
        return self._write(_sql_write.delete(self._dialect, conversation_id))

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`."""
        made = _sql_read.compact(self._dialect, conversation_id)
        self._heads.keep(self._write(made))

    def read(self, conversation_id: str) -> Snapshot:
        """See `Store.read`."""
        return self._read(_sql_read.read(conversation_id))

    def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Snapshot:
        """See `Store.read_tail`."""
        return self._read(_sql_read.read_tail(conversation_id, messages, tokens, held))

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]:
        """See `Store.read_messages`."""
        return self._read(_sql_read.read_messages(conversation_id, message_ids))

    def read_since(self, conversation_id: str, version: int) -> Delta:
        """See `Store.read_since`."""
        return self._read(_sql_read.read_since(conversation_id, version))

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """See `Store.conversations`."""
        return self._read(_sql_read.conversations(self._dialect, contains, limit))

    def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> tuple[Hit, ...]:
        """See `Store.search`."""
        return self._read(
            _sql_read.search(self._dialect, query, conversation_id, limit)
        )

    def due(self, now: datetime) -> tuple[tuple[str, CallRecord], ...]:
        """See `Store.due`."""
        return self._read(_sql_read.due(now))

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`."""
        return self._read(check(conversation_id))
