"""When a conversation's next prune is due, and where its last windows ended."""

from __future__ import annotations

from datetime import timedelta

import attrs

from turnkeep.budgets import Prices
from turnkeep.index._ledger import Ledger
from turnkeep.strategies._when import SMALL, Excess

from ._asking import Limits


@attrs.frozen
class SavedPace:
    """A `Pace` as it is saved."""

    left: int | None = None
    excess: int = 0
    missed_at: int | None = None
    cold: bool = False
    end: str | None = None
    before: str | None = None


@attrs.define
class Pace:
    """What is remembered between two plans to decide when the next prune is due."""

    excess: Excess | None = None
    """What waiting has cost since the last cut; none before the first window."""
    missed_at: int | None = None
    """Tokens of the last window, if it missed its target."""
    cold: bool = False
    """Whether the provider's prompt cache is known to be empty."""
    end: str | None = None
    """Id of the message that the last window ended with."""
    before: str | None = None
    """The same of the window before that: its request is in the provider's cache."""
    counted_revision: int = -1
    """The revision whose window is counted already."""

    def anew(self) -> Pace:
        """The pace of a conversation that forgets its cut."""
        return Pace(end=self.end, before=self.before)

    def trigger(self, limits: Limits, ledger: Ledger) -> int:
        """The size above which to prune."""
        goal, available = limits.goal, limits.available
        prices = limits.budget.prices
        if prices is not None:
            if self._is_due(prices, ledger) or self._is_cold(prices, ledger):
                return max(goal, min(SMALL, available))
            return available
        if self.missed_at is not None:
            # The last plan could not reach its target: not again until it grew.
            grown = self.missed_at + max(limits.trigger - goal, 1)
            return max(limits.trigger, min(available, grown))
        return limits.trigger

    def _is_due(self, prices: Prices, ledger: Ledger) -> bool:
        """Whether waiting has cost as much as a cut; the same request never cuts."""
        is_new = ledger.revision != self.counted_revision
        return is_new and self.excess is not None and self.excess.is_due(prices)

    def _is_cold(self, prices: Prices, ledger: Ledger) -> bool:
        """Whether what was sent last is in the cache no more, so that a cut is free."""
        if self.cold:
            return True
        if prices.ttl is None or ledger.revision == self.counted_revision:
            return False
        pause = self._pause(ledger)
        return pause is not None and pause > prices.ttl

    def _pause(self, ledger: Ledger) -> timedelta | None:
        """From the answer to the last window (else the message before) to the newest.

        None where either has no time stamp.
        """
        messages = ledger.messages
        newest = len(messages) - 1
        if newest < 1:
            return None
        ended = ledger.index.get(self.end, newest) if self.end else newest
        early = messages[min(ended + 1, newest - 1)].timestamp
        late = messages[newest].timestamp
        return None if early is None or late is None else late - early

    def learn(self, size: int, limits: Limits, ledger: Ledger, *, pruned: bool) -> None:
        """Take in a window of *size* tokens, tools and overhead not counted."""
        if pruned:
            self.excess = Excess(size)
            self.missed_at = size if size > limits.goal else None
        is_new = ledger.revision != self.counted_revision
        if is_new and limits.budget.prices is not None:
            self.excess = (self.excess or Excess(limits.goal)).after(size)
        if pruned or limits.budget.prices is not None:
            self.cold = False
        self.counted_revision = ledger.revision
        if ledger.messages and self.end != (end := ledger.id(len(ledger.messages) - 1)):
            self.end, self.before = end, self.end

    def to_saved(self) -> SavedPace | None:
        """What there is to save; nothing before the first window."""
        if self.end is None and not self.cold:
            return None
        return SavedPace(
            left=None if self.excess is None else self.excess.low,
            excess=0 if self.excess is None else self.excess.tokens,
            missed_at=self.missed_at,
            cold=self.cold,
            end=self.end,
            before=self.before,
        )

    @classmethod
    def from_saved(cls, saved: SavedPace, ledger: Ledger) -> Pace:
        """The pace that was saved, for the messages in *ledger*."""
        made = cls(
            excess=None if saved.left is None else Excess(saved.left, saved.excess),
            missed_at=saved.missed_at,
            cold=saved.cold,
            end=saved.end,
            before=saved.before,
        )
        messages = ledger.messages
        if messages and ledger.id(len(messages) - 1) == saved.end:
            made.counted_revision = ledger.revision
        return made
