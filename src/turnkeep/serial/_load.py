from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnfitValueError,
    freeze,
    trusted_message,
    trusted_text,
)

from ._dump import UNKNOWN, can_spread, is_foreign

# Everything below raises errors whose path is relative to the value it was given, and
# whoever descends prefixes it: no path is built for values that are as they should be.


def load_message(value: Any, path: str = "$") -> Message:
    """The message that our JSON *value* says; unknown fields stay in `metadata`.

    Raises:
        FormatError: With the path of the offending value below *path*.
    """
    if (made := plain(value)) is not None:
        return made
    try:
        fields = _fields(value, _MESSAGE, "a message", "metadata")
    except FormatError as error:
        raise below(error, path) from None
    if "role" not in fields:
        reason = "a message needs a 'role'"
        raise FormatError(reason, path)
    return trusted_message(**fields)


def load_block(value: Any, path: str = "$") -> Block:
    """The block that our JSON *value* says; one of an unknown type stays opaque.

    Raises:
        FormatError: With the path of the offending value below *path*.
    """
    try:
        return _block(value)
    except FormatError as error:
        raise below(error, path) from None


def below(error: FormatError, path: str) -> FormatError:
    """*error*, whose path is relative to the value at *path*, seen from the root."""
    return FormatError(error.reason, path + error.path[1:])


def wrong(wanted: str, value: Any) -> FormatError:
    """The error for a *value* of the wrong type."""
    # Never the repr() of a container: it may be deeper than the stack.
    match value:
        case dict():
            shown = "an object"
        case list() | tuple():
            shown = "a list"
        case str() if len(value) > 40:
            shown = f"{value[:40]!r}..."
        case None:
            shown = "null"
        case _:
            shown = repr(value)
    return FormatError(f"expected {wanted}, found {shown}")


def frozen(value: Any) -> Any:
    """*value* frozen, with our error where JSON cannot say it."""
    try:
        return freeze(value)
    except UnfitValueError as error:
        raise FormatError(error.reason, f"${error.path}") from None


def timestamp(value: Any) -> datetime:
    """The time that ISO 8601 text with an offset says; the offset is kept."""
    if not isinstance(value, str):
        expected = "an ISO 8601 time"
        raise wrong(expected, value)
    try:
        made = datetime.fromisoformat(value)
    except ValueError:
        expected = "an ISO 8601 time"
        raise wrong(expected, value) from None
    if made.tzinfo is None:
        reason = f"time stamp {value!r} has no time zone"
        raise FormatError(reason)
    return made


def plain(value: Any) -> Message | None:
    """The commonest message, one text with an id; a fraction of what `_fields` costs.

    None for every other one, and for what is wrong in it.
    """
    if value.__class__ is not dict:
        return None
    get = value.get
    identity, role, content = get("id"), get("role"), get("content")
    if not identity.__class__ is role.__class__ is content.__class__ is str:
        return None
    if (known := _ROLES.get(role)) is None:
        return None
    moment = None
    if len(value) != 3:
        if len(value) != 4 or "timestamp" not in value:
            return None
        try:
            moment = timestamp(value["timestamp"])
        except FormatError:
            return None
    return trusted_message(known, (trusted_text(content),), identity, moment)


def _block(value: Any) -> Block:
    if not isinstance(value, dict):
        expected = "a block (an object)"
        raise wrong(expected, value)
    tag = value.get("type")
    if not isinstance(tag, str):
        raise below(wrong("the block's type (text)", tag), "$.type")
    if is_foreign(value):
        return Opaque(frozen(value), "turnkeep")
    make, needed, loaders = _BLOCKS[tag]
    fields = _fields(value, loaders, "a block", "extra")
    if needed is not None and needed not in fields:
        reason = f"a {tag!r} block needs {needed!r}"
        raise FormatError(reason)
    made: Block = make(**fields)
    return made


def _fields(
    value: Any, loaders: Mapping[str, _Loader], what: str, home: str
) -> dict[str, Any]:
    """The loaded fields of *value*; those without a loader go into its *home*."""
    if not isinstance(value, dict):
        expected = f"{what} (an object)"
        raise wrong(expected, value)
    fields: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    key = ""
    try:
        for key, item in value.items():
            if (load := loaders.get(key)) is not None:
                fields[key] = load(item)
            else:
                unknown[key] = item
    except FormatError as error:
        raise below(error, f"$.{key}") from None
    if "type" in loaders:
        del fields["type"]
    if unknown or (home in fields and UNKNOWN in fields[home]):
        fields[home] = _with_unknown(fields.get(home, EMPTY), unknown, loaders, home)
    return fields


def _with_unknown(
    kept: dict[str, Any],
    unknown: dict[str, Any],
    known: Mapping[str, object],
    home: str,
) -> Any:
    """*kept* with the *unknown* fields in it.

    Its reserved key is refused where writing it back would not give the same again.
    """
    if UNKNOWN not in kept:
        return frozen({**kept, UNKNOWN: frozen(unknown)})
    if unknown or can_spread(kept[UNKNOWN], frozenset(known)):
        reason = f"the key {UNKNOWN!r} is reserved: its fields stand beside {home!r}"
        raise FormatError(reason, f"$.{home}.{UNKNOWN}")
    return kept


def _call(**fields: Any) -> ToolCall:
    if "name" not in fields:
        reason = "a 'tool_call' block needs 'name'"
        raise FormatError(reason)
    if "arguments_text" in fields:
        if "arguments" in fields:
            reason = "a call has 'arguments' or 'arguments_text', not both"
            raise FormatError(reason)
        fields["arguments"] = fields.pop("arguments_text")
    return ToolCall(fields.pop("id", None), fields.pop("name"), **fields)


def _result(**fields: Any) -> ToolResult:
    return ToolResult(fields.pop("tool_call_id", None), **fields)


def _role(value: Any) -> Role:
    role = _ROLES.get(value) if isinstance(value, str) else None
    if role is None:
        expected = f"a role ({', '.join(_ROLES)})"
        raise wrong(expected, value)
    return role


def _text(value: Any) -> str:
    if not isinstance(value, str):
        expected = "text"
        raise wrong(expected, value)
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        expected = "true or false"
        raise wrong(expected, value)
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        expected = "a whole number"
        raise wrong(expected, value)
    return value


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        expected = "an object"
        raise wrong(expected, value)
    return frozen(value)


def _arguments(value: Any) -> Any:
    if isinstance(value, str):
        reason = "arguments given as text belong in 'arguments_text'"
        raise FormatError(reason)
    return frozen(value)


def _scope(value: Any) -> str:
    if value not in ("turn", "step"):
        expected = "'turn' or 'step'"
        raise wrong(expected, value)
    scope: str = value
    return scope


def _content(value: Any) -> tuple[Block, ...]:
    if isinstance(value, str):
        return (trusted_text(value),)
    if not isinstance(value, list):
        expected = "text or a list of blocks"
        raise wrong(expected, value)
    blocks: list[Block] = []
    try:
        for item in value:
            blocks.append(_block(item))  # noqa: PERF401 - the place of a bad one
    except FormatError as error:
        raise below(error, f"$[{len(blocks)}]") from None
    return tuple(blocks)


def _parts(value: Any) -> tuple[Block, ...]:
    """The content of a result, which holds no result: nesting has an end."""
    blocks = _content(value)
    for nth, block in enumerate(blocks):
        if isinstance(block, ToolResult):
            reason = "a result cannot hold another result"
            raise FormatError(reason, f"$[{nth}]")
    return blocks


_Loader = Callable[[Any], Any]

_ROLES = {role.value: role for role in Role}

_MESSAGE: dict[str, _Loader] = {
    "id": _text,
    "role": _role,
    "content": _content,
    "timestamp": timestamp,
    "token_count": _number,
    "pinned": _flag,
    "pin_scope": _scope,
    "kind": _text,
    "priority": _number,
    "metadata": _object,
    "extra": _object,
    "layout": _text,
}

_COMMON: dict[str, _Loader] = {"type": _text, "extra": _object}

_SOURCE: dict[str, _Loader] = {
    "data": _text,
    "media_type": _text,
    "url": _text,
    "file_id": _text,
}

_BLOCKS: dict[str, tuple[Callable[..., Any], str | None, dict[str, _Loader]]] = {
    "text": (Text, "text", _COMMON | {"text": _text}),
    "json": (Json, "value", _COMMON | {"value": frozen}),
    "image": (Image, None, _COMMON | _SOURCE | {"detail": _text, "number": _number}),
    "document": (Document, None, _COMMON | _SOURCE | {"text": _text, "title": _text}),
    "thinking": (
        Thinking,
        None,
        _COMMON | {"text": _text, "signature": _text, "data": _text},
    ),
    "tool_call": (
        _call,
        None,
        _COMMON
        | {
            "id": _text,
            "name": _text,
            "arguments": _arguments,
            "arguments_text": _text,
        },
    ),
    "tool_result": (
        _result,
        None,
        _COMMON
        | {
            "tool_call_id": _text,
            "tool_name": _text,
            "content": _parts,
            "is_error": _flag,
            "pending": _flag,
            "interim": _flag,
        },
    ),
    "opaque": (Opaque, "value", {"type": _text, "value": _object, "format": _text}),
}
"""By tag: the block, the field it needs, and what loads each of its fields."""
