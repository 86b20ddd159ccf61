"""How much a request may hold, when to prune, and how deep.

Not public under this name: import them from `turnkeep`.
"""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any, SupportsIndex

import attrs

from turnkeep.providers import cache_ttl, parse_model


@attrs.frozen
class Prices:
    """What a cached and a newly written prompt token cost, relative to a plain one.

    >>> Prices(read=0.1, write=1.25).regret
    11.5

    Args:
        read:
            Price of a token read from the provider's prompt cache.
        write:
            Price of a token that is written to it; 1 where writing costs nothing more.
        ttl:
            How long what is cached outlives its last use. After a longer pause, by the
            messages' time stamps, a conversation prunes at once: the rest is written
            anyway. None where that is not known.
    """

    read: float = attrs.field(default=0.1)
    write: float = attrs.field(default=1.25)
    ttl: timedelta | None = attrs.field(default=None)

    @read.validator
    @write.validator
    def _positive(self, attribute: attrs.Attribute[float], value: float) -> None:
        if not (math.isfinite(value) and value > 0):
            msg = f"{attribute.name} must be a positive number, not {value!r}"
            raise ValueError(msg)

    @ttl.validator
    def _lasts(self, attribute: attrs.Attribute[Any], value: object) -> None:
        if value is None:
            return
        if not isinstance(value, timedelta):
            msg = f"{attribute.name} must be a timedelta, not {value!r}"
            raise TypeError(msg)
        if value <= timedelta(0):
            msg = f"{attribute.name} must be longer than nothing, not {value!r}"
            raise ValueError(msg)

    @property
    def regret(self) -> float:
        """Calls after which a rewritten token has paid for itself: (w - r) / r."""
        return round((self.write - self.read) / self.read, 6)


def _plain(value: Any) -> Any:
    """A whole number of another library (numpy's, say) as Python's own."""
    if type(value) in (int, bool) or not isinstance(value, SupportsIndex):
        return value
    return index(value)


def _whole(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    del instance
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{attribute.name} must be a whole number, not {value!r}"
        raise TypeError(msg)


def _limit(
    instance: object, attribute: attrs.Attribute[int | None], value: int | None
) -> None:
    if value is None:
        return
    _whole(instance, attribute, value)  # type: ignore[arg-type]
    least = 0 if attribute.name == "max_images" else 1
    if value < least:
        msg = f"{attribute.name} must be at least {least}, not {value}"
        raise ValueError(msg)


@attrs.frozen
class Budget:
    """How many tokens a request may hold, and how pruning goes about it.

    >>> Budget(128_000, reserve=4_096).available(tools=900, overhead=3)
    123001

    Args:
        max_tokens:
            Tokens of the whole request: messages, system, tools, overhead, and the
            answer that *reserve* keeps room for.
        reserve:
            Tokens to leave free for the answer.
        trigger:
            Pruning starts when the history exceeds this share of what is available.
        target:
            Pruning goes down to this share. `None` is 1.0 for the one-shot functions
            and 0.6 for a `Conversation`: each cut rewrites the provider's prompt cache,
            so few deep cuts are cheaper than many shallow ones.
        prices:
            Prunes when it pays rather than at the trigger (see `Prices`).
        max_turns:
            Turns a window may hold.
        max_messages:
            Messages a window may hold.
        max_images:
            Pictures a window may hold; older ones are stripped first.

    Raises:
        ValueError: A number out of its range.
        TypeError: Tokens that are not whole numbers.
    """

    max_tokens: int = attrs.field(converter=_plain, validator=_whole)
    reserve: int = attrs.field(
        default=0, kw_only=True, converter=_plain, validator=_whole
    )
    trigger: float = attrs.field(default=1.0, kw_only=True)
    target: float | None = attrs.field(default=None, kw_only=True)
    prices: Prices | None = attrs.field(default=None, kw_only=True)
    max_turns: int | None = attrs.field(
        default=None, kw_only=True, converter=_plain, validator=_limit
    )
    max_messages: int | None = attrs.field(
        default=None, kw_only=True, converter=_plain, validator=_limit
    )
    max_images: int | None = attrs.field(
        default=None, kw_only=True, converter=_plain, validator=_limit
    )

    def __attrs_post_init__(self) -> None:
        """Check the ranges."""
        if self.max_tokens <= 0:
            msg = f"max_tokens must be positive, not {self.max_tokens}"
            raise ValueError(msg)
        if not 0 <= self.reserve < self.max_tokens:
            msg = (
                f"reserve must be at least 0 and less than max_tokens "
                f"({self.max_tokens}), not {self.reserve}"
            )
            raise ValueError(msg)
        if self.prices is not None and not isinstance(self.prices, Prices):
            msg = f"prices must be Prices(read=..., write=...), not {self.prices!r}"
            raise TypeError(msg)
        for name in ("trigger", "target"):
            share = getattr(self, name)
            if share is None:
                continue
            if isinstance(share, bool) or not isinstance(share, (int, float)):
                msg = f"{name} must be a share between 0 and 1, not {share!r}"
                raise TypeError(msg)
            if not 0 < share <= 1:
                msg = f"{name} must be greater than 0 and at most 1, not {share!r}"
                raise ValueError(msg)
        if self.target is not None and self.target > self.trigger:
            msg = f"target ({self.target}) must not exceed trigger ({self.trigger})"
            raise ValueError(msg)

    @classmethod
    def of(cls, budget: Budget | int) -> Budget:
        """The budget that was meant: a number is one of tokens.

        >>> Budget.of(8_000) == Budget(8_000)
        True

        Raises:
            TypeError: It is neither.
            ValueError: It is out of its range.
        """
        if isinstance(budget, Budget):
            return budget
        budget = _plain(budget)
        if isinstance(budget, bool) or not isinstance(budget, int):
            msg = f"budget must be a Budget or a whole number of tokens, got {budget!r}"
            raise TypeError(msg)
        return cls(budget)

    @classmethod
    def for_model(
        cls, name: str, *, reserve: int | None = None, ttl: timedelta | None = None
    ) -> Budget:
        """The whole context window of a model, and what its prompt cache costs.

        Window and prices come from the extra `models` (`genai-prices`), the life of
        the cache from what the provider says of it.

        Args:
            name:
                The model, as its provider names it.
            reserve:
                Tokens for the answer; 4,096 unless given.
            ttl:
                How long the cache shall live, where requests ask for more than usual:
                an hour of Anthropic's costs more to write.

        Raises:
            ValueError: The extra is missing, or nothing is known about the model.
        """
        return _for_model(name, reserve, ttl)

    def available(
        self, *, tools: int = 0, overhead: int = 0, margin: float = 0.0
    ) -> int:
        """Tokens left for messages; negative when not even the fixed part fits.

        An inexact count is compared with its *margin* added, so the margin is taken
        off here, once.
        """
        room = self.max_tokens - self.reserve
        return math.floor(room / _one_plus(margin)) - tools - overhead

    def smallest(self, needed: int, *, margin: float = 0.0) -> int:
        """The smallest `max_tokens` whose room takes *needed* tokens in all."""
        return self.reserve + max(1, math.ceil(needed * _one_plus(margin)))

    def goal(self, default: float) -> float:
        """The share to cut down to, *default* (at most the trigger) if unset."""
        return min(default, self.trigger) if self.target is None else self.target


def _one_plus(margin: float) -> Fraction:
    # Through the decimal digits: 1 + 0.1 as binary fractions is not 1.1.
    return 1 + Fraction(Decimal(repr(margin)))


def share_of(available: int, share: float) -> int:
    """*share* of *available* tokens, rounded down; exact for decimal shares."""
    return math.floor(max(available, 0) * Fraction(Decimal(repr(float(share)))))


DEFAULT_OUTPUT = 4_096
"""Tokens left free for the answer where a model's maximal output is not known."""


def _for_model(model: str, reserve: int | None, ttl: timedelta | None) -> Budget:
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - an extra
    except ImportError:
        msg = (
            f"the context window of {model!r} is only known with the extra 'models' "
            "(pip install 'turnkeep[models]'); pass max_tokens= or budget= instead"
        )
        raise ValueError(msg) from None
    info = None
    # A host's name for it (Bedrock's ids, say) is not listed, but the maker's is.
    for name in dict.fromkeys((model, parse_model(model).bare)):
        try:
            _, info = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        break
    window = info.context_window if info is not None else None
    if info is None or window is None:
        msg = f"no context window is known for {model!r}; pass max_tokens= or budget="
        raise ValueError(msg)
    prices = (
        info.prices if not isinstance(info.prices, list) else info.prices[-1].prices
    )
    kept = DEFAULT_OUTPUT if reserve is None else reserve
    known = _prices_of(model, prices, ttl)
    return Budget(window, reserve=min(kept, window - 1), prices=known)


def _prices_of(model: str, listed: Any, ttl: timedelta | None) -> Prices | None:
    """What the cache of *model* costs, by a price list; none where it has no cache."""
    plain, read = _mtok(listed.input_mtok), _mtok(listed.cache_read_mtok)
    if not plain or not read:
        return None
    usual = cache_ttl(model)
    write = _mtok(listed.cache_write_mtok)
    if ttl is not None and usual is not None and ttl > usual:
        write = _mtok(getattr(listed, "cache_write_1h_mtok", None)) or write
    return Prices(
        read=float(read / plain),
        write=float((write or plain) / plain),
        ttl=usual if ttl is None else ttl,
    )


def _mtok(price: object) -> Decimal | None:
    """A price per million tokens; of a tiered one its base."""
    base = getattr(price, "base", price)
    return base if isinstance(base, Decimal) else None
