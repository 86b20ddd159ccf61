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
    marker_of,
    thaw,
    trusted_message,
    trusted_text,
    unmark,
)

from ._base import is_own
from ._fields import (
    bare_text,
    call_of,
    checked,
    required,
    without_results,
)
from ._losses import opaque_losses
from ._marker_lines import lined_content
from ._marks import NEVER, Judgement
from ._record_losses import block_losses
from ._records import RecordFormat
from ._shape import MARKS, check_base64, compact, frozen
from ._table import ANY, ARRAY, FLAG, OBJECT, TEXT, Field, Table
from ._wire import kind_of, take_marker

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
_MESSAGE = Table(Field("type", TEXT), Field("content", ARRAY))
_RESULT = Table(
    Field("type", TEXT),
    Field("tool_call_id", TEXT),
    Field("is_error", FLAG),
    Field("content", ARRAY),
)
_TEXT = Table(Field("type", TEXT), Field("text", TEXT))
_THINKING = Table(
    Field("type", TEXT), Field("thinking", TEXT), Field("redacted", TEXT, None)
)
_IMAGE = Table(Field("type", TEXT), Field("source", OBJECT))
_SOURCE = Table(Field("data", TEXT), Field("media_type", TEXT))
_CALL = Table(
    Field("type", TEXT), Field("id", TEXT), Field("name", TEXT), Field("arguments", ANY)
)
_BLOCKS = {"text": _TEXT, "thinking": _THINKING, "image": _IMAGE, "tool_call": _CALL}


class Lellm(RecordFormat):
    """lellm-core: internally tagged messages, all content in blocks.

    Unset `redacted` text is written as null; an unset `cache_control` is left out.
    There are no ids, time stamps or pins.
    """

    name = NAME
    lacks = frozenset({"kind"})

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        lost = [
            *opaque_losses(message, NAME),
            *block_losses(message, images=True),
        ]
        if any(isinstance(b, Thinking) and b.signature for b in message.content):
            lost.append("the seal of reasoning")
        return lost

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
        tag = entry.get("type")
        if not isinstance(tag, str) or tag not in _ROLES:
            return NEVER, "no tag of lellm"
        if not isinstance(entry.get("content"), list):
            return NEVER, "no list of blocks"
        if "role" in entry:
            return NEVER, "a role beside the tag"
        return 4, f"the tag {tag!r} on a list of blocks"

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`."""
        del path
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

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        checked(entry, "a message", dict, path)
        tag = required(entry, "type", str, path)
        role = _ROLES.get(tag)
        if role is None:
            reason = f"unknown message {tag!r} (expected {', '.join(_ROLES)})"
            raise FormatError(reason, f"{path}.type")
        table = _RESULT if role is Role.TOOL_RESULT else _MESSAGE
        found = table.read(entry, "a message", path)
        blocks = [
            _read_block(part, f"{path}.content[{nth}]")
            for nth, part in enumerate(found["content"])
        ]
        extra = table.rest(entry, path)
        if role is Role.TOOL_RESULT:
            call_id, is_error = found["tool_call_id"], found["is_error"]
            result = _as_result(blocks, call_id, is_error=is_error)
            return trusted_message(role, (result,), extra=extra, layout=NAME)
        kind = kind_of(blocks)
        return trusted_message(role, tuple(blocks), kind=kind, extra=extra, layout=NAME)

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        if (said := bare_text(message)) is not None:
            tag = _WIRE_ROLES[message.role]
            return [{"type": tag, "content": [{"type": "text", "text": said}]}]
        own = is_own(message, NAME)
        extra = message.extra if own else EMPTY
        entries: list[Any] = []
        for result in message.tool_results:
            record = _RESULT.write(
                type="tool_result",
                tool_call_id=result.tool_call_id or "",
                is_error=result.is_error,
                content=_write_blocks(lined_content(result), own=own),
                extra=extra,
            )
            entries.append(record)
        rest = without_results(message)
        if rest or not entries:
            tag, content = _WIRE_ROLES[message.role], _write_blocks(rest, own=own)
            entries.append(_MESSAGE.write(type=tag, content=content, extra=extra))
        return entries


def _as_result(blocks: list[Block], call_id: str, *, is_error: bool) -> ToolResult:
    pending = interim = False
    if blocks and isinstance(first := blocks[0], Text):
        text, pending, interim = take_marker(first.text)
        # A marker alone stands before content that is not text.
        alone = marker_of(text) in {PENDING, INTERIM} and not (
            first.extra or unmark(text)
        )
        blocks[:1] = () if alone else (attrs.evolve(first, text=text),)
    return ToolResult(
        call_id, tuple(blocks), is_error=is_error, pending=pending, interim=interim
    )


def _read_block(block: Any, path: str) -> Block:
    checked(block, "a content block", dict, path)
    tag = required(block, "type", str, path)
    if tag not in _BLOCKS:
        return Opaque(frozen(block, path), NAME)
    table = _BLOCKS[tag]
    found, extra = table.read(block, "a content block", path), table.rest(block, path)
    match tag:
        case "text":
            return Text(found["text"], extra=extra)
        case "thinking":
            return Thinking(found["thinking"], data=found["redacted"], extra=extra)
        case "image":
            return _read_image(found["source"], extra, path)
        case _:
            return call_of(found["id"], found["name"], found["arguments"], extra)


def _read_image(source: dict[str, Any], extra: FrozenDict, path: str) -> Image:
    where = f"{path}.source"
    found = _SOURCE.read(source, "source", where)
    check_base64(found["data"], f"{where}.data")
    if rest := _SOURCE.rest(source, where):
        extra = frozen({**extra, "source": rest}, path)
    return Image(found["data"], found["media_type"], extra=extra)


def _write_blocks(blocks: Sequence[Block], *, own: bool) -> list[Any]:
    return [made for block in blocks if (made := _write_block(block, own=own))]


def _write_block(block: Block, *, own: bool) -> dict[str, Any] | None:
    extra = EMPTY if isinstance(block, Opaque) or not own else block.extra
    match block:
        case Text():
            return _TEXT.write(type="text", text=block.text, extra=extra)
        case Json():
            return _TEXT.write(type="text", text=compact(block.value), extra=extra)
        case Thinking():
            return _THINKING.write(
                type="thinking", thinking=block.text, redacted=block.data, extra=extra
            )
        case Image(data=str()):
            rest = extra.get("source")
            source = _SOURCE.write(
                data=block.data,
                media_type=block.media_type or "",
                extra=rest if isinstance(rest, FrozenDict) else EMPTY,
            )
            return _IMAGE.write(type="image", source=source, extra=extra)
        case ToolCall():
            return _CALL.write(
                type="tool_call",
                id=block.id,
                name=block.name,
                arguments=block.arguments,
                extra=extra,
            )
        case Opaque(format="lellm"):
            return dict(thaw(block.value))
        case _:
            return None
