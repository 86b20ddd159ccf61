"""Tests for counts that are kept by what was counted and who counted it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from benchmarks._tools import openai_chat
from tests.generators import json_values
from turnkeep import Budget
from turnkeep.formats import get_format
from turnkeep.tokens import ApproximateCounter, CallableCounter, request_counter
from turnkeep.tokens._table import COUNTS, CountTable, prints_of, salt_of

SALT = 5


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the estimate of Gemini counts from here on."""
    seen: list[str] = []
    count = ApproximateCounter.count

    def noted(self: ApproximateCounter, text: str) -> int:
        seen.append(text)
        return count(self, text)

    monkeypatch.setattr(ApproximateCounter, "count", noted)
    return seen


def growing(mark: str) -> list[dict[str, Any]]:
    """A chat that no other test has counted."""
    chat = openai_chat(120)
    for nth, entry in enumerate(chat):
        if entry["content"]:
            entry["content"] = f"{mark} {nth} {entry['content']}"
    return chat


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "bedrock", "ollama"])
@pytest.mark.parametrize("fresh", [False, True])
def test_each_text_is_counted_once(name: str, fresh: bool, counted: list[str]) -> None:
    """Over a growing list with a low target, read anew from JSON each time or not."""
    chat: list[Any] = growing(f"{name} {fresh}")
    if name != "openai":
        messages = [m for entry in chat for m in get_format("openai").decode(entry)]
        chat = get_format(name).encode(messages)
    budget = Budget(600, target=0.6)

    for stop in range(80, 101, 4):
        value = chat[:stop]
        if fresh:
            value = json.loads(json.dumps(value))
        turnkeep.fit(value, budget=budget, model="gemini-2.5-pro", format=name)

    texts = [text for text in counted if text.startswith(f"{name} {fresh}")]
    assert len(texts) > 60
    assert len(texts) == len(set(texts))


def test_what_was_changed_in_place_is_counted_again(counted: list[str]) -> None:
    """A dict is not known by its address."""
    chat = [{"role": "user", "content": "changed in place: before"}]
    turnkeep.fit(chat, 1_000, model="gemini-2.5-pro")
    chat[0]["content"] = "changed in place: after"
    turnkeep.fit(chat, 1_000, model="gemini-2.5-pro")

    assert [text for text in counted if text.startswith("changed in place")] == [
        "changed in place: before",
        "changed in place: after",
    ]


@given(left=json_values, right=json_values)
def test_equal_prints_are_equal_values(left: Any, right: Any) -> None:
    """1, True and 1.0 apart; copies alike."""
    for make in (
        lambda value: {"role": "user", "content": value},
        lambda value: {"role": "user", "content": [{"type": "image", "source": value}]},
        lambda value: {"role": "user", "content": "x", "more": value},
    ):
        one, two = make(left), make(right)
        (first, second, copied) = prints_of([one, two, copy.deepcopy(one)], SALT)
        assert first == copied != 0
        assert (first == second) == (repr(one) == repr(two))


def test_what_json_cannot_say_has_no_print() -> None:
    """It is counted each time."""
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    image = {"role": "user", "content": [{"image": deep}]}
    for value in (object(), 5, None, {"x": object()}, {"content": [{"image": {1}}]}):
        assert prints_of([value], SALT) == [0]
    assert prints_of([image], SALT) == [0]


class Unhashable(dict[str, int]):
    """A counter that nothing can be remembered of."""

    def __call__(self, _entry: Any) -> int:
        """One."""
        return 1


def test_counters_are_told_apart() -> None:
    """Ours by name, format and rule; others' by what they are, while they live."""

    def ten(_text: str) -> int:
        return 10

    def other(_text: str) -> int:
        return 11

    gemini = request_counter(format="gemini")
    assert salt_of(gemini, "gemini") == salt_of(
        request_counter(format="gemini"), "gemini"
    )
    assert salt_of(gemini, "gemini") != salt_of(gemini, "openai")
    assert salt_of(gemini, "gemini") != salt_of(request_counter(), "gemini")
    assert salt_of(ten, "openai") == salt_of(ten, "openai") != salt_of(other, "openai")
    named = [
        request_counter(text=CallableCounter(function, name="same"))
        for function in (ten, other)
    ]
    assert salt_of(named[0], "openai") != salt_of(named[1], "openai")
    assert salt_of(Unhashable(), "openai") is None


def test_a_counter_that_is_gone_leaves_no_counts() -> None:
    """Another one may get its address, never its counts."""
    chat = [{"role": "user", "content": "counted by many"}]
    for tokens in range(1, 30):
        made = turnkeep.plan(chat, 100, token_counter=lambda _entry, n=tokens: n)
        assert made.tokens == tokens


def test_counts_of_a_counter_without_hash_are_not_kept() -> None:
    """They are taken, each time."""
    chat = [{"role": "user", "content": "hi"}]

    assert turnkeep.plan(chat, 100, token_counter=Unhashable()).tokens == 1


@given(keys=st.lists(st.integers(1, 40), max_size=200), limit=st.integers(1, 10))
def test_the_table_is_bounded_and_never_wrong(keys: list[int], limit: int) -> None:
    """It forgets, and never says anything else than what was put."""
    table = CountTable(limit)
    for key in keys:
        assert table.get(key) in (None, key * 7)
        table.put(key, key * 7)
        assert table.get(key) == key * 7
        assert len(table._young) + len(table._old) <= 2 * limit + 1
    assert table.get_many(keys[-1:]) == [key * 7 for key in keys[-1:]]


def test_parts_of_an_entry_are_counted_for_themselves() -> None:
    """An entry that is two messages has no count of its own."""
    fmt = get_format("anthropic")
    mixed = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": "r" * 50},
            {"type": "text", "text": "and more"},
        ],
    }
    chat = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        },
        mixed,
    ]

    first = turnkeep.plan(chat, 1_000, format=fmt.name, model="claude-opus-4-8")
    again = turnkeep.plan(chat, 1_000, format=fmt.name, model="claude-opus-4-8")

    assert first.tokens == again.tokens
    assert COUNTS.get(prints_of([mixed], SALT)[0]) is None
