"""Messages and blocks made from parts that were checked already.

attrs converts and validates every field of a new message: right for callers, and three
times the cost where a loader has done it. These functions fill the slots directly. They
are for loaders inside turnkeep: nothing is converted, nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ._blocks import Block, Text, ToolCall, ToolResult
from ._frozen import EMPTY, FrozenDict
from ._message import Message, PinScope, Role

_new = object.__new__


def _setter(kind: type, name: str) -> Callable[[object, Any], None]:
    # A slot's own setter: `object.__setattr__` looks it up by name each time.
    setter: Callable[[object, Any], None] = getattr(kind, name).__set__
    return setter


_role = _setter(Message, "role")
_content = _setter(Message, "content")
_id = _setter(Message, "id")
_timestamp = _setter(Message, "timestamp")
_token_count = _setter(Message, "token_count")
_pinned = _setter(Message, "pinned")
_pin_scope = _setter(Message, "pin_scope")
_kind = _setter(Message, "kind")
_priority = _setter(Message, "priority")
_metadata = _setter(Message, "metadata")
_extra = _setter(Message, "extra")
_layout = _setter(Message, "layout")
_text = _setter(Text, "text")
_text_extra = _setter(Text, "extra")
_call_id = _setter(ToolCall, "id")
_call_name = _setter(ToolCall, "name")
_call_text = _setter(ToolCall, "arguments_text")
_call_value = _setter(ToolCall, "arguments_value")
_call_extra = _setter(ToolCall, "extra")
_result_id = _setter(ToolResult, "tool_call_id")
_result_content = _setter(ToolResult, "content")
_result_error = _setter(ToolResult, "is_error")
_result_pending = _setter(ToolResult, "pending")
_result_interim = _setter(ToolResult, "interim")
_result_tool = _setter(ToolResult, "tool_name")
_result_extra = _setter(ToolResult, "extra")


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
    _role(made, role)
    _content(made, content)
    _id(made, id)
    _timestamp(made, timestamp)
    _token_count(made, token_count)
    _pinned(made, pinned)
    _pin_scope(made, pin_scope)
    _kind(made, kind)
    _priority(made, priority)
    _metadata(made, metadata)
    _extra(made, extra)
    _layout(made, layout)
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
