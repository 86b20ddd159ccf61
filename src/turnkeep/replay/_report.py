"""What a replay found, and several replays added up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from turnkeep.budgets import Prices

SLIDING = "sliding window"
"""The reference: the default strategy moved at every call, as most libraries do."""

FULL = "no trimming"
"""The other reference: every request holds the whole history."""


@attrs.frozen
class Lost:
    """A name that was asked for when no message of the window said it any more."""

    name: str
    """An id, path, name or value that a call used, or a word of a question; the id of
    a message that was expected."""
    call: int
    """Which call, from 0."""
    message: str
    """Id of the message that used it: the model's answer, or the question."""
    source: str
    """Id of the newest message that had said it."""


@attrs.frozen
class Call:
    """One request under one strategy."""

    message: str
    """Id of the answer."""
    tokens: int
    cached: int
    """Tokens of it that the provider's cache held."""
    pruned: bool
    missing: tuple[str, ...]
    """What the answer used and the window did not say."""


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
    evidence: int
    """Rare words of users' messages that earlier messages had said; else what was
    expected."""
    found: float
    """Share of it that stood in the window when it was asked for."""
    questions: int
    """Users' messages with such words, or expected questions."""
    recalled: float
    """Share of them for which all of it was there."""
    target: int
    """Tokens that a cut goes down to."""
    windows: tuple[int, ...] = attrs.field(repr=False)
    """Tokens of each window, call by call."""
    lost: tuple[Lost, ...] = attrs.field(default=(), repr=False)
    """What was missing, call by call."""
    each: tuple[Call, ...] = attrs.field(default=(), repr=False)
    """Every request; none where several sessions are added up."""

    @property
    def mean(self) -> int:
        """Tokens of a window, on average: equal limits are not equal sizes."""
        return round(self.tokens / self.calls) if self.calls else 0

    @property
    def whole_interval(self) -> tuple[float, float]:
        """Between what *whole* may be with 95 % confidence, were calls independent."""
        return interval(self.whole, self.steps)

    @property
    def recalled_interval(self) -> tuple[float, float]:
        """The same of *recalled*."""
        return interval(self.recalled, self.questions)


def interval(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of *count* cases (Wilson 1927).

    >>> interval(0.9, 100)
    (0.825634, 0.944771)
    >>> interval(1.0, 0)
    (0.0, 1.0)
    """
    if not count:
        return 0.0, 1.0
    z = 1.959964
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    low, high = (middle - spread) / whole, (middle + spread) / whole
    return round(max(low, 0.0), 6), round(min(high, 1.0), 6)


@attrs.frozen
class Report:
    """A session replayed under several strategies."""

    calls: int
    tokens: int
    """Tokens of the whole session."""
    limit: int
    """Tokens a window may have."""
    target: int
    """Tokens a cut goes down to; the first of several."""
    prices: Prices
    outcomes: tuple[Outcome, ...]
    """Never trimming first, then the sliding window, then the strategies."""
    is_expected: bool = False
    """Whether the questions were given: then their answers are what matters most."""

    @property
    def by_cost(self) -> tuple[Outcome, ...]:
        """The outcomes, the cheapest first."""
        return tuple(sorted(self.outcomes, key=lambda outcome: outcome.cost))

    @property
    def judged_by(self) -> str:
        """The field of an outcome that tells how good it is; empty if nothing does."""
        first = self.outcomes[0]
        if first.questions and (self.is_expected or not first.steps):
            return "recalled"
        return "whole" if first.steps else ""

    def advice(self, within: float = 0.01) -> Outcome | None:
        """The cheapest strategy whose share is within *within* of the best one's.

        None where no strategy was compared.
        """
        compared = self.outcomes[2:]
        if not compared:
            return None
        by = self.judged_by
        shares = [getattr(outcome, by) if by else 1.0 for outcome in compared]
        least = round(max(shares) - within, 6)
        good = (o for o, share in zip(compared, shares, strict=True) if share >= least)
        return min(good, key=lambda outcome: outcome.cost)

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
    evidence = sum(o.evidence for o in outcomes)
    questions = sum(o.questions for o in outcomes)
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
        evidence=evidence,
        found=share(sum(o.found * o.evidence for o in outcomes), evidence),
        questions=questions,
        recalled=share(sum(o.recalled * o.questions for o in outcomes), questions),
        target=outcomes[0].target,
        windows=tuple(tokens for o in outcomes for tokens in o.windows),
    )
