from __future__ import annotations

import json
from typing import assert_never

from ._blocks import (
    Block,
    Document,
    Image,
    Json,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ._message import Message


def display_text(shown: Message | Block) -> str:
    """A message or a block as people read it: every kind of content has its text.

    Texts stay as they are; JSON is indented; a call reads `Tool call: NAME with args:
    JSON`; a result is its content, behind `Error: ` where the tool failed. Pictures,
    files and vendor blocks are named in brackets. Parts stand on lines of their own.

    >>> display_text(ToolCall("c1", "weather", {"city": "London"}))
    'Tool call: weather with args: {"city":"London"}'
    """
    match shown:
        case Message():
            return "\n".join(display_text(block) for block in shown.content)
        case Text() | Thinking():
            return shown.text
        case Json():
            return json.dumps(shown.value, ensure_ascii=False, indent=2)
        case ToolCall():
            return f"Tool call: {shown.name} with args: {_arguments(shown)}"
        case ToolResult():
            text = "\n".join(display_text(block) for block in shown.content)
            return f"Error: {text}" if shown.is_error else text
        case Image():
            return f"[image: {shown.media_type or shown.url or 'of unknown type'}]"
        case Document():
            name = shown.title or shown.media_type or shown.url
            return f"[document: {name or 'of unknown type'}]"
        case Opaque():
            kind = shown.value.get("type")
            return f"[{kind}]" if isinstance(kind, str) else "[content]"
        case _:
            assert_never(shown)


def _arguments(call: ToolCall) -> str:
    arguments = call.arguments
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
