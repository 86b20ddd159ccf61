"""The requests that one strategy would have sent."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnkeep.budgets import Budget, Prices, share_of
from turnkeep.engine import Terms, make_plan
from turnkeep.index import History, Rules
from turnkeep.model import Message
from turnkeep.strategies import Strategy
from turnkeep.strategies._referents import referents_of
from turnkeep.strategies._when import SMALL, Excess
from turnkeep.turns import HIDDEN, Grouping

from ._log import Log
from ._report import Outcome, share

DEFAULT_TARGET = 0.6
"""The target of a budget that names none: that of a conversation."""


@attrs.define
class Run:
    """The requests of one strategy, added up."""

    name: str
    needs: Sequence[frozenset[str]]
    prices: Prices
    cost: float = 0.0
    tokens: int = 0
    cached: int = 0
    breaks: int = 0
    prunes: int = 0
    over: int = 0
    found: int = 0
    whole: int = 0
    windows: list[int] = attrs.field(factory=list)
    before: list[tuple[Message, int]] = attrs.field(factory=list)

    def send(self, items: list[tuple[Message, int]]) -> None:
        """Add one request: its cost, and what of the call's needs it holds."""
        same = 0
        held = 0
        for (left, tokens), (right, _) in zip(self.before, items, strict=False):
            if left is not right and left != right:
                break
            same += 1
            held += tokens
        if same < len(self.before):
            self.breaks += 1
        total = sum(tokens for _, tokens in items)
        self.cost += self.prices.read * held + self.prices.write * (total - held)
        self.tokens += total
        self.cached += held
        needs = self.needs[len(self.windows)]
        if needs:
            missing = set(needs)
            for message, _ in items:
                missing -= referents_of(message).named
                if not missing:
                    break
            self.found += len(needs) - len(missing)
            self.whole += not missing
        self.windows.append(total)
        self.before = items

    def outcome(self, full: float, sliding: float) -> Outcome:
        """The figures."""
        needed = sum(map(len, self.needs))
        steps = sum(map(bool, self.needs))
        return Outcome(
            name=self.name,
            cost=round(self.cost, 2),
            to_full=share(self.cost, full),
            to_sliding=share(self.cost, sliding),
            calls=len(self.windows),
            tokens=self.tokens,
            cached=share(self.cached, self.tokens, 0.0),
            breaks=self.breaks,
            prunes=self.prunes,
            largest=max(self.windows, default=0),
            over=self.over,
            referents=needed,
            kept=share(self.found, needed),
            steps=steps,
            whole=share(self.whole, steps),
            windows=tuple(self.windows),
        )


def run_session(
    log: Log, name: str, strategy: Strategy | None, budget: Budget, prices: Prices
) -> Run:
    """Send every request of the session under one strategy."""
    run = Run(name, log.needs, prices)
    room = budget.available()
    trigger = share_of(room, budget.trigger)
    low = share_of(room, budget.goal(DEFAULT_TARGET))
    terms = Terms(default_target=DEFAULT_TARGET, on_overflow="send")
    watch = Excess(low)
    grouping = Grouping()
    items: list[tuple[Message, int]] = []
    missed = 0
    at = 0
    for index in log.calls:
        while at < index:
            grouping.add(log.entries[at])
            if log.entries[at].kind != HIDDEN:
                items = [*items, (log.messages[at], log.count(at))]
            at += 1
        tokens = sum(tokens for _, tokens in items)
        if strategy is not None:
            due = tokens > max(trigger, missed)
            if budget.prices is not None and not due:
                watch = watch.after(tokens)
                due = tokens > SMALL and watch.is_due(budget.prices)
            if due:
                due_budget = budget
                if tokens <= trigger:
                    share = max(tokens - 1, low, 1) / room
                    due_budget = attrs.evolve(budget, trigger=share, target=low / room)
                history = History(grouping, log, Rules())
                plan = make_plan(history, due_budget, strategy, terms)
                run.prunes += 1
                items = log.items(plan)
                tokens = sum(tokens for _, tokens in items)
                run.over += tokens > room
                # A missed target is tried again when the window has grown enough.
                missed = min(tokens + trigger - low, room) if tokens > low else 0
                watch = Excess(tokens)
        run.send(items)
    return run
