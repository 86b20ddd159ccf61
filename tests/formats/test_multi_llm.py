"""Tests for `turnkeep.formats._multi_llm`."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.seed_checks import (
    assert_exact,
    assert_refused,
    assert_stays,
    json_values,
    names,
    objects,
    texts,
    times,
    unknown,
)
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

MULTI = get_format("multi-llm")
ATTRIBUTES: dict[str, Any] = {
    "priority": 50,
    "cacheable": False,
    "cache_type": None,
    "cache_key": None,
    "category": "Current",
    "metadata": {},
}
USER = {
    "role": "User",
    "content": {"Text": "hi"},
    "attributes": ATTRIBUTES,
    "timestamp": "2026-01-02T03:04:05.678Z",
}
JSON = {**USER, "content": {"Json": {"intent": "greeting", "confidence": 0.95}}}
CALL = {"id": "call_123", "name": "get_weather", "arguments": {"city": "London"}}
CALLING = {**USER, "role": "Assistant", "content": {"ToolCall": CALL}}
TOLD = {"tool_call_id": "call_123", "content": "Sunny", "is_error": False}
RESULT = {**USER, "role": "Tool", "content": {"ToolResult": TOLD}}
CACHED = {
    **USER,
    "role": "System",
    "attributes": {
        "priority": 0,
        "cacheable": True,
        "cache_type": "Extended",
        "cache_key": "k",
        "category": "SystemInstruction",
        "metadata": {"team": ["a", 1]},
    },
}


@pytest.mark.parametrize("entry", [USER, JSON, CALLING, RESULT, CACHED])
def test_samples_come_back_exactly_without_layout_details(entry: Any) -> None:
    """The crate's own spelling is ours: nothing is remembered about it."""
    (message,) = assert_exact("multi-llm", entry)

    assert message.layout == "multi-llm"


def test_fields_mean_what_they_say() -> None:
    """Priorities and times have fields; other attributes stand in the metadata."""
    (cached,) = MULTI.decode(CACHED)

    assert cached.role is Role.SYSTEM
    assert cached.priority == 0
    assert cached.timestamp == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    assert cached.metadata == {
        "team": ["a", 1],
        "multi-llm": {
            "cacheable": True,
            "cache_type": "Extended",
            "cache_key": "k",
            "category": "SystemInstruction",
        },
    }
    assert MULTI.decode(JSON)[0].content == (
        Json({"intent": "greeting", "confidence": 0.95}),
    )
    assert MULTI.decode(CALLING)[0].content == (
        ToolCall("call_123", "get_weather", {"city": "London"}),
    )
    assert MULTI.decode(RESULT)[0].content == (ToolResult("call_123", "Sunny"),)


def _with(**attributes: Any) -> dict[str, Any]:
    return {**USER, "attributes": {**ATTRIBUTES, **attributes}}


@pytest.mark.parametrize(
    "entry",
    [
        {**USER, "timestamp": "2026-01-02T03:04:05.123456789Z", "later": {}},
        {**USER, "timestamp": "2026-01-02T05:04:05+02:00"},
        {**USER, "timestamp": "1970-01-01T00:00:00Z"},
        {**USER, "content": {"Audio": {"data": [1]}}},
        {**USER, "content": {"ToolCall": {**CALL, "arguments": "5", "x": None}}},
        {
            **USER,
            "attributes": {k: v for k, v in ATTRIBUTES.items() if k != "cache_type"},
        },
        _with(later=[1]),
        _with(category="Later"),
        _with(metadata={"multi-llm": {"cacheable": True}, "a": 1}),
        _with(metadata={"turnkeep": {"pinned": True, "id": "m1", "pin_scope": "step"}}),
        _with(metadata={"turnkeep": 5}),
        _with(metadata={"turnkeep": {"pinned": False, "x": 1}}),
        {
            **RESULT,
            "content": {
                "ToolResult": {**TOLD, "content": "[turnkeep:pending 5962ee77]"}
            },
        },
    ],
)
def test_other_spellings_come_back(entry: Any) -> None:
    """Unknown content, keys and categories are kept, and our own notes."""
    assert_exact("multi-llm", entry)


_contents = (
    texts.map(lambda text: {"Text": text})
    | json_values.map(lambda value: {"Json": value})
    | json_values.map(lambda value: {"Later": value})
    | st.fixed_dictionaries(
        {"id": texts, "name": names, "arguments": json_values},
        optional={"later": json_values},
    ).map(lambda call: {"ToolCall": call})
    | st.fixed_dictionaries(
        {"tool_call_id": texts, "content": texts, "is_error": st.booleans()},
        optional={"later": json_values},
    ).map(lambda result: {"ToolResult": result})
)
_attributes = st.builds(
    lambda attributes, more: {**more, **attributes},
    st.fixed_dictionaries(
        {
            "priority": st.integers(0, 255),
            "cacheable": st.booleans(),
            "category": st.sampled_from(["Current", "History", "Later"]),
            "metadata": objects,
        },
        optional={
            "cache_type": st.sampled_from([None, "Ephemeral", "Extended"]),
            "cache_key": st.none() | texts,
        },
    ),
    unknown,
)
entries = st.builds(
    lambda entry, more: {**more, **entry},
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["System", "User", "Assistant", "Tool"]),
            "content": _contents,
            "attributes": _attributes,
            "timestamp": times,
        }
    ),
    unknown,
)


@given(entries)
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("multi-llm", entry)


def test_a_message_of_other_origin_becomes_one_message_per_part() -> None:
    """What the crate has no field for stands in its metadata."""
    message = Message.assistant(
        [Thinking("hm"), Text("look"), Image("AA==")],
        tool_calls=[ToolCall("c", "f", '{"a":  1}'), ToolCall(None, "g")],
        id="m1",
        token_count=5,
        pinned=True,
        kind="note",
        priority=300,
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
        metadata={"a": 1},
    )

    text, call, other = MULTI.encode([message])

    assert [e["role"] for e in (text, call, other)] == ["Assistant"] * 3
    assert text["content"] == {"Text": "look"}
    assert call["content"]["ToolCall"]["arguments"] == {"a": 1}
    assert other["content"]["ToolCall"]["id"] == "call_1"
    assert text["timestamp"] == "2026-01-02T00:00:00Z"
    assert text["attributes"] == {
        **ATTRIBUTES,
        "priority": 255,
        "metadata": {
            "a": 1,
            "turnkeep": {"id": "m1", "pinned": True, "kind": "note"},
        },
    }
    assert call["attributes"]["metadata"]["turnkeep"]["id"] == "m1/1"
    back = [MULTI.decode(e)[0] for e in (text, call, other)]
    assert [m.id for m in back] == ["m1", "m1/1", "m1/2"]
    assert all(m.pinned and m.kind == "note" for m in back)


def test_pins_and_pending_results_survive() -> None:
    """Pins by the metadata, pending results by their first line."""
    message = Message.tool_result(
        "c", "started", pending=True, id="m", pinned=True, pin_scope="step"
    )

    (entry,) = MULTI.encode([message])
    (back,) = MULTI.decode(entry)

    assert entry["role"] == "Tool"
    assert back.tool_results[0].pending
    assert (back.id, back.pinned, back.pin_scope) == ("m", True, "step")
    assert back.text == "started"


def test_empty_messages_become_empty_text() -> None:
    """The crate demands content."""
    (entry,) = MULTI.encode([Message.user([])])

    assert entry["content"] == {"Text": ""}
    assert entry["attributes"] == ATTRIBUTES


def test_our_insertions_are_recognised() -> None:
    """By the first line; the kind is not said twice."""
    message = Message.user("[turnkeep:summary 543792ed]\nx", kind="summary")

    (entry,) = MULTI.encode([message])

    assert entry["attributes"]["metadata"] == {}
    assert MULTI.decode(entry)[0].kind == "summary"


def test_losses_name_what_does_not_fit() -> None:
    """A message of the crate's loses nothing."""
    message = Message.user(
        [Image("AA=="), Opaque({"type": "x"}, "gemini")], priority=-1
    )

    assert MULTI.losses(message) == [
        "a block of gemini (x)",
        "an image",
        "the priority -1 (0 to 255 fit)",
    ]
    assert MULTI.losses(MULTI.decode(CACHED)[0]) == []


@pytest.mark.parametrize(
    "message",
    [
        Message.user([Text("a"), Json([1])], kind="note"),
        Message.tool_result("c", [Text("x"), Json(1)], is_error=True),
        Message.system("x", kind="run_summary"),
        Message.user("x", metadata={"multi-llm": 5, "turnkeep": 5}),
        Message(Role.TOOL_CALL, (ToolCall("c", "f"),)),
    ],
)
def test_other_messages_are_stable_once_written(message: Message) -> None:
    """Writing what was read gives the same again."""
    assert_stays("multi-llm", message)


def test_lists_and_bodies_open() -> None:
    """A request holds its messages under `messages`."""
    assert MULTI.open({"messages": [USER]}).entries == [USER]
    assert MULTI.decode_system("x") == (Message.system("x"),)
    assert MULTI.encode_request(MULTI.decode(USER)) == {"messages": [USER]}


def test_detection_by_attributes() -> None:
    """A role in upper case with attributes."""
    assert match_format([USER, RESULT], MULTI.name).score > 2
    others: list[Any] = [
        [{"role": "user", "attributes": {}}],
        [{"role": {}, "attributes": {}}],
        [{"role": "User", "content": "hi"}],
    ]
    for other in others:
        assert match_format(other, MULTI.name).score == 0


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (None, ""),
        ({**USER, "role": "user"}, ".role"),
        ({**USER, "role": None}, ".role"),
        ({k: v for k, v in USER.items() if k != "role"}, ""),
        ({k: v for k, v in USER.items() if k != "content"}, ""),
        ({k: v for k, v in USER.items() if k != "timestamp"}, ""),
        ({k: v for k, v in USER.items() if k != "attributes"}, ""),
        ({**USER, "content": "hi"}, ".content"),
        ({**USER, "content": {"Text": "hi", "Json": 1}}, ".content"),
        ({**USER, "content": {"Text": 1}}, ".content.Text"),
        ({**USER, "content": {"Json": {"a": float("nan")}}}, ".content.Json.a"),
        ({**USER, "content": {"ToolCall": []}}, ".content.ToolCall"),
        (
            {**USER, "content": {"ToolCall": {"id": "a", "name": "b"}}},
            ".content.ToolCall",
        ),
        (
            {**USER, "content": {"ToolCall": {**CALL, "id": None}}},
            ".content.ToolCall.id",
        ),
        (
            {**USER, "content": {"ToolResult": {**TOLD, "is_error": 1}}},
            ".content.ToolResult.is_error",
        ),
        (_with(priority=256), ".attributes.priority"),
        (_with(priority=True), ".attributes.priority"),
        (_with(cacheable=None), ".attributes.cacheable"),
        (_with(cache_key=5), ".attributes.cache_key"),
        (_with(metadata=None), ".attributes.metadata"),
        (
            _with(metadata={"turnkeep": {"pinned": 1}}),
            ".attributes.metadata.turnkeep.pinned",
        ),
        ({**USER, "timestamp": 5}, ".timestamp"),
        ({**USER, "timestamp": "yesterday"}, ".timestamp"),
        ({**USER, "timestamp": "2026-01-02T03:04:05"}, ".timestamp"),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("multi-llm", entry, path)
