"""When a conversation prunes, and how it keeps the cut it has made."""

from __future__ import annotations

from typing import Any

import attrs

from turnkeep.budgets import Budget, share_of
from turnkeep.engine import Memory, OpenCalls, Overflow, Terms, make_plan
from turnkeep.errors import Held
from turnkeep.formats import get_format
from turnkeep.index import History, Rules
from turnkeep.model import STAND_IN_TEXT
from turnkeep.plans import Plan
from turnkeep.profiles import get_profile
from turnkeep.strategies import Strategy

from ._desk import CallDesk
from ._ledger import Ledger

SMALL = 4_000
"""Tokens below which pruning costs more than it saves (measured on short chats)."""


@attrs.define
class Pace:
    """What is remembered between two plans to decide when the next prune is due."""

    regret: float = 0.0
    """Sum over the calls since the last prune of the tokens above the target."""
    cold: bool = False
    """Whether the provider's prompt cache is known to be empty."""
    missed_at: int | None = None
    """Tokens of the last window, if it missed its target."""
    counted_revision: int = -1
    """The revision whose call is in `regret` already."""


class Fitter:
    """Plans windows of one conversation and remembers where it has cut."""

    def __init__(self, ledger: Ledger, desk: CallDesk) -> None:
        """Nothing cut yet."""
        self.ledger = ledger
        self.desk = desk
        self.memory: Memory | None = None
        self.memory_available = 0
        self.pace = Pace()
        self.last: Plan | None = None

    def forget(self) -> None:
        """Start the next plan from the whole history."""
        self.memory = None
        self.pace = Pace()

    def fit(
        self,
        budget: Budget,
        *,
        format_name: str,
        model: str | None,
        strategy: Strategy | None,
        tools: Any,
        stand_in_text: str = STAND_IN_TEXT,
        open_calls: OpenCalls = "stand-in",
        on_overflow: Overflow = "raise",
        drop_system: bool = False,
    ) -> Plan:
        """Plan the next window.

        An error leaves the remembered cut alone.
        """
        ledger, counter = self.ledger, self.ledger.counter
        fixed = [Held("tools", "tools", counter.tools(tools))] if tools else []
        overhead = counter.request(has_tools=bool(tools))
        if overhead and ledger.messages:
            fixed.append(Held("overhead", "overhead", overhead))
        terms = Terms(
            fixed=tuple(fixed),
            default_target=0.6,
            placement=get_profile(format_name, model).policy.results,
            exact=counter.exact,
            margin=counter.margin,
            on_overflow=on_overflow,
            open_calls=open_calls,
        )
        available = budget.available(
            tools=sum(item.tokens for item in fixed), margin=counter.margin
        )
        if self.memory is not None and available > self.memory_available:
            self.forget()
        history = History(
            ledger.grouping,
            ledger,
            Rules(
                pins=dict(ledger.pins),
                awaited=self.desk.is_awaited,
                drop_system=drop_system,
                stand_ins=open_calls == "stand-in",
                per_message=terms.placement == "after-call",
                stand_in_text=stand_in_text,
            ),
        )
        terms = attrs.evolve(terms, trigger_at=self._trigger_at(budget, available))
        plan = make_plan(history, budget, strategy, terms, self.memory)
        self._learn(plan, budget, available)
        return plan

    def _trigger_at(self, budget: Budget, available: int) -> int | None:
        """The size from which to prune, where it is not simply the trigger."""
        pace = self.pace
        goal = share_of(available, budget.goal(0.6))
        if budget.prices is not None:
            due = pace.regret * budget.prices.read >= (
                budget.prices.write - budget.prices.read
            ) * max(goal, 1)
            if pace.cold or due:
                return max(goal, min(SMALL, available))
            return available
        if pace.missed_at is not None:
            grown = share_of(available, budget.trigger) - goal
            return min(available, pace.missed_at + max(grown, 1))
        return None

    def _learn(self, plan: Plan, budget: Budget, available: int) -> None:
        pace = self.pace
        goal = share_of(available, budget.goal(0.6))
        size = plan.tokens - plan.fixed
        if plan.pruned:
            pace.regret = 0.0
            pace.missed_at = size if size > goal else None
        if self.ledger.revision != pace.counted_revision:
            pace.counted_revision = self.ledger.revision
            pace.regret += max(size - goal, 0)
        pace.cold = False
        self.memory = plan.memory
        self.memory_available = available
        self.last = plan
