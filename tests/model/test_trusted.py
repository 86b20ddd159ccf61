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
    freeze,
    trusted_message,
    trusted_text,
)

_fields: dict[str, st.SearchStrategy[Any]] = {
    "role": st.sampled_from(list(Role)),
    "content": st.sampled_from([(), (Text("x"), ToolCall("c", "f"))]),
    "id": st.none() | st.text(),
    "timestamp": st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    "token_count": st.none() | st.integers(),
    "pinned": st.booleans(),
    "pin_scope": st.sampled_from(["turn", "step"]),
    "kind": st.none() | st.text(),
    "priority": st.none() | st.integers(),
    "metadata": st.sampled_from([EMPTY, freeze({"a": [1]})]),
    "extra": st.sampled_from([EMPTY, freeze({"a": [1]})]),
    "layout": st.none() | st.text(),
}


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


def test_is_as_frozen_as_any_other() -> None:
    """Only the slots were filled in another way."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        trusted_message(Role.USER).id = "x"  # type: ignore[misc]
