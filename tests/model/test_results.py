"""Tests for `turnkeep.model._results`."""

from typing import Any

import pytest

from turnkeep.model import (
    Message,
    Role,
    ToolCall,
    ToolResult,
    extract_tool_calls,
    is_tool_error,
    result_from,
    tool_call_id,
)

CALL = ToolCall("c", "f")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("done", '"done"'),
        ({"b": 1, "a": [1.0, None, "é"]}, '{"b":1,"a":[1.0,null,"é"]}'),
        (None, "null"),
        (True, "true"),
        ([], "[]"),
    ],
)
def test_success_becomes_json_text(value: Any, text: str) -> None:
    """A string keeps its quotes: the model reads JSON."""
    message = result_from(CALL, value)

    assert message == Message.tool_result("c", text, tool_name="f")
    assert not is_tool_error(message)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("not a number"), "tool error: not a number"),
        (TimeoutError(), "tool error: TimeoutError"),
        (KeyboardInterrupt("stop"), "tool error: stop"),
    ],
)
def test_failure_becomes_an_error_result(error: BaseException, text: str) -> None:
    """With what the exception says, or its type where it says nothing."""
    message = result_from(CALL, error)

    assert message == Message.tool_result("c", text, is_error=True, tool_name="f")
    assert is_tool_error(message)


def test_values_that_are_not_json_are_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=r"nan is not JSON @ \$\.a"):
        result_from(CALL, {"a": float("nan")})


def test_calls_are_extracted_from_the_assistant_only() -> None:
    """In order; other roles have none to make."""
    calls = (CALL, ToolCall("d", "g"))

    assert extract_tool_calls(Message.assistant("x", tool_calls=calls)) == calls
    assert extract_tool_calls(Message(Role.TOOL_CALL, calls)) == calls
    assert extract_tool_calls(Message.user(calls)) == ()
    assert extract_tool_calls(Message.system(calls)) == ()


def test_results_know_the_call_they_answer() -> None:
    """The first of several; other messages answer none."""
    several = Message(
        Role.TOOL_RESULT, (ToolResult("c"), ToolResult("d", is_error=True))
    )

    assert tool_call_id(several) == "c"
    assert is_tool_error(several)
    assert tool_call_id(Message.user("x")) is None
    assert not is_tool_error(Message.user("x"))
