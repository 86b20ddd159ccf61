"""The requests that one strategy would have sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from turnkeep.budgets import Budget, Prices, share_of
from turnkeep.engine import Terms, make_plan
from turnkeep.index import History, Rules
from turnkeep.model import Message
from turnkeep.strategies import Strategy
from turnkeep.strategies._referents import referents_of
from turnkeep.strategies._when import SMALL, Excess
from turnkeep.strategies._words import terms_of
from turnkeep.turns import HIDDEN, Grouping

from ._expected import Asked
from ._log import Log
from ._report import Call, Lost, Outcome, share

DEFAULT_TARGET = 0.6
"""The target of a budget that names none: that of a conversation."""

Item = tuple[Message, int]


@attrs.define
class Share:
    """How much of what was asked for was there."""

    parts: int = 0
    found: int = 0
    asked: int = 0
    whole: int = 0

    def add(self, parts: int, missing: int) -> None:
        """One that asked for so much."""
        self.parts += parts
        self.found += parts - missing
        self.asked += 1
        self.whole += not missing


@attrs.define
class Run:
    """The requests of one strategy, added up."""

    name: str
    log: Log
    prices: Prices
    target: int
    cost: float = 0.0
    breaks: int = 0
    over: int = 0
    used: Share = attrs.field(factory=Share)
    asked: Share = attrs.field(factory=Share)
    each: list[Call] = attrs.field(factory=list)
    lost: list[Lost] = attrs.field(factory=list)
    before: list[Item] = attrs.field(factory=list)

    def send(self, items: list[Item], *, pruned: bool, expects: bool) -> None:
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
        nth, log = len(self.each), self.log
        index = log.calls[nth]
        missing = self._missing(items, log.needs[nth], lambda m: referents_of(m).named)
        if log.needs[nth]:
            self.used.add(len(log.needs[nth]), len(missing))
            self._lose(missing, log.holders, index, nth, index)
        if log.asked[nth] and not expects:
            said = (item for item in items if item[0] is not log.messages[index - 1])
            words = self._missing(said, log.asked[nth], terms_of)
            self.asked.add(len(log.asked[nth]), len(words))
            self._lose(words, log.spoken, index - 1, nth, index - 1)
            missing += words
        call = Call(log.id(index), total, held, pruned, tuple(missing))
        self.each.append(call)
        self.before = items

    @staticmethod
    def _missing(
        items: Iterable[Item],
        needs: frozenset[str],
        says: Callable[[Message], Iterable[str]],
    ) -> list[str]:
        missing = set(needs)
        for message, _ in items:
            if not missing:
                break
            missing.difference_update(says(message))
        return sorted(missing)

    def _lose(
        self,
        names: Iterable[str],
        said: dict[str, list[int]],
        before: int,
        call: int,
        by: int,
    ) -> None:
        """Note what was missing, and the newest message that had said it."""
        for name in names:
            source = max(index for index in said[name] if index < before)
            lost = Lost(name, call, self.log.id(by), self.log.id(source))
            self.lost.append(lost)

    def expect(self, asked: Asked, items: Sequence[Item], call: int) -> None:
        """Add a question, and what of its evidence stands in the window as it was."""
        there = {id(message) for message, _ in items}
        log = self.log
        gone = [n for n in asked.evidence if id(log.messages[n]) not in there]
        self.asked.add(len(asked.evidence), len(gone))
        question = asked.question if asked.at is None else log.id(asked.at)
        for index in gone:
            self.lost.append(Lost(log.id(index), call, question, log.id(index)))

    def outcome(self, full: float, sliding: float) -> Outcome:
        """The figures."""
        tokens = sum(call.tokens for call in self.each)
        used, asked = self.used, self.asked
        return Outcome(
            name=self.name,
            cost=round(self.cost, 2),
            to_full=share(self.cost, full),
            to_sliding=share(self.cost, sliding),
            calls=len(self.each),
            tokens=tokens,
            cached=share(sum(call.cached for call in self.each), tokens, 0.0),
            breaks=self.breaks,
            prunes=sum(call.pruned for call in self.each),
            largest=max((call.tokens for call in self.each), default=0),
            over=self.over,
            referents=used.parts,
            kept=share(used.found, used.parts),
            steps=used.asked,
            whole=share(used.whole, used.asked),
            evidence=asked.parts,
            found=share(asked.found, asked.parts),
            questions=asked.asked,
            recalled=share(asked.whole, asked.asked),
            target=self.target,
            windows=tuple(call.tokens for call in self.each),
            lost=tuple(self.lost),
            each=tuple(self.each),
        )


class Player:
    """A session as it grows, and the window that a strategy leaves of it."""

    def __init__(self, log: Log, strategy: Strategy | None, budget: Budget) -> None:
        """Nothing said yet."""
        self.log = log
        self.strategy = strategy
        self.budget = budget
        self.room = budget.available()
        self.trigger = share_of(self.room, budget.trigger)
        self.low = share_of(self.room, budget.goal(DEFAULT_TARGET))
        self.items: list[Item] = []
        self._grouping = Grouping()
        self._watch = Excess(self.low)
        self._missed = 0
        self._at = 0

    def advance(self, index: int) -> None:
        """All messages before *index* have been said."""
        while self._at < index:
            at = self._at
            self._grouping.add(self.log.entries[at])
            if self.log.entries[at].kind != HIDDEN:
                self.items = [*self.items, (self.log.messages[at], self.log.count(at))]
            self._at += 1

    def ask(self) -> bool:
        """A request: cuts where that is due, and says whether it did."""
        if self.strategy is None:
            return False
        tokens = sum(tokens for _, tokens in self.items)
        due = tokens > max(self.trigger, self._missed)
        prices = self.budget.prices
        if prices is not None and not due:
            self._watch = self._watch.after(tokens)
            due = tokens > SMALL and self._watch.is_due(prices)
        if not due:
            return False
        self.items = self._cut(self.strategy, self.log, self._grouping, tokens)
        tokens = sum(tokens for _, tokens in self.items)
        # A missed target is tried again when the window has grown enough.
        missed = min(tokens + self.trigger - self.low, self.room)
        self._missed = missed if tokens > self.low else 0
        self._watch = Excess(tokens)
        return True

    def asked_at_the_end(self, text: str) -> list[Item]:
        """The window of one more question; nothing remembers it."""
        log = self.log.with_question(text)
        last = len(log) - 1
        items = [*self.items, (log.messages[last], log.count(last))]
        tokens = sum(tokens for _, tokens in items)
        if self.strategy is None or tokens <= max(self.trigger, self._missed):
            return items
        return self._cut(self.strategy, log, Grouping(log.entries), tokens)

    def _cut(
        self, strategy: Strategy, log: Log, grouping: Grouping, tokens: int
    ) -> list[Item]:
        budget = self.budget
        if tokens <= self.trigger:
            share = max(tokens - 1, self.low, 1) / self.room
            target = self.low / self.room
            budget = attrs.evolve(budget, trigger=share, target=target)
        terms = Terms(default_target=DEFAULT_TARGET, on_overflow="send")
        history = History(grouping, log, Rules())
        return log.items(make_plan(history, budget, strategy, terms))


def run_session(
    log: Log,
    name: str,
    strategy: Strategy | None,
    budget: Budget,
    prices: Prices,
    asked: Sequence[Asked] = (),
) -> Run:
    """Send every request of the session under one strategy."""
    player = Player(log, strategy, budget)
    run = Run(name, log, prices, player.low)
    inside = [one for one in asked if one.at is not None]
    inside.sort(key=lambda one: one.at or 0)
    done = 0
    for nth, index in enumerate(log.calls):
        player.advance(index)
        pruned = player.ask()
        tokens = sum(tokens for _, tokens in player.items)
        run.over += pruned and tokens > player.room
        run.send(player.items, pruned=pruned, expects=bool(asked))
        while done < len(inside) and (inside[done].at or 0) < index:
            run.expect(inside[done], player.items, nth)
            done += 1
    player.advance(len(log))
    if done < len(inside):
        player.ask()
        for one in inside[done:]:
            run.expect(one, player.items, len(log.calls))
    for one in asked:
        if one.at is None:
            items = player.asked_at_the_end(one.question)
            run.expect(one, items, len(log.calls))
    return run
