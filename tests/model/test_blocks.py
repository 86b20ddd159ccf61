"""Tests for `turnkeep.model._blocks`."""

from typing import Any

import attrs
import pytest

from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    Image,
    Json,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_blocks,
    freeze,
    join_text,
)

EVERY: list[Block] = [
    Text("x"),
    Json({"a": 1}),
    Image("AA==", "image/png"),
    Document("AA==", title="a.pdf"),
    Thinking("hm", "sig"),
    ToolCall("c", "f", {"a": 1}),
    ToolResult("c", "x"),
    Opaque(freeze({"type": "x"})),
]


@pytest.mark.parametrize("block", EVERY, ids=lambda b: type(b).__name__)
def test_blocks_are_values(block: Any) -> None:
    """Frozen, hashable, compared by what they say."""
    again = attrs.evolve(block) if not isinstance(block, ToolCall) else block

    assert again == block
    assert hash(again) == hash(block)
    assert block not in [b for b in EVERY if b is not block]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        block.extra = EMPTY
    with pytest.raises((AttributeError, TypeError)):
        block.other = 1


def test_json_values_are_frozen_and_strict() -> None:
    """`1` and `1.0` are two values; a list given is not the list kept."""
    given: Any = {"a": [1]}
    block = Json(given)
    given["a"].append(2)

    assert block.value == {"a": [1]}
    assert Json(1) != Json(1.0)
    assert Json(1) != Json(True)
    assert Json(1) == Json(1)
    assert len({Json(1), Json(1.0), Json(True)}) == 3


def test_arguments_given_as_text_keep_their_text() -> None:
    """Providers sign and cache it."""
    call = ToolCall("c", "f", '{"a":  1}')

    assert call.text == '{"a":  1}'
    assert call.arguments == {"a": 1}
    assert call != ToolCall("c", "f", {"a": 1})
    assert call != ToolCall("c", "f", '{"a": 1}')


@pytest.mark.parametrize("text", ["not json", "", "[" * 100_000, "9" * 5000])
def test_text_that_is_no_json_is_its_own_value(text: str) -> None:
    """It never raises."""
    assert ToolCall("c", "f", text).arguments == text


def test_arguments_given_as_a_value_have_compact_text() -> None:
    """Text beyond ASCII stays readable."""
    assert ToolCall("c", "f", {"a": ["é", 1.0]}).text == '{"a":["é",1.0]}'
    assert ToolCall("c", "f").text == "{}"
    assert ToolCall("c", "f", None).arguments is None


def test_only_final_results_close_their_call() -> None:
    """Placeholders and interim answers leave it open."""
    assert ToolResult("c", "x").final
    assert not ToolResult("c", "x", pending=True).final
    assert not ToolResult("c", "x", interim=True).final


def test_content_may_be_given_in_short() -> None:
    """Text, one block, or a sequence of both."""
    assert as_blocks("x") == (Text("x"),)
    assert as_blocks(Text("x")) == (Text("x"),)
    assert as_blocks(["x", Json(1)]) == (Text("x"), Json(1))
    assert as_blocks([]) == ()
    assert ToolResult("c", "x").content == (Text("x"),)


def test_text_of_blocks_is_that_of_texts_json_and_results() -> None:
    """Joined by line breaks; calls, reasoning and pictures have none."""
    assert join_text(EVERY) == 'x\n{"a": 1}\nx'
    assert ToolResult("c", ["a", Json([1])]).text == "a\n[1]"


def test_base64_stays_out_of_representations() -> None:
    """They are read by people."""
    assert "AA==" not in repr(EVERY)
    assert "sig" not in repr(Thinking("hm", "sig"))
