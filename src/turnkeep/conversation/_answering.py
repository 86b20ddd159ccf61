"""The life of a call: deferred, answered in part, resolved, closed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from turnkeep.errors import UnknownCallError
from turnkeep.model import Message, without_line
from turnkeep.stores import CallRecord, Change
from turnkeep.turns import OpenCall

from ._calls import CallState, PendingCall
from ._desk import deadline
from ._writing import Writing

T = TypeVar("T")


class Answering(Writing):
    """The part of a conversation that keeps calls open and closes them."""

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
            return self._ask(self._desk.state, call_id, message_id)

    def _find(self, call_id: str, message_id: str | None) -> OpenCall:
        """The open call of that id."""
        return self._ask(self._desk.find, call_id, message_id)

    def _ask(
        self, look: Callable[[str, str | None], T], call_id: str, message_id: str | None
    ) -> T:
        """What *look* says of a call; reads the rest if the call is not here."""
        try:
            return look(call_id, message_id)
        except UnknownCallError:
            if self.is_whole:
                raise
            self._load_rest()
            return look(call_id, message_id)

    def defer(
        self,
        call_id: str,
        content: Any = "",
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
                What the model reads (text, blocks, or any JSON value); a marker line
                in front says that it is not final.
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
            text = without_line(content)
        notes = {"expires_at": deadline(expires_at), "waits_for": waits_for or {}}

        def make() -> Change:
            call = self._find(call_id, message_id)
            said = self._desk.answer(
                call, self.stand_in_text if text == "" else text, pending=True
            )
            record = self._desk.noted(call, **notes)
            return Change(self._rows([said]), calls=[record])

        with self._lock:
            return self._commit(make).append[0].message

    def interim(
        self,
        call_id: str,
        content: Any,
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
            call = self._find(call_id, message_id)
            return Change(self._rows([self._desk.answer(call, content, interim=True)]))

        with self._lock:
            return self._commit(make).append[0].message

    def tool_result(
        self,
        call_id: str,
        content: Any,
        *,
        is_error: bool = False,
        message_id: str | None = None,
    ) -> Message:
        """Append the final result of an open call: the same as `resolve`."""
        return self.resolve(call_id, content, is_error=is_error, message_id=message_id)

    def resolve(
        self,
        call_id: str,
        content: Any,
        *,
        is_error: bool = False,
        message_id: str | None = None,
    ) -> Message:
        """Append a call's final result, wherever the conversation is by now.

        *content* is text, blocks, or any JSON value: an object is sent as JSON. It
        belongs to the call's step and is placed there by every later window. The first
        final answer wins.

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
        content: Any,
        *,
        is_error: bool,
    ) -> Message:
        """Append a call's final result; the first one wins, whoever writes it."""

        def make() -> Change:
            call = self._find(call_id, message_id)
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
            call = self._find(call_id, message_id)
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
