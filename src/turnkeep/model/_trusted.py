"""Messages and blocks made from parts that were checked already.

attrs converts and validates every field of a new message: right for callers, and three
times the cost where a loader has done it. These functions fill the slots directly. They
are for loaders inside turnkeep: nothing is converted, nothing is checked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ._blocks import Block, Text, ToolCall, ToolResult
from ._frozen import EMPTY, FrozenDict
from ._message import (
    Message,
    PinScope,
    Role,
    _set_content,
    _set_extra,
    _set_id,
    _set_kind,
    _set_layout,
    _set_metadata,
    _set_pin_scope,
    _set_pinned,
    _set_priority,
    _set_role,
    _set_timestamp,
    _set_token_count,
)
from ._slots import setter

_new = object.__new__


_text = setter(Text, "text")
_text_extra = setter(Text, "extra")
_call_id = setter(ToolCall, "id")
_call_name = setter(ToolCall, "name")
_call_text = setter(ToolCall, "arguments_text")
_call_value = setter(ToolCall, "arguments_value")
_call_extra = setter(ToolCall, "extra")
_result_id = setter(ToolResult, "tool_call_id")
_result_content = setter(ToolResult, "content")
_result_error = setter(ToolResult, "is_error")
_result_pending = setter(ToolResult, "pending")
_result_interim = setter(ToolResult, "interim")
_result_tool = setter(ToolResult, "tool_name")
_result_extra = setter(ToolResult, "extra")


def trusted_message(
    role: Role,
    content: tuple[Block, ...] = (),
    id: str | None = None,  # noqa: A002 - the field's name
    timestamp: datetime | None = None,
    token_count: int | None = None,
    pinned: bool = False,
    pin_scope: PinScope = "turn",
    kind: str | None = None,
    priority: int | None = None,
    metadata: FrozenDict = EMPTY,
    extra: FrozenDict = EMPTY,
    layout: str | None = None,
) -> Message:
    """A message of these very parts; equal to `Message(...)` of the same."""
    made = _new(Message)
    _set_role(made, role)
    _set_content(made, content)
    _set_id(made, id)
    _set_timestamp(made, timestamp)
    _set_token_count(made, token_count)
    _set_pinned(made, pinned)
    _set_pin_scope(made, pin_scope)
    _set_kind(made, kind)
    _set_priority(made, priority)
    _set_metadata(made, metadata)
    _set_extra(made, extra)
    _set_layout(made, layout)
    return made


def trusted_text(text: str) -> Text:
    """A text without extra keys; equal to `Text(text)`."""
    made = _new(Text)
    _text(made, text)
    _text_extra(made, EMPTY)
    return made


def trusted_call(
    id: str | None,  # noqa: A002 - the field's name
    name: str,
    arguments: Any,
    extra: FrozenDict = EMPTY,
) -> ToolCall:
    """A call of these very parts; equal to `ToolCall(...)` of the same."""
    made = _new(ToolCall)
    _call_id(made, id)
    _call_name(made, name)
    if type(arguments) is str:
        _call_text(made, arguments)
        _call_value(made, None)
    else:
        _call_text(made, None)
        _call_value(made, arguments)
    _call_extra(made, extra)
    return made


def trusted_result(
    tool_call_id: str | None,
    content: tuple[Block, ...] = (),
    is_error: bool = False,
    pending: bool = False,
    interim: bool = False,
    tool_name: str | None = None,
    extra: FrozenDict = EMPTY,
) -> ToolResult:
    """A result of these very parts; equal to `ToolResult(...)` of the same."""
    made = _new(ToolResult)
    _result_id(made, tool_call_id)
    _result_content(made, content)
    _result_error(made, is_error)
    _result_pending(made, pending)
    _result_interim(made, interim)
    _result_tool(made, tool_name)
    _result_extra(made, extra)
    return made
