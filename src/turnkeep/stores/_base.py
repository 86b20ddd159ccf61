"""What a store promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from functools import wraps
from types import MethodType, TracebackType
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
    runtime_checkable,
)

from ._values import CallRecord, Change, Damage, Delta, Hit, Info, Row, Snapshot

P = ParamSpec("P")
T = TypeVar("T")

MakeChange = Callable[[Delta], Change]
"""Makes a write once what happened in between is known."""


@runtime_checkable
class Store(Protocol):
    """Keeps conversations. Safe to use from several threads and processes.

    Every write is durable when it returns. Every read is of one moment.
    """

    def create(self, conversation_id: str, change: Change = ...) -> int:
        """Begin a conversation with *change*; returns its version.

        Raises:
            ConflictError: It exists already (`expected` is 0).
        """
        ...

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """Make *change*, if the conversation is at version *expected*.

        Costs the change, and the history once where messages go or change what they
        are (calls, results, role).

        Returns:
            The new version.

        Raises:
            UnknownConversationError: There is no such conversation.
            ConflictError: Somebody else wrote first; nothing is written.
            DuplicateIdError: A new message's id is taken; nothing is written.
            UnknownMessageError: A message to change is absent; nothing is written.
            FormatError: No store can keep an id or a name; nothing is written.
        """
        ...

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """Hold everybody else off, tell *make* what is new, write what it makes.

        What *make* raises is passed on, and nothing is written.

        Returns:
            What was written; `version` is the new one.
        """
        ...

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """Set settings without a new version: the last writer wins."""
        ...

    def read(self, conversation_id: str) -> Snapshot:
        """The whole conversation; costs its length.

        Raises:
            UnknownConversationError: There is no such conversation.
            CorruptStoreError: It is damaged.
        """
        ...

    def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Snapshot:
        """The newest messages, without reading the rest.

        Args:
            conversation_id:
                The conversation.
            messages:
                How many.
            tokens:
                Or how many tokens they hold together at least.
            held:
                Add what a window must hold: system messages, pinned ones, open calls,
                each with its whole step and the user message of its turn.
        """
        ...

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]:
        """Some messages, in the order of the history; unknown ids are left out."""
        ...

    def read_since(self, conversation_id: str, version: int) -> Delta:
        """What happened since *version*; costs what happened."""
        ...

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """The conversations whose id contains a text, the last changed one first."""
        ...

    def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> tuple[Hit, ...]:
        """Messages that hold every word of *query*, the newest first; *limit* at most.

        Raises:
            ValueError: *limit* is negative.
        """
        ...

    def due(self, now: datetime) -> tuple[tuple[str, CallRecord], ...]:
        """Awaited calls of all conversations whose deadline has passed at *now*."""
        ...

    def delete(self, conversation_id: str) -> bool:
        """Delete a conversation; returns whether it was there."""
        ...

    def compact(self, conversation_id: str) -> None:
        """Forget how it came to be as it is, and free the space."""
        ...

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """What is damaged, in one conversation or in all; empty if nothing is."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...

    def __enter__(self) -> Self:
        """Close when left."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        ...


class Awaited(Generic[P, T]):
    """A method of `AsyncStore`: one of `Store`, awaited, with the same parameters."""

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        """The twin of *method*."""
        name = method.__name__

        @wraps(method)
        async def awaited(
            store: AsyncStore, /, *args: P.args, **options: P.kwargs
        ) -> T:
            made: T = await store._perform(name, *args, **options)  # noqa: SLF001
            return made

        self.__doc__ = method.__doc__
        self._method: Callable[..., Coroutine[Any, Any, T]] = awaited

    @overload
    def __get__(
        self, instance: None, owner: type
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(
        self, instance: object, owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        """The method, of a store or of the class."""
        method = self._method
        return method if instance is None else MethodType(method, instance)


class AsyncStore(ABC):
    """`Store` for asyncio: the same operations, awaited; see there what each does.

    One method runs them all: `_perform`, which a store for asyncio has to have.
    """

    create: Final = Awaited(Store.create)
    write: Final = Awaited(Store.write)
    update: Final = Awaited(Store.update)
    put_state: Final = Awaited(Store.put_state)
    read: Final = Awaited(Store.read)
    read_tail: Final = Awaited(Store.read_tail)
    read_messages: Final = Awaited(Store.read_messages)
    read_since: Final = Awaited(Store.read_since)
    conversations: Final = Awaited(Store.conversations)
    search: Final = Awaited(Store.search)
    due: Final = Awaited(Store.due)
    delete: Final = Awaited(Store.delete)
    compact: Final = Awaited(Store.compact)
    check: Final = Awaited(Store.check)
    close: Final = Awaited(Store.close)

    @abstractmethod
    async def _perform(self, operation: str, /, *args: Any, **options: Any) -> Any:
        """Do what the method of `Store` with that name does."""

    async def __aenter__(self) -> Self:
        """Close when left."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        await self.close()
