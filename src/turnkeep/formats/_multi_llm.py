from __future__ import annotations

from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    thaw,
    trusted_message,
    trusted_text,
)

from ._base import is_own
from ._fields import (
    CARRIED,
    bare_text,
    carried,
    carry,
    checked,
    is_unset,
    only_key,
    plain_text,
    read_time,
    with_others,
    write_time,
)
from ._losses import opaque_losses, thinking_losses
from ._marker_lines import lined_content
from ._marks import NEVER, Judgement
from ._record_losses import block_losses
from ._records import RecordFormat, read_call, write_call
from ._shape import MARKS, frozen, kind_of_text
from ._table import AS_IS, FLAG, NUMBER, OBJECT, TEXT, UTC_TIME, Field, Table
from ._wire import rest, take_marker

NAME = "multi-llm"
"""Also the key of a message's metadata that holds the attributes we have no field for:
`cacheable`, `cache_type`, `cache_key` and `category`."""

DEFAULT_PRIORITY = 50
"""What the crate gives messages without a priority of their own."""

_ROLES = {
    "System": Role.SYSTEM,
    "User": Role.USER,
    "Assistant": Role.ASSISTANT,
    "Tool": Role.TOOL_RESULT,
}
_WIRE_ROLES = {role: name for name, role in _ROLES.items()} | {
    Role.TOOL_CALL: "Assistant"
}
_TAGGED = attrs.evolve(AS_IS, words="must be an object with one key, its tag")
_MESSAGE = Table(
    Field("role", TEXT),
    Field("content", _TAGGED),
    Field("attributes", OBJECT),
    Field("timestamp", UTC_TIME),
)
_ATTRIBUTES = Table(
    Field("priority", NUMBER),
    Field("cacheable", FLAG),
    Field("cache_type", TEXT, None),
    Field("cache_key", TEXT, None),
    Field("category", TEXT),
    Field("metadata", OBJECT),
)
_HINTS: dict[str, Any] = {
    "cacheable": False,
    "cache_type": None,
    "cache_key": None,
    "category": "Current",
}
"""The attributes that go into the metadata, with what they usually are."""

_RESULT = Table(
    Field("tool_call_id", TEXT), Field("content", TEXT), Field("is_error", FLAG)
)


class MultiLlm(RecordFormat):
    """multi-llm: one text, value, call or result per message, with attributes.

    Priorities are kept and never reorder anything; cache hints and category stand in
    the metadata under `multi-llm`. What the crate has no field for (ids, pins, kinds)
    goes into its metadata under `turnkeep`.
    """

    name = NAME
    carries = frozenset({"pinned", "timestamp", "priority", "metadata"})

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`; the priority too where it does not fit."""
        lost = [
            *opaque_losses(message, NAME),
            *thinking_losses(message, carries_text=False),
            *block_losses(message, images=False),
        ]
        if message.priority is not None and not 0 <= message.priority <= 255:
            lost.append(f"the priority {message.priority} (0 to 255 fit)")
        return lost

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
        role = entry.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            return NEVER, f"no role of multi-llm: {role!r}"
        if not isinstance(entry.get("attributes"), dict):
            return NEVER, "no attributes"
        return 5, "a role with attributes"

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`."""
        if type(entry) is not dict or len(entry) != 4:
            return None
        content, attributes = entry.get("content"), entry.get("attributes")
        name, spelled = entry.get("role"), entry.get("timestamp")
        if (
            type(content) is not dict
            or len(content) != 1
            or type(attributes) is not dict
            or len(attributes) != 6
            or type(name) is not str
            or name not in _ROLES
            or type(spelled) is not str
        ):
            return None
        text, priority = content.get("Text"), attributes.get("priority")
        if (
            type(text) is not str
            or text.startswith(MARKS)
            or type(priority) is not int
            or not 0 <= priority <= 255
            or attributes.get("cacheable") is not False
            or attributes.get("cache_type", "") is not None
            or attributes.get("cache_key", "") is not None
            or attributes.get("category") != "Current"
            or attributes.get("metadata") != {}
        ):
            return None
        when = read_time(spelled, f"{path}.timestamp")
        if write_time(when, utc=True) != spelled:
            return None
        return trusted_message(
            _ROLES[name],
            (trusted_text(text),),
            timestamp=when,
            priority=None if priority == DEFAULT_PRIORITY else priority,
            layout=NAME,
        )

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        found = _MESSAGE.read(entry, "a message", path)
        role = _ROLES.get(found["role"])
        if role is None:
            reason = f"unknown role {found['role']!r} (expected {', '.join(_ROLES)})"
            raise FormatError(reason, f"{path}.role")
        block = _read_content(entry["content"], f"{path}.content")
        fields = _read_attributes(found["attributes"], f"{path}.attributes")
        fields.setdefault("kind", kind_of_text(plain_text([block])))
        return trusted_message(
            role,
            (block,),
            timestamp=found["timestamp"],
            extra=_MESSAGE.rest(entry, path),
            layout=NAME,
            **fields,
        )

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        if (said := bare_text(message)) is not None and is_unset(message):
            priority = (
                DEFAULT_PRIORITY if message.priority is None else message.priority
            )
            return [
                {
                    "role": _WIRE_ROLES[message.role],
                    "content": {"Text": said},
                    "attributes": {
                        "priority": min(max(priority, 0), 255),
                        **_HINTS,
                        "metadata": {},
                    },
                    "timestamp": write_time(message.timestamp, utc=True),
                }
            ]
        own = is_own(message, NAME)
        blocks = [made for b in message.content if (made := _write_block(b, own=own))]
        name = _WIRE_ROLES[message.role]
        parts = blocks or [(name, {"Text": ""})]
        entries = []
        for nth, (forced, content) in enumerate(parts):
            record = _MESSAGE.write(
                role=forced or name,
                content=content,
                attributes=_write_attributes(message, nth, len(parts)),
                timestamp=message.timestamp,
                extra=message.extra if own else EMPTY,
            )
            entries.append(record)
        return entries


def _read_content(content: Any, path: str) -> Block:
    tag = only_key(content, "content", path)
    where = f"{path}.{tag}"
    payload = content[tag]
    match tag:
        case "Text":
            return Text(checked(payload, "Text", str, where))
        case "Json":
            return Json(frozen(payload, where))
        case "ToolCall":
            return read_call(payload, "ToolCall", where)
        case "ToolResult":
            found = _RESULT.read(payload, "ToolResult", where)
            text, pending, interim = take_marker(found["content"])
            return ToolResult(
                found["tool_call_id"],
                text,
                is_error=found["is_error"],
                pending=pending,
                interim=interim,
                extra=_RESULT.rest(payload, where),
            )
        case _:
            # The crate's enum is open: later versions have more kinds of content.
            return Opaque(frozen(content, path), NAME)


_CARRIED = frozenset({CARRIED})


def _read_attributes(attributes: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of the message that its attributes say."""
    found = _ATTRIBUTES.read(attributes, "attributes", where)
    priority = found["priority"]
    if not 0 <= priority <= 255:
        reason = f"priority must be 0 to 255, got {priority}"
        raise FormatError(reason, f"{where}.priority")
    ours: dict[str, Any] = {
        key: found[key] for key, usual in _HINTS.items() if found[key] != usual
    }
    if unknown := _ATTRIBUTES.rest(attributes, where):
        ours["extra"] = unknown
    host = found["metadata"]
    place = f"{where}.metadata.{CARRIED}"
    fields = carried(host.get(CARRIED), place)
    metadata = rest(host, _CARRIED, f"{where}.metadata")
    if NAME in metadata:
        # A key of the host's that is ours here: everything of the host's moves inside.
        ours["metadata"], metadata = metadata, EMPTY
    if ours:
        metadata = frozen({**metadata, NAME: ours}, where)
    if priority != DEFAULT_PRIORITY:
        fields["priority"] = priority
    return {"metadata": metadata, **fields}


def _write_block(
    block: Block, *, own: bool
) -> tuple[str | None, dict[str, Any]] | None:
    """The role that content of this kind has by itself, if any, and the content."""
    match block:
        case Text():
            return None, {"Text": block.text}
        case Json():
            return None, {"Json": thaw(block.value)}
        case ToolCall():
            return "Assistant", {"ToolCall": write_call(block, own=own)}
        case ToolResult():
            result = _RESULT.write(
                tool_call_id=block.tool_call_id or "",
                content=plain_text(lined_content(block)),
                is_error=block.is_error,
                extra=block.extra if own else EMPTY,
            )
            return "Tool", {"ToolResult": result}
        case Opaque(format="multi-llm"):
            return None, dict(thaw(block.value))
        case _:
            return None


def _write_attributes(message: Message, nth: int, total: int) -> dict[str, Any]:
    ours = message.metadata.get(NAME)
    ours = ours if isinstance(ours, dict) else {}
    host = ours.get("metadata", message.metadata)
    metadata = {k: thaw(v) for k, v in host.items() if k != CARRIED}
    if host is message.metadata and "metadata" not in ours:
        metadata.pop(NAME, None)
    extra = carry(message)
    if total > 1:
        # The count is that of the whole message, the id that of its first part.
        extra.pop("token_count", None)
        if nth and "id" in extra:
            extra["id"] = f"{extra['id']}/{nth}"
    if kind_of_text(message.text) == message.kind:
        extra.pop("kind", None)
    if extra:
        metadata[CARRIED] = extra
    priority = DEFAULT_PRIORITY if message.priority is None else message.priority
    made = _ATTRIBUTES.write(
        priority=min(max(priority, 0), 255),
        metadata=metadata,
        **{key: ours.get(key, usual) for key, usual in _HINTS.items()},
    )
    unknown = ours.get("extra")
    return with_others(made, unknown if isinstance(unknown, dict) else EMPTY)
