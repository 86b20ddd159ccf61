"""Steps that leave together, because one message answers calls of several."""

from typing import Any

import pytest

import turnkeep
from turnkeep import BudgetExceededError

OPTIONS: dict[str, Any] = {"format": "anthropic", "model": "claude-sonnet-4"}


def asks(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def calls(*ids: str) -> dict[str, Any]:
    """Calls of one message."""
    return {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": key, "name": "look", "input": {}} for key in ids
        ],
    }


def answers(*ids: str) -> dict[str, Any]:
    """Results in one message."""
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": key, "content": "found " * 20}
            for key in ids
        ],
    }


WITHIN_A_TURN = [
    asks("go"),
    *(calls("a"), answers("a")),
    *(calls("b"), calls("c"), answers("b", "c")),
    *(calls("d"), calls("e"), answers("d"), calls("f"), answers("e", "f")),
    *(calls("g"), answers("g")),
]
ACROSS_TURNS = [
    asks("go"),
    calls("a"),
    asks("meanwhile"),
    *(calls("b"), answers("a", "b")),
    {"role": "assistant", "content": "done"},
    asks("third " * 10),
    *(calls("c"), answers("c")),
    {"role": "assistant", "content": "done"},
    asks("and now?"),
]


@pytest.mark.parametrize("chat", [WITHIN_A_TURN, ACROSS_TURNS], ids=["one", "many"])
def test_what_fits_a_budget_fits_every_larger_one(chat: list[Any]) -> None:
    """A refusal names the budget that will do, and all above it do."""
    total = turnkeep.count(chat, **OPTIONS).total
    needed = 0
    for budget in range(1, total + 2 + total // 4):
        try:
            plan = turnkeep.plan(chat, budget, **OPTIONS)
        except BudgetExceededError as refused:
            assert not needed or budget < needed, "a smaller budget was enough"
            needed = needed or refused.smallest
        else:
            assert plan.tokens <= budget
            assert not turnkeep.check(plan.apply(chat), **OPTIONS)
            needed = needed or budget


@pytest.mark.parametrize("chat", [WITHIN_A_TURN, ACROSS_TURNS], ids=["one", "many"])
def test_tied_steps_leave_together(chat: list[Any]) -> None:
    """No call is without its result, and no result without its call."""
    total = turnkeep.count(chat, **OPTIONS).total
    for budget in range(70, total):
        plan = turnkeep.plan(chat, budget, on_overflow="send", **OPTIONS)
        kept = [
            block
            for entry in plan.apply(chat)
            if isinstance(entry["content"], list)
            for block in entry["content"]
        ]
        called = [b["id"] for b in kept if b["type"] == "tool_use"]
        answered = [b["tool_use_id"] for b in kept if b["type"] == "tool_result"]
        assert sorted(called) == sorted(answered)
