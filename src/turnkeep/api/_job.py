"""One call of `fit` or `plan`: the input taken apart, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from turnkeep.api._arguments import (
    Interim,
    Pinned,
    TokenCounter,
    answer_room,
    budget_of,
    check_calls,
    check_several,
)
from turnkeep.api._interim import (
    InterimCounter,
    InterimFormat,
    is_given,
    names_in,
)
from turnkeep.api._lists import CallerCounter, Counter, ListSource, RuleCounter
from turnkeep.api._marking import marking_of
from turnkeep.budgets import Budget
from turnkeep.engine import (
    CACHE_MARKS,
    ON_INVALID,
    OPEN_CALLS,
    OVERFLOW,
    CacheMarking,
    OnInvalid,
    OpenCalls,
    Overflow,
    Terms,
    check_choice,
    check_text,
    make_plan,
)
from turnkeep.engine._order import Placement
from turnkeep.errors import (
    Held,
    InvalidHistoryError,
    UnknownCallError,
    UnknownMessageError,
    Violation,
)
from turnkeep.formats import Format, open_messages
from turnkeep.formats._cache import marker_for
from turnkeep.index import History, Rules
from turnkeep.model import STAND_IN_TEXT, PinScope
from turnkeep.plans import Plan
from turnkeep.profiles import (
    Profile,
    get_profile,
)
from turnkeep.providers import cache_minimum
from turnkeep.strategies import Strategy, strategy_of
from turnkeep.tokens import RequestCounter, request_counter, text_counter
from turnkeep.turns import OpenCall

Count: TypeAlias = Callable[[Any], int]
"""Tokens of one message in the caller's shape."""


def rule_counter(fmt: Format, model: str | None, counter: Any) -> RequestCounter:
    """The counter of whole requests: *counter* as a user may give it, or the model's.

    Raises:
        TypeError: *counter* is none of what it may be.
        ValueError: It is `len`, as other libraries have it.
    """
    if counter is len:
        msg = (
            "token_counter=len would count the keys of each message; to limit their "
            "number pass budget=Budget(8_000, max_messages=...)"
        )
        raise ValueError(msg)
    if counter is None or _is_plain(counter):
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
        budget: Budget | int | None = None,
        model: str | None = None,
        format: str | None = None,  # noqa: A002 - the public name
        profile: str | Profile | None = None,
        strategy: Strategy | str | None = None,
        tools: Any = None,
        system: Any = None,
        pinned: Pinned = (),
        pin_scope: PinScope = "turn",
        pending: str | Iterable[str] | None = None,
        interim: Interim = (),
        drop_system: bool = False,
        token_counter: TokenCounter | None = None,
        stand_in_text: str | None = None,
        on_invalid: OnInvalid = "repair",
        open_calls: OpenCalls = "stand-in",
        on_overflow: Overflow = "shorten",
        cache_marks: CacheMarking = "keep",
        lasting: bool = True,
    ) -> None:
        """Take *messages* apart; *lasting*: its plan may be used when they changed."""
        check_choice("pin_scope", pin_scope, ("turn", "step"))
        check_choice("on_invalid", on_invalid, ON_INVALID)
        check_choice("open_calls", open_calls, OPEN_CALLS)
        check_choice("on_overflow", on_overflow, OVERFLOW)
        check_choice("cache_marks", cache_marks, CACHE_MARKS)
        if stand_in_text is None:
            stand_in_text = STAND_IN_TEXT
        check_text("stand_in_text", stand_in_text)
        known_budget = budget_of(max_tokens, budget)
        self.strategy = strategy_of(strategy)
        if not callable(interim):
            check_calls("interim", interim)
        if model is not None:
            check_text("model", model)
        self.format, self.envelope = open_messages(messages, format, model)
        model = model or self.envelope.model
        if known_budget is None:
            if model is None:
                msg = "pass max_tokens=, budget= or model="
                raise ValueError(msg)
            known_budget = Budget.for_model(model, reserve=answer_room(messages))
        self.budget = known_budget
        if not isinstance(profile, Profile):
            profile = get_profile(self.format.name, model, profile)
        self.profile = profile
        body = messages if isinstance(messages, Mapping) else None
        policy = self.profile.policy_for(body)
        placement: Placement = policy.results
        rules = rule_counter(self.format, model, token_counter)
        counter: Counter = RuleCounter(rules, self.format)
        by_caller = _is_plain(token_counter)
        if by_caller:
            counter = CallerCounter(cast("Count", token_counter), self.format)
        reader = self.format
        if is_given(interim):
            reader, counter = InterimFormat(reader, interim), InterimCounter(counter)
        self.source = ListSource(
            self.envelope,
            reader,
            counter,
            lasting=lasting,
            lines_join=policy.system_joins_rounds,
        )
        self._refuse_unknown(names_in(interim))
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
            stand_in_text=stand_in_text,
            per_message=placement == "after-call",
            demands=policy,
            kept=self.envelope.kept,
        )
        self.history = History(self.source.grouping, self.source, self._rules)
        self.terms = Terms(
            fixed=self._fixed(rules, tools, system, by_caller=by_caller),
            placement=placement,
            exact=rules.exact or by_caller,
            margin=0.0 if by_caller else rules.margin,
            on_overflow=on_overflow,
            open_calls=open_calls,
            counts=self.source.counts,
        )

        self._model = model
        self._marker = marker_for(self.format.name, model, cache_marks)
        self._beside = tuple(value for value in (tools, system) if value)

    def _mark(self, made: Plan) -> None:
        """Settle where the marks of its window go."""
        if self._marker is None:
            return
        on_bedrock = self.format.name == "bedrock"
        tokens = {held.id: held.tokens for held in self.terms.fixed}
        self.source.marking = marking_of(
            made,
            self.history,
            self._marker,
            cache_minimum(self._model, on_bedrock=on_bedrock),
            tools=tokens.get("tools", 0),
            system=tokens.get("system", 0),
            fixed=self._beside,
        )

    def plan(self) -> Plan:
        """Decide."""
        made = make_plan(self.history, self.budget, self.strategy, self.terms)
        if self.source.count_apart(made):
            self.history = History(self.source.grouping, self.source, self._rules)
            made = make_plan(self.history, self.budget, self.strategy, self.terms)
        self._mark(made)
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
            check_several("pinned", pinned)
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
        self, pending: str | Iterable[str] | None
    ) -> Callable[[OpenCall], bool] | None:
        if pending is None:
            return None
        check_calls("pending", pending)
        names = frozenset([pending] if isinstance(pending, str) else pending)
        self._refuse_unknown(names)
        return lambda call: call.key in names

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        """Refuse names that are no call's; a call may have its answer by now."""
        grouping = self.source.grouping
        for name in sorted(names):
            if not grouping.open_of(name) and not grouping.was_closed(name):
                raise UnknownCallError(name)

    def _refuse_invalid(self, placement: Placement) -> None:
        source, grouping = self.source, self.source.grouping
        found = [
            (p.message, p.kind, f"result for call {p.call_id!r}: {p.why}")
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


def _is_plain(counter: object) -> bool:
    """Whether a counter is a callable of the caller's, no counter of ours."""
    return callable(counter) and not hasattr(counter, "count")
