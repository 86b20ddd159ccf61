from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from inspect import isfunction
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from turnkeep.errors import ConflictError, UnknownConversationError
from turnkeep.formats import decode_entries, open_messages
from turnkeep.index._memory import needs_all
from turnkeep.model import Message
from turnkeep.serial import write_atomic
from turnkeep.stores import Change, Snapshot, Store

from ._answering import Answering
from ._core import Core
from ._desk import CallDesk
from ._fitting import Fitter
from ._following import Following
from ._link import Link
from ._responding import Responding
from ._restoring import from_bytes, from_document, from_snapshot
from ._saving import settings_of, to_document, to_parts
from ._settings import Beside, Settings
from ._windows import Windows
from ._writing import Writing


class Conversation(Answering, Responding, Following):
    """A history that is appended to, pinned, fitted, saved and restored.

    Sequence-like: `len`, iteration, and indexing by message id. One lock guards it, so
    every method may be called from several threads.

    Args:
        budget:
            What a window may hold: a `Budget`, or a number of tokens. Without one,
            `fit` needs its own, or the model's context window is taken (extra
            `models`).
        model:
            Chooses the tokenizer, the format and the provider's rules.
        format:
            What windows are encoded in; follows the model unless given.
        profile:
            Whose rules windows keep, where format and model do not say it, such as
            `"alternating/gemma2"`.
        tools:
            Tool definitions sent with every request, in the provider's shape.
        strategy:
            What goes first: an object, or a text as the command line takes it, such as
            `"agent"`; `"chat"` unless given.
        token_counter:
            A counter, or a name such as `"o200k_base"` or `"approximate"`.
        stand_in_text:
            What the model reads for an open call that other messages follow, behind a
            fixed first line.
        on_invalid:
            Results without their call, second results and the like: windows leave them
            out (`"repair"`), `fit` refuses them (`"raise"`), or they are sent
            (`"keep"`).
        open_calls:
            Open calls that other messages follow: windows answer them with a
            `"stand-in"`, `"keep"` them bare, or `fit` refuses them (`"raise"`). The
            history itself never gets an answer that nobody gave.
        on_overflow:
            Where what must stay does not fit: tool results are shortened, largest
            first, those that have just come last, and older ones of more than half of
            the target before anything goes (`"shorten"`); nothing is shortened and it
            is an error (`"raise"`); or it is sent with a warning (`"send"`).
        cache_marks:
            Marks of the provider's prompt cache in what `Window.encode` gives: left
            alone (`"keep"`), set where they pay (`"place"`), or removed (`"drop"`).
        on_prune:
            Called with the plan whenever something had to go.
    """

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
        from turnkeep.plans._notebook import conversation_html  # noqa: PLC0415 - rarely shown

        return conversation_html(self)

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
        """A conversation that begins with *messages*, in any format.

        System text and tools of a request body are taken over. Time stamps stay unset
        where the history says none. Costs the history.

        Raises:
            FormatError: The input is malformed; its path says where.
            DuplicateIdError: An id is used twice.
        """
        source, envelope = open_messages(messages, format, model)
        if envelope.session is not None or format is None:
            taken = source.name not in ("messages", "turnkeep")
            format = source.name if taken else None  # noqa: A001 - the public name
        chat = cls(
            format=format,
            model=model or envelope.model,
            tools=envelope.tools if tools is None else tools,
            **options,
        )
        chat._ledger.keep_elsewhere(envelope.kept)
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
        **options: Unpack[Settings],
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
                reads it, and so do windows of a context that the provider keeps.
            **options:
                Arguments of the class; they come before what was saved.

        Raises:
            UnknownConversationError: It is not there, and *create* is off.
            CorruptStoreError: It is damaged.
        """
        if not hasattr(store, "read_tail"):
            msg = f"store must be one such as SqliteStore(path), not {store!r}"
            raise TypeError(msg)

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
        if tail is not None and needs_all(chat._ledger.grouping):
            chat._load_rest()
        return chat

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
                profile=self.profile,
                tools=self.tools,
                strategy=self.strategy,
                token_counter=self._text_counter,
                stand_in_text=self.stand_in_text,
                on_invalid=self.on_invalid,
                open_calls=self.open_calls,
                on_overflow=self.on_overflow,
                cache_marks=self.cache_marks,
                on_prune=self.on_prune,
            )
            other._ledger = self._ledger.copy()
            other._desk = CallDesk(other._ledger, self._desk.book.copy())
            other._fitter = Fitter(other._ledger, other._desk, other._lock)
            other._fitter.learner = self._fitter.learner.copy()
            other._fitter.remember(self._fitter.memory, self._fitter.available)
            other._fitter.pace = copy(self._fitter.pace)
            other._next = self._next
            other.metadata = dict(self.metadata)
            return other

    def __copy__(self) -> Self:
        """The same as `fork`."""
        return self.fork()

    def __deepcopy__(self, memo: object) -> Self:
        """The same as `fork`: messages never change, so none need be copied."""
        return self.fork()

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
    def from_json(cls, document: Any, **options: Unpack[Settings]) -> Self:
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
    def load(cls, path: str | PathLike[str], **options: Unpack[Settings]) -> Self:
        """Read a conversation that `save` wrote; *options* as for `from_json`.

        Raises:
            FormatError: The file is damaged, or not ours; its path says where.
            OSError: It cannot be read.
        """
        loaded: Self = from_bytes(cls, Path(path).read_bytes(), options)
        return loaded


def _decoded(source: Any, envelope: Any) -> Iterator[Message]:
    if envelope.system is not None:
        yield from source.decode_system(envelope.system)
    yield from decode_entries(envelope, source)


# Users know one class: errors and tracebacks name it.
for _part in (Core, Writing, Answering, Windows, Responding, Following):
    for _member in vars(_part).values():
        if isfunction(_member):
            _name = _member.__qualname__.removeprefix(_part.__name__)
            _member.__qualname__ = f"{Conversation.__name__}{_name}"
