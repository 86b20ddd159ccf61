"""What only the stores in PostgreSQL have: a server, and asyncio."""

from __future__ import annotations

import asyncio
import errno
import inspect
from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql

from tests.stores.keeping import (
    DSN,
    QUICK,
    Alarm,
    alarm,
    demand_postgres,
    schema,
)
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
from turnkeep.stores._postgres_sql import path_to, told

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
        (psycopg.errors.InsufficientPrivilege("x"), PermissionError, errno.EACCES),
        (psycopg.errors.UndefinedTable("x"), CorruptStoreError, None),
    ],
    ids=["full", "read-only", "corrupt", "gone", "refused", "other"],
)
def test_errors_of_the_server(
    error: psycopg.Error, kind: type[Exception], number: int | None
) -> None:
    """Python's own where there is one."""
    made = told(error)
    assert isinstance(made, kind)
    assert getattr(made, "errno", None) == number


def test_connections_that_are_all_in_use(name: str) -> None:
    """The error says so, and what to do."""
    with PostgresStore(QUICK, schema=name, connections=1, timeout=0.2) as store:
        store.create("chat")
        store.write("chat", user("m1"), expected=1)

        def make(_news: Delta) -> Change:
            for use in (
                lambda: store.read("chat"),
                lambda: store.write("chat", user("m2"), expected=2),
            ):
                with pytest.raises(ConnectionError, match="raise connections="):
                    use()
            return Change()

        assert store.update("chat", make, since=2).version == 3

    async def work() -> None:
        made = await AsyncPostgresStore.open(
            QUICK, schema=name, connections=1, timeout=0.2
        )
        async with made as store:
            async with store._pool.connection():
                with pytest.raises(ConnectionError, match="none of the 1 connections"):
                    await store.read("chat")
            assert (await store.read("chat")).version == 3

    asyncio.run(work())


def test_a_closed_store_says_so(name: str) -> None:
    """Closing twice is fine."""
    store = PostgresStore(QUICK, schema=name)
    store.create("chat")
    for _ in range(2):
        store.close()
    with pytest.raises(ValueError, match="is closed"):
        store.read("chat")
    with pytest.raises(ValueError, match="is closed"):
        store.write("chat", user("m1"), expected=1)

    async def work() -> None:
        made = await AsyncPostgresStore.open(QUICK, schema=name)
        await made.close()
        await made.close()
        with pytest.raises(ValueError, match="is closed"):
            await made.read("chat")

    asyncio.run(work())


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.write("chat", user("x"), expected=2),
        lambda store: store.put_state("chat", {"a": 1}),
    ],
    ids=["append", "other"],
)
def test_a_signal_while_waiting_for_a_lock(
    name: str, write: Callable[[PostgresStore], object]
) -> None:
    """What its handler raises comes out; no later question gets its answer."""
    with PostgresStore(DSN, schema=name, connections=1) as store:
        store.create("chat")
        store.write("chat", user("m1"), expected=1)
        with psycopg.connect(DSN) as other:
            other.execute(path_to(name))
            other.execute("SELECT 1 FROM conversations FOR UPDATE")
            with alarm(0.2), pytest.raises(Alarm):
                write(store)
            found = store.read("chat")
        assert (found.id, [row.message.id for row in found.rows]) == ("chat", ["m1"])
        # The server may find out only now that nobody waits any more.
        version = store.read("chat").version
        made = store.update("chat", lambda _: user("after"), since=version)
        assert "after" in [row.message.id for row in store.read("chat").rows]
        assert made.version >= version
        assert store.check() == ()
