"""Processes that fork while a store is open: nothing hangs, is mixed up or lost."""

from __future__ import annotations

import asyncio
import faulthandler
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.stores.keeping import KINDS, QUICK, demand_postgres, open_at, place, schema
from turnkeep import Message
from turnkeep.stores import AsyncPostgresStore, Change, SqliteStore, Store


def user(name: str) -> Change:
    """A change that appends one message."""
    return Change.of_messages([Message.user(f"text {name}", id=name)])


def forked(work: Callable[[], object]) -> int:
    """Do something in a child; returns its number."""
    child = os.fork()
    if not child:  # pragma: no cover - in another process
        code = 1
        try:
            faulthandler.dump_traceback_later(30, exit=True)
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def ended_well(child: int) -> bool:
    """Wait for a child; whether its work raised nothing."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def write_and_read(store: Store, name: str, times: int = 20) -> None:
    """Append to a conversation of its own; every answer must be about that one."""
    version = store.create(name)
    for nth in range(times):
        version = store.write(name, user(f"{name}-{nth}"), expected=version)
        found = store.read(name)
        assert (found.id, found.version, len(found.rows)) == (name, version, nth + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_children_of_a_process_that_is_writing(kind: str, tmp_path: Path) -> None:
    """Each has its own locks and connections, whatever other threads were doing."""
    with place(kind, tmp_path) as address, open_at(address) as store:
        stop = Event()

        def write() -> None:
            version = store.create("busy")
            nth = 0
            while not stop.is_set():
                version = store.write("busy", user(f"m{nth}"), expected=version)
                nth += 1

        busy = Thread(target=write)
        busy.start()
        try:
            for nth in range(10):
                name = f"child{nth}"
                child = forked(lambda name=name: write_and_read(store, name, 3))  # type: ignore[misc]
                assert ended_well(child)
        finally:
            stop.set()
            busy.join()
        assert len(store.conversations()) == 11
        assert store.check() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_brothers_never_take_each_others_answers(kind: str, tmp_path: Path) -> None:
    """Nor does the parent, who goes on meanwhile."""
    with place(kind, tmp_path) as address, open_at(address) as store:
        store.create("chat")
        children = [
            forked(lambda name=name: write_and_read(store, name))  # type: ignore[misc]
            for name in ("a", "b")
        ]
        write_and_read(store, "c")
        assert [ended_well(child) for child in children] == [True, True]
        assert store.check() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_closed_stays_closed(kind: str, tmp_path: Path) -> None:
    """In the child as in the parent."""

    def refuses() -> None:
        with pytest.raises(ValueError, match="is closed"):
            store.read("chat")

    with place(kind, tmp_path) as address:
        store = open_at(address)
        store.create("chat")
        store.close()
        refuses()
        assert ended_well(forked(refuses))


def test_a_parent_that_closes_takes_nothing_from_its_children(tmp_path: Path) -> None:
    """Whoever closes last deletes the log: the child's writes must not be in it."""
    path = tmp_path / "chats.db"
    store = SqliteStore(path)
    store.create("chat")
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()

    def work() -> None:
        store.write("chat", user("before"), expected=1)
        os.write(to_parent, b"x")
        os.read(from_parent, 1)
        store.write("chat", user("after"), expected=2)

    child = forked(work)
    os.read(from_child, 1)
    store.close()
    SqliteStore(path).close()
    os.write(to_child, b"x")
    assert ended_well(child)

    with SqliteStore(path) as again:
        found = again.read("chat").rows
        assert [row.message.id for row in found] == ["before", "after"]
    for end in (from_child, to_parent, from_parent, to_child):
        os.close(end)


def test_a_fork_inside_an_update(tmp_path: Path) -> None:
    """The child cannot know what is locked, and refuses; the parent goes on."""
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat")

        def refuses() -> None:
            with pytest.raises(ValueError, match="at work while this process forked"):
                store.read("chat")

        def make(_news: Any) -> Change:
            assert ended_well(forked(refuses))
            return user("made")

        assert store.update("chat", make, since=1).version == 2


@pytest.mark.postgres
def test_a_store_of_another_loop() -> None:
    """It is refused in a child: its event loop is the parent's."""
    demand_postgres()
    name = schema()

    async def work() -> None:
        made = await AsyncPostgresStore.open(QUICK, schema=name, connections=1)
        async with made as store:
            await store.create("chat")

            def refuses() -> None:
                with pytest.raises(ValueError, match="before this process forked"):
                    store.read("chat").send(None)

            assert ended_well(forked(refuses))
            assert (await store.read("chat")).version == 1

    asyncio.run(work())
