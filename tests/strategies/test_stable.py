"""A growing plain list keeps its beginning under strategies that are stable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

import turnkeep
from turnkeep import Budget
from turnkeep.index import HistoryView
from turnkeep.plans import Drop, Edit
from turnkeep.strategies import (
    ClearToolResults,
    LargestFirst,
    OldestSteps,
    OldestTurns,
    StripImages,
    StripThinking,
    TruncateToolResults,
)
from turnkeep.strategies._base import is_stable


@attrs.frozen
class Foreign:
    """Somebody else's strategy."""

    stable: bool = True

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield every step, oldest first."""
        for step in history.steps:
            yield Drop(step)


def log(rounds: int) -> list[dict[str, Any]]:
    """A chat with a call in each turn; lengths differ."""
    entries: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    for nth in range(rounds):
        call = {
            "id": f"call_{nth}",
            "type": "function",
            "function": {"name": "find", "arguments": f'{{"order": {nth}}}'},
        }
        entries += [
            {"role": "user", "content": f"look at order {nth} " * (1 + nth * 7 % 5)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{nth}",
                "content": f"order {nth} is on its way " * (1 + nth * 11 % 9),
            },
            {"role": "assistant", "content": "It is on its way."},
        ]
    return entries


@pytest.mark.parametrize(
    "strategy",
    [
        None,
        OldestSteps(),
        OldestTurns(),
        ClearToolResults(2) | OldestTurns() | OldestSteps(),
        TruncateToolResults(20) | OldestTurns() | OldestSteps(),
        StripThinking() | OldestSteps(),
        Foreign(),
    ],
    ids=["default", "steps", "turns", "clear", "truncate", "thinking", "foreign"],
)
def test_the_beginning_changes_seldom(strategy: Any) -> None:
    """A list that grows by a turn at each of 120 requests; never over the budget."""
    entries = log(130)
    before: list[Any] = []
    changes = 0
    for turns in range(10, 130):
        window = turnkeep.fit(
            entries[: 1 + 4 * turns],
            budget=Budget(1_200, target=0.6),
            model="gpt-4o",
            format="openai",
            strategy=strategy,
        )
        changes += any(
            left != right for left, right in zip(before, window, strict=False)
        )
        before = window

        if turns % 10 == 0:
            total = turnkeep.count(window, model="gpt-4o", format="openai").total
            assert total <= 1_200
    assert changes <= 25


def test_the_cut_depends_on_nothing_but_the_list() -> None:
    """New objects that say the same are cut alike, whatever was asked before."""
    asked: dict[str, Any] = {
        "model": "gpt-4o",
        "format": "openai",
        "strategy": OldestSteps(),
    }
    budget = Budget(1_200, target=0.6)
    turnkeep.fit(log(60), budget=budget, **asked)

    first = turnkeep.fit(log(90), budget=budget, **asked)

    assert first == turnkeep.fit(log(90), budget=budget, **asked)


@pytest.mark.parametrize(
    ("strategy", "stable"),
    [
        (OldestTurns(), True),
        (OldestSteps() | StripImages(), True),
        (OldestSteps() | LargestFirst(), False),
        (OldestSteps() & OldestTurns(), False),
        (LargestFirst(), False),
        (Foreign(), True),
        (Foreign(stable=False), False),
        (OldestTurns() | Foreign(stable=False), False),
        (object(), False),
    ],
)
def test_who_is_stable(strategy: Any, stable: bool) -> None:
    """Strategies that say so, and one after the other of them."""
    assert is_stable(strategy) is stable
