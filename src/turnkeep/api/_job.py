"""One call of `fit` or `plan`: the input taken apart, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from turnkeep.api._lists import CallerCounter, Counter, ListSource, RuleCounter
from turnkeep.budgets import Budget
from turnkeep.engine import OpenCalls, Overflow, Terms, make_plan
from turnkeep.engine._order import Placement
from turnkeep.errors import (
    Held,
    InvalidHistoryError,
    UnknownCallError,
    UnknownMessageError,
    Violation,
)
from turnkeep.formats import (
    Envelope,
    Format,
    open_value,
)
from turnkeep.index import History, Rules
from turnkeep.model import PinScope
from turnkeep.plans import Plan
from turnkeep.profiles import (
    Profile,
    get_profile,
)
from turnkeep.strategies import Strategy
from turnkeep.tokens import RequestCounter, request_counter, text_counter
from turnkeep.turns import OpenCall

Pinned: TypeAlias = Iterable[str | int] | Callable[[Any], object]
"""Ids, indexes (negative ones count from the end), or a predicate on a message."""

OnInvalid: TypeAlias = Literal["repair", "raise", "keep"]


class Options(TypedDict, total=False):
    """What `fit` and `plan` take by name; `plan` says what each is."""

    budget: Budget | None
    model: str | None
    format: str | None
    profile: str | Profile | None
    strategy: Strategy | None
    tools: Any
    system: Any
    pinned: Pinned
    pin_scope: PinScope
    pending: Iterable[str] | None
    drop_system: bool
    token_counter: Any
    on_invalid: OnInvalid
    open_calls: OpenCalls
    on_overflow: Overflow


def check_names(function: str, options: Iterable[str]) -> None:
    """Refuse a name that is no option of *function*.

    Raises:
        TypeError: There is one.
    """
    for name in options:
        if name not in Options.__annotations__:
            from difflib import get_close_matches  # noqa: PLC0415 - for the error only

            near = get_close_matches(name, ["max_tokens", *Options.__annotations__], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            msg = f"{function}() got an unexpected keyword argument {name!r}{hint}"
            raise TypeError(msg)


def open_messages(
    messages: Any, format_name: str | None, model: str | None
) -> tuple[Format, Envelope]:
    """The format of *messages* and its envelope.

    Raises:
        FormatError: No format takes it, or (`AmbiguousFormatError`) several do.
    """
    return open_value(messages, format_name, model=model)


def rule_counter(fmt: Format, model: str | None, counter: Any) -> RequestCounter:
    """The counter of whole requests: *counter* as a user may give it, or the model's.

    Raises:
        TypeError: *counter* is none of what it may be.
    """
    if counter is None or (callable(counter) and not hasattr(counter, "count")):
        return request_counter(format=fmt.name, model=model)
    if isinstance(counter, RequestCounter):
        return counter
    if isinstance(counter, str):
        counter = text_counter(model=model, name=counter)
    if hasattr(counter, "count"):
        return request_counter(format=fmt.name, model=model, text=counter)
    msg = f"token_counter must be a counter, a name or a callable, got {counter!r}"
    raise TypeError(msg)


class Job:
    """One call of `fit` or `plan`: the input taken apart."""

    def __init__(
        self,
        messages: Any,
        max_tokens: int | None = None,
        *,
        budget: Budget | None = None,
        model: str | None = None,
        format: str | None = None,  # noqa: A002 - the public name
        profile: str | Profile | None = None,
        strategy: Strategy | None = None,
        tools: Any = None,
        system: Any = None,
        pinned: Pinned = (),
        pin_scope: PinScope = "turn",
        pending: Iterable[str] | None = None,
        drop_system: bool = False,
        token_counter: Any = None,
        on_invalid: OnInvalid = "repair",
        open_calls: OpenCalls = "stand-in",
        on_overflow: Overflow = "raise",
        lasting: bool = True,
    ) -> None:
        """Take *messages* apart; *lasting*: its plan may be used when they changed."""
        _check_choice("pin_scope", pin_scope, ("turn", "step"))
        _check_choice("on_invalid", on_invalid, ("repair", "raise", "keep"))
        _check_choice("open_calls", open_calls, ("stand-in", "keep", "raise"))
        _check_choice("on_overflow", on_overflow, ("raise", "send"))
        if max_tokens is not None and budget is not None:
            msg = "pass max_tokens= or budget=, not both"
            raise ValueError(msg)
        if max_tokens is not None:
            budget = Budget(max_tokens)
        if strategy is not None and not isinstance(strategy, Strategy):
            msg = f"strategy must have a propose() method, got {strategy!r}"
            raise TypeError(msg)
        self.format, self.envelope = open_messages(messages, format, model)
        model = model or self.envelope.model
        if budget is None:
            if model is None:
                msg = "pass max_tokens=, budget= or model="
                raise ValueError(msg)
            budget = Budget.for_model(model)
        self.budget = budget
        self.strategy = strategy
        if not isinstance(profile, Profile):
            profile = get_profile(self.format.name, model, profile)
        self.profile = profile
        body = messages if isinstance(messages, Mapping) else None
        policy = self.profile.policy_for(body)
        placement: Placement = policy.results
        rules = rule_counter(self.format, model, token_counter)
        counter: Counter = RuleCounter(rules)
        by_caller = callable(token_counter) and not hasattr(token_counter, "count")
        if by_caller:
            counter = CallerCounter(token_counter, self.format)
        self.source = ListSource(self.envelope, self.format, counter, lasting=lasting)
        if on_invalid == "raise":
            self._refuse_invalid(placement)
        pins = self._pins(pinned, pin_scope)
        awaited = self._awaited(pending)
        self._rules = Rules(
            pins=pins,
            awaited=awaited,
            drop_system=drop_system,
            repair=on_invalid != "keep",
            stand_ins=open_calls == "stand-in",
            per_message=placement == "after-call",
            demands=policy.demands,
        )
        self.history = History(self.source.grouping, self.source, self._rules)
        self.terms = Terms(
            fixed=self._fixed(rules, tools, system, by_caller=by_caller),
            placement=placement,
            exact=rules.exact or by_caller,
            margin=0.0 if by_caller else rules.margin,
            on_overflow=on_overflow,
            open_calls=open_calls,
            grid=True,
        )

    def plan(self) -> Plan:
        """Decide."""
        made = make_plan(self.history, self.budget, self.strategy, self.terms)
        if self.source.count_apart(made):
            self.history = History(self.source.grouping, self.source, self._rules)
            made = make_plan(self.history, self.budget, self.strategy, self.terms)
        return made

    def _fixed(
        self, rules: RequestCounter, tools: Any, system: Any, *, by_caller: bool
    ) -> tuple[Held, ...]:
        tools = self.envelope.tools if tools is None else tools
        system = self.envelope.system if system is None else system
        fixed: list[Held] = []
        if tools:
            fixed.append(Held("tools", "tools", rules.tools(tools)))
        if system:
            tokens = sum(map(rules.message, self.format.decode_system(system)))
            fixed.append(Held("system", "system", tokens))
        overhead = rules.request(has_tools=bool(tools))
        if overhead and not by_caller and not self.history.is_empty:
            fixed.append(Held("overhead", "overhead", overhead))
        return tuple(fixed)

    def _pins(self, pinned: Pinned, scope: PinScope) -> dict[int, PinScope]:
        source, pins = self.source, self.source.own_pins()
        if callable(pinned):
            pins.update(dict.fromkeys(source.matching(pinned), scope))
        else:
            for key in [pinned] if isinstance(pinned, (str, int)) else pinned:
                indexes = source.indexes_of(key)
                if indexes is None:
                    raise UnknownMessageError(key)
                pins.update(dict.fromkeys(indexes, scope))
        orphans = {
            problem.message: problem
            for problem in source.grouping.problems
            if problem.message in pins
        }
        if orphans:
            raise InvalidHistoryError(
                tuple(
                    Violation(
                        problem.kind,
                        source.path(index),
                        f"{source.id(index)} is pinned, but it answers call "
                        f"{problem.call_id!r}, which is not there to be answered; "
                        "unpin it or restore the call",
                    )
                    for index, problem in orphans.items()
                )
            )
        return pins

    def _awaited(
        self, pending: Iterable[str] | None
    ) -> Callable[[OpenCall], bool] | None:
        if pending is None:
            return None
        names = frozenset([pending] if isinstance(pending, str) else pending)
        grouping = self.source.grouping
        for name in sorted(names):
            if not grouping.open_of(name) and not grouping.was_closed(name):
                raise UnknownCallError(name)
        return lambda call: call.key in names

    def _refuse_invalid(self, placement: Placement) -> None:
        source, grouping = self.source, self.source.grouping
        found = [
            (p.message, p.kind, f"result for call {p.call_id!r}: {_WHY[p.kind]}")
            for p in grouping.problems
        ]
        misplaced: Iterable[int] = ()
        if placement == "after-call":
            misplaced = grouping.displaced
        elif placement == "after-run":
            misplaced = grouping.displaced_run
        found += [
            (i, "misplaced_result", "this result does not follow its call directly")
            for i in misplaced
        ]
        if found:
            raise InvalidHistoryError(
                tuple(
                    Violation(kind, source.path(index), text)
                    for index, kind, text in sorted(found)
                )
            )


_WHY = {
    "orphan_result": "no such call comes before it",
    "duplicate_result": "the call has its final result already",
}


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}, got {value!r}"
        raise ValueError(msg)
