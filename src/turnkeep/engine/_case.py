from __future__ import annotations

from collections.abc import Iterator

from turnkeep.budgets import Budget, share_of
from turnkeep.engine._reasoning import Last
from turnkeep.index import History
from turnkeep.strategies import Strategy

from ._draft import Draft
from ._terms import Terms


class Case:
    """One plan in the making: what it is about, and its figures in tokens."""

    def __init__(
        self, history: History, budget: Budget, strategy: Strategy, terms: Terms
    ) -> None:
        self.history = history
        self.budget = budget
        self.strategy = strategy
        self.terms = terms
        self.fixed = sum(item.tokens for item in terms.fixed)
        self.available = budget.available(tools=self.fixed, margin=terms.margin)
        self.trigger = share_of(self.available, budget.trigger)
        if terms.trigger_at is not None:
            self.trigger = terms.trigger_at
        self.target = share_of(self.available, budget.goal(terms.default_target))
        self.aim = self.target
        self.demands = history.rules.demands
        self.last = Last(history)
        self.claims: set[str] = set()
        self.to_the_bone = terms.on_overflow == "shorten"
        """Whether results are cut before anybody is told that it does not fit."""

    def lines(self, total: int) -> int:
        """How many lines of the grid a log of *total* tokens has crossed.

        The depth of a cut moves in steps of (trigger - target) tokens of the log.
        Between two of them the same beginning is dropped, however the caller's process
        came to it.
        """
        return max(-(-(total - self.trigger) // (self.trigger - self.target)), 0)

    def is_large(self, tokens: int, split_above: float) -> bool:
        """Whether a turn of *tokens* is cut inside where it would free too much."""
        return tokens > share_of(self.target, split_above)

    @property
    def limited(self) -> bool:
        """Whether turns or messages are limited, beside tokens."""
        budget = self.budget
        return budget.max_turns is not None or budget.max_messages is not None

    def within_limits(self, draft: Draft) -> bool:
        """Whether the window keeps to these limits."""
        if not self.limited:
            return True
        budget = self.budget
        if budget.max_turns is not None and draft.census.turns > budget.max_turns:
            return False
        return (
            budget.max_messages is None or draft.census.messages <= budget.max_messages
        )

    def is_over(self, draft: Draft) -> bool:
        """Whether the window is due for pruning."""
        return draft.tokens > self.trigger or not self.within_limits(draft)

    def free_of(self, turn: int) -> Iterator[int]:
        """The free steps of a turn, newest first."""
        history = self.history
        held, soft = history.held, history.soft
        for step in reversed(history.grouping.steps_of(turn)):
            if step not in held and step not in soft:
                yield step
