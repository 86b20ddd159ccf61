from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

UNKNOWN = "turnkeep:fields"
"""Key for the fields of our JSON that this version does not know.

It stands in the `metadata` of a message and in the `extra` of a block; in JSON its
fields stand where they stood, beside the known ones.
"""

MESSAGE_FIELDS = frozenset(
    {
        "id",
        "role",
        "content",
        "timestamp",
        "token_count",
        "pinned",
        "pin_scope",
        "kind",
        "priority",
        "metadata",
        "extra",
        "layout",
    }
)

BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "extra"}),
    "json": frozenset({"type", "value", "extra"}),
    "image": frozenset(
        {
            "type",
            "data",
            "media_type",
            "url",
            "file_id",
            "detail",
            "number",
            "extra",
        }
    ),
    "document": frozenset(
        {"type", "data", "media_type", "url", "file_id", "text", "title", "extra"}
    ),
    "thinking": frozenset({"type", "text", "signature", "data", "extra"}),
    "tool_call": frozenset(
        {"type", "id", "name", "arguments", "arguments_text", "extra"}
    ),
    "tool_result": frozenset(
        {
            "type",
            "tool_call_id",
            "content",
            "is_error",
            "pending",
            "interim",
            "tool_name",
            "extra",
        }
    ),
    "opaque": frozenset({"type", "value", "format"}),
}
"""Every tag of our JSON, with the fields of its block."""


def dump_message(message: Message) -> dict[str, Any]:
    """*message* in our JSON; fields at their default are left out."""
    out: dict[str, Any] = {}
    if message.id is not None:
        out["id"] = message.id
    # The plain value: `str()` of an enum's member costs more than the rest.
    out["role"] = message.role._value_
    if message.content:
        out["content"] = _content(message.content)
    if message.timestamp is not None:
        out["timestamp"] = message.timestamp.isoformat()
    if message.token_count is not None:
        out["token_count"] = message.token_count
    if message.pinned:
        out["pinned"] = True
    if message.pin_scope != "turn":
        out["pin_scope"] = message.pin_scope
    if message.kind is not None:
        out["kind"] = message.kind
    if message.priority is not None:
        out["priority"] = message.priority
    if message.extra:
        out["extra"] = message.extra
    if message.layout is not None:
        out["layout"] = message.layout
    if message.metadata:
        _spread(out, "metadata", message.metadata, MESSAGE_FIELDS)
    return out


def dump_block(block: Block) -> dict[str, Any]:
    """*block* in our JSON: an object with its tag in `type`."""
    try:
        return _BLOCKS[type(block)](block)
    except KeyError:
        msg = f"{type(block).__name__} is not a block"
        raise TypeError(msg) from None


def can_spread(fields: Any, known: frozenset[str]) -> TypeGuard[dict[str, Any]]:
    """Whether *fields* can stand beside *known* ones without being taken for them."""
    return isinstance(fields, dict) and bool(fields) and known.isdisjoint(fields)


def _spread(
    out: dict[str, Any], home: str, value: FrozenDict, known: frozenset[str]
) -> None:
    """Write *value* as *home*, its unknown fields beside it."""
    fields = value.get(UNKNOWN)
    if not can_spread(fields, known):
        out[home] = value
        return
    if len(value) > 1:
        out[home] = {key: v for key, v in value.items() if key != UNKNOWN}
    out.update(fields)


def _content(blocks: tuple[Any, ...]) -> Any:
    """The commonest content, a single text, as just that."""
    first = blocks[0]
    if len(blocks) == 1 and type(first) is Text and not first.extra:
        return first.text
    return [dump_block(block) for block in blocks]


def _text(block: Text) -> dict[str, Any]:
    return _finish({"type": "text", "text": block.text}, block)


def _json(block: Json) -> dict[str, Any]:
    return _finish({"type": "json", "value": block.value}, block)


def _image(block: Image) -> dict[str, Any]:
    out = {"type": "image"}
    names = ("data", "media_type", "url", "file_id", "detail", "number")
    return _finish(_given(out, block, names), block)


def _document(block: Document) -> dict[str, Any]:
    out = {"type": "document"}
    names = ("data", "media_type", "url", "file_id", "text", "title")
    return _finish(_given(out, block, names), block)


def _thinking(block: Thinking) -> dict[str, Any]:
    out = {"type": "thinking"}
    if block.text:
        out["text"] = block.text
    return _finish(_given(out, block, ("signature", "data")), block)


def _tool_call(block: ToolCall) -> dict[str, Any]:
    out = _given({"type": "tool_call"}, block, ("id",))
    out["name"] = block.name
    if block.arguments_text is not None:
        out["arguments_text"] = block.arguments_text
    elif block.arguments_value is not EMPTY:
        out["arguments"] = block.arguments_value
    return _finish(out, block)


def _tool_result(block: ToolResult) -> dict[str, Any]:
    out = _given({"type": "tool_result"}, block, ("tool_call_id", "tool_name"))
    if block.content:
        out["content"] = _content(block.content)
    for name in ("is_error", "pending", "interim"):
        if getattr(block, name):
            out[name] = True
    return _finish(out, block)


def _opaque(block: Opaque) -> dict[str, Any]:
    if block.format == "turnkeep" and is_foreign(block.value):
        # A copy, so that what is loaded and what is dumped never share a document.
        return dict(block.value)
    return _given({"type": "opaque", "value": block.value}, block, ("format",))


def is_foreign(value: Any) -> bool:
    """Whether our JSON's block *value* is one that this version does not know."""
    if not isinstance(value, dict) or not isinstance(tag := value.get("type"), str):
        return False
    if tag == "opaque":
        return not BLOCK_FIELDS["opaque"].issuperset(value)
    return tag not in BLOCK_FIELDS


def _given(out: dict[str, Any], block: Any, names: tuple[str, ...]) -> dict[str, Any]:
    for name in names:
        if (value := getattr(block, name)) is not None:
            out[name] = value
    return out


def _finish(out: dict[str, Any], block: Any) -> dict[str, Any]:
    if block.extra:
        _spread(out, "extra", block.extra, BLOCK_FIELDS[out["type"]])
    return out


_BLOCKS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Text: _text,
    Json: _json,
    Image: _image,
    Document: _document,
    Thinking: _thinking,
    ToolCall: _tool_call,
    ToolResult: _tool_result,
    Opaque: _opaque,
}
