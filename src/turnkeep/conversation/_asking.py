"""What a window is asked for, worked out once for many windows."""

from __future__ import annotations

from typing import Any

import attrs

from turnkeep.budgets import Budget, share_of
from turnkeep.engine import CacheMarking, OnInvalid, OpenCalls, Overflow
from turnkeep.index import Rules
from turnkeep.index._ledger import Ledger
from turnkeep.model import STAND_IN_TEXT
from turnkeep.profiles import Policy
from turnkeep.strategies import DEFAULT, Strategy
from turnkeep.strategies._ahead import Preparing, preparing_in

from ._desk import CallDesk

GOAL = 0.6
"""The target of a conversation's budget that names none: few deep cuts are cheaper."""


@attrs.frozen
class Ask:
    """What one window is asked for, beside the budget."""

    format_name: str
    model: str | None = None
    strategy: Strategy | None = None
    tools: Any = None
    stand_in_text: str = STAND_IN_TEXT
    open_calls: OpenCalls = "stand-in"
    on_overflow: Overflow = "shorten"
    drop_system: bool = False
    on_invalid: OnInvalid = "repair"
    profile: str | None = None
    cache_marks: CacheMarking = "keep"
    by_sums: bool = attrs.field(init=False, eq=False)
    """Whether sums of tokens can answer it."""
    preparing: Preparing | None = attrs.field(init=False, eq=False)
    """What of the strategy begins before a prune is due."""

    @by_sums.default
    def _by_sums(self) -> bool:
        by_default = self.strategy is None or self.strategy == DEFAULT
        return by_default and self.open_calls != "raise" and self.on_invalid == "repair"

    @preparing.default
    def _preparing(self) -> Preparing | None:
        return None if self.strategy is None else preparing_in(self.strategy)


@attrs.frozen
class Limits:
    """A budget in tokens, worked out once."""

    budget: Budget
    spent: tuple[int, int]
    """Tokens of tools and of per-request overhead."""
    margin: float
    available: int
    trigger: int
    goal: int
    nominal: int
    """Tokens there would be for messages if every count were exact."""
    by_sums: bool
    """Whether nothing but tokens is limited."""

    @classmethod
    def of(cls, budget: Budget, tools: int, overhead: int, margin: float) -> Limits:
        """The limits of *budget*."""
        available = budget.available(tools=tools, overhead=overhead, margin=margin)
        return cls(
            budget,
            (tools, overhead),
            margin,
            available,
            share_of(available, budget.trigger),
            share_of(available, budget.goal(GOAL)),
            budget.max_tokens - budget.reserve - tools - overhead,
            budget.max_turns is None
            and budget.max_messages is None
            and budget.max_images is None,
        )


NO_LIMITS = Limits(Budget(1), (-1, -1), 0.0, 0, 0, 0, 0, by_sums=False)
"""Nobody has asked yet."""


def rules_of(ledger: Ledger, desk: CallDesk, ask: Ask, policy: Policy) -> Rules:
    """What the engine is told beside budget and strategy."""
    return Rules(
        pins=dict(ledger.pins),
        awaited=desk.is_awaited,
        drop_system=ask.drop_system,
        repair=ask.on_invalid != "keep",
        stand_ins=ask.open_calls == "stand-in",
        stand_in_text=ask.stand_in_text,
        per_message=policy.results == "after-call",
        demands=policy,
        kept=ledger.kept,
    )
