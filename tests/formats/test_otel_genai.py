"""Tests for the format `otel-genai`: messages in OpenTelemetry's attributes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep import fit
from turnkeep.errors import FormatError
from turnkeep.formats import detect, match_format, open_messages

KEY = "gen_ai.input.messages"


def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def text(what: str) -> dict[str, Any]:
    return {"type": "text", "content": what}


CALL = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}
ANSWER = {"type": "tool_call_response", "id": "c1", "response": {"b": 2}}
TALK = [said("user", text("a")), said("assistant", CALL), said("tool", ANSWER)]
EXPECTED = ["user: a", "assistant: f(c1)", 'c1 = {"b":2}']


@pytest.mark.parametrize("wrap", [lambda v: v, json.dumps], ids=["value", "text"])
@pytest.mark.parametrize("shape", ["bare", "attributes", "span", "otlp"])
def test_reads_every_wrapping(shape: str, wrap: Any) -> None:
    value: Any = {KEY: wrap(TALK)}
    if shape == "bare":
        value = TALK
    elif shape == "span":
        value = {"name": "chat", "attributes": value}
    elif shape == "otlp":
        attribute = {"key": KEY, "value": {"stringValue": json.dumps(TALK)}}
        value = {"attributes": [attribute, {"key": 7}, None]}

    assert detect(value).format == "otel-genai"
    assert spoken(value) == EXPECTED


def test_reads_values_that_otlp_nests() -> None:
    part = {
        "kvlistValue": {
            "values": [
                {"key": "type", "value": {"stringValue": "text"}},
                {"key": "content", "value": {"stringValue": "a"}},
            ]
        }
    }
    message = {
        "kvlistValue": {
            "values": [
                {"key": "role", "value": {"stringValue": "user"}},
                {"key": "parts", "value": {"arrayValue": {"values": [part]}}},
            ]
        }
    }
    attribute = {"key": KEY, "value": {"arrayValue": {"values": [message]}}}

    assert spoken({"attributes": [attribute]}) == ["user: a"]


def test_the_last_span_holds_the_history() -> None:
    """Each repeats what was said before it; its output is what was said last."""
    first = {"startTimeUnixNano": "9", "attributes": {KEY: TALK[:1]}}
    output = {"gen_ai.output.messages": [said("assistant", text("b"))]}
    last = {"startTimeUnixNano": "10", "attributes": {KEY: TALK, **output}}
    spans = [last, {"name": "http", "attributes": {}}, first]

    assert spoken(spans) == [*EXPECTED, "assistant: b"]
    assert "1 span (" in notes_of(spans)


def test_an_attribute_that_was_cut_off_is_an_error() -> None:
    """langfuse/langfuse#6517, microsoft/vscode#299952."""
    cut = {"attributes": {KEY: json.dumps(TALK)[:-9]}}

    with pytest.raises(FormatError, match="was cut off") as caught:
        open_messages(cut)

    assert KEY in caught.value.path


def test_parts() -> None:
    """Pictures by data and by address; what has no place is noted."""
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png"}
    talk = [
        said(
            "user",
            {**blob, "content": "AA=="},
            {"type": "uri", "modality": "image", "uri": "https://e.org/a.png"},
            {"type": "file", "modality": "image", "file_id": "f"},
            text("see"),
        ),
        said("assistant", {"type": "reasoning", "content": "hm"}, text("b")),
        said("system", text("c")),
        said("tool", {"type": "tool_call_response", "response": "d"}),
    ]

    assert spoken(talk) == [
        "user: <image> <image> see",
        "assistant: <thinking> b",
        "system: c",
        "unknown_call = d",
    ]
    assert "1 part of type file image" in notes_of(talk)


def test_tools_and_model_are_those_of_the_request() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    span = {
        KEY: TALK[:1],
        "gen_ai.tool.definitions": json.dumps([tool, {"function": {"name": "g"}}]),
        "gen_ai.request.model": "gpt-4o",
    }

    _, envelope = open_messages(span)

    assert envelope.model == "gpt-4o"
    assert [made["function"]["name"] for made in envelope.tools] == ["f", "g"]
    assert fit(span, 1_000)["tools"] == envelope.tools


def test_refuses_an_unknown_role() -> None:
    with pytest.raises(FormatError, match="unknown role 'robot'"):
        open_messages([said("robot", text("a"))])
    with pytest.raises(FormatError, match="expected a span"):
        open_messages({"attributes": {}}, "otel-genai")


def test_reasoning_in_pieces_is_one_thought() -> None:
    thoughts = [{"type": "reasoning", "content": what} for what in ("a", "b")]

    (entry, _) = open_messages([said("assistant", *thoughts), said("user", text("c"))])[
        1
    ].entries

    assert entry["reasoning_content"] == "a\nb"


def test_an_answer_without_an_id_belongs_to_the_oldest_open_call() -> None:
    answer = {"type": "tool_call_response", "response": "d"}

    assert spoken([said("assistant", CALL), said("tool", answer)])[-1] == "c1 = d"


@pytest.mark.parametrize(
    "value",
    [
        {"attributes": 7},
        {"attributes": {"a": 1}},
        [7],
        [{"role": "user", "parts": [7, {"type": "text", "text": "not this"}]}],
    ],
)
def test_is_not_what_has_none_of_its_marks(value: Any) -> None:
    assert match_format(value, "otel-genai").score == 0


def test_spans_without_a_time_count_in_their_order() -> None:
    spans = [
        {"attributes": {KEY: TALK[:1]}},
        {"attributes": {KEY: TALK}, "startTime": None},
    ]

    assert spoken(spans) == EXPECTED


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "url": "data:,x", "mediaType": "text/plain"},
        {"type": "tool-weather", "toolCallId": "c", "state": "output-available"},
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
    ],
)
def test_is_no_message_of_the_ai_sdk(part: dict[str, Any]) -> None:
    """Its parts have types in common with ours, and other keys."""
    message = {"id": "m", **said("assistant", text("hi"), part)}

    assert match_format([message], "otel-genai").score == 0


def attributes(**values: Any) -> list[dict[str, Any]]:
    """As OTLP's JSON has them; names are without their `gen_ai.`."""
    return [
        {"key": f"gen_ai.{key.replace('_', '.')}", "value": {"stringValue": value}}
        for key, value in values.items()
    ]


def chat(start: int, *texts: str, **more: str) -> dict[str, Any]:
    asked = json.dumps([said("user", text(one)) for one in texts])
    found = attributes(input_messages=asked, **more)
    return {"name": "chat", "startTimeUnixNano": str(start), "attributes": found}


def test_an_export_of_spans_is_read_whole() -> None:
    """As OTLP writes it to files, alone and as lines."""
    tool = {"name": "execute_tool", "startTimeUnixNano": "9", "attributes": []}
    spans = [chat(2, "a", "b"), chat(1, "a"), tool]
    export = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    later = {"resourceSpans": [{"scopeSpans": [{"spans": [chat(3, "a", "b", "c")]}]}]}

    assert detect(export).format == "otel-genai"
    assert spoken(export) == ["user: a", "user: b"]
    assert spoken([export, later]) == ["user: a", "user: b", "user: c"]
    assert "2 spans (its messages stand in the last one)" in notes_of([export, later])


def test_messages_may_stand_in_events_and_records() -> None:
    event = {"name": "gen_ai.client.inference.operation.details", **chat(1, "a")}
    record = {"timeUnixNano": "5", "attributes": chat(1, "b")["attributes"]}

    assert spoken({"name": "chat", "attributes": [], "events": [event]}) == ["user: a"]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert spoken(logs) == ["user: b"]


def test_spans_of_another_conversation_are_said_to_be_left_out() -> None:
    spans = [
        chat(1, "mine", conversation_id="1"),
        chat(0, "theirs", conversation_id="2"),
    ]

    assert spoken(spans) == ["user: mine"]
    assert "1 span (of another conversation)" in notes_of(spans)


def test_an_export_without_messages_is_refused() -> None:
    with pytest.raises(FormatError, match="expected a span with"):
        open_messages({"resourceSpans": []}, "otel-genai")


def test_nothing_is_found_at_any_depth() -> None:
    """However deep a value nests, looking for marks ends."""
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]

    assert match_format({"spans": deep}, "otel-genai").score == 0


def test_a_message_that_is_damaged_is_named_by_its_place() -> None:
    damaged = said("user", text("a"), {"type": "text", "content": None})

    with pytest.raises(FormatError) as caught:
        open_messages([damaged], "otel-genai")

    assert caught.value.path == "$[0].parts[1].content"
