from __future__ import annotations

import base64
import binascii
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Image,
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
    checked,
    only_key,
    plain_text,
    text_blocks,
    without_results,
)
from ._losses import opaque_losses
from ._marker_lines import lined_text
from ._marks import NEVER, Judgement
from ._record_losses import block_losses
from ._records import RecordFormat
from ._shape import MARKS, ResultText, frozen, json_type, kind_of_text
from ._table import ARRAY, TEXT, Field, Table
from ._wire import kind_of

NAME = "molo"

SUMMARY_LINE = "Summary of prior context:\n"
"""How a summary of molo's begins, a system message."""

_TAGS = ("System", "User", "Assistant", "ToolResult")
_ASSISTANT = Table(
    Field("content", TEXT), Field("reasoning", TEXT, None), Field("tool_calls", ARRAY)
)
_CALL = Table(Field("id", TEXT), Field("name", TEXT), Field("arguments", TEXT))
_IMAGE = Table(Field("mime_type", TEXT), Field("data", ARRAY))
_RESULT = Table(Field("id", TEXT), Field("content", TEXT))

_WIRE = "openai"
# molo's own providers speak OpenAI's protocol and send these blocks verbatim.


class Molo(RecordFormat):
    """molo: externally tagged messages; arguments are JSON text, kept byte for byte.

    Image bytes are an array of numbers. There are no ids, time stamps or pins, and a
    result has no error flag: a fixed first line stands for it, unless the text begins
    with `tool error: `.
    """

    name = NAME
    lacks = frozenset({"kind"})

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        shows = message.role is Role.USER
        lost = block_losses(message, images=shows, results=False)
        if not shows:
            lost += opaque_losses(message, NAME)
        for block in message.content:
            if isinstance(block, Thinking) and (block.signature or block.data):
                lost.append("the seal or ciphertext of reasoning")
            elif isinstance(block, Opaque) and not _is_wire(block):
                lost.append(f"a block of {block.format}")
        return lost

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
        if len(entry) != 1 or (tag := next(iter(entry))) not in _TAGS:
            return NEVER, "no tag of molo"
        return 5, f"the tag {tag!r}"

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`."""
        del path
        if type(entry) is not dict or len(entry) != 1:
            return None
        said = entry.get("User")
        if type(said) is list:
            part = said[0] if len(said) == 1 else None
            if type(part) is not dict or len(part) != 1:
                return None
            role, text = Role.USER, part.get("Text")
        else:
            said = entry.get("Assistant")
            if type(said) is not dict or len(said) != 3 or said.get("tool_calls") != []:
                return None
            if said.get("reasoning", "") is not None:
                return None
            role, text = Role.ASSISTANT, said.get("content")
        if type(text) is not str or not text or text.startswith(MARKS):
            return None
        return trusted_message(role, (trusted_text(text),), layout=NAME)

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        tag = only_key(entry, "a message", path)
        where = f"{path}.{tag}"
        match tag:
            case "System":
                text = checked(entry[tag], "System", str, where)
                kind = (
                    "summary" if text.startswith(SUMMARY_LINE) else kind_of_text(text)
                )
                return trusted_message(
                    Role.SYSTEM, text_blocks(text), kind=kind, layout=NAME
                )
            case "User":
                parts = checked(entry[tag], "User", list, where)
                blocks = [_read_part(p, f"{where}[{n}]") for n, p in enumerate(parts)]
                kind = kind_of(blocks)
                return trusted_message(Role.USER, tuple(blocks), kind=kind, layout=NAME)
            case "Assistant":
                return _read_assistant(entry[tag], where)
            case "ToolResult":
                found = _RESULT.read(entry[tag], tag, where)
                said = ResultText.read(found["content"])
                result = ToolResult(
                    found["id"],
                    said.text,
                    is_error=said.is_error,
                    pending=said.pending,
                    interim=said.interim,
                )
                extra = _RESULT.rest(entry[tag], where)
                return trusted_message(
                    Role.TOOL_RESULT, (result,), extra=extra, layout=NAME
                )
            case _:
                reason = f"unknown message {tag!r} (expected {', '.join(_TAGS)})"
                raise FormatError(reason, path)

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        if (said := bare_text(message)) is not None:
            if message.role is Role.SYSTEM:
                return [{"System": said}]
            if message.role is Role.ASSISTANT:
                only: dict[str, Any] = {
                    "content": said,
                    "reasoning": None,
                    "tool_calls": [],
                }
                return [{"Assistant": only}]
            if message.role is Role.USER:
                return [{"User": [{"Text": said}]}]
        extra = message.extra if is_own(message, NAME) else EMPTY
        entries: list[Any] = [
            {
                "ToolResult": _RESULT.write(
                    id=result.tool_call_id or "",
                    content=lined_text(result, plain_text(result.content)),
                    extra=extra,
                )
            }
            for result in message.tool_results
        ]
        rest = without_results(message)
        if entries and not rest:
            return entries
        if message.role is Role.SYSTEM:
            entries.append({"System": plain_text(rest)})
        elif message.role in {Role.ASSISTANT, Role.TOOL_CALL}:
            thoughts = [b.text for b in rest if isinstance(b, Thinking)]
            calls = [
                _CALL.write(
                    id=call.id,
                    name=call.name,
                    arguments=call.text,
                    extra=call.extra if is_own(message, NAME) else EMPTY,
                )
                for call in message.tool_calls
            ]
            payload = _ASSISTANT.write(
                content=plain_text(rest),
                reasoning="\n".join(thoughts) if thoughts else None,
                tool_calls=calls,
                extra=extra,
            )
            entries.append({"Assistant": payload})
        else:
            parts = [part for block in rest if (part := _write_part(block, message))]
            entries.append({"User": parts})
        return entries


def _read_part(part: Any, path: str) -> Block:
    tag = only_key(part, "a content block", path)
    where = f"{path}.{tag}"
    match tag:
        case "Text":
            return Text(checked(part[tag], "Text", str, where))
        case "Image":
            image = _IMAGE.read(part[tag], "Image", where)
            try:
                data = bytes(map(_byte, image["data"]))
            except (TypeError, ValueError):
                reason = "image data must be numbers from 0 to 255"
                raise FormatError(reason, f"{where}.data") from None
            return Image(
                base64.b64encode(data).decode("ascii"),
                image["mime_type"],
                extra=_IMAGE.rest(part[tag], where),
            )
        case "Wire":
            value = frozen(part[tag], where)
            if isinstance(value, dict):
                return Opaque(value, _WIRE)
            return Opaque(frozen(part, path), NAME)
        case _:
            reason = f"unknown content block {tag!r} (expected Text, Image or Wire)"
            raise FormatError(reason, path)


def _byte(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(json_type(value))
    return value


def _read_assistant(payload: Any, path: str) -> Message:
    found = _ASSISTANT.read(payload, "Assistant", path)
    text, reasoning = found["content"], found["reasoning"]
    calls = []
    for nth, call in enumerate(found["tool_calls"]):
        where = f"{path}.tool_calls[{nth}]"
        said = _CALL.read(call, "a tool call", where)
        calls.append(ToolCall(**said, extra=_CALL.rest(call, where)))
    thoughts = () if reasoning is None else (Thinking(reasoning),)
    return trusted_message(
        Role.ASSISTANT,
        (*thoughts, *text_blocks(text), *calls),
        kind=kind_of_text(text),
        extra=_ASSISTANT.rest(payload, path),
        layout=NAME,
    )


def _write_part(block: Block, message: Message) -> dict[str, Any] | None:
    match block:
        case Image(data=str() as data):
            try:
                numbers = list(base64.b64decode(data, validate=True))
            except (binascii.Error, ValueError):
                return None
            extra = block.extra if is_own(message, NAME) else EMPTY
            kind = block.media_type or ""
            return {"Image": _IMAGE.write(mime_type=kind, data=numbers, extra=extra)}
        case Opaque(format="molo"):
            return dict(thaw(block.value))
        case Opaque() if _is_wire(block):
            return {"Wire": thaw(block.value)}
        case _:
            text = plain_text([block])
            return {"Text": text} if isinstance(block, Text) or text else None


def _is_wire(block: Opaque) -> bool:
    return block.format in {_WIRE, NAME, None}
