from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from ._forks import Guard, keep
from ._postgres_sql import (
    READ,
    WRITE,
    Postgres,
    append,
    is_amid,
    migrate,
    path_to,
    told,
    translated,
    untaken,
)
from ._sql import Append, Query, Rows
from ._sql_append import Heads
from ._sql_index import WAITING, settle
from ._sql_store import SqlStore

T = TypeVar("T")

_TIMEOUT = 30.0


class PostgresStore(SqlStore):
    """Conversations in PostgreSQL: many workers on many machines.

    Writes lock their conversation's row and commit with the server's own
    `synchronous_commit`; reads see one moment (repeatable read). The schema and its
    tables are made, and brought up to date, when the store is opened. A pool of
    connections makes it safe to use from several threads; a forked process opens its
    own at the first use. Extra: `postgres`.

    Args:
        dsn:
            Where the database is, such as `"postgresql://user@host/name"`.
        schema:
            The schema that holds the tables.
        connections:
            How many at most.
        timeout:
            Seconds to wait for one of them before `ConnectionError`.

    Raises:
        ConnectionError: The server cannot be reached or hung up, or every connection is
            in use for too long.
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
        self._heads = Heads()
        self._alone = count(1)
        self._guard = Guard(self._pause, self._renew)
        self._closed = False
        try:
            # Tried once here, so that a wrong address fails now and says why.
            with psycopg.connect(dsn, connect_timeout=int(timeout)) as connection:
                connection.execute(path_to(schema))
                _answer_all(connection, schema)
        except psycopg.Error as error:
            raise told(error) from error
        self._dsn, self._connections, self._timeout = dsn, max(connections, 1), timeout
        self._pool = self._made_pool()
        self._pool.open()
        # Whoever died may have left some.
        self._write(settle(self._dialect))

    def _made_pool(self) -> ConnectionPool[psycopg.Connection[Any]]:
        """A pool that is not open yet: nothing runs for it."""
        return ConnectionPool(
            self._dsn,
            min_size=1,
            max_size=self._connections,
            timeout=self._timeout,
            kwargs={"autocommit": True},
            configure=self._configure,
            open=False,
        )

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(path_to(self.schema))

    def __repr__(self) -> str:
        """Show the schema; the address may hold a password."""
        return f"PostgresStore(schema={self.schema!r})"

    def _pause(self) -> bool:
        return True

    def _renew(self, _paused: bool) -> None:
        # The parent's connections stay untouched, and closed is closed.
        keep(self._pool)
        self._heads = Heads()
        self._pool = self._made_pool()

    def _take(self) -> psycopg.Connection[Any]:
        """A connection; whoever takes one gives it back.

        Raises:
            ConnectionError: None was free in time.
            ValueError: The store is closed.
        """
        if self._pool.closed:
            with self._guard.lock:
                if self._closed:
                    msg = f"{self!r} is closed"
                    raise ValueError(msg)
                self._pool.open()  # the first use in a forked process
        try:
            return self._pool.getconn()
        except psycopg.OperationalError as error:
            raise untaken(self, error, self._connections, self._timeout) from error

    def _give(self, connection: psycopg.Connection[Any]) -> None:
        if is_amid(connection):
            # An answer is still to come, and must not be taken for another's.
            connection.close()
        self._pool.putconn(connection)

    def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        connection = self._take()
        try:
            cursor = connection.cursor()
            cursor.execute(begin)
            made = _drive(cursor, operation)
            cursor.execute("COMMIT")
        except psycopg.Error as error:
            _roll_back(connection)
            raise told(error) from error
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            self._give(connection)
        return made

    def _append(self, one: Append) -> bool:
        if next(self._alone) % WAITING == 0:
            self._write(settle(self._dialect))
        connection = self._take()
        try:
            # Alone, a statement is a transaction of its own.
            made = connection.execute(*append(one))
        except psycopg.errors.UniqueViolation:
            return False
        except psycopg.Error as error:
            raise told(error) from error
        finally:
            self._give(connection)
        return bool(made.rowcount)

    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, WRITE)

    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, READ)

    def close(self) -> None:
        """Close the connections."""
        with self._guard.lock:
            self._closed = True
            self._pool.close()


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
    # A connection that is gone has rolled back by itself, and so will one that is
    # closed for its unfinished statement.
    if not connection.closed and not is_amid(connection):
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
