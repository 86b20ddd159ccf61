"""Refusing what could not be read back, before anything is written.

Whatever a store accepts comes back equal, from every store. So a change is looked at
whole before any of it is written: what is checked here does not depend on what is
stored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import Message
from turnkeep.serial import dump_message, dumps, load_message, structure, unstructure

from ._values import (
    MAX_MESSAGE_BYTES,
    MAX_POSITION,
    MAX_TOKENS,
    CallRecord,
    Change,
    Pin,
    Row,
    is_name,
)

_SCOPES: Final = ("turn", "step")

_STATES: Final = ("resolved", "cancelled", "expired", "abandoned")

_JOINED: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\ud[89ab][0-9a-f]{2}\\ud[c-f]")
# Two halves of a character, one behind the other, as JSON escapes.


def check_change(change: Change) -> None:
    """Refuse a change that not every store can keep as it is.

    Messages are checked when they are turned into text, by `checked_fields`.

    Raises:
        FormatError: A count, name, scope, time or setting cannot be stored.
    """
    for row in change.append:
        check_row(row)
    for row in change.replace:
        check_row(row)
    for pin in change.pins:
        _check_pin(pin)
    for call in change.calls:
        _check_call(call)
    if change.state:
        check_state(change.state)


def check_row(row: Row) -> None:
    """Refuse what stands beside a message and cannot be stored.

    Raises:
        FormatError: Its tokens are no count, or the counter's name is none.
    """
    tokens = row.tokens
    if type(tokens) is not int or not -1 <= tokens < MAX_TOKENS:
        reason = (
            f"{tokens!r:.60} tokens cannot be stored: a count is a whole number from 0 "
            f"to {MAX_TOKENS - 1:,}, or -1 where nobody has counted"
        )
        raise FormatError(reason)
    if row.counter is not None:
        _check_name(row.counter)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not is_name(name):
        reason = (
            f"name {name!r:.60} cannot be stored: names of counters and states are "
            "text, with no NUL and no lone surrogate"
        )
        raise FormatError(reason)


def _check_pin(pin: Pin) -> None:
    if pin.scope is not None and pin.scope not in _SCOPES:
        reason = (
            f"pin scope {pin.scope!r:.60} cannot be stored: it is 'turn' or 'step', or "
            "None to unpin"
        )
        raise FormatError(reason)


def _check_call(call: CallRecord) -> None:
    position = call.position
    if type(position) is not int or not 0 <= position < MAX_POSITION:
        reason = f"{position!r:.60} is no place of a call: they are counted from 0"
        raise FormatError(reason)
    if call.state is not None:
        _check_name(call.state)
        if call.state not in _STATES:
            known = ", ".join(_STATES)
            reason = f"{call.state!r:.60} is no state of a call: {known}, or None"
            raise FormatError(reason)
    for name in ("since", "expires_at", "closed_at"):
        moment = getattr(call, name)
        if moment is not None:
            _check_moment(moment, name)
    fields = unstructure(call)
    structure(fields, CallRecord)
    data = dumps(fields)
    check_size(data, "what is known about a call has")
    check_halves(data, "what is known about a call")


def _check_moment(moment: object, name: str) -> None:
    """Times are compared as text in UTC, so each must have one."""
    try:
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment.astimezone(UTC)
            return
        wrong = "a time with a zone is needed"
    except OverflowError:
        wrong = "in UTC it is beyond the calendar"
    reason = f"{name} {moment!r:.80} cannot be stored: {wrong}"
    raise FormatError(reason)


def check_state(state: Any) -> None:
    """Refuse settings that cannot be stored.

    Raises:
        FormatError: They are too long, hold halves of a character side by side, or
            continue ids at what is no number.
    """
    data = dumps(state)
    check_size(data, "settings have")
    check_halves(data, "settings")
    serial = state.get("next_id")
    if serial is not None and (type(serial) is not int or not 0 <= serial < 2**62):
        reason = f"next_id is a whole number of 0 or more, not {serial!r:.60}"
        raise FormatError(reason, "$.next_id")


def checked_fields(message: Message) -> dict[str, Any]:
    """A message in our JSON, as stores keep it: without its pin.

    Raises:
        FormatError: A field has a value that could not be read back; with its path.
    """
    try:
        fields = fields_of(message)
    except AttributeError as error:
        # A value that is no object, no time: it has none of what those have.
        reason = f"message {message.id!r} holds a value of a wrong type: {error}"
        raise FormatError(reason) from None
    load_message(fields)
    for name in ("metadata", "extra"):
        if not isinstance(getattr(message, name), dict):
            reason = f"expected an object, found {getattr(message, name)!r:.60}"
            raise FormatError(reason, f"$.{name}")
    if message.pinned and message.pin_scope not in _SCOPES:
        reason = f"expected 'turn' or 'step', found {message.pin_scope!r:.60}"
        raise FormatError(reason, "$.pin_scope")
    count = message.token_count
    if count is not None and not 0 <= count < MAX_TOKENS:
        reason = f"expected a count from 0 to {MAX_TOKENS - 1:,}, found {count!r:.60}"
        raise FormatError(reason, "$.token_count")
    return fields


def fields_of(message: Message) -> dict[str, Any]:
    """A message in our JSON, without its pin, which stores keep beside it."""
    fields = dump_message(message)
    if fields.pop("pinned", False):
        fields.pop("pin_scope", None)
    return fields


def checked_body(message: Message) -> bytes:
    """The JSON that is kept for a message.

    Raises:
        FormatError: It is too long, or could not be read back.
    """
    data = dumps(checked_fields(message))
    check_size(data, f"message {message.id!r} has")
    check_halves(data, f"message {message.id!r}")
    return data


def check_size(data: bytes, what: str) -> None:
    """Refuse JSON that is too long.

    Raises:
        FormatError: It has more than `MAX_MESSAGE_BYTES`.
    """
    if len(data) > MAX_MESSAGE_BYTES:
        reason = (
            f"{what} {len(data):,} bytes of JSON; a store takes "
            f"{MAX_MESSAGE_BYTES:,} at most"
        )
        raise FormatError(reason)


def check_halves(data: bytes, what: str) -> None:
    """Refuse a high surrogate before a low one: they would be read as one character.

    Raises:
        FormatError: JSON holds two such halves.
    """
    if b"\\ud" in data and _JOINED.search(data):
        reason = (
            f"{what}: two halves of a character (surrogates) stand side by side and "
            "would come back as one character; join them first, for example by "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
        raise FormatError(reason)
