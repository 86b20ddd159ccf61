"""Tests for `turnkeep.formats._spelling`."""

from typing import Any

import pytest
from hypothesis import given

from tests.formats.seed_checks import json_values
from turnkeep.formats import get_format
from turnkeep.formats._spelling import change, difference
from turnkeep.model import Message, same

SEEDS = ("orion", "molo", "multi-llm", "lellm", "mermaid", "langchain", "pydantic-ai")


@given(json_values, json_values)
def test_a_difference_always_leads_from_one_value_to_the_other(
    ours: Any, theirs: Any
) -> None:
    """Whatever the two are."""
    assert same(change(ours, difference(ours, theirs)), theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "patch"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1, "b": None}, {"a": 1}, {"keys": {}, "gone": ["b"]}),
        ({"a": 1}, {"a": 1.0, "c": 2}, {"keys": {"a": {"=": 1.0}, "c": {"=": 2}}}),
        (
            {"a": [1, {"b": None}]},
            {"a": [1, {}]},
            {"keys": {"a": {"items": {1: {"keys": {}, "gone": ["b"]}}}}},
        ),
        ([1], [1, 2], {"=": [1, 2]}),
    ],
)
def test_a_difference_is_small(ours: Any, theirs: Any, patch: Any) -> None:
    """Only what differs is kept, at its depth."""
    assert difference(ours, theirs) == patch


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize(
    "details", ["{", "5", "[]", '{"keys":5}', '{"=":5}', '{"items":{"9":{"=":1}}}']
)
def test_a_layout_made_by_hand_does_no_harm(name: str, details: str) -> None:
    """What cannot be read, or says something else, is ignored."""
    form = get_format(name)
    message = Message.user("x")

    assert form.encode([message.evolve(layout=f"{name}:{details}")]) == form.encode(
        [message.evolve(layout=name)]
    )
