"""What a provider's own figures teach a conversation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs

from turnkeep.budgets import Budget
from turnkeep.errors import FormatError
from turnkeep.model import FrozenDict, GenerationStats, GenerationTotals
from turnkeep.plans import Plan
from turnkeep.tokens import (
    Calibration,
    ContextExceeded,
    RequestCounter,
    Usage,
    request_tokens,
)

CACHEABLE = 1_024
"""Tokens from which providers cache a prompt at all (OpenAI, most Anthropic models)."""


@attrs.frozen
class Observation:
    """What one answer of the provider told."""

    usage: Usage
    """The provider's figures, in one shape for all of them."""

    estimated: int
    """What the window was counted as, uncorrected."""

    predicted: int
    """What it was expected to be, with all that had been learned before."""

    cold: bool
    """Whether the prompt cache was empty though the prefix had not changed."""

    @property
    def error(self) -> float:
        """How far the expectation was off; 0.1 is a tenth of the truth too much."""
        observed = self.usage.input_tokens
        return (self.predicted - observed) / observed if observed else 0.0


@attrs.frozen
class SavedLearning:
    """A `Learner` as it is saved."""

    calibration: FrozenDict
    usage: Usage
    generations: int
    timed_tokens: int = 0
    microseconds: int = 0
    """Of the generations that told their duration."""
    warm_prefix: int = 0
    ceiling: int | None = None
    longest: int | None = None


class Learner:
    """Corrects an estimating counter, sums up usage, and notices a cold cache."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.calibration = Calibration()
        self.usage = Usage()
        """Everything so far, added up exactly."""
        self.totals = GenerationTotals()
        """The same as generation statistics: one record for each answer."""
        self._warm_prefix = 0
        self.ceiling: int | None = None
        """Tokens, as we count them, of the largest request that is known to fit the
        model; none: it has never refused one."""
        self.longest: int | None = None
        """Tokens that one text may have: half of the window that the model stated."""
        self._within: tuple[Budget, Budget] | None = None

    def within(self, budget: Budget) -> Budget:
        """*budget*, or what the model has been seen to take, if that is less."""
        if self.ceiling is None or budget.max_tokens - budget.reserve <= self.ceiling:
            return budget
        if self._within is None or self._within[0] is not budget:
            less = attrs.evolve(budget, max_tokens=self.ceiling + budget.reserve)
            self._within = budget, less
        return self._within[1]

    def exceed(self, told: ContextExceeded, sent: int, reserve: int) -> None:
        """Learn from a request that was too long.

        Args:
            told:
                What the server said.
            sent:
                The request's tokens, as we counted them; 0 where nobody knows.
            reserve:
                Tokens that were kept free for the answer.
        """
        ceiling = sent * 4 // 5 if sent else None
        if told.limit is not None:
            room = max(told.limit - (told.output or reserve), 1)
            known = room
            if told.used and sent:
                known = _scaled(room, sent, told.used)
            elif ceiling is not None:
                known = min(room, ceiling)
            if ceiling is None or known < sent:
                ceiling = known
            scale = min(sent / told.used, 1.0) if told.used and sent else 1.0
            self.longest = max(int(told.limit * scale) // 2, 1)
        elif told.excess is not None and told.excess < sent:
            ceiling = sent - told.excess
        if ceiling is not None:
            least = ceiling if self.ceiling is None else min(self.ceiling, ceiling)
            self.ceiling = max(least, 1)
        self._within = None

    def forget_limits(self) -> None:
        """Another model has limits of its own."""
        self.ceiling = self.longest = self._within = None

    def observe(
        self, usage: Any, plan: Plan | None, *, exact: bool, teaches: bool
    ) -> Observation:
        """Take one answer's usage.

        Args:
            usage:
                The provider's object or dict, or a `GenerationStats`.
            plan:
                The plan of the window that was sent.
            exact:
                Whether the counter needs no correction.
            teaches:
                Whether it may be corrected by this request.

        Raises:
            FormatError: There are no token counts in *usage*.
        """
        read = Usage.read(usage)
        stats = usage if isinstance(usage, GenerationStats) else _stats_of(read)
        estimated = 0 if plan is None else plan.tokens
        predicted = self.predict(estimated, exact=exact)
        cold = (
            plan is not None
            and not plan.pruned
            and self._warm_prefix >= CACHEABLE
            and read.cached_tokens == 0
        )
        if read.input_tokens:
            tells = read.cached_tokens or read.cache_written_tokens
            # Until a cache has shown itself, no answer can tell that it is empty.
            if tells or self._warm_prefix:
                self._warm_prefix = read.input_tokens
        sent = request_tokens(usage)
        if plan is not None and teaches and sent:
            self.calibration = self.calibration.learn(estimated, sent)
        self.usage += read
        self.totals = self.totals.add(stats)
        return Observation(read, estimated, predicted, cold)

    def copy(self) -> Learner:
        """An independent copy."""
        other = Learner()
        other.calibration = self.calibration
        other.usage, other.totals = self.usage, self.totals
        other._warm_prefix = self._warm_prefix
        other.ceiling, other.longest = self.ceiling, self.longest
        return other

    def to_saved(self) -> SavedLearning | None:
        """What there is to save; nothing where nothing was observed."""
        if not self.totals.generations and self.ceiling is None:
            return None
        return SavedLearning(
            FrozenDict(self.calibration.to_dict()),
            self.usage,
            self.totals.generations,
            self.totals.timed_tokens,
            self.totals.duration // timedelta(microseconds=1),
            self._warm_prefix,
            self.ceiling,
            self.longest,
        )

    @classmethod
    def from_saved(cls, saved: SavedLearning) -> Learner:
        """A learner that knows what was saved.

        Raises:
            FormatError: The calibration is damaged.
        """
        if not isinstance(saved.calibration, dict):
            reason = f"an object expected, got {saved.calibration!r}"
            raise FormatError(reason, "$.learned.calibration")
        made = cls()
        made.calibration = Calibration.from_dict(saved.calibration)
        made.usage = saved.usage
        made.totals = GenerationTotals(
            saved.generations,
            saved.usage.output_tokens,
            saved.usage.input_tokens,
            timedelta(microseconds=saved.microseconds),
            saved.timed_tokens,
        )
        made._warm_prefix = saved.warm_prefix
        made.ceiling, made.longest = saved.ceiling, saved.longest
        return made

    def predict(self, estimated: int, *, exact: bool) -> int:
        """The provider's likely figure for a request that we count as *estimated*."""
        return estimated if exact else self.calibration.correct(estimated)

    def margin(self, room: int, counter: RequestCounter) -> float:
        """The margin to plan with, so that *room* true tokens are not exceeded.

        A share of what we count: negative where we count too much. Taught figures
        replace the estimator's own margin; the result is the largest count whose
        corrected figure, its own margin added, still fits the room.
        """
        seen = self.calibration
        untaught = counter.margin
        if counter.exact or not seen.count:
            return untaught

        def needed(count: int) -> float:
            return seen.correct(count) * (1 + seen.margin(untaught, count))

        low, high = 1, max(room * 4, 2)
        while low < high:
            middle = (low + high + 1) // 2
            if needed(middle) <= room:
                low = middle
            else:
                high = middle - 1
        # Rounded up: a margin that is a little too large leaves a token unused.
        return -(-(room / low - 1) * 10_000 // 1) / 10_000


def _scaled(room: int, sent: int, used: int) -> int:
    """How much of ours has *room* tokens, where *used* was *sent* as we count.

    What we did not count may be the same for every request, or a share of each: the
    smaller figure is right either way, as long as it is one; else a share, with a tenth
    to spare.
    """
    if used <= sent:
        return room
    if room > used - sent:
        return room - (used - sent)
    return room * sent * 9 // (used * 10)


def _stats_of(usage: Usage) -> GenerationStats:
    return GenerationStats.timed(
        usage.output_tokens,
        usage.input_tokens,
        first_token_seconds=usage.first_token_seconds,
        seconds=usage.generation_seconds,
    )
