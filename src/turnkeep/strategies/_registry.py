"""Strategies by name: our own, compositions of them, and other packages' own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from importlib.metadata import entry_points
from inspect import Parameter, signature
from typing import Any

from turnkeep.errors import StrategyError
from turnkeep.model._checks import near

from ._base import Strategy

GROUP = "turnkeep.strategies"
"""The entry-point group in which other packages name their strategies."""

_OURS = {
    "clear-tool-results": "_clear:ClearToolResults",
    "digest": "_digest:Digest",
    "keep-ends": "_ends:KeepEnds",
    "keep-recent": "_recent:KeepRecent",
    "largest-first": "_largest:LargestFirst",
    "least-recently-referenced": "_referenced:LeastRecentlyReferenced",
    "lowest-priority": "_priority:LowestPriority",
    "offload": "_offload:Offload",
    "older-than": "_older:OlderThan",
    "oldest-steps": "_oldest:OldestSteps",
    "oldest-turns": "_oldest:OldestTurns",
    "relevance": "_relevance:Relevance",
    "strip-images": "_images:StripImages",
    "strip-thinking": "_thinking:StripThinking",
    "superseded": "_superseded:Superseded",
    "truncate-tool-results": "_truncate:TruncateToolResults",
}

_MIXES = {
    "agent": "digest | keep-recent:share=0.3,"
    "rest=(relevance & least-recently-referenced)",
    "chat": "oldest-turns | oldest-steps",
    "memory": "keep-recent:share=0.3,rest=(relevance)",
}
"""Names of compositions that have proved themselves; `"chat"` is the default."""

_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def names() -> tuple[str, ...]:
    """Every name that `by_name` takes, sorted."""
    return tuple(sorted({*_OURS, *_MIXES, *(entry.name for entry in _others())}))


def by_name(spec: str) -> Strategy:
    """The strategy that *spec* names, with the parameters it gives.

    A name alone, or followed by a colon and `parameter=value` pairs; `|` takes one
    after the other, `&` takes them alternating (it binds closer), parentheses group.
    `chat` is what is done unless a strategy is given; `agent` and `memory` are
    compositions for long tool use and for long memory.

    >>> by_name("truncate-tool-results:max_tokens=100 | oldest-steps")
    Then(first=TruncateToolResults(max_tokens=100, head=0.5), second=OldestSteps())
    >>> by_name("keep-recent:share=0.3,rest=(oldest-steps & largest-first)").share
    0.3

    Numbers, `true` and `false` are read as such; ages as `90m`, `12h`, `7d`; names of
    tools separated by `+`; strategies in parentheses.

    Raises:
        StrategyError: No such strategy or parameter, or a value out of its range.
    """
    reader = _Reader(spec)
    strategy = reader.alternatives()
    reader.skip()
    if reader.at != len(spec):
        raise StrategyError(spec, f"unexpected {spec[reader.at :]!r}")
    return strategy


class _Reader:
    """Reads a specification from left to right."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.at = 0

    def skip(self) -> None:
        while self.at < len(self.spec) and self.spec[self.at].isspace():
            self.at += 1

    def take(self, text: str) -> bool:
        self.skip()
        found = self.spec.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    def alternatives(self) -> Strategy:
        strategy: Any = self.turns()
        while self.take("|"):
            strategy = _both(strategy, self.turns(), then=True)
        return strategy  # type: ignore[no-any-return]

    def turns(self) -> Strategy:
        strategy: Any = self.one()
        while self.take("&"):
            strategy = _both(strategy, self.one(), then=False)
        return strategy  # type: ignore[no-any-return]

    def one(self) -> Strategy:
        if self.take("("):
            strategy = self.alternatives()
            if not self.take(")"):
                raise StrategyError(self.spec, "a parenthesis is not closed")
            return strategy
        name = self.word(r"[\w.-]+", "the name of a strategy")
        options: dict[str, Any] = {}
        while self.take("," if options else ":"):
            key = self.word(r"\w+", "the name of a parameter")
            if not self.take("="):
                raise StrategyError(self.spec, f"{key} has no value")
            self.skip()
            options[key] = self.value()
        return _make(name, options)

    def value(self) -> Any:
        if self.spec.startswith("(", self.at):
            return self.one()
        return _value(self.word(r"[^,|&()]+", "a value").strip(), self.spec)

    def word(self, pattern: str, what: str) -> str:
        self.skip()
        match = re.compile(pattern).match(self.spec, self.at)
        if match is None:
            raise StrategyError(self.spec, f"{what} is missing at {self.at}")
        self.at = match.end()
        return match.group()


def _both(first: Strategy, second: Strategy, *, then: bool) -> Strategy:
    # Strategies of other packages need not compose by themselves.
    from ._base import Alternating, Then  # noqa: PLC0415 - keeps the names above together

    return Then(first, second) if then else Alternating(first, second)


def _value(text: str, spec: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text == "none":
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    age = _AGE.fullmatch(text)
    if age is not None:
        try:
            return timedelta(**{_UNITS[age[2]]: float(age[1])})
        except OverflowError:
            most = f"{timedelta.max.days:,} days"
            raise StrategyError(spec, f"the age {text} is over {most}") from None
    return tuple(text.split("+")) if "+" in text else text


def _others() -> list[Any]:
    return list(entry_points(group=GROUP))


def _make(name: str, options: Mapping[str, Any]) -> Strategy:
    if name in _MIXES:
        if options:
            reason = f"it has no parameters; it stands for {_MIXES[name]!r}"
            raise StrategyError(name, reason)
        return by_name(_MIXES[name])
    maker = _class(name)
    _check(name, maker, options)
    try:
        made = maker(**options)
    except (TypeError, ValueError) as error:
        raise StrategyError(name, str(error)) from error
    if not isinstance(made, Strategy):
        raise StrategyError(name, "it has no propose() method")
    return made


def _check(name: str, maker: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse parameters that *maker* has not, or lacks, in the words of a spec."""
    try:
        known = signature(maker).parameters
    except ValueError:
        return  # written in C: it says itself what it takes
    kinds = {parameter.kind for parameter in known.values()}
    for key, value in options.items():
        if key not in known and Parameter.VAR_KEYWORD not in kinds:
            there = f"there are {', '.join(known)}" if known else "it has none"
            reason = f"no parameter {key!r}; {there}{near(key, known)}"
            raise StrategyError(name, reason)
        if key in known and _is_age(known[key]) and not isinstance(value, timedelta):
            reason = f"{key} must be an age such as 90m, 12h or 7d, not {value!r}"
            raise StrategyError(name, reason)
    for key, parameter in known.items():
        if _is_needed(parameter) and key not in options:
            example = "12h" if _is_age(parameter) else "..."
            raise StrategyError(name, f"{key} is missing: {name}:{key}={example}")


def _is_needed(parameter: Parameter) -> bool:
    rest = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    return parameter.default is Parameter.empty and parameter.kind not in rest


def _is_age(parameter: Parameter) -> bool:
    # Annotations are texts in modules that postpone them.
    return parameter.annotation in (timedelta, "timedelta")


def _class(name: str) -> Callable[..., Any]:
    place = _OURS.get(name)
    if place is not None:
        module, _, attribute = place.partition(":")
        found: Callable[..., Any] = getattr(
            import_module(f".{module}", __package__), attribute
        )
        return found
    for entry in _others():
        if entry.name == name:
            try:
                loaded: Callable[..., Any] = entry.load()
            except (ImportError, AttributeError) as error:
                reason = f"its package cannot be loaded: {error}"
                raise StrategyError(name, reason) from error
            return loaded
    known = names()
    there = ", ".join(known)
    meant = near(name, known)
    # What was meant comes first: the list is long.
    reason = (
        f"not known{meant} (there are {there})"
        if meant
        else (f"not known; there are {there}")
    )
    raise StrategyError(name, reason)
