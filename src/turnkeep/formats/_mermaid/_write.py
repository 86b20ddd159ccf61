from __future__ import annotations

from typing import Any

from turnkeep.model import (
    EMPTY,
    FrozenDict,
    Message,
    Opaque,
    Role,
    Thinking,
    ToolCall,
    thaw,
)

from .._base import is_own, origin_of
from .._fields import (
    CARRIED,
    bare_text,
    carry,
    is_unset,
    plain_text,
    with_others,
    without_results,
    write_time,
)
from .._marker_lines import lined_text
from .._shape import kind_of_text
from ._names import (
    CALL,
    CARRIED_FIELDS,
    FUNCTION,
    KINDS,
    MESSAGE,
    NAME,
    SEALED,
    WIRE_ROLES,
)
from ._parts import (
    write_continuation,
    write_images,
)


def write_message(message: Message) -> list[Any]:
    """The entries that say *message*: one, and one more for each further result."""
    said = bare_text(message)
    if said is not None and message.priority is None and is_unset(message):
        entry = _blank(WIRE_ROLES[message.role], said)
        entry["timestamp"] = write_time(message.timestamp)
        return [entry]
    own = is_own(message, NAME)
    entries = []
    for result in message.tool_results:
        text = lined_text(result, plain_text(result.content))
        entry = _blank("Tool", text)
        entry["tool_call_id"] = result.tool_call_id
        entry["tool_name"] = result.tool_name
        entry["images"], entry["image_numbers"] = write_images(result.content)
        entries.append(entry)
    rest = without_results(message)
    if rest or not entries:
        entry = _blank(WIRE_ROLES[message.role], plain_text(rest))
        if entries and message.role is Role.TOOL_RESULT:
            entry["role"] = "User"
        entry["images"], entry["image_numbers"] = write_images(rest)
        _write_model_side(entry, message, own=own)
        entries.append(entry)
    _write_host_side(entries, message)
    if own:
        for entry in entries:
            with_others(entry, message.extra, MESSAGE.keys)
    return entries


def _blank(role: str, text: str) -> dict[str, Any]:
    return MESSAGE.write(role=role, content=text, timestamp=None)


def _write_model_side(entry: dict[str, Any], message: Message, *, own: bool) -> None:
    """Reasoning, its seal, and the calls."""
    thoughts = [b for b in message.content if isinstance(b, Thinking)]
    entry["thinking"] = "\n".join(b.text for b in thoughts if b.text) or None
    if origin_of(message) in SEALED:
        entry["provider_continuation"] = write_continuation(
            thoughts,
            [b for b in message.content if isinstance(b, Opaque) and b.format == NAME],
            own=own,
        )
    entry["tool_calls"] = [
        _write_call(call, own=own) for call in message.tool_calls
    ] or None


def _write_call(call: ToolCall, *, own: bool) -> dict[str, Any]:
    extra = call.extra if own else EMPTY
    inner = extra.get("function")
    function = FUNCTION.write(
        name=call.name,
        arguments=call.arguments,
        extra=inner if isinstance(inner, FrozenDict) else EMPTY,
    )
    return CALL.write(id=call.id, function=function, extra=extra)


def _write_host_side(entries: list[dict[str, Any]], message: Message) -> None:
    """Times, kinds and metadata: on every entry, what is unique on the first only."""
    ours = message.metadata.get(NAME)
    ours = ours if isinstance(ours, dict) else EMPTY
    host = ours.get("metadata")
    if host is None and message.metadata:
        host = {k: v for k, v in message.metadata.items() if k != NAME}
    kind, extra = _write_kind(message)
    if len(entries) > 1:
        extra.pop("token_count", None)
    when = write_time(message.timestamp)
    for nth, entry in enumerate(entries):
        entry["timestamp"] = when
        entry["kind"] = kind
        told = (
            {**extra, "id": f"{extra['id']}/{nth}"} if nth and "id" in extra else extra
        )
        entry["metadata"] = _write_metadata(host, told)
    first = entries[0]
    if ours is EMPTY:
        return
    if isinstance(role := ours.get("role"), str) and message.role is Role.SYSTEM:
        first["role"] = role
    if ours.get("actions"):
        first["actions"] = thaw(ours["actions"])
    numbers = ours.get("image_numbers")
    if numbers is not None and len(numbers) == len(first["images"] or ()):
        first["image_numbers"] = thaw(numbers)


def _write_metadata(host: Any, told: dict[str, Any]) -> Any:
    """The host's metadata with what *told* carries; null where there is neither."""
    if host is None or isinstance(host, dict):
        return {**thaw(host or {}), **({CARRIED: dict(told)} if told else {})} or None
    return thaw(host)


def _write_kind(message: Message) -> tuple[str, dict[str, Any]]:
    """The kind to write, and what is carried beside it."""
    extra = carry(message, CARRIED_FIELDS)
    kind = extra.pop("kind", None)
    if kind is None:
        return "normal", extra
    marked = kind_of_text(message.text) == kind
    if kind in KINDS or (kind == "summary" and marked):
        return kind if kind in KINDS else "context_checkpoint", extra
    if kind == "normal" or marked:
        return "normal", extra
    if kind != "summary" and origin_of(message) == NAME:
        return kind, extra
    extra["kind"] = kind
    return "context_checkpoint" if kind == "summary" else "normal", extra
