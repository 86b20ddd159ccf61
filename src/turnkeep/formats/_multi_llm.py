from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    call_of,
    carried,
    carry,
    checked,
    display_losses,
    everywhere,
    is_unset,
    only_key,
    optional,
    others,
    plain_text,
    read_time,
    required,
    to_store,
    with_others,
    write_time,
)
from ._ids import with_call_ids
from ._losses import host_losses, key_losses, opaque_losses, thinking_losses
from ._marks import NEVER, Judgement, Marks
from ._seed_format import SeedFormat
from ._seed_losses import block_losses
from ._shape import MARKS, frozen, kind_of_text
from ._spelling import recall, remember
from ._wire import put_marker, take_marker

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
_KNOWN = frozenset({"role", "content", "attributes", "timestamp"})
_ATTRIBUTES: dict[str, Any] = {
    "cacheable": False,
    "cache_type": None,
    "cache_key": None,
    "category": "Current",
}
"""The attributes that go into the metadata, with their defaults."""

_CALL = frozenset({"id", "name", "arguments"})
_RESULT = frozenset({"tool_call_id", "content", "is_error"})


def _judge(entry: dict[str, Any]) -> Judgement:
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"no role of multi-llm: {role!r}"
    if not isinstance(entry.get("attributes"), dict):
        return NEVER, "no attributes"
    return 5, "a role with attributes"


class MultiLlm(SeedFormat):
    """multi-llm: one text, value, call or result per message, with attributes.

    Priorities are kept and never reorder anything; cache hints and category stand in
    the metadata under `multi-llm`. What the crate has no field for (ids, pins, kinds)
    goes into its metadata under `turnkeep`.
    """

    name = NAME
    marks = Marks(_judge)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if (quick := _read_short(entry, path)) is not None:
            return (quick,)
        return (remember(_read(entry, path), entry, NAME, _write),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`. A message of several parts becomes several."""
        sent = with_call_ids(to_store(messages), everywhere)
        return [e for m in sent for e in recall(m, NAME, _read, _write)]

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        carries = frozenset({"pinned", "timestamp", "priority", "metadata"})
        lost = [
            *display_losses(message),
            *host_losses(message, carries),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *thinking_losses(message, carries_text=False),
            *block_losses(message, images=False),
        ]
        if message.priority is not None and not 0 <= message.priority <= 255:
            lost.append(f"the priority {message.priority} (0 to 255 fit)")
        return lost


def _read_short(entry: Any, path: str) -> Message | None:
    """The message of an entry that is one text in today's spelling; none for others.

    Its attributes are the defaults, save the priority.
    """
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


def _read(entry: Any, path: str) -> Message:
    checked(entry, "a message", dict, path)
    name = required(entry, "role", str, path)
    role = _ROLES.get(name)
    if role is None:
        reason = f"unknown role {name!r} (expected {', '.join(_ROLES)})"
        raise FormatError(reason, f"{path}.role")
    if "content" not in entry:
        reason = "'content' is missing (it must be an object with one key, its tag)"
        raise FormatError(reason, path)
    block = _read_content(entry["content"], f"{path}.content")
    if "timestamp" not in entry:
        reason = "'timestamp' is missing (it must be an RFC 3339 time)"
        raise FormatError(reason, path)
    fields = _read_attributes(entry, path)
    fields.setdefault("kind", kind_of_text(plain_text([block])))
    return trusted_message(
        role,
        (block,),
        timestamp=read_time(entry["timestamp"], f"{path}.timestamp"),
        extra=others(entry, _KNOWN, path),
        layout=NAME,
        **fields,
    )


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
            checked(payload, "ToolCall", dict, where)
            if "arguments" not in payload:
                reason = "'arguments' is missing (it may be any JSON value)"
                raise FormatError(reason, where)
            return call_of(
                required(payload, "id", str, where),
                required(payload, "name", str, where),
                frozen(payload["arguments"], f"{where}.arguments"),
                others(payload, _CALL, where),
            )
        case "ToolResult":
            checked(payload, "ToolResult", dict, where)
            said = take_marker(required(payload, "content", str, where))
            text, pending, interim = said
            return ToolResult(
                required(payload, "tool_call_id", str, where),
                text,
                is_error=required(payload, "is_error", bool, where),
                pending=pending,
                interim=interim,
                extra=others(payload, _RESULT, where),
            )
        case _:
            # The crate's enum is open: later versions have more kinds of content.
            return Opaque(frozen(content, path), NAME)


def _read_attributes(entry: dict[str, Any], path: str) -> dict[str, Any]:
    """The fields of the message that its attributes say."""
    where = f"{path}.attributes"
    attributes = required(entry, "attributes", dict, path)
    priority = required(attributes, "priority", int, where)
    if not 0 <= priority <= 255:
        reason = f"priority must be 0 to 255, got {priority}"
        raise FormatError(reason, f"{where}.priority")
    found = {
        "cacheable": required(attributes, "cacheable", bool, where),
        "cache_type": optional(attributes, "cache_type", str, where),
        "cache_key": optional(attributes, "cache_key", str, where),
        "category": required(attributes, "category", str, where),
    }
    ours: dict[str, Any] = {
        key: value for key, value in found.items() if value != _ATTRIBUTES[key]
    }
    if rest := others(attributes, {*_ATTRIBUTES, "priority", "metadata"}, where):
        ours["extra"] = rest
    host = required(attributes, "metadata", dict, where)
    place = f"{where}.metadata.{CARRIED}"
    fields = carried(host.get(CARRIED), place)
    metadata = others(host, {CARRIED}, f"{where}.metadata")
    if NAME in metadata:
        # A key of the host's that is ours here: everything of the host's moves inside.
        ours["metadata"], metadata = metadata, EMPTY
    if ours:
        metadata = frozen({**metadata, NAME: ours}, where)
    if priority != DEFAULT_PRIORITY:
        fields["priority"] = priority
    return {"metadata": metadata, **fields}


def _write(message: Message) -> list[Any]:
    if (said := bare_text(message)) is not None and is_unset(message):
        priority = DEFAULT_PRIORITY if message.priority is None else message.priority
        return [
            {
                "role": _WIRE_ROLES[message.role],
                "content": {"Text": said},
                "attributes": {
                    "priority": min(max(priority, 0), 255),
                    **_ATTRIBUTES,
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
        entry = {
            "role": forced or name,
            "content": content,
            "attributes": _write_attributes(message, nth, len(parts)),
            "timestamp": write_time(message.timestamp, utc=True),
        }
        entries.append(with_others(entry, message.extra if own else EMPTY))
    return entries


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
            call = {"id": block.id or "", "name": block.name}
            call["arguments"] = thaw(block.arguments)
            extra = block.extra if own else EMPTY
            return "Assistant", {"ToolCall": with_others(call, extra)}
        case ToolResult():
            result: dict[str, Any] = {
                "tool_call_id": block.tool_call_id or "",
                "content": plain_text(put_marker(block)),
                "is_error": block.is_error,
            }
            extra = block.extra if own else EMPTY
            return "Tool", {"ToolResult": with_others(result, extra)}
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
    made: dict[str, Any] = {"priority": min(max(priority, 0), 255)}
    for key, default in _ATTRIBUTES.items():
        made[key] = ours.get(key, default)
    made["metadata"] = metadata
    rest = ours.get("extra")
    return with_others(made, rest if isinstance(rest, dict) else EMPTY)
