from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import reduce
from typing import Self

import attrs

_ZERO = timedelta()


@attrs.frozen
class GenerationStats:
    """What one completed answer of the model took; one record for each.

    Times are exact to the microsecond, so that sums are.
    """

    tokens_generated: int
    prompt_tokens: int
    tokens_per_second: float | None = None
    """As the backend told it."""
    time_to_first_token: timedelta | None = None
    duration: timedelta | None = None

    @classmethod
    def timed(
        cls,
        tokens_generated: int,
        prompt_tokens: int,
        *,
        first_token_seconds: float | None = None,
        seconds: float | None = None,
    ) -> Self:
        """The record of an answer whose times are known in seconds.

        The speed follows from the duration, where that is known and not zero.
        """
        return cls(
            tokens_generated,
            prompt_tokens,
            tokens_generated / seconds if seconds else None,
            None if first_token_seconds is None else _time(first_token_seconds),
            None if seconds is None else _time(seconds),
        )


@attrs.frozen
class GenerationTotals:
    """Several generations together: exact sums, however many and in whatever order.

    >>> one = GenerationStats.timed(10, 100, seconds=0.1)
    >>> GenerationTotals.of([one] * 10).duration
    datetime.timedelta(seconds=1)
    """

    generations: int = 0
    tokens_generated: int = 0
    prompt_tokens: int = 0
    duration: timedelta = _ZERO
    """Of the generations that told theirs."""
    timed_tokens: int = 0
    """Tokens of the generations that told their duration."""

    @classmethod
    def of(cls, stats: Iterable[GenerationStats]) -> Self:
        """The sums over *stats*."""
        return reduce(lambda total, one: total.add(one), stats, cls())

    def add(self, stats: GenerationStats) -> Self:
        """These sums with one more generation."""
        timed = stats.duration is not None
        return attrs.evolve(
            self,
            generations=self.generations + 1,
            tokens_generated=self.tokens_generated + stats.tokens_generated,
            prompt_tokens=self.prompt_tokens + stats.prompt_tokens,
            duration=self.duration + (stats.duration or _ZERO),
            timed_tokens=self.timed_tokens + (stats.tokens_generated if timed else 0),
        )

    @property
    def tokens_per_second(self) -> float | None:
        """Speed over all generations whose duration is known; none without any."""
        if not self.duration:
            return None
        return self.timed_tokens / self.duration.total_seconds()


def _time(seconds: float) -> timedelta:
    return timedelta(microseconds=round(seconds * 1_000_000))
