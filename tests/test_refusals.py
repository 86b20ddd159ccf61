"""What a `BudgetExceededError` says: the largest cause, and what frees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import turnkeep
from turnkeep import BudgetExceededError
from turnkeep.errors import Held

LONG = "word " * 400
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ],
}
ASK = {"role": "user", "content": "q"}


def said(role: str, content: str) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": content}


def signed() -> dict[str, Any]:
    """A body whose newest round binds all before it while thinking is enabled."""
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 9,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            said("user", LONG),
            said("assistant", "ok " * 400),
            said("user", "q"),
            {"role": "assistant", "content": [thought, use]},
            {"role": "user", "content": [result]},
        ],
    }


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "pinned": (
        lambda: turnkeep.fit([said("user", LONG), ASK], 60, model="gpt-4o", pinned=[0]),
        "unpin something",
    ),
    "pending": (
        lambda: turnkeep.fit(
            [ASK, {**CALL, "content": LONG}, ASK], 60, model="gpt-4o", pending=["c"]
        ),
        "pending=()",
    ),
    "question": (
        lambda: turnkeep.fit([said("user", LONG)], 60, model="gpt-4o"),
        "shorten the question",
    ),
    "newest": (
        lambda: turnkeep.fit(
            [ASK, CALL, {"role": "tool", "tool_call_id": "c", "content": LONG}],
            60,
            model="gpt-4o",
            on_overflow="raise",
        ),
        "tool results",
    ),
    "system": (
        lambda: turnkeep.fit([said("system", LONG), ASK], 60, model="gpt-4o"),
        "drop_system=True",
    ),
    "tools": (
        lambda: turnkeep.fit(
            [ASK],
            60,
            model="gpt-4o",
            tools=[
                {"type": "function", "function": {"name": "f", "description": LONG}}
            ],
        ),
        "send fewer tools",
    ),
    "signature": (lambda: turnkeep.fit(signed(), 800), "switch thinking off"),
    "not_offered": (
        lambda: turnkeep.fit(
            [said("user", LONG), said("assistant", LONG), ASK],
            60,
            model="gpt-4o",
            strategy=turnkeep.StripImages(keep=0),
        ),
        "choose a strategy",
    ),
}


@pytest.mark.parametrize("cause", REFUSED)
def test_the_largest_cause_is_named_with_what_frees_it(cause: str) -> None:
    """First of all, whichever message of another cause is large."""
    refuse, way = REFUSED[cause]
    with pytest.raises(BudgetExceededError) as caught:
        refuse()
    _, _, sentence = str(caught.value).partition(f"Most is held as {cause} (")
    assert way in sentence.partition(" Set ")[0]
    assert f"Set max_tokens to at least {caught.value.smallest}" in sentence


def test_many_small_holds_of_one_cause_outweigh_a_large_one_of_another() -> None:
    """The cause is the largest, not the message."""
    held = [Held(str(nth), "pinned", 40) for nth in range(10)]
    error = BudgetExceededError(
        needed=600, available=10, smallest=600, held=(*held, Held("q", "question", 200))
    )
    assert "Most is held as pinned (400, 40 of it 0): unpin something" in str(error)


@pytest.mark.parametrize("cause", ["memory", "stateful", "unread", "profile"])
def test_every_other_cause_has_a_way_out_as_well(cause: str) -> None:
    """Said in the same place."""
    error = BudgetExceededError(
        needed=9, available=1, smallest=9, held=(Held("m", cause, 8),)
    )
    assert f"Most is held as {cause} (8, all of it m): " in str(error)


def test_what_only_size_would_free_is_no_advice_where_messages_are_counted() -> None:
    """A shorter question is one message all the same."""
    error = BudgetExceededError(
        needed=2,
        available=1,
        smallest=2,
        limit="messages",
        held=(Held("q", "question", 2),),
    )
    assert "shorten" not in str(error)
    assert str(error).endswith("Set max_messages to at least 2.")
