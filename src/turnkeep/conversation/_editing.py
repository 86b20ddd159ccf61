from __future__ import annotations

from typing import Any

import attrs

from turnkeep.model import Message, Role, Text, ToolCall, ToolResult, as_blocks


def edited(message: Message, changes: dict[str, Any]) -> Message:
    """*message* with *changes*; its calls and results stay linked.

    Text (or blocks without calls and results) replaces what the message says: the
    content of its result, or what stands beside its calls.

    Raises:
        ValueError: The new content would cut calls from their results, or it is not
            clear which of several results it belongs to.
    """
    if "content" not in changes:
        return message.evolve(**changes)
    blocks = as_blocks(changes["content"])
    if not any(isinstance(block, (ToolCall, ToolResult)) for block in blocks):
        blocks = _beside(message, blocks)
    if _links(blocks) != _links(message.content):
        msg = (
            f"message {message.id} makes or answers calls {_links(message.content)}, "
            f"and the new content {_links(blocks)}: an edit keeps them. remove() takes "
            "the whole step out, resolve() answers a call"
        )
        raise ValueError(msg)
    return message.evolve(**{**changes, "content": blocks})


def _beside(message: Message, blocks: tuple[Any, ...]) -> tuple[Any, ...]:
    results = message.tool_results
    if len(results) > 1:
        msg = (
            f"message {message.id} carries {len(results)} results: give the blocks, so "
            "that it is clear which one changes"
        )
        raise ValueError(msg)
    if results:
        return (attrs.evolve(results[0], content=blocks),)
    calls = message.tool_calls
    if calls and blocks == (Text(""),):
        return calls
    return (*blocks, *calls)


def _links(blocks: tuple[Any, ...]) -> list[Any]:
    """What ties a message to others: ids of calls, and of the calls it answers."""
    return [
        block.id if isinstance(block, ToolCall) else (block.tool_call_id, block.final)
        for block in blocks
        if isinstance(block, (ToolCall, ToolResult))
    ]


def check_result(message: Message) -> None:
    """Refuse a tool result that answers nothing.

    Raises:
        ValueError: Its role says result, but there is none in it.
    """
    if message.role is Role.TOOL_RESULT:
        for block in message.content:
            if type(block) is ToolResult:
                return
        msg = (
            "a message of role tool_result needs a ToolResult in its content; "
            "Message.tool_result(call_id, text) makes one"
        )
        raise ValueError(msg)
