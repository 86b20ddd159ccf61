from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import attrs

from turnkeep.index import HistoryView
from turnkeep.plans import Edit


@runtime_checkable
class Strategy(Protocol):
    """Ranks what may go, or may be shortened, and in which order; nothing else.

    The engine takes edits lazily until its target is met, and skips any that would
    break a promise, so a strategy neither counts nor decides when to stop.
    """

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield edits in the order in which they would be given up."""
        ...


def strategy_or_none(
    instance: object, attribute: attrs.Attribute[Any], value: Any
) -> None:
    """Validate a strategy inside another one; `None` stands for the default.

    Raises:
        TypeError: It is neither. A class is none: its instances are.
    """
    del instance
    if value is None or (isinstance(value, Strategy) and not isinstance(value, type)):
        return
    if isinstance(value, type):
        called = f"an object such as {value.__name__}(), not the class"
    else:
        called = f"a strategy, not {value!r} (by name: {attribute.name}=(oldest-turns))"
    msg = f"{attribute.name} must be {called}"
    raise TypeError(msg)


class Composable:
    """Gives a strategy `A | B` (first A, then B) and `A & B` (alternating)."""

    __slots__ = ()

    @property
    def stable(self) -> bool:
        """Whether what it gives up of a log does not change as the log grows.

        Then the cut of a plain list is a pure function of the list, and the provider's
        prompt cache is rewritten seldom.
        """
        return False

    @property
    def drops(self) -> bool:
        """Whether the first thing that it gives up is a step, not a part of one.

        Large results are shortened before that.
        """
        return True

    def __or__(self, other: Strategy) -> Then:
        return Then(self, other)  # type: ignore[arg-type]

    def __and__(self, other: Strategy) -> Alternating:
        return Alternating(self, other)  # type: ignore[arg-type]


def drops_first(strategy: object) -> bool:
    """Whether a strategy, anyone's, gives up steps before parts of them."""
    return bool(getattr(strategy, "drops", True))


def is_stable(strategy: object) -> bool:
    """Whether a strategy, anyone's, says that it is stable."""
    return bool(getattr(strategy, "stable", False))


class Shrinking(Composable):
    """A strategy that makes messages smaller, and drops none."""

    __slots__ = ()

    @property
    def drops(self) -> bool:
        """It does not."""
        return False


class Stable(Composable):
    """A strategy that never changes its mind about the old part of a log."""

    __slots__ = ()

    @property
    def stable(self) -> bool:
        """It is."""
        return True


@attrs.frozen
class Then(Composable):
    """All that *first* proposes, then all that *second* does: `first | second`."""

    first: Strategy
    second: Strategy

    @property
    def stable(self) -> bool:
        """Where both are."""
        return is_stable(self.first) and is_stable(self.second)

    @property
    def drops(self) -> bool:
        """What the first one does."""
        return drops_first(self.first)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the edits of both, one after the other."""
        yield from self.first.propose(history)
        yield from self.second.propose(history)


@attrs.frozen
class Alternating(Composable):
    """The two strategies' proposals in alternation: `first & second`."""

    first: Strategy
    second: Strategy

    @property
    def drops(self) -> bool:
        """What the first one does."""
        return drops_first(self.first)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield one edit of each in alternation, then what is left of the longer."""
        ours, theirs = self.first.propose(history), self.second.propose(history)
        for edit in ours:
            yield edit
            if (other := next(theirs, None)) is not None:
                yield other
        yield from theirs


def parts_of(strategy: object) -> Iterator[Strategy]:
    """A strategy, and those that it is made of; anyone's, if they are attrs classes."""
    if isinstance(strategy, Strategy):
        yield strategy
    kind: type[Any] = type(strategy)
    if attrs.has(kind):
        for field in attrs.fields(kind):
            part = getattr(strategy, field.name)
            if isinstance(part, Strategy):
                yield from parts_of(part)


def strategy_of(strategy: Strategy | str | None) -> Strategy | None:
    """The strategy that was asked for: an object, or what the command line takes.

    Raises:
        StrategyError: No strategy has that name.
        ValueError: It is what `trim_messages` of LangChain takes.
        TypeError: It is neither text nor strategy.
    """
    if isinstance(strategy, type):
        called = strategy.__name__
        msg = f"strategy must be an object, not a class: {called}() makes one"
        raise TypeError(msg)
    if strategy is None or isinstance(strategy, Strategy):
        return strategy
    if not isinstance(strategy, str):
        msg = (
            "strategy must have a propose() method or be a text such as "
            f"'digest | oldest-turns', got {strategy!r}"
        )
        raise TypeError(msg)
    if strategy == "last":
        msg = (
            "strategy='last': the newest turns stay unless told otherwise; leave it out"
        )
        raise ValueError(msg)
    if strategy == "first":
        msg = (
            "strategy='first': pass strategy='keep-ends:first=2,last=1' to keep turns "
            "at both ends; the last question always stays"
        )
        raise ValueError(msg)
    from ._registry import by_name  # noqa: PLC0415 - most pass objects

    return by_name(strategy)


def at_least(
    minimum: int,
) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """A validator of whole numbers not below *minimum*."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        del instance
        if isinstance(value, bool) or not isinstance(value, int):
            msg = f"{attribute.name} must be a whole number, not {value!r}"
            raise TypeError(msg)
        if value < minimum:
            msg = f"{attribute.name} must be at least {minimum}, not {value}"
            raise ValueError(msg)

    return check


def part(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a share from 0 to 1, both included.

    Raises:
        TypeError: It is not a number.
        ValueError: It is out of range.
    """
    del instance
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{attribute.name} must be a share from 0 to 1, not {value!r}"
        raise TypeError(msg)
    if not 0 <= value <= 1:
        msg = f"{attribute.name} must be from 0 to 1, not {value!r}"
        raise ValueError(msg)


def share(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate a share between 0 and 1, both excluded.

    Raises:
        TypeError: It is not a number.
        ValueError: It is out of range.
    """
    del instance
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{attribute.name} must be a share between 0 and 1, not {value!r}"
        raise TypeError(msg)
    if not 0 < value < 1:
        msg = f"{attribute.name} must be between 0 and 1, not {value!r}"
        raise ValueError(msg)
