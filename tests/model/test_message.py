"""Tests for `turnkeep.model._message`."""

from datetime import UTC, datetime, timedelta, timezone

import attrs
import pytest

from turnkeep.errors import NaiveTimestampError
from turnkeep.model import (
    Json,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    freeze,
)

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def test_constructors_per_role() -> None:
    """One line each."""
    call = ToolCall("c", "f")

    assert Message.system("x") == Message(Role.SYSTEM, (Text("x"),))
    assert Message.user("x", pinned=True) == Message("user", "x", pinned=True)
    assert Message.assistant("x", tool_calls=[call]).content == (Text("x"), call)
    assert Message.assistant("", tool_calls=[call]).content == (call,)
    assert Message.assistant("").content == (Text(""),)
    assert Message.assistant().content == ()
    result = Message.tool_result("c", "x", pending=True, tool_name="f", id="m")
    assert result.content == (ToolResult("c", "x", pending=True, tool_name="f"),)
    assert (result.role, result.id) == (Role.TOOL_RESULT, "m")


def test_messages_are_values() -> None:
    """Equal by what they say, strict about JSON types; the layout says nothing."""
    left = Message.user("x", metadata={"a": 1})

    assert left == Message.user("x", metadata={"a": 1}, layout="openai")
    assert hash(left) == hash(Message.user("x", metadata={"a": 1}, layout="openai"))
    assert left != Message.user("x", metadata={"a": True})
    assert left != Message.user("x", metadata={"a": 1}, id="m")
    assert left != Message.assistant("x", metadata={"a": 1})
    other: object = "x"
    assert left != other
    assert len({left, Message.user("x", metadata={"a": 1})}) == 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        left.id = "m"  # type: ignore[misc]


def test_unset_fields_are_none() -> None:
    """Nothing is made up: no id, no time, no count."""
    message = Message.user("x")

    assert (message.id, message.timestamp, message.token_count) == (None, None, None)
    assert (message.kind, message.priority, message.layout) == (None, None, None)
    assert (message.pinned, message.pin_scope) == (False, "turn")


def test_time_stamps_have_a_zone() -> None:
    """A naive one is refused; any zone is fine."""
    with pytest.raises(NaiveTimestampError, match="has no time zone"):
        Message.user("x", timestamp=datetime(2026, 1, 2))  # noqa: DTZ001 - the point

    zone = timezone(timedelta(hours=-4))
    assert Message.user("x", timestamp=WHEN.astimezone(zone)).timestamp == WHEN


def test_unknown_roles_are_refused() -> None:
    """A role is one of five."""
    with pytest.raises(ValueError, match="narrator"):
        Message("narrator", "x")


def test_new_content_clears_the_count_and_the_spelling() -> None:
    """The format it came from stays known."""
    message = Message.user("x", token_count=5, layout="openai:list", id="m")

    edited = message.evolve(content="y")

    assert (edited.token_count, edited.layout, edited.id) == (None, "openai", "m")
    assert message.evolve(content="y", token_count=7).token_count == 7
    assert message.evolve(pinned=True).token_count == 5
    assert message.evolve(pinned=True).layout == "openai:list"
    assert Message.user("x").evolve(content="y").layout is None
    assert message.text == "x"


def test_text_calls_and_results_are_at_hand() -> None:
    """In order."""
    calls = (ToolCall("c", "f"), ToolCall("d", "f"))
    message = Message(Role.ASSISTANT, (Text("a"), *calls, Json(1)))
    results = Message(Role.TOOL_RESULT, (ToolResult("c", "x"), ToolResult("d", "y")))

    assert message.text == "a\n1"
    assert message.tool_calls == calls
    assert message.tool_results == ()
    assert [r.tool_call_id for r in results.tool_results] == ["c", "d"]
    assert results.text == "x\ny"


def test_metadata_is_frozen() -> None:
    """What the caller changes later does not change the message."""
    given = {"a": [1]}
    message = Message.user("x", metadata=given, extra=given)
    given["a"].append(2)

    assert message.metadata == message.extra == freeze({"a": [1]})
    assert "extra" not in repr(message)
