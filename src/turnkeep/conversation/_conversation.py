from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Self

from turnkeep.budgets import Budget
from turnkeep.engine import OpenCalls, Overflow
from turnkeep.errors import (
    BudgetExceededError,
    ConflictError,
    DuplicateIdError,
    UnknownConversationError,
    UnknownMessageError,
)
from turnkeep.formats import decode_entries, detect, format_of_model, get_format
from turnkeep.model import (
    PENDING,
    STAND_IN_TEXT,
    Block,
    GenerationTotals,
    Message,
    PinScope,
    ToolCall,
    as_sent,
    marker_of,
    paused_gc,
    unmark,
)
from turnkeep.plans import Plan
from turnkeep.serial import loads, write_atomic
from turnkeep.stores import CallRecord, Change, Pin, Row, Snapshot, Store
from turnkeep.strategies import Strategy
from turnkeep.strategies._calling import REHEARSAL, Rehearsal
from turnkeep.telemetry import log_prune
from turnkeep.tokens import (
    RequestCounter,
    TextCounter,
    Usage,
    request_counter,
    text_counter,
)

from ._asking import Ask
from ._calls import POLICIES, CallState, PendingCall, PendingPolicy
from ._changes import apply_change
from ._desk import CallDesk, deadline
from ._editing import check_result, edited
from ._fitting import Fitter
from ._learning import Observation
from ._ledger import Ledger
from ._link import Link
from ._saving import from_document, from_snapshot, settings_of, to_document, to_parts
from ._window import Window


class Conversation:
    """A history that is appended to, pinned, fitted, saved and restored.

    Sequence-like: `len`, iteration, and indexing by message id. One lock guards it, so
    every method may be called from several threads.

    Args:
        budget:
            What a window may hold. Without one, `fit` needs its own, or the model's
            context window is taken (extra `models`).
        model:
            Chooses the tokenizer, the format and the provider's rules.
        format:
            What windows are encoded in; follows the model unless given.
        tools:
            Tool definitions sent with every request, in the provider's shape.
        strategy:
            What goes first; `OldestTurns() | OldestSteps()` unless given.
        token_counter:
            A counter, or a name such as `"o200k_base"` or `"approximate"`.
        stand_in_text:
            What the model reads for an open call that other messages follow.
        pending_policy:
            What windows do about open calls that other messages follow: `"answer"` them
            with a stand-in, `"keep"` them bare, or `"raise"` `OpenCallError`. The
            history itself never gets an answer that nobody gave.
        on_prune:
            Called with the plan whenever something had to go.
    """

    DEFAULT_STAND_IN: ClassVar = STAND_IN_TEXT

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        model: str | None = None,
        format: str | None = None,  # noqa: A002 - the public name
        tools: Any = None,
        strategy: Strategy | None = None,
        token_counter: TextCounter | RequestCounter | str | None = None,
        stand_in_text: str = STAND_IN_TEXT,
        pending_policy: PendingPolicy = "answer",
        on_prune: Callable[[Plan], object] | None = None,
    ) -> None:
        """See the class."""
        if pending_policy not in POLICIES:
            known = ", ".join(map(repr, POLICIES))
            msg = f"pending_policy is one of {known}, not {pending_policy!r}"
            raise ValueError(msg)
        self._lock = RLock()
        self._budget = budget
        self._model = model
        self._format = format
        self.tools = tools
        self.strategy = strategy
        self._text_counter = token_counter
        self.stand_in_text = stand_in_text
        self.pending_policy = pending_policy
        self.on_prune = on_prune
        self.metadata: dict[str, Any] = {}
        """Anything of the host's that is to be saved with the conversation."""
        self._unknown: dict[str, Any] = {}
        self._next = 1
        self._link: Link | None = None
        self._asked: tuple[Any, Ask] = ((), Ask(""))
        """What the last window was asked for: mostly the same as the next."""
        self._ledger = Ledger(self._make_counter())
        self._desk = CallDesk(self._ledger)
        self._fitter = Fitter(self._ledger, self._desk, self._lock)

    @classmethod
    def from_messages(
        cls,
        messages: Any,
        *,
        format: str | None = None,  # noqa: A002 - the public name
        model: str | None = None,
        tools: Any = None,
        **options: Any,
    ) -> Self:
        """A conversation that begins with *messages*, in any format.

        System text and tools of a request body are taken over. Time stamps stay unset
        where the history says none. Costs the history.

        Raises:
            FormatError: The input is malformed; its path says where.
            DuplicateIdError: An id is used twice.
        """
        name = format or detect(messages, model=model).format
        source = get_format(name)
        envelope = source.open(messages)
        if format is None and name not in ("messages", "turnkeep"):
            format = name  # noqa: A001 - the public name
        chat = cls(
            format=format,
            model=model or envelope.model,
            tools=envelope.tools if tools is None else tools,
            **options,
        )
        chat._take(_decoded(source, envelope))
        return chat

    @classmethod
    def open(
        cls,
        store: Store,
        conversation_id: str,
        *,
        create: bool = True,
        rebase: bool = False,
        tail: int | None = None,
        **options: Any,
    ) -> Self:
        """A conversation in a store: every change is durable there when it returns.

        Args:
            store:
                Where it is kept.
            conversation_id:
                Which one.
            create:
                Make it if it is not there.
            rebase:
                Whether appends go behind what others have written meanwhile, without
                asking; see `append`.
            tail:
                Read only the newest part, of at least so many tokens, and what a window
                must hold: system messages, pins, open calls. Enough for a window of
                that size, whatever the length of the history; what needs the rest
                reads it.
            **options:
                Arguments of the class; they come before what was saved.

        Raises:
            UnknownConversationError: It is not there, and *create* is off.
            CorruptStoreError: It is damaged.
        """

        def read() -> Snapshot:
            if tail is None:
                return store.read(conversation_id)
            return store.read_tail(conversation_id, tokens=tail, held=True)

        try:
            snapshot = read()
        except UnknownConversationError:
            if not create:
                raise
            settings = settings_of(cls(**options))
            # Another process may be making it at this moment: then theirs is read.
            with suppress(ConflictError):
                store.create(conversation_id, Change(state=settings))
            snapshot = read()
        chat: Self = from_snapshot(cls, snapshot, options)
        chat._link = Link(store, snapshot, rebase=rebase, tail=tail)
        return chat

    # -- what it is -----------------------------------------------------------------

    @property
    def budget(self) -> Budget | None:
        """What a window may hold. A larger one brings dropped messages back."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | None) -> None:
        self._budget = budget

    @property
    def model(self) -> str | None:
        """The model; another one counts again and forgets the cut."""
        return self._model

    @model.setter
    def model(self, model: str | None) -> None:
        with self._lock:
            if model == self._model:
                return
            self._model = model
            self._fitter.settle()
            self._ledger.use(self._make_counter())
            self._fitter.forget()

    @property
    def format(self) -> str:
        """The format windows are encoded in; follows the model unless given."""
        if self._format is None:
            return format_of_model(self._model)
        return self._format

    def _make_counter(self) -> RequestCounter:
        counter = self._text_counter
        if isinstance(counter, RequestCounter):
            return counter
        if isinstance(counter, str):
            counter = text_counter(self._model, counter)
        return request_counter(format=self.format, model=self._model, text=counter)

    @property
    def version(self) -> int | None:
        """The version in its store that this process has seen; `None` without one."""
        return None if self._link is None else self._link.version

    @property
    def is_whole(self) -> bool:
        """Whether the whole history is here, or only the part that `open` read."""
        return self._link is None or self._link.tail is None

    def refresh(self) -> tuple[str, ...]:
        """Take over what other processes wrote to the store; costs what they wrote.

        Returns:
            Ids of the messages that came, changed or went.
        """
        with self._lock:
            return () if self._link is None else self._link.refresh(self)

    def flush(self) -> None:
        """Write settings (budget, model, metadata, the cut) to the store.

        `fit` does so when it has cut. Messages, pins and calls need no flush.
        """
        with self._lock:
            if self._link is not None:
                self._link.flush(self)

    def _load_rest(self) -> None:
        if self._link is not None:
            self._link.load_rest(self)

    def _commit(self, make: Callable[[], Change], *, rebase: bool = True) -> Change:
        """Make a change: in the store first, where there is one, and then here.

        With *rebase*, a change that others were faster than is made again on top of
        theirs: for what stays right whatever they wrote.
        """
        link = self._link
        change = make() if link is None else link.commit(self, make, rebase=rebase)
        apply_change(self, change)
        return change

    def __len__(self) -> int:
        """Number of messages in the history."""
        with self._lock:
            self._load_rest()
            return len(self._ledger.messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages as they are now, in order."""
        return iter(self.messages)

    def __contains__(self, message_id: object) -> bool:
        """Whether a message has that id."""
        with self._lock:
            if message_id not in self._ledger.index:
                self._load_rest()
            return message_id in self._ledger.index

    def __getitem__(self, message_id: str) -> Message:
        """The message with that id.

        Raises:
            UnknownMessageError: There is none.
        """
        with self._lock:
            index = self._at(message_id)  # may read the rest
            return self._ledger.messages[index]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history; costs its length."""
        with self._lock:
            self._load_rest()
            return tuple(self._ledger.messages)

    def _at(self, message_id: str) -> int:
        if message_id not in self._ledger.index:
            self._load_rest()
        try:
            return self._ledger.index[message_id]
        except KeyError:
            raise UnknownMessageError(message_id) from None

    def __repr__(self) -> str:
        """Show the figures."""
        pending = len(self.pending)
        size = len(self._ledger.messages)
        return (
            f"Conversation({size} messages, {len(self._ledger.pins)} pinned, "
            f"{pending} pending, model={self._model!r})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: figures and the newest messages."""
        from turnkeep.notebook import conversation_html  # noqa: PLC0415 - rarely shown

        return conversation_html(self)

    # -- appending --------------------------------------------------------------------

    def system(self, content: str | Sequence[Block], **fields: Any) -> Message:
        """Append a system message; returns it with its id."""
        return self.append(Message.system(content, **fields))

    def user(self, content: str | Sequence[Block], **fields: Any) -> Message:
        """Append a user message; returns it with its id."""
        return self.append(Message.user(content, **fields))

    def assistant(
        self,
        content: str | Sequence[Block] = (),
        *,
        tool_calls: Sequence[ToolCall] = (),
        **fields: Any,
    ) -> Message:
        """Append an answer of the model; returns it with its id."""
        return self.append(Message.assistant(content, tool_calls=tool_calls, **fields))

    def tool_result(
        self,
        call_id: str,
        content: str | Sequence[Block],
        *,
        is_error: bool = False,
        message_id: str | None = None,
    ) -> Message:
        """Append the final result of an open call: the same as `resolve`."""
        return self.resolve(call_id, content, is_error=is_error, message_id=message_id)

    def append(self, message: Message, *, rebase: bool | None = None) -> Message:
        """Append *message*; returns it with its id and time stamp.

        Costs the message: it is counted once, here.

        Args:
            message:
                What to append.
            rebase:
                Whether to append behind what other processes have written meanwhile,
                instead of raising `ConflictError`. An id that was not given is then
                made anew. Default: what `open` was told.

        Raises:
            DuplicateIdError: Its id is taken; nothing is changed.
            ConflictError: Another process wrote first. What it wrote is here now;
                nothing of *message* is.
        """
        with self._lock:
            if self._link is None:
                return self._append_here(message)
            return self._append([message], rebase)[0]

    def extend(
        self, messages: Iterable[Message], *, rebase: bool | None = None
    ) -> None:
        """Append several messages, or none of them; *rebase* as for `append`.

        Raises:
            DuplicateIdError: An id is taken or used twice; nothing is changed.
            ConflictError: Another process wrote first.
        """
        with self._lock:
            self._append(list(messages), rebase)

    def _append_here(self, message: Message) -> Message:
        """The same as `_append` where there is no store, without its records."""
        check_result(message)
        if message.id is None:
            identity = self._new_id()
            message = message.stamped(identity, message.timestamp or datetime.now(UTC))
            self._ledger.append(message, count=True)
            self._next += 1
            return message
        if message.timestamp is None:
            message = message.stamped(message.id, datetime.now(UTC))
        self._ledger.append(message, count=True)
        self._raise_counter(message.id)
        return message

    def _append(
        self, messages: Sequence[Message], rebase: bool | None
    ) -> list[Message]:
        if rebase is None:
            rebase = self._link is not None and self._link.rebase
        change = self._commit(lambda: Change(self._rows(messages)), rebase=rebase)
        return [row.message for row in change.append]

    def _rows(self, messages: Sequence[Message]) -> list[Row]:
        """Messages with an id, a time stamp and a count each.

        Raises:
            DuplicateIdError: An id is taken or used twice.
        """
        taken = self._ledger.index
        given: set[str] = set()
        for message in messages:
            if message.id is not None:
                if message.id in taken or message.id in given:
                    raise DuplicateIdError(message.id)
                given.add(message.id)
        rows: list[Row] = []
        number = self._next
        for message in messages:
            identity = message.id or ""
            if message.id is None:
                while (identity := f"msg-{number}") in taken or identity in given:
                    number += 1
                number += 1
            moment = message.timestamp or datetime.now(UTC)
            if identity != message.id or moment != message.timestamp:
                message = message.stamped(identity, moment)  # noqa: PLW2901
            rows.append(self._row(message))
        return rows

    def _row(self, message: Message) -> Row:
        counter = self._ledger.counter
        return Row(message, counter.message(as_sent(message)), counter.name)

    def _new_id(self) -> str:
        while (identity := f"msg-{self._next}") in self._ledger.index:
            self._next += 1
        return identity

    def _raise_counter(self, identity: str | None) -> None:
        # A regular expression would cost a tenth of loading a history.
        if identity == f"msg-{self._next}":
            self._next += 1
        elif identity is not None and identity.startswith("msg-"):
            number = identity[4:]
            if len(number) < 16 and number.isascii() and number.isdecimal():
                self._next = max(self._next, int(number) + 1)

    def _take(self, messages: Iterable[Message], counts: Sequence[int] = ()) -> None:
        """Append what was loaded: nothing is stamped, counting waits."""
        batch = list(messages)
        with paused_gc():
            # Ids that are given are reserved before any are made.
            for message in batch:
                self._raise_counter(message.id)
            for nth, message in enumerate(batch):
                if message.id is None:
                    batch[nth] = message.evolve(id=self._new_id())
                    self._raise_counter(batch[nth].id)
            self._ledger.load(batch, counts)

    # -- changing ---------------------------------------------------------------------

    def edit(self, message_id: str, **changes: Any) -> Message:
        """Change a message (`content=`, `metadata=`, ...); returns the new one.

        Text as new content replaces what the message says: the content of its result,
        or what stands beside its calls, which stay. New content is counted again, and
        the cut is forgotten.

        Raises:
            UnknownMessageError: There is no such message.
            ValueError: The new content would cut calls from their results.
        """
        if changes.get("id", message_id) != message_id:
            msg = "a message keeps its id; append a new one instead"
            raise ValueError(msg)

        def make() -> Change:
            index = self._at(message_id)  # may read the rest
            message = edited(self._ledger.messages[index], changes)
            return Change(replace=[self._row(message)], state=self._forgetting())

        with self._lock:
            return self._commit(make, rebase=False).replace[0].message

    def _forgetting(self) -> dict[str, Any]:
        """What forgets the cut in the store along with a change."""
        return {} if self._link is None else {"cut": None}

    def remove(self, message_id: str) -> tuple[Message, ...]:
        """Remove a message with its whole step, so that no call loses its result.

        Returns:
            What was removed, in order.
        """
        with self._lock:
            self._load_rest()
            index = self._at(message_id)
            grouping = self._ledger.grouping
            step = grouping.step_of[index]
            steps = grouping.ties.get(step, {step})
            return self._remove(sorted(i for s in steps for i in grouping.members(s)))

    def rewind(self, message_id: str) -> tuple[Message, ...]:
        """Go back to a message: everything after it goes, it stays.

        Returns:
            What was removed, in order.
        """
        with self._lock:
            self._load_rest()
            start = self._at(message_id) + 1
            return self._remove(range(start, len(self._ledger.messages)))

    def _remove(self, indexes: Iterable[int]) -> tuple[Message, ...]:
        removed = tuple(self._ledger.messages[i] for i in indexes)
        ids = [message.id or "" for message in removed]
        change = Change(remove=ids, state=self._forgetting())
        self._commit(lambda: change, rebase=False)
        return removed

    def clear(self) -> None:
        """Remove everything, pins included; ids go on where they were."""
        with self._lock:
            self._load_rest()
            self._remove(range(len(self._ledger.messages)))

    def replace_messages(self, messages: Iterable[Message]) -> None:
        """Put *messages* in place of the history, for example a restored one.

        New ids go on behind the highest `msg-N` among them. Pins and pending results
        of the messages are taken over.

        Raises:
            DuplicateIdError: An id is used twice; nothing is changed.
        """
        with self._lock:
            self._load_rest()
            batch = list(messages)
            gone = tuple(self._ledger.index)
            rows = self._restored(batch)
            change = Change(rows, remove=gone, state=self._forgetting())
            self._commit(lambda: change, rebase=False)

    def _restored(self, messages: Sequence[Message]) -> list[Row]:
        """Messages for an empty history: nothing is stamped, counting waits.

        Raises:
            DuplicateIdError: An id is used twice.
        """
        given: set[str] = set()
        for message in messages:
            if message.id is not None:
                if message.id in given:
                    raise DuplicateIdError(message.id)
                given.add(message.id)
                # Ids that are given are reserved before any are made.
                self._raise_counter(message.id)
        number = self._next
        rows: list[Row] = []
        for message in messages:
            kept = message
            if message.id is None:
                kept = message.evolve(id=f"msg-{number}")
                number += 1
            rows.append(Row(kept))
        return rows

    def fork(self) -> Self:
        """An independent copy with the same history, pins, calls and settings.

        It is in no store.
        """
        with self._lock:
            self._load_rest()
            other = type(self)(
                budget=self._budget,
                model=self._model,
                format=self._format,
                tools=self.tools,
                strategy=self.strategy,
                token_counter=self._text_counter,
                stand_in_text=self.stand_in_text,
                pending_policy=self.pending_policy,
                on_prune=self.on_prune,
            )
            other._ledger = self._ledger.copy()
            other._desk = CallDesk(other._ledger, self._desk.book.copy())
            other._fitter = Fitter(other._ledger, other._desk, other._lock)
            other._fitter.learner = self._fitter.learner.copy()
            other._fitter.remember(self._fitter.memory, self._fitter.available)
            other._next = self._next
            other.metadata = dict(self.metadata)
            return other

    # -- pins --------------------------------------------------------------------------

    @property
    def pinned(self) -> tuple[Message, ...]:
        """The pinned messages, in order."""
        with self._lock:
            return tuple(self._ledger.messages[i] for i in sorted(self._ledger.pins))

    def set_pinned(self, message_id: str, pinned: bool = True) -> bool:
        """Pin or unpin a message; returns whether it was found."""
        with self._lock:
            if message_id not in self:
                return False
            if pinned:
                self.pin(message_id)
            else:
                self.unpin(message_id)
            return True

    def pin(self, message_id: str, scope: PinScope = "turn") -> None:
        """Let a message survive every budget and strategy.

        Args:
            message_id:
                The message.
            scope:
                `"turn"` also holds the turn's question and last step, and lets the
                turn's other steps go last of all; `"step"` holds only its step.

        Raises:
            UnknownMessageError: There is no such message.
        """

        def make() -> Change:
            self._at(message_id)
            return Change(pins=[Pin(message_id, scope)])

        with self._lock:
            self._commit(make)

    def unpin(self, message_id: str) -> None:
        """Let a message go its way again; forgets the cut.

        Raises:
            UnknownMessageError: There is no such message.
        """

        def make() -> Change:
            index = self._at(message_id)  # may read the rest
            if not self._ledger.messages[index].pinned:
                return Change()
            return Change(pins=[Pin(message_id, None)], state=self._forgetting())

        with self._lock:
            self._commit(make)

    # -- calls -------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """Calls without a final result that are still awaited, in their order."""
        with self._lock:
            return self._desk.pending()

    @property
    def unanswered(self) -> tuple[PendingCall, ...]:
        """Calls without any result, in their order."""
        with self._lock:
            return self._desk.unanswered()

    def call_state(self, call_id: str, *, message_id: str | None = None) -> CallState:
        """Where a call stands; of several with that id, the newest open one first.

        Raises:
            UnknownCallError: There is no such call.
        """
        with self._lock:
            return self._desk.state(call_id, message_id)

    def defer(
        self,
        call_id: str,
        content: str | Sequence[Block] = "",
        *,
        expires_at: datetime | None = None,
        waits_for: dict[str, Any] | None = None,
        message_id: str | None = None,
    ) -> Message:
        """Say that a call's result will come later, and what the model reads till then.

        Args:
            call_id:
                The call.
            content:
                What the model reads; a marker line in front says that it is not final.
            expires_at:
                When `expire` closes the call with an error; with a time zone.
            waits_for:
                Whom or what it waits for: any JSON object.
            message_id:
                The message that makes the call, where its id is open several times.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer; nothing is changed.
            AmbiguousCallError: Several calls of that id are open.
        """
        text = content
        if isinstance(content, str):
            text = unmark(content) if marker_of(content) == PENDING else content
        notes = {"expires_at": deadline(expires_at), "waits_for": waits_for or {}}

        def make() -> Change:
            call = self._desk.find(call_id, message_id)
            said = self._desk.answer(call, text or self.stand_in_text, pending=True)
            record = self._desk.noted(call, **notes)
            return Change(self._rows([said]), calls=[record])

        with self._lock:
            return self._commit(make).append[0].message

    def interim(
        self,
        call_id: str,
        content: str | Sequence[Block],
        *,
        message_id: str | None = None,
    ) -> Message:
        """Append an answer that is not the last; the call stays pending.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer; nothing is changed.
            AmbiguousCallError: Several calls of that id are open.
        """

        def make() -> Change:
            call = self._desk.find(call_id, message_id)
            return Change(self._rows([self._desk.answer(call, content, interim=True)]))

        with self._lock:
            return self._commit(make).append[0].message

    def resolve(
        self,
        call_id: str,
        content: str | Sequence[Block],
        *,
        is_error: bool = False,
        message_id: str | None = None,
    ) -> Message:
        """Append a call's final result, wherever the conversation is by now.

        It belongs to the call's step and is placed there by every later window. The
        first final answer wins.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer; nothing is changed.
            AmbiguousCallError: Several calls of that id are open.
        """
        return self._close(
            call_id, message_id, CallState.RESOLVED, content, is_error=is_error
        )

    def cancel(
        self, call_id: str, reason: str = "", *, message_id: str | None = None
    ) -> Message:
        """Close a call with an error result that says it was cancelled, and why.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer; nothing is changed.
            AmbiguousCallError: Several calls of that id are open.
        """
        text = f"tool error: cancelled: {reason}" if reason else "tool error: cancelled"
        return self._close(
            call_id, message_id, CallState.CANCELLED, text, is_error=True
        )

    def _close(
        self,
        call_id: str,
        message_id: str | None,
        state: CallState,
        content: str | Sequence[Block],
        *,
        is_error: bool,
    ) -> Message:
        """Append a call's final result; the first one wins, whoever writes it."""

        def make() -> Change:
            call = self._desk.find(call_id, message_id)
            rows = self._rows([self._desk.answer(call, content, is_error=is_error)])
            if state is CallState.RESOLVED and not self._desk.is_noted(call):
                # Its result says it all: most calls are answered at once.
                return Change(rows)
            when = rows[0].message.timestamp
            return Change(
                rows, calls=[self._desk.noted(call, state=state, closed_at=when)]
            )

        with self._lock:
            return self._commit(make).append[0].message

    def abandon(self, call_id: str, *, message_id: str | None = None) -> None:
        """Say that nobody waits for a call any more: its step is an ordinary one.

        No answer is written; while the step is kept, a stand-in closes it in windows.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer; nothing is changed.
            AmbiguousCallError: Several calls of that id are open.
        """

        def make() -> Change:
            call = self._desk.find(call_id, message_id)
            when = datetime.now(UTC)
            record = self._desk.noted(call, state=CallState.ABANDONED, closed_at=when)
            return Change(calls=[record])

        with self._lock:
            self._commit(make)

    def expire(self, now: datetime) -> tuple[PendingCall, ...]:
        """Close the calls whose deadline has passed with an error that says so.

        Costs the calls that are due and those that are open.

        Raises:
            NaiveTimestampError: *now* has no time zone.
        """
        closed: list[PendingCall] = []

        def make() -> Change:
            closed.clear()
            rows: list[Message] = []
            records: list[CallRecord] = []
            for call in self._desk.due(now):
                pending = self._desk.describe(call)
                when = pending.expires_at.isoformat() if pending.expires_at else ""
                text = f"tool error: expired: no result arrived by {when}"
                rows.append(self._desk.answer(call, text, is_error=True))
                records.append(
                    self._desk.noted(call, state=CallState.EXPIRED, closed_at=now)
                )
                closed.append(pending)
            return Change(self._rows(rows), calls=records)

        with self._lock:
            if self._desk.due(now):
                self._commit(make)
            return tuple(closed)

    # -- windows -----------------------------------------------------------------------

    def fit(
        self,
        budget: Budget | None = None,
        *,
        tools: Any = None,
        format: str | None = None,  # noqa: A002 - the public name
        open_calls: OpenCalls | None = None,
        on_overflow: Overflow = "raise",
        drop_system: bool = False,
    ) -> Window:
        """The messages to send now. The history keeps everything.

        Remembers where it cut, so that the next window starts with the same prefix.

        Args:
            budget:
                Instead of the conversation's own, for this window.
            tools:
                Instead of the conversation's own.
            format:
                What the window will be encoded in, if not the conversation's format.
            open_calls:
                `"stand-in"`, `"keep"` or `"raise"`; by default what `pending_policy`
                says.
            on_overflow:
                `"raise"`, or `"send"` what cannot be made to fit.
            drop_system:
                Let system messages behind the leading ones go.

        Raises:
            BudgetExceededError: What must stay does not fit; the cut stays as it was.
            OpenCallError: A call is open, and *open_calls* is `"raise"`.
        """
        window = self._window(
            budget, tools, format, open_calls, on_overflow, drop_system=drop_system
        )
        self._announce(window)
        return window

    def _window(
        self,
        budget: Budget | None,
        tools: Any,
        format: str | None,  # noqa: A002 - as in fit
        open_calls: OpenCalls | None,
        on_overflow: Overflow,
        *,
        drop_system: bool,
    ) -> Window:
        with self._lock:
            if budget is None:
                budget = self._budget
            if budget is None:
                if self._model is None:
                    msg = "this conversation has no budget: pass one to fit()"
                    raise ValueError(msg)
                budget = Budget.for_model(self._model)
            link = self._link
            if link is not None and budget.max_tokens > (
                link.tail or budget.max_tokens
            ):
                self._load_rest()
            if open_calls is None:
                open_calls = POLICIES[self.pending_policy]
            name = format or self.format
            used = self.tools if tools is None else tools
            asked = (
                name,
                self._model,
                self.strategy,
                used,
                self.stand_in_text,
                open_calls,
                on_overflow,
                drop_system,
            )
            if asked != self._asked[0]:
                self._asked = asked, Ask(*asked)
            ask = self._asked[1]
            fitter = self._fitter
            source = fitter.fit(budget, ask)
            expected = fitter.learner.predict(source.tokens, exact=source.exact)
            window = Window(name, used, expected, source)
            fitter.watch(window)
        return window

    def _announce(self, window: Window) -> None:
        """Tell the store, the log and the host of a prune."""
        if window.pruned:
            self.flush()
            log_prune(window.plan)
            if self.on_prune is not None:
                self.on_prune(window.plan)

    async def afit(self, budget: Budget | None = None, **options: Any) -> Window:
        """The same as `fit`, without blocking the event loop.

        A summariser runs on this loop (a sync one in a thread), and the conversation
        is not locked meanwhile: it may be appended to. What it says is used if the
        messages that it covers are still those that must go.
        """
        rehearsal = Rehearsal()
        # Copied into the thread by to_thread.
        token = REHEARSAL.set(rehearsal)
        try:
            window = await asyncio.to_thread(self._rehearse, rehearsal, budget, options)
            if window is None:
                await rehearsal.ask()
                return await asyncio.to_thread(self.fit, budget, **options)
        finally:
            REHEARSAL.reset(token)
        self._announce(window)
        return window

    def _rehearse(
        self, rehearsal: Rehearsal, budget: Budget | None, options: dict[str, Any]
    ) -> Window | None:
        """The window, or nothing (and nothing changed) if a summariser is needed."""
        asked = {
            "tools": None,
            "format": None,
            "open_calls": None,
            "on_overflow": "raise",
            "drop_system": False,
            **options,
        }
        with self._lock:
            state = self._fitter.checkpoint()
            try:
                window = self._window(budget, **asked)
            except BudgetExceededError:
                if not rehearsal.is_open:
                    raise
            else:
                if not rehearsal.is_open:
                    return window
            self._fitter.roll_back(state)
        return None

    def refit(self, budget: Budget | None = None, **options: Any) -> Window:
        """Forget the cut and fit again from the whole history."""
        with self._lock:
            self._fitter.forget()
            return self.fit(budget, **options)

    @property
    def archive(self) -> tuple[Message, ...]:
        """What the last window left out, in order."""
        with self._lock:
            plan = self._fitter.last
            if plan is None:
                return ()
            messages = self._ledger.messages
            return tuple(messages[d.index] for d in plan.dropped)

    def recall(self, message_id: str) -> None:
        """Bring a dropped message's step back, and pin it.

        Raises:
            UnknownMessageError: There is no such message.
        """
        self.pin(message_id, scope="step")

    # -- learning ----------------------------------------------------------------------

    def observe(self, usage: Any, *, window: Window | None = None) -> Observation:
        """Learn from the provider's own figures for an answer.

        Corrects an estimating counter, so that later windows use the room there is;
        adds the figures up exactly; and, where the prompt cache turns out empty, lets a
        budget with prices prune now, when a rewrite is free.

        Args:
            usage:
                The usage object or dict of any provider (or its whole response).
            window:
                The window that was answered; the last one unless given.

        Raises:
            FormatError: There are no token counts in *usage*; nothing is changed.
        """
        with self._lock:
            fitter = self._fitter
            plan = fitter.last if window is None else window.plan
            seen = fitter.learner.observe(usage, plan, exact=self._ledger.counter.exact)
            if seen.cold:
                fitter.pace.cold = True
            return seen

    @property
    def usage(self) -> Usage:
        """All that has been observed, added up exactly."""
        return self._fitter.learner.usage

    @property
    def generations(self) -> GenerationTotals:
        """The same as generation statistics: one record for each answer observed."""
        return self._fitter.learner.totals

    # -- saving ------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Everything there is to save, as a JSON object; costs the history.

        Messages, pins, the calls' states, counts, the cut, budget and settings; not the
        strategy, which is code.
        """
        with self._lock:
            self._load_rest()
            return to_document(self)

    @classmethod
    def from_json(cls, document: Any, **options: Any) -> Self:
        """A conversation like the one that *document* was made of.

        Args:
            document:
                What `to_json` gave, of this release or an earlier one.
            **options:
                Arguments of the class that replace what was saved (`strategy`, ...).

        Raises:
            FormatError: It is not such a document; its path says where.
        """
        loaded: Self = from_document(cls, document, options)
        return loaded

    def save(self, path: str | PathLike[str]) -> None:
        """Write the conversation to a file; a crash leaves the old or the new one.

        The same conversation gives the same bytes. New files get mode 0600.

        Raises:
            OSError: The disk is full, read-only, ...; the old file is as it was.
        """
        with self._lock:
            self._load_rest()
            parts = to_parts(self)
        write_atomic(path, parts)

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> Self:
        """Read a conversation that `save` wrote; *options* as for `from_json`.

        Raises:
            FormatError: The file is damaged, or not ours; its path says where.
            OSError: It cannot be read.
        """
        return cls.from_json(loads(Path(path).read_bytes()), **options)


def _decoded(source: Any, envelope: Any) -> Iterator[Message]:
    if envelope.system is not None:
        yield from source.decode_system(envelope.system)
    yield from decode_entries(envelope, source)
