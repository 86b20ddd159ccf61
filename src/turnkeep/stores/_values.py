"""The values that stores take and give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, Self

import attrs

from turnkeep.errors import FormatError, UnknownConversationError
from turnkeep.model import EMPTY, FrozenDict, Message, PinScope, freeze

MAX_ID: Final = 500
"""Characters that an id may have: indexes of databases hold no longer ones."""

MAX_MESSAGE_BYTES: Final = 64 << 20
"""Bytes of JSON that one message may have: 64 MiB."""

MAX_TOKENS: Final = 2**40
"""Tokens that one message has less than: sums of them stay within 64 bits."""

MAX_POSITION: Final = 2**31
"""Calls that one message has less than."""

_HALF = re.compile("[\ud800-\udfff]")
_OUR_ID = re.compile(r"msg-([0-9]{1,15})")


@attrs.frozen
class Row:
    """A message as a store keeps it."""

    message: Message
    """With its id, which is unique in its conversation."""
    tokens: int = -1
    """Its tokens; -1 where nobody has counted."""
    counter: str | None = None
    """Name of the counter that took `tokens`; a count of another is not reused."""


@attrs.frozen
class CallRecord:
    """What is known about a tool call beyond its messages."""

    message: str
    """Id of the message that makes the call."""
    position: int = 0
    """Its place among that message's calls."""
    state: str | None = None
    """`resolved`, `cancelled`, `expired`, `abandoned`; none while it is awaited."""
    since: datetime | None = None
    expires_at: datetime | None = None
    closed_at: datetime | None = None
    waits_for: FrozenDict = attrs.field(default=EMPTY, converter=freeze)


@attrs.frozen
class Pin:
    """A pin set or taken away."""

    message: str
    """Id of the message."""
    scope: PinScope | None
    """`None` unpins."""


def _rows(values: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(values)


def _pins(values: Iterable[Pin]) -> tuple[Pin, ...]:
    return tuple(values)


def _strs(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _callrecords(values: Iterable[CallRecord]) -> tuple[CallRecord, ...]:
    return tuple(values)


@attrs.frozen
class Change:
    """One write: removals first, then replacements, pins, new messages, calls, state.

    All of it is done, or nothing.
    """

    append: tuple[Row, ...] = attrs.field(default=(), converter=_rows)
    """New messages, in order."""
    replace: tuple[Row, ...] = attrs.field(default=(), converter=_rows)
    """Messages that take the place of those with their ids."""
    pins: tuple[Pin, ...] = attrs.field(default=(), converter=_pins)
    remove: tuple[str, ...] = attrs.field(default=(), converter=_strs)
    """Ids of messages that go, with what is known about their calls."""
    calls: tuple[CallRecord, ...] = attrs.field(default=(), converter=_callrecords)
    """What is known about calls now; replaces what was known."""
    state: FrozenDict = attrs.field(default=EMPTY, converter=freeze)
    """Settings to set beside the messages; `None` removes one."""

    @classmethod
    def of_messages(
        cls,
        messages: Iterable[Message],
        *,
        tokens: Sequence[int] = (),
        counter: str | None = None,
    ) -> Self:
        """A change that appends *messages*, with their *tokens* where known."""
        batch = list(messages)
        counts = list(tokens) or [-1] * len(batch)
        rows = zip(batch, counts, strict=True)
        return cls(append=tuple(Row(m, count, counter) for m, count in rows))


@attrs.frozen
class Snapshot:
    """A conversation, or its newest part, as it was at one moment."""

    id: str
    version: int
    serial: int
    """The highest N of any `msg-N` ever used as an id, 0 for none."""
    rows: tuple[Row, ...]
    calls: tuple[CallRecord, ...]
    state: FrozenDict = attrs.field(converter=freeze)
    whole: bool = True
    """Whether these are all of its messages."""
    border: int = 0
    """Place in `rows` from which on none is left out."""
    rows_read: int = 0
    """How many messages were read to make it."""
    damage: tuple[Damage, ...] = ()
    """What a crash left behind and was passed over."""


@attrs.frozen
class Delta:
    """What happened to a conversation since a version."""

    version: int
    serial: int
    changes: Change
    """What leads from that version to this one."""
    reset: bool = False
    """Whether that version is too old to tell: `changes` then holds everything."""


@attrs.frozen
class Info:
    """One line about a conversation."""

    id: str
    version: int
    messages: int
    tokens: int
    """Of the messages that have been counted."""
    open_calls: int
    created_at: datetime
    updated_at: datetime


@attrs.frozen
class Hit:
    """A message that was found."""

    conversation: str
    row: Row

    @property
    def message(self) -> Message:
        """The message itself."""
        return self.row.message


@attrs.frozen
class Damage:
    """Something in a store that is not as it was written."""

    conversation: str | None
    """Whose; `None` for the store itself."""
    where: str
    """A place: file and line, or table and row."""
    reason: str
    recovered: bool = False
    """Whether nothing acknowledged is lost (a torn last line)."""


def is_id(value: object) -> bool:
    """Whether every store can keep *value* as an id: see `checked_id`."""
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and is_name(value)


def is_name(value: str) -> bool:
    """Whether databases keep *value* as it is: no NUL, no lone surrogate."""
    return "\0" not in value and not _HALF.search(value)


def checked_text(value: str, what: str) -> str:
    """*value*, if it is text.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(value, str):
        return value
    msg = f"{what} must be text, not {value!r:.60}"
    raise TypeError(msg)


def checked_limit(limit: int) -> int:
    """*limit*, as a number that databases take.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is negative.
    """
    if not isinstance(limit, int):
        msg = f"limit must be a whole number, not {limit!r:.60}"
        raise TypeError(msg)
    if limit < 0:
        msg = f"limit must be 0 or more, not {limit}"
        raise ValueError(msg)
    return min(limit, 2**62)


def checked_id(value: str, what: Literal["conversation", "message"]) -> str:
    """*value*, if every store can keep it as an id.

    Raises:
        FormatError: It is no text, empty, longer than `MAX_ID`, or holds NUL or half a
            character (a lone surrogate), which databases refuse.
    """
    if is_id(value):
        return value
    if not isinstance(value, str):
        reason = f"{what} id {value!r} cannot be stored: an id is text"
        raise FormatError(reason)
    shown = repr(value if len(value) < 60 else f"{value[:57]}...")
    reason = (
        f"{what} id {shown} ({len(value)} characters) cannot be stored: an id has 1 to "
        f"{MAX_ID} characters, no NUL and no lone surrogate"
    )
    raise FormatError(reason)


def unknown(conversation_id: str) -> UnknownConversationError:
    """The error for a conversation that is not there."""
    return UnknownConversationError(conversation_id)


def serial_of(message_id: str) -> int:
    """The N of an id `msg-N`, 0 for any other."""
    match = _OUR_ID.fullmatch(message_id)
    return int(match[1]) if match else 0
