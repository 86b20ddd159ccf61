"""What a replay found, and several replays added up."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnkeep.budgets import Prices

SLIDING = "sliding window"
"""The reference: the default strategy moved at every call, as most libraries do."""

FULL = "no trimming"
"""The other reference: every request holds the whole history."""


@attrs.frozen
class Outcome:
    """What one strategy would have cost and kept over a session."""

    name: str
    cost: float
    """Of all requests, in plain prompt tokens."""
    to_full: float
    """Cost relative to never trimming."""
    to_sliding: float
    """Cost relative to the window that moves at every call."""
    calls: int
    tokens: int
    """Prompt tokens sent in all."""
    cached: float
    """Share of them that the provider's cache held."""
    breaks: int
    """Calls whose request did not begin with the whole of the one before."""
    prunes: int
    """Calls at which the strategy was asked."""
    largest: int
    """Tokens of the largest window."""
    over: int
    """Calls at which what must stay did not fit, sent all the same."""
    referents: int
    """Ids, paths, names and values that calls took from earlier results."""
    kept: float
    """Share of them that stood in the window when they were used."""
    steps: int
    """Calls that took any."""
    whole: float
    """Share of those calls whose referents were all there."""
    windows: tuple[int, ...] = attrs.field(repr=False)
    """Tokens of each window, call by call."""


@attrs.frozen
class Report:
    """A session replayed under several strategies."""

    calls: int
    tokens: int
    """Tokens of the whole session."""
    limit: int
    """Tokens a window may have."""
    target: int
    """Tokens a cut goes down to."""
    prices: Prices
    outcomes: tuple[Outcome, ...]
    """Never trimming first, then the sliding window, then the strategies."""

    def outcome(self, name: str) -> Outcome:
        """The outcome of that name.

        Raises:
            KeyError: There is none.
        """
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(name)


ReplayReport = Report
"""The name under which the package exports it."""


def share(part: float, whole: float, empty: float = 1.0) -> float:
    return round(part / whole, 6) if whole else empty


def total(reports: Sequence[Report]) -> Report:
    """Several sessions replayed under the same terms, as one. Costs their calls.

    Raises:
        ValueError: There is none, or they differ in strategies, limit or prices.
    """
    if not reports:
        msg = "no report to add up"
        raise ValueError(msg)
    first = reports[0]
    terms = [
        (r.limit, r.target, r.prices, [o.name for o in r.outcomes]) for r in reports
    ]
    if any(others != terms[0] for others in terms):
        msg = "reports made under different terms cannot be added up"
        raise ValueError(msg)
    columns = list(zip(*(r.outcomes for r in reports), strict=True))
    costs = {column[0].name: sum(o.cost for o in column) for column in columns}
    return attrs.evolve(
        first,
        calls=sum(r.calls for r in reports),
        tokens=sum(r.tokens for r in reports),
        outcomes=tuple(
            _added(column, costs[FULL], costs[SLIDING]) for column in columns
        ),
    )


def _added(outcomes: Sequence[Outcome], full: float, sliding: float) -> Outcome:
    cost, tokens = sum(o.cost for o in outcomes), sum(o.tokens for o in outcomes)
    referents = sum(o.referents for o in outcomes)
    steps = sum(o.steps for o in outcomes)
    return Outcome(
        name=outcomes[0].name,
        cost=round(cost, 2),
        to_full=share(cost, full),
        to_sliding=share(cost, sliding),
        calls=sum(o.calls for o in outcomes),
        tokens=tokens,
        cached=share(sum(o.cached * o.tokens for o in outcomes), tokens, 0.0),
        breaks=sum(o.breaks for o in outcomes),
        prunes=sum(o.prunes for o in outcomes),
        largest=max(o.largest for o in outcomes),
        over=sum(o.over for o in outcomes),
        referents=referents,
        kept=share(sum(o.kept * o.referents for o in outcomes), referents),
        steps=steps,
        whole=share(sum(o.whole * o.steps for o in outcomes), steps),
        windows=tuple(tokens for o in outcomes for tokens in o.windows),
    )
