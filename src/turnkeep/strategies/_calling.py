from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import TypeAlias

from turnkeep.model import Message

Summarizer: TypeAlias = Callable[[Sequence[Message]], str | Awaitable[str]]
"""Takes the messages to cover, the earlier summary first, and returns a text."""

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar(
    "turnkeep_summarizer_loop", default=None
)
"""The running event loop of an `afit`, whose planning runs in another thread. An async
summariser then runs on the caller's own loop, where its clients belong."""


class SummariserError(Exception):
    """Why there is no summary, in words; never leaves the strategies."""


def call(summarizer: Summarizer, messages: Sequence[Message], timeout: float) -> str:
    """What *summarizer* says of *messages*.

    It runs in a thread of its own, so that a slow one can be left behind; an async one
    on the loop of the caller's `afit`, or on a private loop.

    Raises:
        SummariserError: It fails, takes longer than *timeout* seconds, or says nothing.
    """
    outcome: list[object] = []
    failure: list[BaseException] = []
    loop = LOOP.get()

    def work() -> None:
        try:
            answer = summarizer(messages)
            if inspect.isawaitable(answer):
                answer = _wait(answer, loop, timeout)
            outcome.append(answer)
        except BaseException as error:  # noqa: BLE001 - whatever a caller's code raises
            failure.append(error)

    context = contextvars.copy_context()
    # Not a pool: its threads are joined at exit, and a slow summariser would hang it.
    thread = threading.Thread(
        target=context.run, args=(work,), name="turnkeep-summarizer", daemon=True
    )
    thread.start()
    thread.join(timeout)
    if failure:
        error = failure[0]
        reason = f"it failed with {type(error).__name__}: {error}"
        raise SummariserError(reason) from error
    if not outcome:
        reason = f"it took longer than {timeout:g} seconds"
        raise SummariserError(reason)
    text = outcome[0]
    if not isinstance(text, str):
        reason = f"it returned a {type(text).__name__}, not text"
        raise SummariserError(reason)
    if not text.strip():
        reason = "it returned nothing"
        raise SummariserError(reason)
    return text.strip()


def _wait(
    answer: Awaitable[str], loop: asyncio.AbstractEventLoop | None, timeout: float
) -> str:
    async def wait() -> str:
        return await asyncio.wait_for(answer, timeout)

    if loop is not None and loop.is_running():
        return asyncio.run_coroutine_threadsafe(wait(), loop).result(timeout)
    return asyncio.run(wait())
