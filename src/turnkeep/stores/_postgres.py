from __future__ import annotations

from collections.abc import Generator
from itertools import count
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from ._postgres_sql import (
    READ,
    WRITE,
    Postgres,
    append,
    migrate,
    path_to,
    told,
    translated,
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
        self._heads = Heads()
        self._alone = count(1)
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
        # Whoever died may have left some.
        self._write(settle(self._dialect))

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

    def _append(self, one: Append) -> bool:
        if next(self._alone) % WAITING == 0:
            self._write(settle(self._dialect))
        connection = self._pool.getconn()
        try:
            # Alone, a statement is a transaction of its own.
            made = connection.execute(*append(one))
        except psycopg.errors.UniqueViolation:
            return False
        except psycopg.Error as error:
            raise told(error) from error
        finally:
            self._pool.putconn(connection)
        return bool(made.rowcount)

    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, WRITE)

    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, READ)

    def close(self) -> None:
        """Close the connections."""
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
