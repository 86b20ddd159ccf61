"""Tests for `turnkeep.model._validate`."""

import pytest

from turnkeep.errors import FormatError
from turnkeep.model import (
    Block,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    validate,
)

CALL = ToolCall("c", "f")
NAMELESS = ToolCall("", "f")
HM = Thinking("hm")


def _result(*content: Block, call_id: str | None = "c") -> Message:
    return Message(Role.TOOL_RESULT, (ToolResult(call_id, content),))


@pytest.mark.parametrize(
    ("message", "path", "detail"),
    [
        (
            _result(call_id=""),
            "$.content[0].tool_call_id",
            "a tool result has no call id",
        ),
        (_result(call_id=None), "$.content[0].tool_call_id", "no call id"),
        (_result(Text("x"), CALL), "$.content[0].content[1]", "cannot hold a call"),
        (_result(HM), "$.content[0].content[0]", "cannot hold reasoning"),
        # The id comes first, then the blocks in their order.
        (_result(HM, CALL, call_id=""), "$.content[0].tool_call_id", "no call id"),
        (_result(HM, CALL), "$.content[0].content[0]", "reasoning"),
        (_result(CALL, HM), "$.content[0].content[0]", "call"),
        (
            Message(Role.TOOL_RESULT, (ToolResult("c"), HM)),
            "$.content[1]",
            "cannot hold reasoning",
        ),
        (
            Message(Role.TOOL_RESULT, (ToolResult("c"), ToolResult(""))),
            "$.content[1].tool_call_id",
            "no call id",
        ),
        (Message.assistant([NAMELESS]), "$.content[0].id", "the call of 'f' has no id"),
        (
            Message.assistant([CALL, ToolCall(None, "g")]),
            "$.content[1].id",
            "the call of 'g' has no id",
        ),
        (Message(Role.TOOL_CALL, (NAMELESS,)), "$.content[0].id", "has no id"),
        (Message.user([Text("x"), HM]), "$.content[1]", "cannot hold reasoning"),
    ],
)
def test_the_first_broken_rule_is_reported(
    message: Message, path: str, detail: str
) -> None:
    """One error with its detail, and where."""
    with pytest.raises(FormatError, match=detail) as caught:
        validate(message)

    assert caught.value.path == path


@pytest.mark.parametrize(
    "message",
    [
        Message.system([HM, NAMELESS, ToolResult("")]),
        Message.user([Text(""), CALL, NAMELESS]),
        Message.user([]),
        Message.assistant([HM, Text("x"), CALL, Image()]),
        Message.assistant(),
        _result(Text("x")),
        _result(),
    ],
)
def test_nothing_else_is_looked_at(message: Message) -> None:
    """System messages hold anything; empty content and pairs are others' business."""
    validate(message)
