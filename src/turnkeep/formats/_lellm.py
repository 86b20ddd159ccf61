from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    INTERIM,
    PENDING,
    Block,
    FrozenDict,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    thaw,
    trusted_message,
    trusted_text,
)

from ._base import is_own
from ._fields import (
    bare_text,
    call_of,
    checked,
    display_losses,
    everywhere,
    optional,
    others,
    plain_text,
    required,
    to_store,
    with_others,
    without_results,
)
from ._ids import with_call_ids
from ._losses import host_losses, key_losses, opaque_losses
from ._marks import NEVER, Judgement, Marks
from ._seed_format import SeedFormat
from ._seed_losses import block_losses, field_losses
from ._shape import MARKS, check_base64, compact, frozen, kind_of_text
from ._spelling import recall, remember
from ._wire import put_marker, take_marker

NAME = "lellm"

_ROLES = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool_result": Role.TOOL_RESULT,
}
_TAGS = ("user", "assistant", "system")
_WIRE_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
    Role.TOOL_RESULT: "user",
}
_MESSAGE = frozenset({"type", "content"})
_RESULT = frozenset({"type", "content", "tool_call_id", "is_error"})
_BLOCKS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "redacted"}),
    "image": frozenset({"type", "source"}),
    "tool_call": frozenset({"type", "id", "name", "arguments"}),
}


def _judge(entry: dict[str, Any]) -> Judgement:
    tag = entry.get("type")
    if not isinstance(tag, str) or tag not in _ROLES:
        return NEVER, "no tag of lellm"
    if not isinstance(entry.get("content"), list):
        return NEVER, "no list of blocks"
    if "role" in entry:
        return NEVER, "a role beside the tag"
    return 4, f"the tag {tag!r} on a list of blocks"


class Lellm(SeedFormat):
    """lellm-core: internally tagged messages, all content in blocks.

    Unset `redacted` text is written as null; an unset `cache_control` is left out.
    There are no ids, time stamps or pins.
    """

    name = NAME
    marks = Marks(_judge)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if (quick := _read_short(entry, path)) is not None:
            return (quick,)
        return (remember(_read(entry, path), entry, NAME, _write),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        sent = with_call_ids(to_store(messages), everywhere)
        return [e for m in sent for e in recall(m, NAME, _read, _write)]

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        lost = [
            *display_losses(message),
            *host_losses(message),
            *field_losses(message, {"kind"}),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *block_losses(message, images=True),
        ]
        if any(isinstance(b, Thinking) and b.signature for b in message.content):
            lost.append("the seal of reasoning")
        return lost


def _read_short(entry: Any, _path: str) -> Message | None:
    """The message of an entry that is one text in today's spelling; none for others."""
    if type(entry) is not dict or len(entry) != 2:
        return None
    tag, blocks = entry.get("type"), entry.get("content")
    if type(blocks) is not list or len(blocks) != 1 or tag not in _TAGS:
        return None
    block = blocks[0]
    if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
        return None
    text = block.get("text")
    if type(text) is not str or text.startswith(MARKS):
        return None
    return trusted_message(_ROLES[tag], (trusted_text(text),), layout=NAME)


def _read(entry: Any, path: str) -> Message:
    checked(entry, "a message", dict, path)
    tag = required(entry, "type", str, path)
    role = _ROLES.get(tag)
    if role is None:
        reason = f"unknown message {tag!r} (expected {', '.join(_ROLES)})"
        raise FormatError(reason, f"{path}.type")
    where = f"{path}.content"
    parts = required(entry, "content", list, path)
    blocks = [_read_block(part, f"{where}[{n}]") for n, part in enumerate(parts)]
    if role is Role.TOOL_RESULT:
        result = _as_result(
            blocks,
            required(entry, "tool_call_id", str, path),
            is_error=required(entry, "is_error", bool, path),
        )
        extra = others(entry, _RESULT, path)
        return trusted_message(role, (result,), extra=extra, layout=NAME)
    return trusted_message(
        role,
        tuple(blocks),
        kind=kind_of_text(plain_text(blocks[:1])),
        extra=others(entry, _MESSAGE, path),
        layout=NAME,
    )


def _as_result(blocks: list[Block], call_id: str, *, is_error: bool) -> ToolResult:
    pending = interim = False
    if blocks and isinstance(first := blocks[0], Text):
        text, pending, interim = take_marker(first.text)
        # A marker alone stands before content that is not text.
        alone = (pending or interim) and text in {PENDING, INTERIM} and not first.extra
        blocks[:1] = () if alone else (attrs.evolve(first, text=text),)
    return ToolResult(
        call_id, tuple(blocks), is_error=is_error, pending=pending, interim=interim
    )


def _read_block(block: Any, path: str) -> Block:
    checked(block, "a content block", dict, path)
    tag = required(block, "type", str, path)
    if tag not in _BLOCKS:
        return Opaque(frozen(block, path), NAME)
    extra = others(block, _BLOCKS[tag], path)
    match tag:
        case "text":
            return Text(required(block, "text", str, path), extra=extra)
        case "thinking":
            text = required(block, "thinking", str, path)
            redacted = optional(block, "redacted", str, path)
            return Thinking(text, data=redacted, extra=extra)
        case "image":
            return _read_image(block, extra, path)
        case _:
            if "arguments" not in block:
                reason = "'arguments' is missing (it may be any JSON value)"
                raise FormatError(reason, path)
            return call_of(
                required(block, "id", str, path),
                required(block, "name", str, path),
                frozen(block["arguments"], f"{path}.arguments"),
                extra,
            )


def _read_image(block: dict[str, Any], extra: FrozenDict, path: str) -> Image:
    where = f"{path}.source"
    source = required(block, "source", dict, path)
    data = required(source, "data", str, where)
    check_base64(data, f"{where}.data")
    if rest := others(source, {"data", "media_type"}, where):
        extra = frozen({**extra, "source": rest}, path)
    return Image(data, required(source, "media_type", str, where), extra=extra)


def _write(message: Message) -> list[Any]:
    if (said := bare_text(message)) is not None:
        tag = _WIRE_ROLES[message.role]
        return [{"type": tag, "content": [{"type": "text", "text": said}]}]
    own = is_own(message, NAME)
    extra = message.extra if own else EMPTY
    entries: list[Any] = []
    for result in message.tool_results:
        entry = {
            "type": "tool_result",
            "tool_call_id": result.tool_call_id or "",
            "is_error": result.is_error,
            "content": _write_blocks(put_marker(result), own=own),
        }
        entries.append(with_others(entry, extra))
    rest = without_results(message)
    if rest or not entries:
        tag = _WIRE_ROLES[message.role]
        entry = {"type": tag, "content": _write_blocks(rest, own=own)}
        entries.append(with_others(entry, extra))
    return entries


def _write_blocks(blocks: Sequence[Block], *, own: bool) -> list[Any]:
    return [made for block in blocks if (made := _write_block(block, own=own))]


def _write_block(block: Block, *, own: bool) -> dict[str, Any] | None:
    made: dict[str, Any]
    match block:
        case Text():
            made = {"type": "text", "text": block.text}
        case Json():
            made = {"type": "text", "text": compact(block.value)}
        case Thinking():
            made = {"type": "thinking", "thinking": block.text, "redacted": block.data}
        case Image(data=str()):
            source = {"data": block.data, "media_type": block.media_type or ""}
            made = {"type": "image", "source": source}
            if own and isinstance(rest := block.extra.get("source"), dict):
                source |= thaw(rest)
        case ToolCall():
            arguments = thaw(block.arguments)
            made = {"type": "tool_call", "id": block.id, "name": block.name}
            made["arguments"] = arguments
        case Opaque(format="lellm"):
            return dict(thaw(block.value))
        case _:
            return None
    return with_others(made, block.extra if own else EMPTY)
