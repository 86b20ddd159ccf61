"""Tests for `turnkeep.model._frozen`."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given

from tests.formats.seed_checks import json_values
from turnkeep.model import (
    EMPTY,
    MAX_DEPTH,
    FrozenDict,
    FrozenList,
    UnfitValueError,
    freeze,
    same,
    thaw,
    walk_text,
)


@given(json_values)
def test_freezing_and_thawing_always_gives_the_same_value(value: Any) -> None:
    """The frozen form is equal, hashable, and JSON as it is."""
    frozen = freeze(value)

    assert same(thaw(frozen), value)
    assert same(frozen, value)
    assert hash(frozen) == hash(freeze(value))
    assert freeze(frozen) is frozen or not isinstance(frozen, (dict, tuple))
    assert json.dumps(frozen) == json.dumps(value)
    assert same(pickle.loads(pickle.dumps(frozen)), frozen)  # noqa: S301 - our own
    assert same(copy.copy(frozen), frozen)
    assert same(copy.deepcopy(frozen), frozen)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (1.0, True),
        ([1], [1.0]),
        ({"a": [1]}, {"a": [True]}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({}, []),
        ([], None),
        ([1], [1, 2]),
        ({}, None),
    ],
)
def test_equality_is_strict_about_json_types(left: Any, right: Any) -> None:
    """Values whose JSON differs differ."""
    assert not same(left, right)
    assert not same(right, left)
    assert freeze({"x": left}) != freeze({"x": right})
    assert freeze([left]) != freeze([right])
    assert freeze({"x": left}) != {"x": right}


def test_order_of_keys_and_kind_of_array_do_not_matter() -> None:
    """They say the same JSON value."""
    left, right = freeze({"a": 1, "b": (2,)}), freeze({"b": [2], "a": 1})

    assert left == right
    assert hash(left) == hash(right)
    assert freeze((1, 2)) == [1, 2]
    assert freeze([1]) != 5
    assert freeze({"a": 1}) != 5
    assert left == left  # noqa: PLR0124 - identity is its own path
    assert left["b"] == left["b"]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("update", ({"a": 1},)),
        ("__setitem__", ("a", 1)),
        ("__delitem__", ("a",)),
        ("pop", ("a",)),
        ("popitem", ()),
        ("clear", ()),
        ("setdefault", ("b", 1)),
        ("__ior__", ({"b": 1},)),
    ],
)
def test_a_frozen_object_cannot_change(method: str, arguments: tuple[Any, ...]) -> None:
    """Every method that would change it says so."""
    frozen = freeze({"a": 1})

    with pytest.raises(TypeError, match="frozen"):
        getattr(frozen, method)(*arguments)

    assert frozen == {"a": 1}


class Word(str):
    """A kind of text."""

    __slots__ = ()


class Count(int):
    """A kind of number."""


class Share(float):
    """A kind of number with a fraction."""


@pytest.mark.parametrize(
    ("value", "plain"), [(Word("a"), "a"), (Count(5), 5), (Share(0.5), 0.5)]
)
def test_kinds_of_scalars_become_plain(value: Any, plain: Any) -> None:
    """What `json` would write."""
    assert same(freeze(value), plain)
    assert type(freeze(value)) is type(plain)


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        (float("nan"), "nan is not JSON", ""),
        ({"a": [0, float("inf")]}, "inf is not JSON", ".a[1]"),
        ({"a": {1: 2}}, "key 1 is not text", ".a"),
        ([b"x"], "a bytes is not JSON", "[0]"),
        ({"a": {1}}, "a set is not JSON", ".a"),
    ],
)
def test_what_json_cannot_say_is_refused(value: Any, reason: str, path: str) -> None:
    """A `ValueError` with the path."""
    with pytest.raises(UnfitValueError, match=reason) as caught:
        freeze(value)

    assert caught.value.path == path
    assert str(caught.value) == f"{reason} @ ${path}"


def test_depth_is_limited() -> None:
    """The limit fits; one level more does not."""
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]

    assert isinstance(freeze(value), FrozenList)
    with pytest.raises(UnfitValueError, match="nested deeper than 200"):
        freeze([value])


def test_empty_objects_are_one() -> None:
    """There are many of them."""
    assert freeze({}) is EMPTY
    assert freeze({"a": {}})["a"] is EMPTY
    assert freeze(({},))[0] is EMPTY
    assert isinstance(EMPTY, FrozenDict)
    assert repr(freeze({"a": (1,)})) == "{'a': (1,)}"


def test_walking_finds_every_text_in_order() -> None:
    """Keys, too."""
    assert list(walk_text(freeze({"a": ["b", 1, {"c": "d"}], "e": None}))) == [
        "a",
        "b",
        "c",
        "d",
        "e",
    ]
    assert list(walk_text("x")) == ["x"]
