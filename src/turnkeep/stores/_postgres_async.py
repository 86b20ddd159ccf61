from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterable
from datetime import datetime
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool

from turnkeep.model import freeze

from . import _sql_read, _sql_write
from ._base import MakeChange
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
from ._sql_append import Heads
from ._sql_check import check
from ._sql_index import WAITING, settle
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


class AsyncPostgresStore:
    """`PostgresStore` for asyncio: the same methods, awaited, over the same tables.

    Made by `await AsyncPostgresStore.open(...)`. A forked process cannot go on with it,
    no more than with the event loop: it opens its own.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], schema: str) -> None:
        """Use `open` instead: it makes the tables, too."""
        self.schema = schema
        self._dialect = Postgres()
        self._heads = Heads()
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
            await store._write(settle(store._dialect))
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
            await self._write(settle(self._dialect))
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

    async def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return await self._run(operation, WRITE)

    async def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return await self._run(operation, READ)

    async def create(self, conversation_id: str, change: Change = Change()) -> int:  # noqa: B008
        """See `Store.create`."""
        made = _sql_write.create(self._dialect, conversation_id, change)
        return self._heads.keep(await self._write(made))

    async def write(
        self, conversation_id: str, change: Change, *, expected: int
    ) -> int:
        """See `Store.write`."""
        one = self._heads.append(conversation_id, change, expected)
        if one is not None and await self._append(one):
            return self._heads.keep(one.left)
        made = _sql_write.write(self._dialect, conversation_id, change, expected)
        return self._heads.keep(await self._write(made))

    async def update(
        self, conversation_id: str, make: MakeChange, *, since: int
    ) -> Delta:
        """See `Store.update`."""
        made = _sql_read.update(self._dialect, conversation_id, make, since)
        delta, left = await self._write(made)
        self._heads.keep(left)
        return delta

    async def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """See `Store.put_state`."""
        return await self._write(
            _sql_read.put_state(self._dialect, conversation_id, freeze(state))
        )

    async def delete(self, conversation_id: str) -> bool:
        """See `Store.delete`."""
        return await self._write(_sql_write.delete(self._dialect, conversation_id))

    async def compact(self, conversation_id: str) -> None:
        """See `Store.compact`."""
        made = _sql_read.compact(self._dialect, conversation_id)
        self._heads.keep(await self._write(made))

    async def read(self, conversation_id: str) -> Snapshot:
        """See `Store.read`."""
        return await self._read(_sql_read.read(conversation_id))

    async def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Snapshot:
        """See `Store.read_tail`."""
        return await self._read(
            _sql_read.read_tail(conversation_id, messages, tokens, held)
        )

    async def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]:
        """See `Store.read_messages`."""
        return await self._read(_sql_read.read_messages(conversation_id, message_ids))

    async def read_since(self, conversation_id: str, version: int) -> Delta:
        """See `Store.read_since`."""
        return await self._read(_sql_read.read_since(conversation_id, version))

    async def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """See `Store.conversations`."""
        return await self._read(_sql_read.conversations(self._dialect, contains, limit))

    async def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> tuple[Hit, ...]:
        """See `Store.search`."""
        return await self._read(
            _sql_read.search(self._dialect, query, conversation_id, limit)
        )

    async def due(self, now: datetime) -> tuple[tuple[str, CallRecord], ...]:
        """See `Store.due`."""
        return await self._read(_sql_read.due(now))

    async def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`."""
        return await self._read(check(conversation_id))

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()

    async def __aenter__(self) -> Self:
        """Close when left."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()


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
