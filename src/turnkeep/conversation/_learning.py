"""What a provider's own figures teach a conversation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import FrozenDict, GenerationStats, GenerationTotals
from turnkeep.plans import Plan
from turnkeep.tokens import Calibration, RequestCounter, Usage, request_tokens

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

    def observe(self, usage: Any, plan: Plan | None, *, exact: bool) -> Observation:
        """Take one answer's usage.

        Args:
            usage:
                The provider's object or dict, or a `GenerationStats`.
            plan:
                The plan of the window that was sent.
            exact:
                Whether the counter needs no correction.

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
        if plan is not None and not exact and sent:
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
        return other

    def to_saved(self) -> SavedLearning | None:
        """What there is to save; nothing where nothing was observed."""
        if not self.totals.generations:
            return None
        return SavedLearning(
            FrozenDict(self.calibration.to_dict()),
            self.usage,
            self.totals.generations,
            self.totals.timed_tokens,
            self.totals.duration // timedelta(microseconds=1),
            self._warm_prefix,
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


def _stats_of(usage: Usage) -> GenerationStats:
    return GenerationStats.timed(
        usage.output_tokens,
        usage.input_tokens,
        first_token_seconds=usage.first_token_seconds,
        seconds=usage.generation_seconds,
    )
