from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeAlias

from ._passage import Passage

Summarizer: TypeAlias = Callable[[Passage], str | Awaitable[str]]
"""Takes the messages to cover, the earlier summary first, and returns a text."""


class SummarizerError(Exception):
    """Why there is no summary, in words; never leaves the strategies."""


class NobodyFailedError(SummarizerError):
    """The same, where it is not the summariser's fault."""


class Rehearsal:
    """A plan that is made twice: once to find out what to ask, once with the answer.

    Between the two the summariser runs, on the loop of whoever waits, and nothing is
    locked meanwhile.
    """

    def __init__(self) -> None:
        """Nothing asked yet."""
        self.asked: tuple[Summarizer, Passage, float] | None = None
        self._answer: str | None = None
        self._failure: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether a question waits for its answer."""
        return self.asked is not None and self._answer is self._failure is None

    async def ask(self) -> None:
        """Let the summariser answer: an async one here, a sync one in a thread."""
        if self.asked is None:
            return
        summarizer, messages, timeout = self.asked
        try:
            async with asyncio.timeout(timeout):
                if inspect.iscoroutinefunction(summarizer):
                    answer = await summarizer(messages)
                else:
                    answer = await asyncio.to_thread(summarizer, messages)
                    if inspect.isawaitable(answer):
                        answer = await answer
            self._answer = _checked(answer)
        except SummarizerError as error:
            self._failure = str(error)
        except TimeoutError:
            self._failure = f"it took longer than {timeout:g} seconds"
        except Exception as error:  # noqa: BLE001 - whatever a caller's code raises
            self._failure = f"it failed with {type(error).__name__}: {error}"

    def answer(self, summarizer: Summarizer, messages: Passage, timeout: float) -> str:
        """What was answered; noted as a question where nothing was asked yet.

        Raises:
            SummarizerError: There is no answer to this.
        """
        if self.asked is None:
            self.asked = (summarizer, messages, timeout)
            reason = "it has not been asked yet"
            raise NobodyFailedError(reason)
        if self._failure is not None:
            raise SummarizerError(self._failure)
        if self._answer is None or self.asked[1] != messages:
            reason = "the history changed while it was written"
            raise NobodyFailedError(reason)
        return self._answer


REHEARSAL: ContextVar[Rehearsal | None] = ContextVar("turnkeep_rehearsal", default=None)
"""Set while an `afit` plans: then a summariser is not called but asked in between."""


def call(summarizer: Summarizer, messages: Passage, timeout: float) -> str:
    """What *summarizer* says of *messages*.

    It runs in a thread of its own, so that a slow one can be left behind; an async one
    on a private loop there. Within an `afit` it has been asked before, on the caller's
    own loop.

    Raises:
        SummarizerError: It fails, takes longer than *timeout* seconds, or says nothing.
    """
    rehearsal = REHEARSAL.get()
    if rehearsal is not None:
        return rehearsal.answer(summarizer, messages, timeout)
    outcome: list[object] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer = summarizer(messages)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_wait(answer, timeout))
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
        raise SummarizerError(reason) from error
    if not outcome:
        reason = f"it took longer than {timeout:g} seconds"
        raise SummarizerError(reason)
    return _checked(outcome[0])


def _checked(text: object) -> str:
    """A summariser's answer.

    Raises:
        SummarizerError: It is no text, or says nothing.
    """
    if not isinstance(text, str):
        reason = f"it returned a {type(text).__name__}, not text"
        raise SummarizerError(reason)
    if not text.strip():
        reason = "it returned nothing"
        raise SummarizerError(reason)
    return text.strip()


async def _wait(answer: Awaitable[str], timeout: float) -> str:  # noqa: ASYNC109
    return await asyncio.wait_for(answer, timeout)
