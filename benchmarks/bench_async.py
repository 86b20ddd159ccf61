"""What a window costs while a slow store is being written to.

``pytest benchmarks/bench_async.py`` prints it: 50 tasks append to one conversation,
half of them are cancelled, and every operation of the store takes 200 ms. Times never
fail a run; that `fit` takes no step of the event loop is a test.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from benchmarks._tools import promise
from turnkeep import AsyncConversation, Budget, Message
from turnkeep.stores import AsyncStore, SqliteStore, in_thread

LENGTH: Final = 5_000
TASKS: Final = 50
DELAY: Final = 0.2


class Slow(AsyncStore):
    """A store far away."""

    def __init__(self, store: AsyncStore) -> None:
        """As far as it says, from when `delay` is set."""
        self.store = store
        self.delay = 0.0

    async def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(self.delay)
        return await getattr(self.store, operation)(*args, **options)


async def _fits(store: SqliteStore) -> list[float]:
    slow = Slow(in_thread(store))
    chat = await AsyncConversation.open(
        slow, "a", model="gpt-4o", budget=Budget(8_000, target=0.6)
    )
    await chat.extend([Message.user(f"question {nth}") for nth in range(LENGTH)])
    await chat.fit()
    await chat.flush()
    slow.delay = DELAY
    tasks = [asyncio.create_task(chat.user(f"new {nth}")) for nth in range(TASKS)]
    await asyncio.sleep(DELAY / 2)
    for task in tasks[1::2]:
        task.cancel()
    times: list[float] = []
    while not all(task.done() for task in tasks):
        begun = perf_counter()
        await chat.fit()
        times.append((perf_counter() - begun) * 1e3)
        await asyncio.sleep(0.01)
    assert len(chat) == LENGTH + TASKS // 2
    assert len(store.read("a").rows) == len(chat)
    return times


def bench_fit_beside_slow_writes(tmp_path: Path) -> None:
    """In the middle, and the slowest of them."""
    with SqliteStore(tmp_path / "chats.db") as store:
        times = asyncio.run(_fits(store))
    name = f"fit beside {TASKS} writes of {DELAY * 1e3:.0f} ms, half cancelled"
    promise(f"{name}: median", 1.0, median(times), "ms")
    promise(f"{name}: 99 of 100", 1.0, sorted(times)[len(times) * 99 // 100], "ms")
