from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

import attrs

from turnkeep.errors import (
    AlreadyResolvedError,
    AmbiguousCallError,
    UnknownCallError,
)
from turnkeep.index._ledger import Ledger
from turnkeep.model import Message, ToolCall
from turnkeep.model._checks import check_moment
from turnkeep.stores import CallRecord
from turnkeep.turns import ANSWERS, OpenCall

from ._calls import ANSWERED, CallBook, CallPlace, CallState, PendingCall


class CallDesk:
    """What may be done to a tool call, and what is known about each."""

    def __init__(self, ledger: Ledger, book: CallBook | None = None) -> None:
        """The calls of *ledger*, with the notes of *book*."""
        self.ledger = ledger
        self.book = CallBook() if book is None else book

    def place(self, call: OpenCall) -> CallPlace:
        """The address of a call."""
        return self.ledger.id(call.message), call.position

    def is_awaited(self, call: OpenCall) -> bool:
        """Whether somebody still waits for an open call."""
        return self.book[self.place(call)].state is None

    def awaiting(self) -> Callable[[OpenCall], bool]:
        """The same without the desk: whoever keeps it keeps no conversation alive."""
        book, messages = self.book, self.ledger.messages

        def is_awaited(call: OpenCall) -> bool:
            place = messages[call.message].id or str(call.message), call.position
            return book[place].state is None

        return is_awaited

    def find(self, call_id: str, message_id: str | None = None) -> OpenCall:
        """The open call of that id.

        Raises:
            UnknownCallError: There is no such call.
            AlreadyResolvedError: It has its final answer, or nobody waits any more.
            AmbiguousCallError: Several are open, and *message_id* does not say which.
        """
        grouping = self.ledger.grouping
        found = grouping.open_of(call_id)
        if message_id is not None:
            found = [c for c in found if self.ledger.id(c.message) == message_id]
        if not found:
            if self._exists(call_id, message_id):
                state = self._final_state(call_id, message_id)
                raise AlreadyResolvedError(call_id, state)
            raise UnknownCallError(call_id)
        awaited = [call for call in found if self.is_awaited(call)]
        if not awaited:
            state = self.book[self.place(found[-1])].state or CallState.ABANDONED
            raise AlreadyResolvedError(call_id, state)
        if len(awaited) > 1:
            messages = tuple(dict.fromkeys(self.ledger.id(c.message) for c in awaited))
            if len(messages) > 1:
                raise AmbiguousCallError(call_id, messages)
        return awaited[0]

    def _exists(self, call_id: str, message_id: str | None) -> bool:
        if message_id is None:
            return self.ledger.grouping.was_closed(call_id)
        index = self.ledger.index.get(message_id)
        if index is None:
            return False
        calls = self.ledger.messages[index].tool_calls
        return any(call_id == _name(call) for call in calls)

    def _final_state(self, call_id: str, message_id: str | None) -> CallState:
        """How the newest call of that id was closed; costs the history behind it."""
        for message in reversed(self.ledger.messages):
            if message_id not in (None, message.id):
                continue
            for position, call in enumerate(message.tool_calls):
                if call_id == _name(call):
                    note = self.book[message.id or "", position]
                    return note.state or CallState.RESOLVED
        return CallState.RESOLVED

    def answer(
        self,
        call: OpenCall,
        content: Any,
        *,
        pending: bool = False,
        interim: bool = False,
        is_error: bool = False,
    ) -> Message:
        """A result message for an open call, not yet appended."""
        grouping = self.ledger.grouping
        others = {other.message for other in grouping.open_of(call.key)}
        # The nearest call would get it, unless it says which one it is for.
        link = {ANSWERS: self.ledger.id(call.message)} if len(others) > 1 else {}
        return Message.tool_result(
            call.id,
            content,
            pending=pending,
            interim=interim,
            is_error=is_error,
            tool_name=call.name,
            metadata={**link, **call.note},
        )

    def noted(self, call: OpenCall, **changes: Any) -> CallRecord:
        """What is known about a call, with *changes*; not yet noted."""
        place = self.place(call)
        return attrs.evolve(self.book[place], **changes).record(place)

    def is_noted(self, call: OpenCall) -> bool:
        """Whether more is known about a call than its messages say."""
        return self.place(call) in self.book

    def state(self, call_id: str, message_id: str | None = None) -> CallState:
        """Where the newest call of that id stands.

        Raises:
            UnknownCallError: There is no such call.
        """
        found = self.ledger.grouping.open_of(call_id)
        if message_id is not None:
            found = [c for c in found if self.ledger.id(c.message) == message_id]
        if found:
            return self.describe(found[-1]).state
        if self._exists(call_id, message_id):
            return self._final_state(call_id, message_id)
        raise UnknownCallError(call_id)

    def pending(self) -> tuple[PendingCall, ...]:
        """Calls without a final result that are still awaited, in their order."""
        calls = self._own_calls()
        return tuple(self.describe(c) for c in calls if self.is_awaited(c))

    def unanswered(self) -> tuple[PendingCall, ...]:
        """Calls without any result, awaited or not, in their order."""
        calls = self._own_calls()
        return tuple(self.describe(c) for c in calls if c.answer is None)

    def _own_calls(self) -> list[OpenCall]:
        """The open calls that the caller can answer: none of the provider's own."""
        calls = self.ledger.grouping.open_calls
        return [call for call in calls if not call.is_hosted]

    def describe(self, call: OpenCall) -> PendingCall:
        """What there is to say about an open call."""
        message = self.ledger.messages[call.message]
        note = self.book[self.place(call)]
        state = note.state or CallState.OPEN
        if note.state is None and call.answer is not None:
            index, position = call.answer
            result = self.ledger.messages[index].tool_results[position]
            state = CallState.PENDING if result.pending else CallState.INTERIM
        return PendingCall(
            id=call.key,
            name=call.name,
            since=note.since or message.timestamp,
            message_id=self.ledger.id(call.message),
            state=state,
            expires_at=note.expires_at,
            waits_for=note.waits_for,
        )

    def due(self, now: datetime) -> list[OpenCall]:
        """Open calls whose deadline has passed at *now*, the earliest first.

        Raises:
            NaiveTimestampError: *now* has no time zone.
        """
        check_moment("now", now)
        places = self.book.due(now)
        by_place = {self.place(c): c for c in self.ledger.grouping.open_calls}
        return [by_place[place] for place in places if place in by_place]

    def reopened(self, gone: Collection[int]) -> list[CallRecord]:
        """Calls that await an answer again once the messages *gone* are removed.

        Costs the history, where anything is noted of answered calls.
        """
        book = self.book
        if not any(note.state in ANSWERED for _, note in book.items()):
            return []
        lost, messages = set(gone), self.ledger.messages
        left = Ledger(self.ledger.counter)
        left.load([m for i, m in enumerate(messages) if i not in lost])
        places = [(left.id(c.message), c.position) for c in left.grouping.open_calls]
        return [
            attrs.evolve(book[place], state=None, closed_at=None).record(place)
            for place in places
            if book[place].state in ANSWERED
        ]

    def after_rebuild(self) -> None:
        """Forget the calls of messages that have gone, and what their results said."""
        self.book.keep_only(set(self.ledger.index))
        self.settle()

    def settle(self) -> None:
        """Take calls whose final result has gone for awaited again.

        Costs the open calls.
        """
        for call in self.ledger.grouping.open_calls:
            place = self.place(call)
            if self.book[place].state in ANSWERED:
                self.book[place] = attrs.evolve(
                    self.book[place], state=None, closed_at=None
                )


def _name(call: ToolCall) -> str:
    """What a call is asked for by: its id, or its name where it has none."""
    return call.id if call.id is not None else call.name


def deadline(value: datetime | None) -> datetime | None:
    """*value*, if it has a time zone.

    Raises:
        TypeError: It is no date and time.
        NaiveTimestampError: It has none.
    """
    if value is not None:
        check_moment("expires_at", value)
    return value
