from __future__ import annotations

from turnkeep.errors import FormatError

from ._blocks import Block, Thinking, ToolCall, ToolResult
from ._message import Message, Role

_MODEL_SIDE = frozenset({Role.ASSISTANT, Role.TOOL_CALL})


def validate(message: Message) -> None:
    """Check what one message must never hold, whatever its format.

    The rules, in this order; the first that is broken is reported: (1) a tool result
    has a call id; (2) a result, and a message with the role of one, holds no call and
    no reasoning; (3) a call of the assistant has an id; (4) a user message holds no
    reasoning. A system message may hold anything. Pairs, names and empty content are
    not looked at: see `check`.

    Raises:
        FormatError: With the detail as its `reason`, and the path of the block.
    """
    if message.role is Role.TOOL_RESULT:
        _validate_result(message)
        return
    for nth, block in enumerate(message.content):
        if message.role in _MODEL_SIDE and isinstance(block, ToolCall) and not block.id:
            detail = f"the call of {block.name!r} has no id"
            raise FormatError(detail, f"$.content[{nth}].id")
        if message.role is Role.USER and isinstance(block, Thinking):
            detail = "a user message cannot hold reasoning"
            raise FormatError(detail, f"$.content[{nth}]")


def _validate_result(message: Message) -> None:
    for nth, block in enumerate(message.content):
        if isinstance(block, ToolResult) and not block.tool_call_id:
            detail = "a tool result has no call id"
            raise FormatError(detail, f"$.content[{nth}].tool_call_id")
    for nth, block in enumerate(message.content):
        path = f"$.content[{nth}]"
        if isinstance(block, ToolResult):
            for inner, part in enumerate(block.content):
                _refuse(part, f"{path}.content[{inner}]")
        _refuse(block, path)


def _refuse(block: Block, path: str) -> None:
    if isinstance(block, ToolCall):
        detail = f"a tool result cannot hold a call ({block.name!r})"
        raise FormatError(detail, path)
    if isinstance(block, Thinking):
        detail = "a tool result cannot hold reasoning"
        raise FormatError(detail, path)
