"""What messages say, block by block, for reading and searching."""

from __future__ import annotations

import json
from typing import Any, assert_never

from turnkeep.model import (
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    display_text,
)


def texts(message: Message) -> list[list[str]]:
    """A message as pairs of a heading and a text; linear in its text.

    Bytes of pictures and files are left out: they are named instead.
    """
    return [pair for block in message.content for pair in _block(block)]


def _block(block: Block) -> list[list[str]]:
    match block:
        case Text():
            return [["", block.text]]
        case Thinking():
            return [["thinking", block.text or "(not shown by the provider)"]]
        case ToolCall():
            return [[f"calls {block.name}", _arguments(block)]]
        case ToolResult():
            state = "pending " if block.pending else "interim " if block.interim else ""
            head = f"{state}result{' (error)' if block.is_error else ''}"
            inner = [pair for inside in block.content for pair in _block(inside)]
            return [[head, text] for _, text in inner] or [[head, ""]]
        case Json():
            return [["data", display_text(block)]]
        case Image() | Document():
            return [["", display_text(block)]]
        case Opaque():
            return [["vendor block", _pretty(block.value)]]
        case _:
            assert_never(block)


def _arguments(call: ToolCall) -> str:
    arguments = call.arguments
    return arguments if isinstance(arguments, str) else _pretty(arguments)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
