"""An answer that arrives in chunks: passed on while it is collected."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from inspect import isawaitable, iscoroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import attrs

from turnkeep.model import Message

T = TypeVar("T")

Take = Callable[[list[Any]], tuple[Message, ...]]
"""Appends the answer that came in these chunks."""

AsyncTake = Callable[[list[Any]], Awaitable[tuple[Message, ...]]]
"""The same, awaited."""


@attrs.define
class _Collected:
    """What has come, and what was made of it.

    The generators hold this and not the stream: so it goes, and with it they and the
    provider's stream, as soon as the caller has let go of it.
    """

    take: Take
    atake: AsyncTake | None = None
    chunks: list[Any] = attrs.field(factory=list)
    messages: tuple[Message, ...] = ()

    def finish(self) -> None:
        """Everything has come."""
        chunks, self.chunks = self.chunks, []
        self.messages = self.take(chunks)

    async def afinish(self) -> None:
        """The same in a coroutine."""
        if self.atake is None:
            self.finish()
            return
        chunks, self.chunks = self.chunks, []
        self.messages = await self.atake(chunks)


class ResponseStream(Iterator[T], AsyncIterator[T], Generic[T]):
    """The chunks of an answer, unchanged, on their way to whoever asked for them.

    Made by `Conversation.add_response`, and gone through with `for` or `async for`, as
    the provider's own stream is. When that is exhausted, before the loop ends, the
    answer is appended and its usage observed; what is wrong with the answer is raised
    then, behind its last chunk.

    Whoever stops before the end gets nothing appended. The provider's stream is closed
    with this one: by `close`, at the end of a `with`, or when nobody holds it any more.
    """

    def __init__(self, source: Iterable[T] | AsyncIterable[T], take: Take) -> None:
        """Go through *source*, then *take* what came."""
        self._source = source
        self._collected = _Collected(take)
        self._passing: Generator[T, None, None] | None = None
        self._passing_async: AsyncGenerator[T, None] | None = None
        self._closed = False

    def _await_with(self, run: Callable[[Take, list[Any]], Any]) -> Self:
        """Let *run* make a coroutine of what takes the answer: then only `async for`.

        Raises:
            TypeError: The provider's stream is not asynchronous.
        """
        if not isinstance(self._source, AsyncIterable):
            msg = (
                f"{_kind(self._source)} is not asynchronous: ask for it with the "
                "provider's asynchronous client"
            )
            raise TypeError(msg)
        collected = self._collected
        take = collected.take
        collected.atake = lambda chunks: run(take, chunks)
        return self

    @property
    def messages(self) -> tuple[Message, ...]:
        """What has been appended; nothing before the end."""
        return self._collected.messages

    def __iter__(self) -> Self:
        """Itself: no chunk is passed on twice."""
        return self

    def __next__(self) -> T:
        """The next chunk."""
        if self._closed:
            raise StopIteration
        if self._passing is None:
            is_async = self._collected.atake is not None
            if is_async or not isinstance(self._source, Iterable):
                msg = f"{_kind(self._source)} is asynchronous: use 'async for'"
                raise TypeError(msg)
            self._passing = _passed(self._source, self._collected)
        return next(self._passing)

    def close(self) -> None:
        """Stop: nothing more is passed on, and nothing appended."""
        self._closed = True
        if self._passing is not None:
            self._passing.close()
        else:
            _close(self._source)

    def __enter__(self) -> Self:
        """Close it at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it, whatever happened."""
        self.close()

    # -- the same without blocking -----------------------------------------------------

    def __aiter__(self) -> Self:
        """Itself, as for `for`."""
        return self

    async def __anext__(self) -> T:
        """The next chunk."""
        if self._closed:
            raise StopAsyncIteration
        if self._passing_async is None:
            if not isinstance(self._source, AsyncIterable):
                msg = f"{_kind(self._source)} is not asynchronous: use 'for'"
                raise TypeError(msg)
            self._passing_async = _apassed(self._source, self._collected)
        return await anext(self._passing_async)

    async def aclose(self) -> None:
        """The same as `close`."""
        self._closed = True
        if self._passing_async is not None:
            await self._passing_async.aclose()
        else:
            await _aclose(self._source)

    async def __aenter__(self) -> Self:
        """Close it at the end."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it, whatever happened."""
        await self.aclose()


def _kind(source: object) -> str:
    return f"a stream of type {type(source).__name__}"


def _passed(source: Iterable[T], collected: _Collected) -> Generator[T, None, None]:
    chunks = iter(source)
    try:
        for chunk in chunks:
            collected.chunks.append(chunk)
            yield chunk
        collected.finish()
    finally:
        _close(chunks)
        if source is not chunks:
            _close(source)


async def _apassed(
    source: AsyncIterable[T], collected: _Collected
) -> AsyncGenerator[T, None]:
    chunks = aiter(source)
    try:
        async for chunk in chunks:
            collected.chunks.append(chunk)
            yield chunk
        await collected.afinish()
    finally:
        await _aclose(chunks)
        if source is not chunks:
            await _aclose(source)


def _close(source: object) -> None:
    """Close a stream, if it can be closed."""
    close = getattr(source, "close", None)
    if callable(close) and iscoroutine(waiting := close()):
        # Nobody waits for it here; it may not complain of that.
        waiting.close()


async def _aclose(source: object) -> None:
    close = getattr(source, "aclose", None) or getattr(source, "close", None)
    if callable(close) and isawaitable(waiting := close()):
        await waiting
