"""Fields of the seed systems' messages: read strictly, written as their crates do."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    FrozenDict,
    Json,
    Message,
    Text,
    ToolCall,
    ToolResult,
    join_text,
    thaw,
    trusted_text,
)
from turnkeep.serial import load_message

from ._base import origin_of
from ._shape import compact, json_type

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Written for an unset time stamp where one is demanded, and read as unset."""

_EPOCH = "1970-01-01T00:00:00+00:00"
_EPOCH_UTC = "1970-01-01T00:00:00Z"
_WORDS: dict[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "a whole number",
    dict: "an object",
    list: "an array",
}


def required(entry: dict[str, Any], key: str, kind: type[T], path: str) -> T:
    """The value of *key*, which must be there and of that *kind*.

    Raises:
        FormatError: It is not.
    """
    value = entry.get(key)
    if type(value) is kind:
        return value
    if key not in entry:
        reason = f"{key!r} is missing (it must be {_WORDS[kind]})"
        raise FormatError(reason, path)
    return checked(value, key, kind, f"{path}.{key}")


def optional(entry: dict[str, Any], key: str, kind: type[T], path: str) -> T | None:
    """The value of *key*, none where it is absent or null.

    Raises:
        FormatError: It is something else.
    """
    value = entry.get(key)
    return None if value is None else checked(value, key, kind, f"{path}.{key}")


def checked(value: Any, what: str, kind: type[T], path: str) -> T:
    """*value*, which must be of that *kind*; a boolean is no number.

    Raises:
        FormatError: It is not.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        reason = f"{what} must be {_WORDS[kind]}, got {json_type(value)}"
        raise FormatError(reason, path)
    return value


def only_key(value: Any, what: str, path: str) -> str:
    """The one key of an externally tagged value.

    Raises:
        FormatError: It is not an object with exactly one key.
    """
    if not isinstance(value, dict) or len(value) != 1:
        shown = json_type(value)
        if isinstance(value, dict):
            shown = f"keys {', '.join(map(repr, value))}" if value else "no key"
        reason = f"{what} must be an object with one key, its tag; got {shown}"
        raise FormatError(reason, path)
    key: str = next(iter(value))
    return key


def with_others(
    own: dict[str, Any], extra: dict[str, Any], known: Container[str] = ()
) -> dict[str, Any]:
    """*own* with the keys of *extra* behind, those of the format's own left out."""
    for key, value in extra.items():
        if key not in own and key not in known:
            own[key] = thaw(value)
    return own


def call_of(
    id: str | None,  # noqa: A002 - as the tables of fields have it
    name: str,
    arguments: Any,
    extra: FrozenDict = EMPTY,
) -> ToolCall:
    """A call whose *arguments* arrived as a JSON value, which may be a string."""
    if isinstance(arguments, str):
        return ToolCall(id, name, compact(arguments), extra=extra)
    return ToolCall(id, name, arguments, extra=extra)


def bare_text(message: Message) -> str | None:
    """The text of *message* where its content is one text and no key is unknown."""
    content = message.content
    if len(content) != 1 or message.extra:
        return None
    block = content[0]
    return block.text if type(block) is Text and not block.extra else None


def is_unset(message: Message) -> bool:
    """Whether *message* has nothing that `carry` would keep, and no metadata."""
    return (
        message.id is None
        and message.token_count is None
        and message.kind is None
        and not message.pinned
        and message.pin_scope == "turn"
        and not message.metadata
    )


def text_blocks(text: str) -> tuple[Block, ...]:
    """*text* as content; nothing where it is empty."""
    return (trusted_text(text),) if text else ()


def plain_text(blocks: Sequence[Block]) -> str:
    """The text and JSON among *blocks*, calls and results apart."""
    if len(blocks) == 1 and isinstance(first := blocks[0], Text):
        return first.text
    return join_text([b for b in blocks if isinstance(b, (Text, Json))])


def without_results(message: Message) -> Sequence[Block]:
    """The blocks of *message* without tool results."""
    if not message.tool_results:
        return message.content
    return [block for block in message.content if not isinstance(block, ToolResult)]


def with_tool_names(messages: Iterable[Message], own: str) -> list[Message]:
    """*messages* whose results name their tool, where an earlier call of the id does.

    Those that were read from format *own* stay as they are. Linear in their number.
    """
    names: dict[str | None, str] = {}
    named = []
    for message in messages:
        nameless = False
        for block in message.content:
            if isinstance(block, ToolCall):
                names[block.id] = block.name
            elif isinstance(block, ToolResult) and block.tool_name is None:
                nameless = True
        if nameless and origin_of(message) != own:
            content = tuple(_with_name(block, names) for block in message.content)
            message = attrs.evolve(message, content=content)  # noqa: PLW2901
        named.append(message)
    return named


def _with_name(block: Block, names: dict[str | None, str]) -> Block:
    if isinstance(block, ToolResult) and block.tool_name is None:
        # Without an id there is no call to take the name from.
        name = names.get(block.tool_call_id) if block.tool_call_id else None
        return attrs.evolve(block, tool_name=name)
    return block


def read_time(value: Any, path: str) -> datetime | None:
    """The time that RFC 3339 text says, its offset kept; none for `EPOCH`.

    Raises:
        FormatError: It is not such text, or has no offset.
    """
    text = checked(value, "timestamp", str, path)
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        reason = f"{text[:40]!r} is not an RFC 3339 time"
        raise FormatError(reason, path) from None
    if made.tzinfo is None:
        reason = f"time stamp {text!r} has no time zone"
        raise FormatError(reason, path)
    return None if made == EPOCH else made


def write_time(when: datetime | None, *, utc: bool = False) -> str:
    """RFC 3339 as Rust's chrono writes it: as many digits as needed, in threes."""
    if when is None:
        return _EPOCH_UTC if utc else _EPOCH
    made = when
    made = made.astimezone(UTC) if utc else made
    digits = "seconds" if made.microsecond == 0 else "microseconds"
    if made.microsecond and made.microsecond % 1000 == 0:
        digits = "milliseconds"
    text = made.isoformat(timespec=digits)
    return text.replace("+00:00", "Z") if utc else text


def read_millis(value: int, path: str) -> datetime | None:
    """The time of Unix milliseconds; none for 0.

    Raises:
        FormatError: It lies outside of the years 1 to 9999.
    """
    try:
        return EPOCH + timedelta(milliseconds=value) if value else None
    except OverflowError:
        reason = f"{value} milliseconds are outside of the years 1 to 9999"
        raise FormatError(reason, path) from None


def write_millis(when: datetime | None) -> int:
    """Unix milliseconds, rounded down; 0 for an unset time."""
    return 0 if when is None else (when - EPOCH) // timedelta(milliseconds=1)


CARRIED = "turnkeep"
"""Key of a host's metadata under which we keep what its format has no place for."""

_CARRIED = ("id", "token_count", "pinned", "pin_scope", "kind")
_UNSET = {"pinned": False, "pin_scope": "turn"}


def carry(message: Message, fields: Sequence[str] = _CARRIED) -> dict[str, Any]:
    """What of *fields* is set on *message*, as JSON for its host's metadata."""
    values = {key: getattr(message, key) for key in fields}
    return {key: v for key, v in values.items() if v != _UNSET.get(key)}


def carried(value: Any, path: str, fields: Sequence[str] = _CARRIED) -> dict[str, Any]:
    """Fields of a message as `carry` wrote them.

    Raises:
        FormatError: One has the wrong type.
    """
    if not isinstance(value, dict):
        return {}
    made = load_message(
        {"role": "user", **{key: value[key] for key in fields if key in value}}, path
    )
    return {key: getattr(made, key) for key in fields if key in value}
