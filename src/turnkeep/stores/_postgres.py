from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.generators import fetch_many
from psycopg.pq import TransactionStatus
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
    read_leniently,
    told,
    translated,
    untaken,
)
from ._sql import Append, Query, Rows
from ._sql_index import WAITING, settle
from ._sql_operations import SqlOperations
from ._sql_store import SqlStore

T = TypeVar("T")

Pool: TypeAlias = ConnectionPool[psycopg.Connection[Any]]

_TIMEOUT = 30.0

_DECIDED = 5.0
# Seconds to wait for a server that is asked to stop.


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
        self._operations = SqlOperations(Postgres())
        self._alone = count(1)
        self._guard = Guard(self._pause, self._renew)
        self._closed = False
        self._doubted = False
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
        try:
            # Whoever died may have left some.
            self._write(settle(self._operations.dialect))
        except OSError as error:
            if error.errno != errno.EROFS:  # what only reads leaves it to others
                self.close()
                raise

    def _made_pool(self) -> Pool:
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
        self._doubted = False
        self._operations = SqlOperations(Postgres())
        self._pool = self._made_pool()

    def _ready(self) -> Pool:
        """The pool, open.

        Raises:
            ValueError: The store is closed.
        """
        if self._pool.closed or self._doubted:
            with self._guard.lock:
                if self._closed:
                    msg = f"{self!r} is closed"
                    raise ValueError(msg)
                if self._doubted:
                    doubted, self._pool = self._pool, self._made_pool()
                    self._doubted = False
                    doubted.close()
                self._pool.open()  # the first use, in a forked process as well
        return self._pool

    def _take(self, pool: Pool) -> psycopg.Connection[Any]:
        """A connection; whoever takes one gives it back.

        Raises:
            ConnectionError: None was free in time.
            ValueError: The store is closed.
        """
        try:
            return pool.getconn()
        except psycopg.OperationalError as error:
            raise untaken(self, error, self._connections, self._timeout) from error

    def _with_connection(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do *work* with a connection, and give it back whatever happens.

        A signal's handler may raise anywhere. Between the statements of a pool that
        loses a connection, so where it is not known that the pool has them all, another
        pool takes its place.
        """
        outer = sys.exception()
        pool = self._ready()
        connection: psycopg.Connection[Any] | None = None
        given = False
        try:
            connection = self._take(pool)
            return work(connection)
        except (psycopg.Error, AssertionError) as error:
            if connection is not None and is_amid(connection):
                # Perhaps what psycopg says of being left in the middle of its work.
                came = _before(error, outer)
                if came is not None:
                    raise came from None
            if isinstance(error, psycopg.Error):
                raise told(error) from error
            raise
        except BaseException as error:
            if connection is None and isinstance(error.__cause__, psycopg.Error):
                given = True  # the pool itself refused
            raise
        finally:
            try:
                if connection is not None:
                    if is_amid(connection):
                        # An answer is still to come, and is not for anybody else.
                        connection.close()
                    pool.putconn(connection)
                    given = True
            finally:
                if not given:
                    self._doubted = True

    def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        def work(connection: psycopg.Connection[Any]) -> T:
            try:
                cursor = connection.cursor()
                cursor.execute(begin)
                made = _drive(cursor, operation)
                _finish(connection, "COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            return made

        return self._with_connection(work)

    def _append(self, one: Append) -> bool:
        if next(self._alone) % WAITING == 0:
            self._write(settle(self._operations.dialect))

        def work(connection: psycopg.Connection[Any]) -> bool:
            try:
                # Alone, a statement is a transaction of its own.
                return bool(_finish(connection, *append(one)).rowcount)
            except psycopg.errors.UniqueViolation:
                return False

        return self._with_connection(work)

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


def _before(error: BaseException, outer: BaseException | None) -> BaseException | None:
    """What was raised when psycopg, on its way out, raised *error*.

    *outer* is what its caller was dealing with already.
    """
    came = error.__context__
    while came is not outer and isinstance(came, (psycopg.Error, AssertionError)):
        came = came.__context__
    return None if came is outer else came


def _finish(
    connection: psycopg.Connection[Any], statement: str, values: Sequence[Any] = ()
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Execute what ends a transaction.

    Where a signal's handler raises meanwhile, the server is asked to stop, and its
    answer awaited: when the exception is out, it is decided what has been written.
    """
    try:
        return connection.execute(statement, values or None)
    except BaseException:
        if connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=_DECIDED)
                connection.wait(fetch_many(connection.pgconn))
        raise


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
            continue
        cursor.execute(translated(query), query.values)
        if cursor.description:
            try:
                rows = cursor.fetchall()
            except UnicodeDecodeError:
                again = read_leniently(cursor.connection.cursor())
                rows = again.execute(translated(query), query.values).fetchall()
