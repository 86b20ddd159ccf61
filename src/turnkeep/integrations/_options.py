"""What every integration is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import (
    OldestSteps,
    OldestTurns,
    Strategy,
    Summarize,
    strategy_of,
)

Summarizer: TypeAlias = Callable[[Any], Any]
"""Sums up a passage; see `turnkeep.Summarize`."""


@attrs.frozen
class Options:
    """What requests are fitted by.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; what the host asks for
            unless given.
        strategy:
            What goes first: an object, or a text as the command line takes it.
        pinned:
            Says of a message of the host's whether it must stay in every request.
        summarizer:
            Sums up what goes; see `Summarize`.
        on_prune:
            Called with the plan whenever something had to go.
    """

    budget: Budget | int | None = None
    model: str | None = None
    strategy: Strategy | str = "agent"
    pinned: Callable[[Any], bool] | None = None
    summarizer: Summarizer | None = None
    on_prune: Callable[[Plan], object] | None = None

    def conversation(self, model: str | None) -> dict[str, Any]:
        """The arguments of a `Conversation` with *model*."""
        strategy = strategy_of(self.strategy) or OldestTurns() | OldestSteps()
        if self.summarizer is not None:
            strategy = Summarize(self.summarizer) | strategy
        return {
            "budget": self.budget,
            "model": self.model or model,
            "strategy": strategy,
            "on_prune": self.on_prune,
        }
