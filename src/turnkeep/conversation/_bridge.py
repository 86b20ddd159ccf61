"""A store of asyncio, for code that blocks: in a thread, beside the running loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from turnkeep.stores import AsyncStore, Change, Delta, Snapshot
from turnkeep.stores._base import MakeChange

from ._link import RestNeededError

if TYPE_CHECKING:
    from ._core import Core

T = TypeVar("T")

_THREADS = 64
"""How many conversations of a process write at once; a thread each, mostly waiting."""


@cache
def _pool() -> ThreadPoolExecutor:
    # Not the loop's own: a store in a thread needs that one.
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="turnkeep")


# The threads stay behind with the parent.
os.register_at_fork(after_in_child=_pool.cache_clear)


async def in_pool(work: Callable[..., T], /, *args: Any, **options: Any) -> T:
    """Do *work* in a thread; what is begun is ended.

    A task that is cancelled meanwhile is told so when the work has ended.
    """
    call = partial(copy_context().run, work, *args, **options)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.run_in_executor(_pool(), call)
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from ended.exception()
    return ended.result()


class Bridge:
    """What a conversation asks of a `Store`, of one for asyncio.

    Called in a thread, it waits for the loop to do it. The conversation's lock is not
    held meanwhile, so that the loop goes on with it: as it was before the write.
    """

    def __init__(self, store: AsyncStore) -> None:
        """Reach *store*; nothing may be asked of it before `run`."""
        self.store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: int | None = None
        self._condition: Condition | None = None

    def guard(self, chat: Core) -> None:
        """Let go of the lock of *chat* while the store works."""
        self._condition = Condition(chat._lock)

    async def run(self, work: Callable[..., T], /, *args: Any, **options: Any) -> T:
        """Do *work* in a thread that may ask the store; one at a time.

        It ends, whatever becomes of the task that waits for it.
        """
        self._loop = asyncio.get_running_loop()

        def begin() -> T:
            self._thread = get_ident()
            try:
                return work(*args, **options)
            finally:
                self._thread = None

        return await in_pool(begin)

    def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        if self._loop is None or self._thread != get_ident():
            # Others would block the loop, or come between a write and its change.
            raise RestNeededError
        made = getattr(self.store, operation)(*args, **options)
        future: Future[Any] = asyncio.run_coroutine_threadsafe(made, self._loop)
        condition = self._condition
        if condition is None:
            return future.result()

        def tell(_: Future[Any]) -> None:
            with condition:
                condition.notify_all()

        with condition:
            future.add_done_callback(tell)
            condition.wait_for(future.done)
        return future.result()

    # -- what a conversation asks ------------------------------------------------------

    def create(self, conversation_id: str, change: Change) -> int:
        """As of `Store`."""
        version: int = self._perform("create", conversation_id, change)
        return version

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """As of `Store`."""
        version: int = self._perform(
            "write", conversation_id, change, expected=expected
        )
        return version

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """As of `Store`; *make* is called with the lock held, in whatever thread."""

        def locked(news: Delta) -> Change:
            if self._condition is None:
                return make(news)
            with self._condition:
                return make(news)

        delta: Delta = self._perform("update", conversation_id, locked, since=since)
        return delta

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """As of `Store`."""
        self._perform("put_state", conversation_id, state)

    def read(self, conversation_id: str) -> Snapshot:
        """As of `Store`."""
        snapshot: Snapshot = self._perform("read", conversation_id)
        return snapshot

    def read_tail(self, conversation_id: str, *, tokens: int, held: bool) -> Snapshot:
        """As of `Store`."""
        snapshot: Snapshot = self._perform(
            "read_tail", conversation_id, tokens=tokens, held=held
        )
        return snapshot

    def read_since(self, conversation_id: str, version: int) -> Delta:
        """As of `Store`."""
        delta: Delta = self._perform("read_since", conversation_id, version)
        return delta
