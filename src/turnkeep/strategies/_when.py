"""When a cut pays: what a provider's prompt cache charges for a changed prefix.

Read price r, write price w, as in `Prices`. Derived in `docs/explanation/cache.md`.
"""

from __future__ import annotations

import math

import attrs

from turnkeep.budgets import Prices

SMALL = 4_000
"""Tokens below which pruning costs more than it saves, so that only the hard budget
demands it (measured on short chats)."""


@attrs.frozen
class Excess:
    """What the tokens above a low mark have cost since the last cut.

    The online rule: cut when they have cost as much as the cut will,
    `r * sum(x - L) >= (w - r) * L`, L being what the last cut left: so much is written
    anew by the next one. No forecast of the growth is needed.

    >>> watch = Excess(low=1_000).after(1_500).after(2_000)
    >>> watch.tokens, watch.is_due(Prices(read=0.5, write=1.0))
    (1500, True)

    Args:
        low:
            Tokens that the last cut left; before the first, the target.
        tokens:
            Sum, over the calls since the last cut, of the tokens above *low*.
    """

    low: int
    tokens: int = 0

    def after(self, window: int) -> Excess:
        """The same after one more call with a window of that many tokens."""
        return attrs.evolve(self, tokens=self.tokens + max(window - self.low, 0))

    def is_due(self, prices: Prices) -> bool:
        """Whether cutting now costs no more than waiting has."""
        return self.tokens > 0 and self.tokens >= prices.regret * self.low


def best_trigger(low: int, growth: float, prices: Prices) -> int:
    """The window at which to cut down to *low*, when each call adds *growth* tokens.

    `H* = L + sqrt(2 (w - r) / r * g * L)`; within 0 to 7 % of the best swept trigger.

    >>> best_trigger(20_000, 600, Prices(read=0.1, write=1.25))
    36613
    """
    return low + math.floor(math.sqrt(2 * max(prices.regret, 0) * growth * low))


def clear_at_least(behind: int, calls: int, prices: Prices) -> int:
    """Tokens that an edit in place must free to pay back within *calls* calls.

    Everything behind the edit (*behind* tokens) is written to the cache anew, so it
    pays back after `(w - r) / r * behind / freed` calls.

    >>> clear_at_least(behind=20_000, calls=40, prices=Prices(read=0.1, write=1.25))
    5750
    """
    return math.ceil(max(prices.regret, 0) * behind / max(calls, 1))
