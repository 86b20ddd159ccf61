"""From our messages to items of the Responses API: a message may be several items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from turnkeep.model import (
    DISPLAY_KINDS,
    Block,
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
)
from turnkeep.turns import KIND

from .._base import is_own, layout_of, origin_of
from .._ids import with_call_ids
from .._marker_lines import lined_blocks
from .._shape import json_text
from ._items import CALLS, OUTPUT_OF, OUTPUTS, PATCH, REQUEST, call_id_key
from ._outputs import CONSENT, chunks, consent, patch_status
from ._parts import NAME, encode_part

_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
    Role.TOOL_RESULT: "user",
}


def encode_items(
    messages: Sequence[Message], earlier: Iterable[ToolCall] = ()
) -> list[Any]:
    """Items that say *messages*. Linear in their size.

    Args:
        messages:
            In order.
        earlier:
            Calls before them that they answer.
    """
    messages = with_call_ids(messages, is_foreign)
    # An answer's type follows from that of its call.
    kinds = {call.id: _call_type(call) for call in earlier}
    items: list[Any] = []
    for message in messages:
        content = message.content
        if (
            message.layout == NAME
            and len(content) == 1
            and type(text := content[0]) is Text
            and not message.extra
            and not text.extra
        ):
            items.append({"role": _ROLES[message.role], "content": text.text})
        else:
            items += _items(message, kinds)
    return items


def is_foreign(message: Message) -> bool:
    """Whether *message* was not decoded by this format."""
    return origin_of(message) != NAME


def _items(message: Message, kinds: dict[str | None, str]) -> Iterator[Any]:
    foreign, own = is_foreign(message), is_own(message, NAME)
    if foreign and message.kind in DISPLAY_KINDS:
        return
    said: list[Block] = []
    written = False
    for block in message.content:
        item = _item(block, message, kinds)
        if item is None:
            said.append(block)
            continue
        if said:
            yield from _said(said, message)
            said = []
        written = True
        if item:
            yield _with_extra(item, message) if own else item
    if said or not written:
        yield from _said(said, message)


def _item(
    block: Block, message: Message, kinds: dict[str | None, str]
) -> dict[str, Any] | None:
    """The item that *block* is by itself; empty for nothing, none for a part."""
    match block:
        case Thinking():
            return {} if is_foreign(message) else _reasoning(block)
        case ToolCall():
            kinds[block.id] = _call_type(block)
            return _call(block)
        case ToolResult():
            return _output(block, message, kinds)
        case Opaque():
            if block.format not in {NAME, None}:
                return {}
            if layout_of(message, NAME) == "item" or _is_item(block):
                made: dict[str, Any] = thaw(block.value)
                return made
            return None
        case _:
            return None


def _is_item(block: Opaque) -> bool:
    kind = block.value.get("type")
    return isinstance(kind, str) and kind.endswith(
        ("_call", "_reference", "compaction")
    )


def _reasoning(block: Thinking) -> dict[str, Any]:
    item = {"type": "reasoning", **thaw(block.extra)}
    if block.data is not None:
        item["encrypted_content"] = block.data
    return item


def _call_type(call: ToolCall) -> str:
    return _named(call.extra.get("type"))


def _named(kind: object) -> str:
    """The type of a call by what its `extra` says."""
    if kind == "custom":
        return "custom_tool_call"
    return kind if isinstance(kind, str) and kind in OUTPUT_OF else "function_call"


def _call(call: ToolCall) -> dict[str, Any]:
    kind = _call_type(call)
    if kind == REQUEST:
        return {
            "type": kind,
            "id": call.id,
            "name": call.name,
            "arguments": call.text,
        }
    item: dict[str, Any] = {"type": kind, "call_id": call.id}
    if kind in CALLS:
        return {**item, "name": call.name, CALLS[kind]: call.text}
    arguments = thaw(call.arguments)
    return {**item, **(arguments if isinstance(arguments, dict) else {})}


def _output(
    result: ToolResult, message: Message, kinds: dict[str | None, str]
) -> dict[str, Any]:
    if is_foreign(message):
        said = message.metadata.get(KIND) if message.metadata else None
        call_kind = kinds.get(result.tool_call_id) or _named(said)
        kind = OUTPUT_OF.get(call_kind, "function_call_output")
    else:
        kind = message.extra.get("type", "function_call_output")
    detail, _, spelled = layout_of(message, NAME).partition(",")
    item = {"type": kind, spelled or call_id_key(kind): result.tool_call_id}
    blocks = list(result.content)
    if not result.final or result.is_error:
        blocks = lined_blocks(result, blocks)
    if kind == CONSENT:
        return {**item, **consent(result)}
    if not blocks and not is_foreign(message) and detail == "":
        return item
    if kind == PATCH and is_foreign(message):
        item["status"] = patch_status(result)
    item[OUTPUTS[kind]] = _said_by(kind, blocks, message, detail, result)
    return item


def _said_by(
    kind: str, blocks: list[Block], message: Message, detail: str, result: ToolResult
) -> Any:
    first = blocks[0] if len(blocks) == 1 else None
    if kind in {"function_call_output", "custom_tool_call_output"}:
        if detail != "list":
            if not blocks:
                return ""
            if isinstance(first, Text):
                return first.text
            if isinstance(first, Json):
                return json_text(first.value)
        own, native = is_own(message, NAME), not is_foreign(message)
        parts = [encode_part(b, "user", own=own, native=native) for b in blocks]
        return [part for part in parts if part is not None]
    if isinstance(first, Json):
        return thaw(first.value)
    text = "\n".join(block.text for block in blocks if isinstance(block, Text))
    return text if detail == "text" else _text_as(kind, text, first, result)


def _text_as(kind: str, text: str, first: Block | None, result: ToolResult) -> Any:
    """Plain text in the shape that the answer of a built-in tool must have."""
    match kind:
        case "shell_call_output":
            return chunks(text, result)
        case "tool_search_output":
            return []
        case "computer_call_output":
            shot = {"type": "computer_screenshot"}
            if isinstance(first, (Image, Opaque)):
                part = encode_part(first, "user", own=True, native=True)
                return {**(part or {}), **shot}
            return shot
        case _:
            return text


def _said(blocks: list[Block], message: Message) -> Iterator[Any]:
    own, native = is_own(message, NAME), not is_foreign(message)
    detail = layout_of(message, NAME).split(",")
    role = _ROLES[message.role]
    if message.extra.get("role") == "developer":
        role = "developer"
    item: dict[str, Any] = {"role": role}
    if "typed" in detail:
        item = {"type": "message", "role": role}
    text = _plain_text(blocks, own=own)
    if text is not None and "list" not in detail:
        item["content"] = text
    else:
        parts = [
            part
            for block in blocks
            if native or not (isinstance(block, Text) and not block.text)
            if (part := encode_part(block, role, own=own, native=native)) is not None
        ]
        item["content"] = parts if parts or native else ""
    yield _with_extra(item, message) if own else item


def _plain_text(blocks: list[Block], *, own: bool) -> str | None:
    if not blocks:
        return ""
    if len(blocks) > 1:
        return None
    block = blocks[0]
    if isinstance(block, Json):
        return json_text(block.value)
    if isinstance(block, Text) and not (own and block.extra):
        return block.text
    return None


def _with_extra(item: dict[str, Any], message: Message) -> dict[str, Any]:
    for key, value in message.extra.items():
        if key != "role" or not is_foreign(message):
            item.setdefault(key, thaw(value))
    return item
