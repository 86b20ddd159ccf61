"""Any store for asyncio, in threads; and that both twins have the same methods."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from tests.stores.keeping import KINDS, opened
from turnkeep import ConflictError, Message
from turnkeep.stores import (
    AsyncPostgresStore,
    AsyncStore,
    Change,
    Delta,
    PostgresStore,
    SqliteStore,
    Store,
    in_thread,
)

METHODS = [
    name
    for name in vars(Store)
    if not name.startswith("_") and callable(getattr(Store, name))
]


def one(name: str) -> Change:
    """A change that appends a message."""
    return Change.of_messages([Message.user(f"text {name}", id=name)])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "twin", [AsyncStore, AsyncPostgresStore, SqliteStore, PostgresStore]
)
def test_every_method_is_described_once(twin: type, name: str) -> None:
    """The same parameters and the same words."""
    method, described = getattr(twin, name), getattr(Store, name)
    names = list(inspect.signature(described).parameters)
    assert list(inspect.signature(method).parameters) == names
    assert method.__doc__
    assert inspect.iscoroutinefunction(method) == issubclass(twin, AsyncStore)


@pytest.mark.parametrize("kind", KINDS)
def test_any_store_in_a_thread(kind: str, tmp_path: Path) -> None:
    """Awaited, with the same results and errors."""
    with opened(kind, tmp_path) as store:

        async def work() -> None:
            async with in_thread(store) as made:
                assert await made.create("chat", one("a")) == 1
                assert await made.write("chat", one("b"), expected=1) == 2
                with pytest.raises(ConflictError):
                    await made.write("chat", one("c"), expected=1)

                def make(news: Delta) -> Change:
                    assert current_thread() is not main_thread()
                    assert [row.message.id for row in news.changes.append] == ["b"]
                    return one("c")

                assert (await made.update("chat", make, since=1)).version == 3
                found = await made.read("chat")
                assert [row.message.id for row in found.rows] == ["a", "b", "c"]
                assert len(await made.search("text")) == 3
                assert await made.check() == ()
                assert repr(store) in repr(made)

        asyncio.run(work())
        with pytest.raises(ValueError, match="is closed"):
            store.read("chat")


def test_a_cancelled_write_is_decided(tmp_path: Path) -> None:
    """A task is told that it was cancelled when what it wrote is written."""
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat")
        begun, go_on = Event(), Event()

        def make(_news: Delta) -> Change:
            begun.set()
            assert go_on.wait(20)
            return one("late")

        async def work() -> None:
            task = asyncio.create_task(in_thread(store).update("chat", make, since=1))
            await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert [row.message.id for row in store.read("chat").rows] == ["late"]

        asyncio.run(work())
