from __future__ import annotations

import errno
import os
from collections.abc import Generator
from itertools import count
from typing import Any, Self, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool

from ._base import AsyncStore
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

T = TypeVar("T")

_TIMEOUT = 30.0


class AsyncPostgresStore(AsyncStore):
    """`PostgresStore` for asyncio: the same methods, awaited, over the same tables.

    Made by `await AsyncPostgresStore.open(...)`. A forked process cannot go on with it,
    no more than with the event loop: it opens its own.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], schema: str) -> None:
        """Use `open` instead: it makes the tables, too."""
        self.schema = schema
        self._operations = SqlOperations(Postgres())
        self._alone = count(1)
        self._pool = pool
        self._pid = os.getpid()

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        schema: str = "turnkeep",
        connections: int = 4,
        timeout: float = _TIMEOUT,  # noqa: ASYNC109 - for each connection, not for this
    ) -> Self:
        """Open the store; arguments and errors as of `PostgresStore`."""
        try:
            made = await psycopg.AsyncConnection.connect(
                dsn, connect_timeout=int(timeout)
            )
            async with made:
                await made.execute(path_to(schema))
                await _aanswer_all(made, schema)
        except psycopg.Error as error:
            raise told(error) from error

        async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
            await connection.execute(path_to(schema))

        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=max(connections, 1),
            timeout=timeout,
            kwargs={"autocommit": True},
            configure=configure,
            open=False,
        )
        await pool.open()
        store = cls(pool, schema)
        try:
            # Whoever died may have left some.
            await store._run(settle(store._operations.dialect), WRITE)
        except OSError as error:
            if error.errno != errno.EROFS:  # what only reads leaves it to others
                await store.close()
                raise
        return store

    def __repr__(self) -> str:
        """Show the schema; the address may hold a password."""
        return f"AsyncPostgresStore(schema={self.schema!r})"

    async def _take(self) -> psycopg.AsyncConnection[Any]:
        if self._pid != os.getpid():
            msg = f"{self!r} was opened before this process forked: open another here"
            raise ValueError(msg)
        pool = self._pool
        try:
            connection: psycopg.AsyncConnection[Any] = await pool.getconn()
        except psycopg.OperationalError as error:
            raise untaken(self, error, pool.max_size, pool.timeout) from error
        return connection

    async def _give(self, connection: psycopg.AsyncConnection[Any]) -> None:
        if is_amid(connection):
            # An answer is still to come, and must not be taken for another's.
            await connection.close()
        await self._pool.putconn(connection)

    async def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        connection = await self._take()
        try:
            cursor = connection.cursor()
            await cursor.execute(begin)
            made = await _adrive(cursor, operation)
            await cursor.execute("COMMIT")
        except psycopg.Error as error:
            await _aroll_back(connection)
            raise told(error) from error
        except BaseException:
            await _aroll_back(connection)
            raise
        finally:
            await self._give(connection)
        return made

    async def _append(self, one: Append) -> bool:
        if next(self._alone) % WAITING == 0:
            await self._run(settle(self._operations.dialect), WRITE)
        connection = await self._take()
        try:
            # Alone, a statement is a transaction of its own.
            made = await connection.execute(*append(one))
        except psycopg.errors.UniqueViolation:
            return False
        except psycopg.Error as error:
            raise told(error) from error
        finally:
            await self._give(connection)
        return bool(made.rowcount)

    async def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        if operation == "close":
            return await self._pool.close()
        made = getattr(self._operations, operation)(*args, **options)
        if made.first is not None and await self._append(made.first):
            return self._operations.heads.keep(made.first.left)
        return await self._run(made.steps, WRITE if made.writes else READ)


async def _aanswer_all(connection: psycopg.AsyncConnection[Any], schema: str) -> None:
    steps = migrate(schema)
    rows: Any = None
    while True:
        try:
            statement, values = steps.send(rows)
        except StopIteration:
            return
        cursor = await connection.execute(statement, values or None)
        rows = await cursor.fetchall() if cursor.description else []


async def _aroll_back(connection: psycopg.AsyncConnection[Any]) -> None:
    if not connection.closed and not is_amid(connection):
        await connection.rollback()


async def _adrive(
    cursor: psycopg.AsyncCursor[tuple[Any, ...]], operation: Generator[Query, Rows, T]
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
            await cursor.executemany(translated(query), query.values)
            continue
        await cursor.execute(translated(query), query.values)
        if cursor.description:
            try:
                rows = await cursor.fetchall()
            except UnicodeDecodeError:
                again = read_leniently(cursor.connection.cursor())
                await again.execute(translated(query), query.values)
                rows = await again.fetchall()
