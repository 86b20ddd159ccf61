"""What only the stores in PostgreSQL have: a server, and asyncio."""

from __future__ import annotations

import asyncio
import errno
import inspect
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql

from tests.stores.keeping import DSN, QUICK, demand_postgres, schema
from turnkeep import ConflictError, CorruptStoreError, Message
from turnkeep.stores import (
    AsyncPostgresStore,
    AsyncStore,
    Change,
    Delta,
    Pin,
    PostgresStore,
    Store,
)
from turnkeep.stores._postgres_sql import told

pytestmark = pytest.mark.postgres

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.fixture
def name() -> str:
    """An empty schema."""
    demand_postgres()
    return schema()


def user(name: str) -> Change:
    """A change that appends one message."""
    return Change.of_messages([Message.user(f"text {name}", id=name)])


def test_every_method_awaited(name: str) -> None:
    """The same state, through the same statements."""

    async def work() -> None:
        made = await AsyncPostgresStore.open(QUICK, schema=name)
        async with made as store:
            assert await store.create("chat", user("m1")) == 1
            assert await store.write("chat", user("m2"), expected=1) == 2
            with pytest.raises(ConflictError, match="changed: m2"):
                await store.write("chat", user("m3"), expected=1)

            def pin(_news: Delta) -> Change:
                return Change(pins=[Pin("m1", "turn")])

            assert (await store.update("chat", pin, since=1)).version == 3
            await store.put_state("chat", {"a": 1})
            found = await store.read("chat")
            assert [row.message.id for row in found.rows] == ["m1", "m2"]
            assert found.state == {"a": 1}
            tail = await store.read_tail("chat", messages=1, held=True)
            assert tail.rows == found.rows
            assert await store.read_messages("chat", ["m2"]) == found.rows[1:]
            assert (await store.read_since("chat", 2)).version == 3
            [info] = await store.conversations()
            assert info.messages == 2
            assert len(await store.search("text")) == 2
            assert await store.due(NOON) == ()
            await store.compact("chat")
            assert await store.check() == ()
            assert name in repr(store)
            assert await store.delete("chat")

    asyncio.run(work())


def test_tasks_share_a_store(name: str) -> None:
    """Every conflict is told, and every append is there."""

    async def append(store: AsyncPostgresStore, who: str) -> None:
        version, nth = 1, 0
        while nth < 10:
            try:
                change = user(f"{who}{nth}")
                version = await store.write("chat", change, expected=version)
                nth += 1
            except ConflictError as error:
                version = error.actual

    async def work() -> None:
        made = await AsyncPostgresStore.open(QUICK, schema=name, connections=3)
        async with made as store:
            await store.create("chat")
            await asyncio.gather(*(append(store, who) for who in "abc"))
            assert len((await store.read("chat")).rows) == 30

    asyncio.run(work())


def test_the_twin_has_every_method() -> None:
    """With the same parameters."""
    for method, function in inspect.getmembers(Store, inspect.isfunction):
        if not method.startswith("_"):
            assert hasattr(AsyncStore, method)
            twin = getattr(AsyncPostgresStore, method)
            names = list(inspect.signature(function).parameters)
            assert list(inspect.signature(twin).parameters) == names


def test_a_server_that_is_not_there() -> None:
    """It is told at once, and by its address."""
    nowhere = "postgresql://127.0.0.1:1/x"
    with pytest.raises(ConnectionError, match=r"PostgreSQL: .*port 1"):
        PostgresStore(nowhere)
    with pytest.raises(ConnectionError, match=r"PostgreSQL: .*port 1"):
        asyncio.run(AsyncPostgresStore.open(nowhere))


def test_tables_of_a_newer_version(name: str) -> None:
    """They are refused."""
    other = f"{name}_new"
    PostgresStore(QUICK, schema=other).close()
    with psycopg.connect(DSN, autocommit=True) as connection:
        try:
            table = sql.Identifier(other, "turnkeep")
            connection.execute(sql.SQL("UPDATE {} SET version = 99").format(table))
            with pytest.raises(CorruptStoreError, match="made by a newer turnkeep"):
                PostgresStore(QUICK, schema=other)
        finally:
            gone = sql.Identifier(other)
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(gone))


def test_a_connection_that_breaks_is_told(name: str) -> None:
    """The next one works again."""
    with PostgresStore(QUICK, schema=name, connections=1) as store:
        store.create("chat")

        def hang_up(_news: Delta) -> Change:
            with psycopg.connect(DSN, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE state = 'idle in transaction' AND query LIKE '%next_seq%'"
                )
            return Change()

        with pytest.raises(ConnectionError, match="PostgreSQL"):
            store.update("chat", hang_up, since=1)
        assert store.read("chat").version == 1

    async def work() -> None:
        made = await AsyncPostgresStore.open(QUICK, schema=name, connections=1)
        async with made as store:
            with pytest.raises(ConnectionError, match="PostgreSQL"):
                await store.update("chat", hang_up, since=1)
            assert (await store.read("chat")).version == 1

    asyncio.run(work())


@pytest.mark.parametrize(
    ("error", "kind", "number"),
    [
        (psycopg.errors.DiskFull("x"), OSError, errno.ENOSPC),
        (psycopg.errors.ReadOnlySqlTransaction("x"), OSError, errno.EROFS),
        (psycopg.errors.DataCorrupted("x"), CorruptStoreError, None),
        (psycopg.OperationalError("x"), ConnectionError, None),
        (psycopg.errors.UndefinedTable("x"), psycopg.errors.UndefinedTable, None),
    ],
    ids=["full", "read-only", "corrupt", "gone", "other"],
)
def test_errors_of_the_server(
    error: psycopg.Error, kind: type[Exception], number: int | None
) -> None:
    """Python's own where there is one."""
    made = told(error)
    assert isinstance(made, kind)
    assert getattr(made, "errno", None) == number
