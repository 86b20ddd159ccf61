"""Appending, changing and pinning messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import attrs

from turnkeep.errors import DuplicateIdError
from turnkeep.model import Block, Message, PinScope, ToolCall, as_sent
from turnkeep.model._checks import check_scope, quoted
from turnkeep.stores import Change, Pin, Row

from ._core import Core
from ._editing import check_result, edited
from ._recovery import Before
from ._taking import Given, as_list, as_messages

_EDITABLE: Final = frozenset(field.name for field in attrs.fields(Message))


class Writing(Core):
    """The part of a conversation that is written to."""

    def system(self, /, content: str | Sequence[Block], **fields: Any) -> Message:
        """Append a system message; returns it with its id."""
        return self.append(Message.system(content, **fields))

    def user(self, /, content: str | Sequence[Block], **fields: Any) -> Message:
        """Append a user message; returns it with its id."""
        return self.append(Message.user(content, **fields))

    def assistant(
        self,
        /,
        content: str | Sequence[Block] = (),
        *,
        tool_calls: Sequence[ToolCall] = (),
        **fields: Any,
    ) -> Message:
        """Append an answer of the model; returns it with its id."""
        return self.append(Message.assistant(content, tool_calls=tool_calls, **fields))

    def append(self, message: Given, *, rebase: bool | None = None) -> Message:
        """Append *message*; returns it with its id and time stamp.

        Costs the message: it is counted once, here.

        Args:
            message:
                A `Message`, or what the provider of the conversation's format has: a
                dict, or an object of its client. One that holds results and words of
                the user becomes two messages; the last one is returned. A whole answer
                is for `add_response`.
            rebase:
                Whether to append behind what other processes have written meanwhile,
                instead of raising `ConflictError`. An id that was not given is then
                made anew. Default: what `open` was told.

        Raises:
            DuplicateIdError: Its id is taken; nothing is changed.
            FormatError: The dict is not what its format demands; nothing is changed.
            ConflictError: Another process wrote first. What it wrote is here now;
                nothing of *message* is.
        """
        with self._lock:
            if type(message) is not Message:
                return self._append(as_messages(message, self.format), rebase)[-1]
            if self._link is None:
                return self._append_here(message)
            return self._append([message], rebase)[0]

    def extend(
        self,
        messages: Iterable[Given],
        *,
        rebase: bool | None = None,
    ) -> None:
        """Append several messages, or none of them; what each may be as for `append`.

        Raises:
            DuplicateIdError: An id is taken or used twice; nothing is changed.
            FormatError: One is malformed, with its path; nothing is changed.
            ConflictError: Another process wrote first.
        """
        with self._lock:
            self._append(as_list(messages, self.format), rebase)

    def _append_here(self, message: Message) -> Message:
        """The same as `_append` where there is no store, without its records."""
        check_result(message)
        if message.id is None:
            moment = message.timestamp or datetime.now(UTC)
            message = message.stamped(self._new_id(), moment)
        elif message.timestamp is None:
            message = message.stamped(message.id, datetime.now(UTC))
        before = Before(self)
        try:
            self._ledger.append(message, count=True)
            self._raise_counter(message.id)
        except BaseException:
            if not before.is_now(self):
                before.restore(self)
            raise
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
            ValueError: A result answers nothing.
            DuplicateIdError: An id is taken or used twice.
        """
        taken = self._ledger.index
        given: set[str] = set()
        for message in messages:
            check_result(message)
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

    # -- changing ---------------------------------------------------------------------

    def edit(self, message_id: str, *positional: Any, **changes: Any) -> Message:
        """Change a message (`content=`, `metadata=`, ...); returns the new one.

        Text as new content replaces what the message says: the content of its result,
        or what stands beside its calls, which stay. New content is counted again, and
        the cut is forgotten.

        Raises:
            UnknownMessageError: There is no such message.
            ValueError: The new content would cut calls from their results.
        """
        if positional:
            msg = (
                f"edit() takes what changes by name, not {quoted(positional[0])}: "
                "edit(message_id, content=...)"
            )
            raise TypeError(msg)
        unknown = changes.keys() - _EDITABLE
        if unknown:
            msg = (
                f"edit() knows no {min(unknown)!r}; a message has "
                f"{', '.join(sorted(_EDITABLE))}"
            )
            raise TypeError(msg)
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
            steps = grouping.together(step)
            gone = sorted(i for s in steps for i in grouping.members(s))
            return self._remove(gone)

    def rewind(self, message_id: str) -> tuple[Message, ...]:
        """Go back to a message: everything after it goes, it stays.

        Returns:
            What was removed, in order.
        """
        with self._lock:
            self._load_rest()
            start = self._at(message_id) + 1
            return self._remove(range(start, len(self._ledger.messages)))

    def _remove(self, indexes: Collection[int]) -> tuple[Message, ...]:
        removed = tuple(self._ledger.messages[i] for i in indexes)
        ids = [message.id or "" for message in removed]
        # A call whose answer goes is awaited again, in the store as well.
        calls = self._desk.reopened(indexes)
        change = Change(remove=ids, calls=calls, state=self._forgetting())
        self._commit(lambda: change, rebase=False)
        return removed

    def clear(self) -> None:
        """Remove everything, pins included; ids go on where they were."""
        with self._lock:
            self._load_rest()
            self._remove(range(len(self._ledger.messages)))

    def replace_messages(self, messages: Iterable[Given] | Mapping[str, Any]) -> None:
        """Put *messages* in place of the history: a list, or a whole request body.

        New ids go on behind the highest `msg-N` among them. Pins and pending results
        of the messages are taken over. What each may be: as for `append`.

        Raises:
            DuplicateIdError: An id is used twice; nothing is changed.
        """
        with self._lock:
            self._load_rest()
            batch = as_list(messages, self.format)
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
        check_scope(scope)

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
