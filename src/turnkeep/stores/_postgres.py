from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from turnkeep.model import freeze

from . import _sql_read, _sql_write
from ._base import MakeChange
from ._postgres_sql import READ, WRITE, Postgres, migrate, path_to, told, translated
from ._sql import Query, Rows
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

_TIMEOUT = 30.0


class PostgresStore:
    """Conversations in PostgreSQL: many workers on many machines.

    Writes lock their conversation's row and commit with the server's own
    `synchronous_commit`; reads see one moment (repeatable read). The schema and its
    tables are made, and brought up to date, when the store is opened. A pool of
    connections makes it safe to use from several threads. Extra: `postgres`.

    Args:
        dsn:
            Where the database is, such as `"postgresql://user@host/name"`.
        schema:
            The schema that holds the tables.
        connections:
            How many at most.
        timeout:
            Seconds to wait for one of them.

    Raises:
        ConnectionError: The server cannot be reached, or hung up.
        CorruptStoreError: A newer turnkeep made the tables.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "turnkeep",
        connections: int = 4,
        timeout: float = _TIMEOUT,
    ) -> None:
        """See the class."""
        self.schema = schema
        self._dialect = Postgres()
        try:
            # Tried once here, so that a wrong address fails now and says why.
            with psycopg.connect(dsn, connect_timeout=int(timeout)) as connection:
                connection.execute(path_to(schema))
                _answer_all(connection, schema)
        except psycopg.Error as error:
            raise told(error) from error
        self._pool = ConnectionPool(
            dsn,
            min_size=1,
            max_size=max(connections, 1),
            timeout=timeout,
            kwargs={"autocommit": True},
            configure=self._configure,
            open=True,
        )

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(path_to(self.schema))

    def __repr__(self) -> str:
        """Show the schema; the address may hold a password."""
        return f"PostgresStore(schema={self.schema!r})"

    def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        with self._pool.connection() as connection:
            cursor = connection.cursor()
            try:
                cursor.execute(begin)
                made = _drive(cursor, operation)
                cursor.execute("COMMIT")
            except psycopg.Error as error:
                _roll_back(connection)
                raise told(error) from error
            except BaseException:
                _roll_back(connection)
                raise
            return made

    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, WRITE)

    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, READ)

    def create(self, conversation_id: str, change: Change = Change()) -> int:  # noqa: B008
        """See `Store.create`."""
        return self._write(_sql_write.create(self._dialect, conversation_id, change))

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """See `Store.write`."""
        return self._write(
            _sql_write.write(self._dialect, conversation_id, change, expected)
        )

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """See `Store.update`."""
        return self._write(
            _sql_read.update(self._dialect, conversation_id, make, since)
        )

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
        return self._write(_sql_read.compact(self._dialect, conversation_id))

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

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def __enter__(self) -> Self:
        """Close when left."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _answer_all(connection: psycopg.Connection[Any], schema: str) -> None:
    steps = migrate(schema)
    rows: Any = None
    while True:
        try:
            statement, values = steps.send(rows)
        except StopIteration:
            return
        cursor = connection.execute(statement, values or None)
        rows = cursor.fetchall() if cursor.description else []


def _roll_back(connection: psycopg.Connection[Any]) -> None:
    # A connection that is gone has rolled back by itself.
    if not connection.closed:
        connection.rollback()


def _drive(
    cursor: psycopg.Cursor[tuple[Any, ...]], operation: Generator[Query, Rows, T]
) -> T:
    rows: Any = None
    while True:
        try:
            query = operation.send(rows)
        except StopIteration as stop:
            made: T = stop.value
            return made
        rows = []
        if query.many:
            cursor.executemany(translated(query), query.values)
        else:
            cursor.execute(translated(query), query.values)
            if cursor.description:
                rows = cursor.fetchall()
