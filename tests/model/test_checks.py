"""Every field is checked before a message exists: nothing unfit reaches a store."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep import Message, NaiveTimestampError, Text, ToolCall, ToolResult
from turnkeep.model import Document, Image, Json, Thinking
from turnkeep.serial import dump_message, load_message


@pytest.mark.parametrize(
    "fields",
    [
        {"id": 5},
        {"id": b"x"},
        {"timestamp": "2026-01-01T00:00:00Z"},
        {"timestamp": 1_700_000_000},
        {"timestamp": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the point
        {"token_count": 12.0},
        {"token_count": True},
        {"token_count": -1},
        {"token_count": 2**63},
        {"token_count": "12"},
        {"pinned": "yes"},
        {"pinned": None},
        {"pin_scope": "message"},
        {"pin_scope": None},
        {"kind": 5},
        {"priority": "high"},
        {"priority": 1.5},
        {"priority": 2**70},
        {"metadata": "x"},
        {"metadata": None},
        {"metadata": [1]},
        {"metadata": {"a": {1, 2}}},
        {"extra": 3},
    ],
    ids=str,
)
def test_a_wrong_field_is_one_clear_error(fields: dict[str, Any]) -> None:
    """It names the field and the value."""
    ((name, _),) = fields.items()

    with pytest.raises((TypeError, ValueError, NaiveTimestampError)) as found:
        Message.user("hi", **fields)

    assert (
        name in str(found.value)
        or isinstance(found.value, NaiveTimestampError)
        or (name == "metadata")
    )


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        None,
        5,
        [5],
        [None],
        {"type": "text", "text": "x"},
        [{"type": "text"}],
        1.5,
    ],
    ids=str,
)
def test_content_that_is_none_is_refused(content: Any) -> None:
    """Text and blocks are content; a dict is a whole message for `append`."""
    with pytest.raises(TypeError, match="content"):
        Message.user(content)


@pytest.mark.parametrize(
    ("kind", "arguments", "named"),
    [
        (Text, (5,), {}),
        (ToolCall, (5, "f"), {}),
        (ToolCall, ("c", None), {}),
        (ToolResult, (5, "x"), {}),
        (ToolResult, ("c", "x"), {"is_error": 1}),
        (ToolResult, ("c", "x"), {"tool_name": 5}),
        (Thinking, (b"x",), {}),
        (Image, (), {"data": b"x"}),
        (Image, (), {"number": "1"}),
        (Document, (), {"title": 3}),
    ],
    ids=range(10),
)
def test_blocks_refuse_wrong_types(
    kind: Any, arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Each names its field."""
    with pytest.raises(TypeError, match="must be"):
        kind(*arguments, **named)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_a_result_takes_any_json_value(value: Any) -> None:
    """An object is JSON and never its keys; what was said can be read back."""
    result = ToolResult("c", value)

    if isinstance(value, str):
        assert result.content == (Text(value),)
    elif isinstance(value, list) and all(isinstance(part, str) for part in value):
        assert result.content == tuple(map(Text, value))
    else:
        assert result.content == (Json(value),)


FIELDS = (
    "id",
    "timestamp",
    "token_count",
    "pinned",
    "pin_scope",
    "kind",
    "priority",
    "metadata",
)

_ANY = (
    _VALUES
    | st.binary()
    | st.floats()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.sampled_from([2**63, -(2**63), 2**200, object, object()])
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, _ANY)))
def test_what_is_taken_can_always_be_written_and_read(fields: dict[str, Any]) -> None:
    """No message can be made that its own JSON does not bring back."""
    try:
        message = Message.user("hi", **fields)
    except (TypeError, ValueError, NaiveTimestampError):
        return

    assert load_message(dump_message(message)) == message
