from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
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
    display_losses,
    everywhere,
    only_key,
    optional,
    others,
    plain_text,
    required,
    text_blocks,
    to_store,
    with_others,
    without_results,
)
from ._ids import with_call_ids
from ._losses import host_losses, key_losses, opaque_losses
from ._marks import NEVER, Judgement, Marks
from ._seed_format import SeedFormat
from ._seed_losses import block_losses, field_losses
from ._shape import MARKS, ResultText, frozen, json_type, kind_of_text
from ._spelling import recall, remember

NAME = "molo"

SUMMARY_LINE = "Summary of prior context:\n"
"""How a summary of molo's begins, a system message."""

_TAGS = ("System", "User", "Assistant", "ToolResult")
_ASSISTANT = frozenset({"content", "reasoning", "tool_calls"})
_CALL = frozenset({"id", "name", "arguments"})
_RESULT = frozenset({"id", "content"})

_WIRE = "openai"
# molo's own providers speak OpenAI's protocol and send these blocks verbatim.


def _judge(entry: dict[str, Any]) -> Judgement:
    if len(entry) != 1 or (tag := next(iter(entry))) not in _TAGS:
        return NEVER, "no tag of molo"
    return 5, f"the tag {tag!r}"


class Molo(SeedFormat):
    """molo: externally tagged messages; arguments are JSON text, kept byte for byte.

    Image bytes are an array of numbers. There are no ids, time stamps or pins, and a
    result has no error flag: a fixed first line stands for it, unless the text begins
    with `tool error: `.
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
            *block_losses(message, images=message.role is Role.USER, results=False),
        ]
        if message.role is not Role.USER:
            lost += opaque_losses(message, NAME)
        for block in message.content:
            if isinstance(block, Thinking) and (block.signature or block.data):
                lost.append("the seal or ciphertext of reasoning")
            elif isinstance(block, Opaque) and not _is_wire(block):
                lost.append(f"a block of {block.format}")
        return lost


def _read_short(entry: Any, _path: str) -> Message | None:
    """The message of an entry that is one text in today's spelling; none for others."""
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


def _read(entry: Any, path: str) -> Message:
    tag = only_key(entry, "a message", path)
    where = f"{path}.{tag}"
    match tag:
        case "System":
            text = checked(entry[tag], "System", str, where)
            kind = "summary" if text.startswith(SUMMARY_LINE) else kind_of_text(text)
            return trusted_message(
                Role.SYSTEM, text_blocks(text), kind=kind, layout=NAME
            )
        case "User":
            parts = checked(entry[tag], "User", list, where)
            blocks = [_read_part(p, f"{where}[{n}]") for n, p in enumerate(parts)]
            kind = kind_of_text(plain_text(blocks))
            return trusted_message(Role.USER, tuple(blocks), kind=kind, layout=NAME)
        case "Assistant":
            return _read_assistant(checked(entry[tag], tag, dict, where), where)
        case "ToolResult":
            payload = checked(entry[tag], tag, dict, where)
            said = ResultText.read(required(payload, "content", str, where))
            result = ToolResult(
                required(payload, "id", str, where),
                said.text,
                is_error=said.is_error,
                pending=said.pending,
                interim=said.interim,
            )
            extra = others(payload, _RESULT, where)
            return trusted_message(
                Role.TOOL_RESULT, (result,), extra=extra, layout=NAME
            )
        case _:
            reason = f"unknown message {tag!r} (expected {', '.join(_TAGS)})"
            raise FormatError(reason, path)


def _read_part(part: Any, path: str) -> Block:
    tag = only_key(part, "a content block", path)
    where = f"{path}.{tag}"
    match tag:
        case "Text":
            return Text(checked(part[tag], "Text", str, where))
        case "Image":
            image = checked(part[tag], "Image", dict, where)
            numbers = required(image, "data", list, where)
            try:
                data = bytes(map(_byte, numbers))
            except (TypeError, ValueError):
                reason = "image data must be numbers from 0 to 255"
                raise FormatError(reason, f"{where}.data") from None
            return Image(
                base64.b64encode(data).decode("ascii"),
                required(image, "mime_type", str, where),
                extra=others(image, {"data", "mime_type"}, where),
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


def _read_assistant(payload: dict[str, Any], path: str) -> Message:
    text = required(payload, "content", str, path)
    reasoning = optional(payload, "reasoning", str, path)
    calls = []
    for nth, call in enumerate(required(payload, "tool_calls", list, path)):
        where = f"{path}.tool_calls[{nth}]"
        checked(call, "a tool call", dict, where)
        calls.append(
            ToolCall(
                required(call, "id", str, where),
                required(call, "name", str, where),
                required(call, "arguments", str, where),
                extra=others(call, _CALL, where),
            )
        )
    thoughts = () if reasoning is None else (Thinking(reasoning),)
    return trusted_message(
        Role.ASSISTANT,
        (*thoughts, *text_blocks(text), *calls),
        kind=kind_of_text(text),
        extra=others(payload, _ASSISTANT, path),
        layout=NAME,
    )


def _write(message: Message) -> list[Any]:
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
            "ToolResult": with_others(
                {"id": result.tool_call_id or "", "content": _result_text(result)},
                extra,
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
        payload = {
            "content": plain_text(rest),
            "reasoning": "\n".join(thoughts) if thoughts else None,
            "tool_calls": [
                with_others(
                    {"id": call.id, "name": call.name, "arguments": call.text},
                    call.extra if is_own(message, NAME) else EMPTY,
                )
                for call in message.tool_calls
            ],
        }
        entries.append({"Assistant": with_others(payload, extra)})
    else:
        parts = [part for block in rest if (part := _write_part(block, message))]
        entries.append({"User": parts})
    return entries


def _result_text(result: ToolResult) -> str:
    return ResultText(
        plain_text(result.content), result.pending, result.interim, result.is_error
    ).write()


def _write_part(block: Block, message: Message) -> dict[str, Any] | None:
    match block:
        case Image(data=str() as data):
            try:
                numbers = list(base64.b64decode(data, validate=True))
            except (binascii.Error, ValueError):
                return None
            image = {"mime_type": block.media_type or "", "data": numbers}
            extra = block.extra if is_own(message, NAME) else EMPTY
            return {"Image": with_others(image, extra)}
        case Opaque(format="molo"):
            return dict(thaw(block.value))
        case Opaque() if _is_wire(block):
            return {"Wire": thaw(block.value)}
        case _:
            text = plain_text([block])
            return {"Text": text} if isinstance(block, Text) or text else None


def _is_wire(block: Opaque) -> bool:
    return block.format in {_WIRE, NAME, None}
