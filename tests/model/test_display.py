"""Tests for `turnkeep.model._display`."""

import pytest

from turnkeep.model import (
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    display_text,
    freeze,
)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Text(" as it is\n"), " as it is\n"),
        (Json({"a": ["é", 1]}), '{\n  "a": [\n    "é",\n    1\n  ]\n}'),
        (Json("x"), '"x"'),
        (
            ToolCall("c", "w", {"b": 1, "a": "é"}),
            'Tool call: w with args: {"b":1,"a":"é"}',
        ),
        (ToolCall("c", "w", '{"a":  1}'), 'Tool call: w with args: {"a":1}'),
        (ToolCall("c", "w", "no json"), "Tool call: w with args: no json"),
        (ToolResult("c", "Sunny"), "Sunny"),
        (ToolResult("c", "no", is_error=True), "Error: no"),
        (
            ToolResult("c", [Text("a"), Json(1), Image("AA==", "image/png")]),
            "a\n1\n[image: image/png]",
        ),
        (Image(url="https://x"), "[image: https://x]"),
        (Image("AA=="), "[image: of unknown type]"),
        (Document("AA==", "application/pdf"), "[document: application/pdf]"),
        (Document(text="x", title="a.txt"), "[document: a.txt]"),
        (Document("AA=="), "[document: of unknown type]"),
        (Thinking("hm", "sig"), "hm"),
        (Opaque(freeze({"type": "input_audio"})), "[input_audio]"),
        (Opaque(freeze({"x": 1})), "[content]"),
    ],
)
def test_every_kind_of_content_has_its_text(block: Block, text: str) -> None:
    """Calls and failures are named, JSON is indented, the rest in brackets."""
    assert display_text(block) == text


def test_a_message_is_its_blocks_line_by_line() -> None:
    """In order."""
    message = Message.assistant("Let me look.", tool_calls=[ToolCall("c", "f")])

    assert display_text(message) == "Let me look.\nTool call: f with args: {}"
    assert display_text(Message.user([])) == ""
