"""Any store for asyncio: its operations run in threads."""

from __future__ import annotations

import asyncio
from typing import Any

from ._base import AsyncStore, Store


def in_thread(store: Store) -> AsyncStore:
    """*store* for asyncio: each operation runs in a thread and is awaited.

    A thread cannot be stopped. A task that is cancelled meanwhile is told so when the
    operation has ended: what it wrote is written then. A function that is given to
    `update` is called in the thread. Closing it closes *store*.
    """
    return _Threaded(store)


class _Threaded(AsyncStore):
    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"in_thread({self.store!r})"

    async def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        method = getattr(self.store, operation)
        work = asyncio.ensure_future(asyncio.to_thread(method, *args, **options))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            if not work.cancelled():
                work.exception()  # nobody is going to ask for it
            raise
