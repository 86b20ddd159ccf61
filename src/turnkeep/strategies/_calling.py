"""Asking summarisers: in a thread, on the loop of whoever waits, or ahead of time."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from turnkeep.model import Message

from ._passage import Passage
from ._said import NothingSaidError, Said, read_answer

Summarizer: TypeAlias = Callable[[Passage], Any]
"""Takes the messages to cover, the earlier summary first, and returns a text, or what
a provider's own compactor returned; or an awaitable of that."""


class SummarizerError(Exception):
    """Why there is no summary, in words; never leaves the strategies."""


class NobodyFailedError(SummarizerError):
    """The same, where it is not the summariser's fault."""


class Question:
    """What a summariser is asked, and its answer once it is there.

    It is asked once, by `begin` in a thread of its own or by `begin_on` on a loop.
    """

    def __init__(
        self, summarizer: Summarizer, passage: Passage, timeout: float
    ) -> None:
        """Not asked yet."""
        self._summarizer = summarizer
        self.passage = passage
        self._timeout = timeout
        self._done = threading.Event()
        self._answer: object = None
        self._failure: SummarizerError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has been answered, or has failed."""
        return self._done.is_set()

    def begin(self) -> None:
        """Ask in a thread; an async summariser runs on a private loop there.

        It ends when the summariser does: a slow one is left behind.
        """
        context = contextvars.copy_context()
        # Not a pool: its threads are joined at exit, and a slow one would hang it.
        threading.Thread(
            target=context.run,
            args=(self._work,),
            name="turnkeep-summarizer",
            daemon=True,
        ).start()

    def _work(self) -> None:
        try:
            answer = self._summarizer(self.passage)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_wait(answer, self._timeout))
            self._answer = answer
        except BaseException as error:  # noqa: BLE001 - whatever a caller's code raises
            self._failure = _failure(error, self._timeout)
        finally:
            self._done.set()

    def begin_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask on *loop*, which runs in this thread; a sync summariser gets a thread."""
        if _is_async(self._summarizer):
            self._loop = loop
            self._task = loop.create_task(self._run())
        else:
            self.begin()

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                self._answer = await self._summarizer(self.passage)
        except asyncio.CancelledError:
            self._failure = NobodyFailedError("its event loop ended")
            raise
        except Exception as error:  # noqa: BLE001 - whatever a caller's code raises
            self._failure = _failure(error, self._timeout)
        finally:
            self._done.set()

    async def ask(self) -> None:
        """Ask, if nobody has, and wait without blocking the loop."""
        if self._task is None and not self.is_done and self._loop is None:
            self.begin_on(asyncio.get_running_loop())
        await self.wait_on_loop()

    async def wait_on_loop(self) -> None:
        """Wait for the answer without blocking the loop; no longer than it may take."""
        if self._task is not None and self._loop is asyncio.get_running_loop():
            await asyncio.wait({self._task}, timeout=self._timeout)
        else:
            await asyncio.to_thread(self._done.wait, self._timeout)

    def said(self) -> Said:
        """The answer; waits for it, no longer than it may take.

        Raises:
            SummarizerError: It failed, took too long, or says nothing.
        """
        if not self.is_done:
            if self._loop is not None and self._loop is _running_loop():
                reason = "it is still being written"
                raise NobodyFailedError(reason)
            self._done.wait(self._timeout)
        if self._failure is not None:
            raise self._failure
        if not self.is_done:
            raise SummarizerError(_too_long(self._timeout))
        return _checked(self._answer)


class Early(Question):
    """A summary that is written before it is needed."""

    def __init__(
        self,
        summarizer: Summarizer,
        passage: Passage,
        timeout: float,
        sources: Sequence[Message],
        nth: int,
    ) -> None:
        """Not begun; *sources* is what it stands for, *nth* who is asked."""
        super().__init__(summarizer, passage, timeout)
        self.sources: tuple[Message, ...] = tuple(sources)
        self.nth = nth
        self._used = False

    def said(self) -> Said:
        """See `Question.said`; within an `afit` it is waited for in between."""
        rehearsal = REHEARSAL.get()
        if rehearsal is not None and not self.is_done:
            rehearsal.wait_for(self)
        return super().said()

    def is_first_use(self) -> bool:
        """Whether nobody has taken the answer before."""
        first, self._used = not self._used, True
        return first


class Rehearsal:
    """A plan that is made several times: to find out what to ask, then with the answer.

    In between the summariser runs, on the loop of whoever waits, and nothing is locked
    meanwhile. At most one is asked, and one that was begun early is waited for.
    """

    def __init__(self) -> None:
        """Nothing asked yet."""
        self._asked: Question | None = None
        self._open: Question | None = None
        self._waited: list[Question] = []

    @property
    def is_open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._open is not None

    async def ask(self) -> None:
        """Let the summariser answer: an async one here, a sync one in a thread."""
        question, self._open = self._open, None
        if question is None:
            return
        self._waited.append(question)
        if question is self._asked:
            await question.ask()
        else:
            await question.wait_on_loop()

    def wait_for(self, question: Question) -> None:
        """Note that a question is to be waited for, the first time.

        Raises:
            NobodyFailedError: It has not been yet.
            SummarizerError: It has, and it takes too long.
        """
        if question in self._waited:
            reason = "it takes too long"
            raise SummarizerError(reason)
        self._open = question
        reason = "it is still being written"
        raise NobodyFailedError(reason)

    def answer(self, summarizer: Summarizer, messages: Passage, timeout: float) -> Said:
        """What was answered; noted as a question where nothing was asked yet.

        Raises:
            SummarizerError: There is no answer to this.
        """
        if self._asked is None:
            self._asked = self._open = Question(summarizer, messages, timeout)
            reason = "it has not been asked yet"
            raise NobodyFailedError(reason)
        if self._asked.passage != messages:
            reason = "the history changed while it was written"
            raise NobodyFailedError(reason)
        if not self._asked.is_done:
            raise SummarizerError(_too_long(timeout))
        return self._asked.said()


REHEARSAL: ContextVar[Rehearsal | None] = ContextVar("turnkeep_rehearsal", default=None)
"""Set while an `afit` plans: then a summariser is not called but asked in between."""


def call(summarizer: Summarizer, messages: Passage, timeout: float) -> Said:
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
    question = Question(summarizer, messages, timeout)
    question.begin()
    return question.said()


def _is_async(summarizer: Summarizer) -> bool:
    called = type(summarizer).__call__
    return inspect.iscoroutinefunction(summarizer) or inspect.iscoroutinefunction(
        called
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _failure(error: BaseException, timeout: float) -> SummarizerError:
    if isinstance(error, TimeoutError):
        return SummarizerError(_too_long(timeout))
    made = SummarizerError(f"it failed with {type(error).__name__}: {error}")
    made.__cause__ = error
    return made


def _too_long(timeout: float) -> str:
    return f"it took longer than {timeout:g} seconds"


def _checked(answer: object) -> Said:
    """A summariser's answer.

    Raises:
        SummarizerError: It is none, or says nothing.
    """
    try:
        return read_answer(answer)
    except NothingSaidError as error:
        raise SummarizerError(str(error)) from error


async def _wait(answer: Awaitable[Any], timeout: float) -> Any:  # noqa: ASYNC109
    return await asyncio.wait_for(answer, timeout)
