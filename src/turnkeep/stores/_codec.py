"""Messages and what belongs to them, as the text that databases keep."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from turnkeep.errors import CorruptStoreError, FormatError
from turnkeep.model import Message
from turnkeep.serial import dumps, load_message, loads, structure, unstructure

from ._checks import checked_body
from ._values import MAX_MESSAGE_BYTES, CallRecord, checked_id

LIMIT = 2 * MAX_MESSAGE_BYTES
"""Bytes of a kept text that are read: what is written is at most half of that."""


def id_of(message: Message) -> str:
    """A message's id, checked.

    Raises:
        ValueError: It has none.
        FormatError: No store can keep it.
    """
    if message.id is None:
        msg = "a message needs an id before it is stored"
        raise ValueError(msg)
    return checked_id(message.id, "message")


def dump_body(message: Message) -> str:
    """The text that is kept for a message.

    Raises:
        FormatError: It is too long, or could not be read back.
    """
    return checked_body(message).decode()


def corrupt(where: str, error: FormatError) -> CorruptStoreError:
    """The error for something kept at *where* that is not as it was written."""
    return CorruptStoreError(f"{where}: {error.reason}", error.path)


def load_body(body: str, pin: str | None, where: str) -> Message:
    """The message of a kept text, with its pin.

    Raises:
        CorruptStoreError: It is no message.
    """
    try:
        return load_fields(loads(body, max_bytes=LIMIT), pin)
    except FormatError as error:
        raise corrupt(where, error) from None


def load_fields(fields: Any, pin: str | None) -> Message:
    """The message that *fields* say, with its pin.

    Raises:
        FormatError: They say none, or one without an id.
    """
    if pin is not None and isinstance(fields, dict):
        fields = {**fields, "pinned": True, "pin_scope": pin}
    message = load_message(fields)
    if message.id is None:
        reason = "a stored message needs an 'id'"
        raise FormatError(reason)
    return message


def scope_of(message: Message) -> str | None:
    """The scope of a message's pin; `None` where it has none."""
    return message.pin_scope if message.pinned else None


def dump_call(call: CallRecord) -> str:
    """The text that is kept for a call."""
    return dumps(unstructure(call)).decode()


def load_call(body: str, where: str) -> CallRecord:
    """What `dump_call` gave.

    Raises:
        CorruptStoreError: It is something else.
    """
    try:
        return structure(loads(body, max_bytes=LIMIT), CallRecord)
    except FormatError as error:
        raise corrupt(where, error) from None


def load_state(body: str, where: str) -> Any:
    """A kept JSON object.

    Raises:
        CorruptStoreError: It is something else.
    """
    try:
        value = loads(body)
    except FormatError as error:
        raise corrupt(where, error) from None
    if not isinstance(value, dict):
        reason = f"{where}: an object expected"
        raise CorruptStoreError(reason)
    return value


def merged(state: Any, patch: Any) -> dict[str, Any]:
    """*state* with *patch* over it; `None` takes a key away."""
    both = {**state, **patch}
    return {key: value for key, value in both.items() if value is not None}


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def stamp(when: datetime) -> str:
    """A time as text that sorts as the times do.

    >>> stamp(datetime(2026, 1, 2, tzinfo=UTC))
    '2026-01-02T00:00:00.000000+00:00'
    """
    if when.tzinfo is not UTC:
        when = when.astimezone(UTC)
    return when.isoformat(timespec="microseconds")
