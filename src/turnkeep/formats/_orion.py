from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Message,
    Role,
    ToolCall,
    ToolResult,
    join_text,
    thaw,
    trusted_message,
    trusted_text,
)

from ._base import Envelope, is_own
from ._body import open_body
from ._chat._open import request, system_messages
from ._fields import (
    bare_text,
    call_of,
    checked,
    defaulted,
    display_losses,
    everywhere,
    optional,
    others,
    plain_text,
    read_millis,
    required,
    text_blocks,
    to_store,
    with_others,
    with_tool_names,
    without_results,
    write_millis,
)
from ._ids import with_call_ids
from ._losses import host_losses, key_losses, opaque_losses, thinking_losses
from ._marks import COMMON, NEVER, WEAK, Judgement, Marks
from ._seed_losses import block_losses, field_losses
from ._shape import MARKS, as_object, frozen, kind_of_text
from ._spelling import recall, remember
from ._wire import put_marker, take_marker

NAME = "orion"

SUMMARY_LINE = "[Summary of earlier conversation]\n"
"""How a summary of Orion's begins; it is pinned and has the user's role."""

_ROLES = {role.value: role for role in Role}
_OWN_ROLES = frozenset({"tool_call", "tool_result"})
_KNOWN = frozenset(
    {
        "id",
        "role",
        "content",
        "timestamp",
        "tool_calls",
        "tool_result",
        "token_count",
        "pinned",
    }
)
_CALL = frozenset({"id", "name", "arguments"})
_RESULT = frozenset({"tool_call_id", "tool_name", "content", "is_error", "pending"})


def _judge(entry: dict[str, Any]) -> Judgement:
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"no role of Orion: {role!r}"
    if not isinstance(entry.get("content"), str):
        return NEVER, "content that is not text"
    when = entry.get("timestamp")
    if not isinstance(entry.get("id"), str) or not isinstance(when, int):
        return NEVER, "no id with a time stamp in milliseconds"
    calls = entry.get("tool_calls")
    calls = calls if isinstance(calls, (list, tuple)) else ()
    if any(isinstance(call, dict) and "function" in call for call in calls):
        return NEVER, "calls of another format"
    if calls or role in _OWN_ROLES or isinstance(entry.get("tool_result"), dict):
        return 4, "calls or results with an id and a time stamp in milliseconds"
    # A host of any chat format may have put both there.
    if _KNOWN.issuperset(entry):
        return WEAK, "an id and a time stamp in milliseconds"
    return COMMON, ""


class Orion:
    """orion-core: flat messages with five roles, ids, pins and pending results.

    Empty, false and unset fields are left out. Time stamps are Unix milliseconds; 0 is
    read as unset. A result's text stands twice, in the message and in its result.
    """

    name = NAME
    marks = Marks(_judge)

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_body(value, "messages", system=("system",))

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if (quick := _read_short(entry, path)) is not None:
            return (quick,)
        return (remember(_read(entry, path), entry, NAME, _write),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`. Messages without an id get the next free `msg-N`."""
        sent = with_tool_names(with_call_ids(to_store(messages), everywhere), NAME)
        entries = [e for m in sent for e in recall(m, NAME, _read, _write)]
        _give_ids(entries)
        return entries

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return request(self.encode(messages), tools)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        carries = frozenset({"pinned", "timestamp"})
        return [
            *display_losses(message),
            *host_losses(message, carries),
            *field_losses(message, {"kind", "pin_scope"}),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *thinking_losses(message, carries_text=False),
            *block_losses(message, images=False),
        ]


def _read_short(entry: Any, path: str) -> Message | None:
    """The message of an entry that is one text in today's spelling; none for others."""
    if type(entry) is not dict or len(entry) != 4:
        return None
    identity, name = entry.get("id"), entry.get("role")
    text, when = entry.get("content"), entry.get("timestamp")
    if (
        type(text) is not str
        or type(name) is not str
        or type(identity) is not str
        or type(when) is not int
        or not text
        or name not in _ROLES
        or text.startswith(MARKS)
    ):
        return None
    moment = read_millis(when, f"{path}.timestamp") if when else None
    said = (trusted_text(text),)
    return trusted_message(_ROLES[name], said, identity, moment, layout=NAME)


def _read(entry: Any, path: str) -> Message:
    as_object(entry, "a message", path)
    wire_role = required(entry, "role", str, path)
    role = _ROLES.get(wire_role)
    if role is None:
        reason = f"unknown role {wire_role!r} (expected {', '.join(_ROLES)})"
        raise FormatError(reason, f"{path}.role")
    text = required(entry, "content", str, path)
    calls = [
        _read_call(call, f"{path}.tool_calls[{nth}]")
        for nth, call in enumerate(defaulted(entry, "tool_calls", list[Any](), path))
    ]
    result = optional(entry, "tool_result", dict, path)
    results: list[Block] = []
    if result is not None:
        results = [_read_result(result, f"{path}.tool_result")]
    said = () if results and role is Role.TOOL_RESULT else text_blocks(text)
    tokens = optional(entry, "token_count", int, path)
    if tokens is not None and tokens < 0:
        reason = f"token_count cannot be negative: {tokens}"
        raise FormatError(reason, f"{path}.token_count")
    pinned = defaulted(entry, "pinned", False, path)
    when = required(entry, "timestamp", int, path)
    kind = kind_of_text(text)
    if pinned and role is Role.USER and text.startswith(SUMMARY_LINE):
        kind = "summary"
    return trusted_message(
        role,
        (*said, *calls, *results),
        id=required(entry, "id", str, path),
        timestamp=read_millis(when, f"{path}.timestamp"),
        token_count=tokens,
        pinned=pinned,
        kind=kind,
        extra=others(entry, _KNOWN, path),
        layout=NAME,
    )


def _read_call(call: Any, path: str) -> ToolCall:
    checked(call, "a tool call", dict, path)
    if "arguments" not in call:
        reason = "'arguments' is missing (it may be any JSON value)"
        raise FormatError(reason, path)
    return call_of(
        required(call, "id", str, path),
        required(call, "name", str, path),
        frozen(call["arguments"], f"{path}.arguments"),
        others(call, _CALL, path),
    )


def _read_result(result: dict[str, Any], path: str) -> ToolResult:
    text, pending, interim = take_marker(required(result, "content", str, path))
    return ToolResult(
        required(result, "tool_call_id", str, path),
        text,
        is_error=required(result, "is_error", bool, path),
        pending=defaulted(result, "pending", False, path) or pending,
        interim=interim,
        tool_name=required(result, "tool_name", str, path),
        extra=others(result, _RESULT, path),
    )


def _write(message: Message) -> list[Any]:
    said = bare_text(message)
    if said is not None and message.token_count is None and not message.pinned:
        return [
            {
                "id": message.id,
                "role": str(message.role),
                "content": said,
                "timestamp": write_millis(message.timestamp),
            }
        ]
    own = is_own(message, NAME)
    entries = [_write_result(message, r, own=own) for r in message.tool_results]
    rest = without_results(message)
    calls = [_write_call(call, own=own) for call in message.tool_calls]
    text = plain_text(rest)
    if text or calls or not entries:
        role = message.role
        if entries and role is Role.TOOL_RESULT:
            role = Role.USER
        entry: dict[str, Any] = {"id": None, "role": role.value, "content": text}
        entry["timestamp"] = write_millis(message.timestamp)
        if calls:
            entry["tool_calls"] = calls
        entries.append(entry)
    for nth, entry in enumerate(entries):
        if message.id is not None:
            entry["id"] = f"{message.id}-{nth + 1}" if nth else message.id
        # The count is that of the whole message.
        if message.token_count is not None and len(entries) == 1:
            entry["token_count"] = message.token_count
        if message.pinned:
            entry["pinned"] = True
        with_others(entry, message.extra if own else EMPTY, _KNOWN)
    return entries


def _write_call(call: ToolCall, *, own: bool) -> dict[str, Any]:
    made = {"id": call.id, "name": call.name, "arguments": thaw(call.arguments)}
    return with_others(made, call.extra if own else EMPTY)


def _write_result(message: Message, result: ToolResult, *, own: bool) -> dict[str, Any]:
    # A pending result has its flag here; only interim ones need the line.
    text = join_text(put_marker(result) if result.interim else result.content)
    made: dict[str, Any] = {
        "tool_call_id": result.tool_call_id or "",
        "tool_name": result.tool_name or "",
        "content": text,
        "is_error": result.is_error,
    }
    if result.pending:
        made["pending"] = True
    return {
        "id": None,
        "role": Role.TOOL_RESULT.value,
        "content": text,
        "timestamp": write_millis(message.timestamp),
        "tool_result": with_others(made, result.extra if own else EMPTY),
    }


def _give_ids(entries: Iterable[dict[str, Any]]) -> None:
    """Put the next free `msg-N` where the id is unset."""
    taken = {entry["id"] for entry in entries}
    number = 0
    for entry in entries:
        if entry["id"] is None:
            while (made := f"msg-{(number := number + 1)}") in taken:
                pass
            entry["id"] = made
