from __future__ import annotations

import json
from typing import Any

from ._blocks import ToolCall
from ._frozen import freeze
from ._message import Message, Role

ERROR_PREFIX = "tool error: "
"""How the text of a failed tool begins."""

_MODEL_SIDE = frozenset({Role.ASSISTANT, Role.TOOL_CALL})


def result_from(call: ToolCall, outcome: Any) -> Message:
    """The result of *call*, from what running the tool gave.

    A value becomes its JSON text (a string keeps its quotes); an exception becomes an
    error result, `tool error: ` and its message.

    >>> result_from(ToolCall("c1", "add"), {"sum": 3}).text
    '{"sum":3}'
    >>> result_from(ToolCall("c1", "add"), ValueError("not a number")).text
    'tool error: not a number'

    Raises:
        ValueError: The value is not JSON; its path is in the message.
    """
    failed = isinstance(outcome, BaseException)
    text = f"{ERROR_PREFIX}{_say(outcome)}" if failed else _json(outcome)
    return Message.tool_result(call.id, text, is_error=failed, tool_name=call.name)


def extract_tool_calls(message: Message) -> tuple[ToolCall, ...]:
    """The calls of *message*, in order; none unless the assistant made them."""
    return message.tool_calls if message.role in _MODEL_SIDE else ()


def is_tool_error(message: Message) -> bool:
    """Whether *message* carries the result of a tool that failed."""
    return any(result.is_error for result in message.tool_results)


def tool_call_id(message: Message) -> str | None:
    """The call that *message* answers, the first of several; none without any."""
    results = message.tool_results
    return results[0].tool_call_id if results else None


def _say(error: BaseException) -> str:
    # Many exceptions have no message; their type then says what happened.
    return str(error) or type(error).__name__


def _json(value: Any) -> str:
    return json.dumps(freeze(value), ensure_ascii=False, separators=(",", ":"))
