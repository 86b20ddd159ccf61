"""Tests for `turnkeep.model._trusted`."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import (
    EMPTY,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    freeze,
    trusted_call,
    trusted_message,
    trusted_result,
    trusted_text,
)

_fields: dict[str, st.SearchStrategy[Any]] = {
    "role": st.sampled_from(list(Role)),
    "content": st.sampled_from([(), (Text("x"), ToolCall("c", "f"))]),
    "id": st.none() | st.text(),
    "timestamp": st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    "token_count": st.none() | st.integers(0, 2**40 - 1),
    "pinned": st.booleans(),
    "pin_scope": st.sampled_from(["turn", "step"]),
    "kind": st.none() | st.text(),
    "priority": st.none() | st.integers(-(2**53), 2**53),
    "metadata": st.sampled_from([EMPTY, freeze({"a": [1]})]),
    "extra": st.sampled_from([EMPTY, freeze({"a": [1]})]),
    "layout": st.none() | st.text(),
}


_result_fields = (
    "tool_call_id",
    "content",
    "is_error",
    "pending",
    "interim",
    "tool_name",
    "extra",
)


def test_every_field_is_known() -> None:
    """A field added to `Message` must be set here too."""
    assert set(_fields) == {field.name for field in attrs.fields(Message)}


@given(st.fixed_dictionaries(_fields))
def test_is_always_what_the_class_makes_of_the_same(fields: dict[str, Any]) -> None:
    """Equal, with the same hash, representation and further life."""
    trusted, made = trusted_message(**fields), Message(**fields)

    assert trusted == made
    assert hash(trusted) == hash(made)
    assert repr(trusted) == repr(made)
    assert trusted.layout == made.layout
    assert trusted.evolve(content="y") == made.evolve(content="y")


def test_defaults_are_those_of_the_class() -> None:
    """Nothing but the role is needed."""
    assert trusted_message(Role.USER) == Message(Role.USER)
    assert trusted_text("x") == Text("x")
    assert hash(trusted_text("x")) == hash(Text("x"))
    assert trusted_call("c", "f", EMPTY) == ToolCall("c", "f")
    assert trusted_result("c") == ToolResult("c")


@pytest.mark.parametrize(
    "arguments", ['{"a":  1}', freeze({"a": 1}), freeze([1]), None]
)
def test_calls_are_what_the_class_makes_of_the_same(arguments: Any) -> None:
    """Text stays text, values stay values."""
    extra = freeze({"a": [1]})
    trusted = trusted_call("c", "f", arguments, extra)
    made = ToolCall("c", "f", arguments, extra=extra)

    assert trusted == made
    assert hash(trusted) == hash(made)
    assert repr(trusted) == repr(made)
    assert trusted.arguments == made.arguments


def test_results_are_what_the_class_makes_of_the_same() -> None:
    """Every field, none mistaken for another."""
    extra = freeze({"a": [1]})
    content = (Text("x"),)
    for flags in [(True, False, False), (False, True, False), (False, False, True)]:
        trusted = trusted_result("c", content, *flags, "tool", extra)
        made = ToolResult("c", content, *flags, "tool", extra=extra)

        assert trusted == made
        assert hash(trusted) == hash(made)
        assert repr(trusted) == repr(made)
        assert set(_result_fields) == {f.name for f in attrs.fields(ToolResult)}


def test_is_as_frozen_as_any_other() -> None:
    """Only the slots were filled in another way."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        trusted_message(Role.USER).id = "x"  # type: ignore[misc]
