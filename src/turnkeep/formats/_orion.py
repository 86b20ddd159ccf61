from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Message,
    Role,
    ToolResult,
    join_text,
    trusted_message,
    trusted_text,
)

from ._base import is_own
from ._fields import (
    bare_text,
    plain_text,
    read_millis,
    text_blocks,
    without_results,
    write_millis,
)
from ._losses import opaque_losses, thinking_losses
from ._marker_lines import lined_content
from ._marks import COMMON, NEVER, WEAK, Judgement
from ._record_losses import block_losses
from ._records import RecordFormat, read_call, write_call
from ._shape import MARKS, kind_of_text
from ._table import ARRAY, FLAG, MILLIS, NUMBER, OBJECT, TEXT, Field, Table
from ._wire import take_marker

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
_MESSAGE = Table(
    Field("id", TEXT),
    Field("role", TEXT),
    Field("content", TEXT),
    Field("timestamp", MILLIS),
    Field("tool_calls", ARRAY, []),
    Field("tool_result", OBJECT, None),
    Field("token_count", NUMBER, None),
    Field("pinned", FLAG, False),
    sparse=True,
)
_RESULT = Table(
    Field("tool_call_id", TEXT),
    Field("tool_name", TEXT),
    Field("content", TEXT),
    Field("is_error", FLAG),
    Field("pending", FLAG, False),
    sparse=True,
)


class Orion(RecordFormat):
    """orion-core: flat messages with five roles, ids, pins and pending results.

    Empty, false and unset fields are left out. Time stamps are Unix milliseconds; 0 is
    read as unset. A result's text stands twice, in the message and in its result.
    Messages without an id get the next free `msg-N`.
    """

    name = NAME
    carries = frozenset({"pinned", "timestamp"})
    lacks = frozenset({"kind", "pin_scope"})
    names_tools = True

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
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

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`."""
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

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        found = _MESSAGE.read(entry, "a message", path)
        role, text = _ROLES.get(found["role"]), found["content"]
        if role is None:
            reason = f"unknown role {found['role']!r} (expected {', '.join(_ROLES)})"
            raise FormatError(reason, f"{path}.role")
        tokens = found["token_count"]
        if tokens is not None and tokens < 0:
            reason = f"token_count cannot be negative: {tokens}"
            raise FormatError(reason, f"{path}.token_count")
        calls = [
            read_call(call, "a tool call", f"{path}.tool_calls[{nth}]")
            for nth, call in enumerate(found["tool_calls"])
        ]
        results: list[Block] = []
        if found["tool_result"] is not None:
            results = [_read_result(found["tool_result"], f"{path}.tool_result")]
        said = () if results and role is Role.TOOL_RESULT else text_blocks(text)
        kind = kind_of_text(text)
        if found["pinned"] and role is Role.USER and text.startswith(SUMMARY_LINE):
            kind = "summary"
        return trusted_message(
            role,
            (*said, *calls, *results),
            id=found["id"],
            timestamp=found["timestamp"],
            token_count=tokens,
            pinned=found["pinned"],
            kind=kind,
            extra=_MESSAGE.rest(entry, path),
            layout=NAME,
        )

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
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
        records = [_write_result(result, own=own) for result in message.tool_results]
        calls = [write_call(call, own=own) for call in message.tool_calls]
        text = plain_text(without_results(message))
        if text or calls or not records:
            role = message.role
            if records and role is Role.TOOL_RESULT:
                role = Role.USER
            said_too = {"role": role.value, "content": text, "tool_calls": calls}
            records.append(said_too)
        identity = message.id
        return [
            _MESSAGE.write(
                **record,
                id=f"{identity}-{nth + 1}" if nth and identity else identity,
                timestamp=message.timestamp,
                # The count is that of the whole message.
                token_count=message.token_count if len(records) == 1 else None,
                pinned=message.pinned,
                extra=message.extra if own else EMPTY,
            )
            for nth, record in enumerate(records)
        ]

    def finish(self, entries: list[Any]) -> list[Any]:
        """Put the next free `msg-N` where the id is unset."""
        taken = {entry["id"] for entry in entries}
        number = 0
        for entry in entries:
            if entry["id"] is None:
                while (made := f"msg-{(number := number + 1)}") in taken:
                    pass
                entry["id"] = made
        return entries

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; the ids of messages are numbered through."""
        if any(message.id is None for message in messages):
            return None
        return super().encode_piece(messages, earlier)

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        return [
            *opaque_losses(message, NAME),
            *thinking_losses(message, carries_text=False),
            *block_losses(message, images=False),
        ]


def _read_result(result: dict[str, Any], path: str) -> ToolResult:
    found = _RESULT.read(result, "tool_result", path)
    text, pending, interim = take_marker(found["content"])
    return ToolResult(
        found["tool_call_id"],
        text,
        is_error=found["is_error"],
        pending=found["pending"] or pending,
        interim=interim,
        tool_name=found["tool_name"],
        extra=_RESULT.rest(result, path),
    )


def _write_result(result: ToolResult, *, own: bool) -> dict[str, Any]:
    # A pending result has its flag here; only interim ones need the line.
    text = join_text(lined_content(result) if result.interim else result.content)
    made = _RESULT.write(
        tool_call_id=result.tool_call_id or "",
        tool_name=result.tool_name or "",
        content=text,
        is_error=result.is_error,
        pending=result.pending,
        extra=result.extra if own else EMPTY,
    )
    role = Role.TOOL_RESULT.value
    return {"role": role, "content": text, "tool_result": made}
