from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Coroutine, Iterator, Mapping
from functools import wraps
from os import PathLike
from typing import (
    Any,
    Concatenate,
    Final,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from turnkeep.budgets import Budget
from turnkeep.engine import OpenCalls, Overflow
from turnkeep.errors import TurnkeepError
from turnkeep.model import GenerationTotals, Message
from turnkeep.plans.telemetry import logger
from turnkeep.stores import AsyncStore, Store, in_thread
from turnkeep.stores._base import Awaited
from turnkeep.strategies import Strategy
from turnkeep.tokens import Usage

from ._bridge import Bridge, in_pool
from ._calls import PendingCall
from ._conversation import Conversation
from ._learning import Observation
from ._link import RestNeededError
from ._settings import Beside, Settings
from ._stream import ResponseStream, Take
from ._taking import Dumpable
from ._window import Window

P = ParamSpec("P")
T = TypeVar("T")

_AT_ONCE: Final = 1_000
"""Messages that a first window is planned of on the event loop, not in a thread."""


class _Kept(Conversation):
    """What is in memory; a cut is written by whoever can await it."""

    later: Callable[[], None] | None = None

    def _keep_cut(self) -> None:
        if self.later is None:
            super()._keep_cut()
        else:
            self.later()


class _Awaited(Awaited[P, T]):
    """A method of `Conversation`, awaited, with the same parameters.

    Args:
        method: The method.
        how: The coroutine of `AsyncConversation` that does what it does.
    """

    def __init__(
        self,
        method: Callable[Concatenate[Any, P], T],
        how: Callable[..., Coroutine[Any, Any, Any]],
    ) -> None:
        """The twin of *method*."""
        name = method.__name__

        @wraps(method)
        async def awaited(
            chat: AsyncConversation, /, *args: P.args, **options: P.kwargs
        ) -> T:
            made: T = await how(chat, getattr(chat._chat, name), *args, **options)
            return made

        self.__doc__ = method.__doc__
        self._method = awaited


async def _write(
    chat: AsyncConversation, method: Callable[..., T], /, *args: Any, **options: Any
) -> T:
    """Do what may ask the store: when its turn has come, and to its end."""
    if chat._bridge is None:
        return method(*args, **options)
    async with chat._queue:
        return await chat._bridge.run(method, *args, **options)


async def _read(
    chat: AsyncConversation, method: Callable[..., T], /, *args: Any, **options: Any
) -> T:
    """Do what is done in memory, unless the store has to be asked for the rest."""
    try:
        return method(*args, **options)
    except RestNeededError:
        return await _write(chat, method, *args, **options)


async def _work(
    chat: AsyncConversation, method: Callable[..., T], /, *args: Any, **options: Any
) -> T:
    """Do what takes long, in a thread."""
    try:
        return await in_pool(method, *args, **options)
    except RestNeededError:
        return await _write(chat, method, *args, **options)


async def _here(work: Callable[..., T], /, *args: Any) -> T:
    return work(*args)


class AsyncConversation:
    """`Conversation` for asyncio: the same methods, awaited; see there what each does.

    Made by `await AsyncConversation.open(store, conversation_id)`, over a store for
    asyncio or over any other, whose work is done in threads then; or without a store.

    Writes of a conversation queue in their order. Memory changes when the store has
    acknowledged; until then `fit`, and whatever else only reads, goes on with what is
    known and waits for nothing. A task may be cancelled at any await: a write that
    waits for its turn is not made; one that has begun is made, in the store and in
    memory, before the task is told. So nothing is ever half written.

    What a window leaves out is remembered in the store behind it, in the background:
    `await flush()` at the end waits for that.

    What is not awaited are the properties, `len`, iteration and indexing. A part that
    `open` left unread (*tail*) is not read for them: they raise `LookupError` until
    `await read_rest()`.

    It belongs to one event loop. Arguments are those of `Conversation`.

    >>> import asyncio
    >>> async def ask() -> dict[str, object]:
    ...     chat = AsyncConversation(budget=8_000, model="gpt-4o")
    ...     await chat.user("Which way is north?")
    ...     return (await chat.fit()).encode()
    >>> asyncio.run(ask())
    {'messages': [{'role': 'user', 'content': 'Which way is north?'}]}
    """

    def __init__(self, **options: Unpack[Settings]) -> None:
        """See the class."""
        self._keep(_Kept(**options), None)

    def _keep(self, chat: Conversation, bridge: Bridge | None) -> None:
        self._chat = chat
        self._bridge = bridge
        self._queue = asyncio.Lock()  # fair: the first who waits is the first to write
        self._has_fitted = False
        self._is_due = False
        self._saving: set[asyncio.Task[None]] = set()
        if bridge is not None and isinstance(chat, _Kept):
            bridge.guard(chat)
            chat.later = self._save_soon

    @classmethod
    def _of(cls, chat: Conversation, bridge: Bridge | None = None) -> Self:
        made = cls.__new__(cls)
        made._keep(chat, bridge)
        return made

    @classmethod
    def from_messages(
        cls,
        messages: Any,
        *,
        format: str | None = None,  # noqa: A002 - the public name
        model: str | None = None,
        tools: Any = None,
        **options: Unpack[Beside],
    ) -> Self:
        """The same as `Conversation.from_messages`: nothing is waited for."""
        chat = _Kept.from_messages(
            messages, format=format, model=model, tools=tools, **options
        )
        return cls._of(chat)

    @classmethod
    async def open(
        cls,
        store: AsyncStore | Store,
        conversation_id: str,
        *,
        create: bool = True,
        rebase: bool = False,
        tail: int | None = None,
        **options: Unpack[Settings],
    ) -> Self:
        """The same as `Conversation.open`, over a store for asyncio or any other.

        Raises:
            UnknownConversationError: It is not there, and *create* is off.
            CorruptStoreError: It is damaged.
        """
        if not isinstance(store, AsyncStore):
            if not hasattr(store, "read_tail"):
                msg = f"store must be one such as SqliteStore(path), not {store!r}"
                raise TypeError(msg)
            store = in_thread(store)
        bridge = Bridge(store)

        def read() -> _Kept:
            return _Kept.open(
                cast("Store", bridge),
                conversation_id,
                create=create,
                rebase=rebase,
                tail=tail,
                **options,
            )

        return cls._of(await bridge.run(read), bridge)

    @classmethod
    def from_json(cls, document: Any, **options: Unpack[Settings]) -> Self:
        """The same as `Conversation.from_json`: nothing is waited for."""
        return cls._of(_Kept.from_json(document, **options))

    @classmethod
    async def load(cls, path: str | PathLike[str], **options: Unpack[Settings]) -> Self:
        """The same as `Conversation.load`, in a thread."""
        return cls._of(await in_pool(_Kept.load, path, **options))

    async def fork(self) -> Self:
        """The same as `Conversation.fork`."""
        return self._of(await _read(self, self._chat.fork))

    # -- what is there -----------------------------------------------------------------

    def __repr__(self) -> str:
        """Show the figures."""
        return f"Async{self._chat!r}"

    def __len__(self) -> int:
        """Number of messages in the history."""
        return len(self._chat)

    def __iter__(self) -> Iterator[Message]:
        """The messages as they are now, in order."""
        return iter(self._chat)

    def __contains__(self, message_id: object) -> bool:
        """Whether a message has that id."""
        return message_id in self._chat

    def __getitem__(self, message_id: str) -> Message:
        """The message with that id.

        Raises:
            UnknownMessageError: There is none.
        """
        return self._chat[message_id]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history; costs its length."""
        return self._chat.messages

    @property
    def pinned(self) -> tuple[Message, ...]:
        """The pinned messages, in order."""
        return self._chat.pinned

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """Calls without a final result that are still awaited, in their order."""
        return self._chat.pending

    @property
    def unanswered(self) -> tuple[PendingCall, ...]:
        """Calls without any result, in their order."""
        return self._chat.unanswered

    @property
    def archive(self) -> tuple[Message, ...]:
        """What the last window left out, in order."""
        return self._chat.archive

    @property
    def usage(self) -> Usage:
        """All that has been observed, added up exactly."""
        return self._chat.usage

    @property
    def generations(self) -> GenerationTotals:
        """The same as generation statistics: one record for each answer observed."""
        return self._chat.generations

    @property
    def version(self) -> int | None:
        """The version in its store that this process has seen; `None` without one."""
        return self._chat.version

    @property
    def is_whole(self) -> bool:
        """Whether the whole history is here, or only the part that `open` read."""
        return self._chat.is_whole

    @property
    def format(self) -> str:
        """The format windows are encoded in; follows the model unless given."""
        return self._chat.format

    @property
    def budget(self) -> Budget | None:
        """What a window may hold. A larger one brings dropped messages back."""
        return self._chat.budget

    @budget.setter
    def budget(self, budget: Budget | int | None) -> None:
        self._chat.budget = budget

    @property
    def strategy(self) -> Strategy | None:
        """What goes first; none for the default. May be set by name."""
        return self._chat.strategy

    @strategy.setter
    def strategy(self, strategy: Strategy | str | None) -> None:
        self._chat.strategy = strategy

    @property
    def model(self) -> str | None:
        """The model; another one counts again and forgets the cut."""
        return self._chat.model

    @model.setter
    def model(self, model: str | None) -> None:
        self._chat.model = model
        self._has_fitted = False

    @property
    def tools(self) -> Any:
        """Tool definitions sent with every request, in the provider's shape."""
        return self._chat.tools

    @tools.setter
    def tools(self, tools: Any) -> None:
        self._chat.tools = tools

    @property
    def metadata(self) -> dict[str, Any]:
        """Anything of the host's that is to be saved with the conversation."""
        return self._chat.metadata

    @metadata.setter
    def metadata(self, metadata: dict[str, Any]) -> None:
        self._chat.metadata = metadata

    call_state: Final = _Awaited(Conversation.call_state, _read)
    to_json: Final = _Awaited(Conversation.to_json, _read)
    read_archive: Final = _Awaited(Conversation.read_archive, _read)
    save: Final = _Awaited(Conversation.save, _work)

    def archive_tool(self, format: str | None = None) -> dict[str, Any]:  # noqa: A002 - the public name
        """The same as `Conversation.archive_tool`: nothing is waited for."""
        return self._chat.archive_tool(format)

    # -- what is written ---------------------------------------------------------------

    system: Final = _Awaited(Conversation.system, _write)
    user: Final = _Awaited(Conversation.user, _write)
    assistant: Final = _Awaited(Conversation.assistant, _write)
    append: Final = _Awaited(Conversation.append, _write)
    extend: Final = _Awaited(Conversation.extend, _write)
    edit: Final = _Awaited(Conversation.edit, _write)
    remove: Final = _Awaited(Conversation.remove, _write)
    rewind: Final = _Awaited(Conversation.rewind, _write)
    clear: Final = _Awaited(Conversation.clear, _write)
    replace_messages: Final = _Awaited(Conversation.replace_messages, _write)
    sync: Final = _Awaited(Conversation.sync, _write)
    set_pinned: Final = _Awaited(Conversation.set_pinned, _write)
    pin: Final = _Awaited(Conversation.pin, _write)
    unpin: Final = _Awaited(Conversation.unpin, _write)
    recall: Final = _Awaited(Conversation.recall, _write)
    defer: Final = _Awaited(Conversation.defer, _write)
    interim: Final = _Awaited(Conversation.interim, _write)
    tool_result: Final = _Awaited(Conversation.tool_result, _write)
    resolve: Final = _Awaited(Conversation.resolve, _write)
    cancel: Final = _Awaited(Conversation.cancel, _write)
    abandon: Final = _Awaited(Conversation.abandon, _write)
    refresh: Final = _Awaited(Conversation.refresh, _write)
    flush: Final = _Awaited(Conversation.flush, _write)
    expire: Final = _Awaited(Conversation.expire, _write)

    async def read_rest(self) -> None:
        """Read what `open` left unread (*tail*); forgets the cut, costs the history."""
        await _write(self, self._chat._load_rest)

    @overload
    async def add_response(
        self, response: Mapping[str, Any], *, window: Window | None = None
    ) -> tuple[Message, ...]: ...

    @overload
    async def add_response(
        self, response: Dumpable, *, window: Window | None = None
    ) -> tuple[Message, ...]: ...

    @overload
    async def add_response(
        self, response: AsyncIterable[T], *, window: Window | None = None
    ) -> ResponseStream[T]: ...

    async def add_response(
        self, response: Any, *, window: Window | None = None
    ) -> tuple[Message, ...] | ResponseStream[Any]:
        """The same as `Conversation.add_response`; streams are asynchronous ones.

        ```python
        async for chunk in await chat.add_response(stream): ...
        ```

        What the stream said is appended before the loop ends. Where the task that goes
        through it is cancelled, nothing of it is appended, or all.
        """
        chat = self._chat
        take = chat._answer_or_stream(response, window)
        if not isinstance(take, ResponseStream):
            return await _write(self, take)

        def append(take: Take, chunks: list[Any]) -> Any:
            return _write(self, take, chunks)

        return take._await_with(append)

    # -- windows -----------------------------------------------------------------------

    async def fit(
        self,
        budget: Budget | int | None = None,
        *,
        tools: Any = None,
        format: str | None = None,  # noqa: A002 - the public name
        open_calls: OpenCalls | None = None,
        on_overflow: Overflow | None = None,
        drop_system: bool = False,
    ) -> Window:
        """The same as `Conversation.afit`: a summariser does not block the event loop.

        Never waits for a write, save where a part that `open` left unread must be read
        first. What takes microseconds is done at once; the first window of a long
        history is planned in a thread.
        """
        return await self._fitted(
            budget,
            {
                "tools": tools,
                "format": format,
                "open_calls": open_calls,
                "on_overflow": on_overflow,
                "drop_system": drop_system,
            },
        )

    afit: Final = fit

    async def refit(self, budget: Budget | int | None = None, **options: Any) -> Window:
        """Forget the cut and fit again from the whole history."""
        with self._chat._lock:
            self._chat._fitter.forget()
        return await self._fitted(budget, options)

    async def _fitted(
        self, budget: Budget | int | None, options: dict[str, Any]
    ) -> Window:
        chat = self._chat
        while True:
            size = len(chat._ledger.messages)
            run = _here if self._has_fitted or size < _AT_ONCE else in_pool
            try:
                window = await chat._afit(run, budget, options)
            except RestNeededError:
                await self.read_rest()
            else:
                self._has_fitted = True
                return window

    def _save_soon(self) -> None:
        """Write the cut in the background; once, however often it moves till then."""
        if not self._is_due:
            self._is_due = True
            task = asyncio.get_running_loop().create_task(self._save())
            self._saving.add(task)
            task.add_done_callback(self._saving.discard)

    async def _save(self) -> None:
        assert self._bridge is not None  # noqa: S101 - only then is there anything due
        async with self._queue:
            self._is_due = False
            try:
                await self._bridge.run(self._chat.flush)
            except (TurnkeepError, OSError) as error:
                # The next flush writes it.
                logger.warning("a cut could not be written: %s", error)

    async def observe(self, usage: Any, *, window: Window | None = None) -> Observation:
        """The same as `Conversation.observe`."""
        return self._chat.observe(usage, window=window)

    async def observe_overflow(
        self, error: object, *, window: Window | None = None
    ) -> bool:
        """The same as `Conversation.observe_overflow`."""
        return self._chat.observe_overflow(error, window=window)
