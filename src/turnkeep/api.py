"""The one-shot functions: any format in, the same format out."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from turnkeep.budgets import Budget
from turnkeep.engine import OpenCalls, Overflow, Terms, make_plan
from turnkeep.errors import (
    Held,
    InvalidHistoryError,
    UnknownCallError,
    UnknownMessageError,
    Violation,
)
from turnkeep.formats import (
    Conversion,
    Envelope,
    Format,
    convert_value,
    decode_entries,
    detect,
    get_format,
)
from turnkeep.formats._lists import CallerCounter, Counter, ListSource, RuleCounter
from turnkeep.index import History, Rules
from turnkeep.model import Message, PinScope, as_sent
from turnkeep.placing import Placement
from turnkeep.plans import Plan
from turnkeep.profiles import (
    Close,
    Profile,
    RepairReport,
    check_request,
    get_profile,
    repair_messages,
)
from turnkeep.strategies import Strategy
from turnkeep.tokens import RequestCounter, request_counter, text_counter
from turnkeep.turns import OpenCall

Pinned: TypeAlias = Iterable[str | int] | Callable[[Any], object]
"""Ids, indexes (negative ones count from the end), or a predicate on a message."""

OnInvalid: TypeAlias = Literal["repair", "raise", "keep"]


def fit(messages: Any, max_tokens: int | None = None, **options: Any) -> Any:
    """The messages that fit the budget, in the shape they came in.

    >>> chat = [{"role": "user", "content": "hi"}]
    >>> fit(chat, max_tokens=100, model="gpt-4o") == chat
    True

    Costs one pass over the messages; tokens are counted from the newest end until the
    budget is full (a strategy other than the default may need them all).

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        max_tokens:
            Short for `budget=Budget(max_tokens)`.
        **options:
            The same as those of `plan`.

    Returns:
        The input's own shape. What was not edited are the caller's own objects.

    Raises:
        BudgetExceededError: What must stay does not fit.
        FormatError: The input is malformed; its path says where.
    """
    job = _Job(messages, max_tokens, lasting=False, **options)
    return job.source.apply_to(job.plan(), job.envelope)


trim_messages = fit
"""`fit`, for people who look for this name."""


def plan(messages: Any, max_tokens: int | None = None, **options: Any) -> Plan:
    """What `fit` would do, and why.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        max_tokens:
            Short for `budget=Budget(max_tokens)`. With neither it is the model's
            context window less room for the answer (extra `models`).
        **options:
            Keyword arguments, each optional:

            - `budget`: a `Budget`.
            - `model`: chooses tokenizer, profile and, where it matters, the format.
            - `format`: a name from `FORMATS`; detected when not given.
            - `profile`: whose rules the window keeps, where format and model do not
              say it, such as `"alternating/gemma2"`.
            - `strategy`: what goes first; `OldestTurns() | OldestSteps()` unless given.
            - `tools`, `system`: what is sent beside the list, in the provider's shape.
            - `pinned`: ids, indexes or a predicate on a message; `pin_scope`:
              `"turn"` (default) or `"step"`.
            - `pending`: ids of the open calls that are awaited; `None` is all of
              them, `()` none.
            - `drop_system`: let system messages behind the leading ones go.
            - `token_counter`: one of our counters, a name (`"o200k_base"`,
              `"approximate"`), or a callable from one message to its tokens.
            - `on_invalid`: `"repair"`, `"raise"` or `"keep"`.
            - `open_calls`: `"stand-in"`, `"keep"` or `"raise"`.
            - `on_overflow`: `"raise"` or `"send"`.

    Raises:
        BudgetExceededError: What must stay does not fit.
        FormatError: The input is malformed; its path says where.
    """
    return _Job(messages, max_tokens, **options).plan()


@attrs.frozen
class TokenCount:
    """What a request costs, and what on."""

    total: int
    system: int
    """System text, in the list and beside it."""
    tools: int
    messages: int
    """All other messages, reasoning and images included."""
    reasoning: int
    """The part of it that is reasoning."""
    images: int
    """The part of it that is pictures and documents."""
    overhead: int
    """Per-request overhead."""
    exact: bool
    margin: float
    """Share by which the true count may exceed `total`."""
    rule: str
    """The rule used, and its source."""
    format: str


def count(
    messages: Any,
    *,
    model: str | None = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002 - the public name
    system: Any = None,
    token_counter: Any = None,
) -> TokenCount:
    """Tokens of a whole request; costs one pass that counts every message.

    Raises:
        FormatError: The input is malformed; its path says where.
    """
    fmt, envelope = open_messages(messages, format, model)
    counter = rule_counter(fmt, model or envelope.model, token_counter)
    tools = envelope.tools if tools is None else tools
    system = envelope.system if system is None else system
    spent = {"system": 0, "messages": 0, "reasoning": 0, "images": 0}
    parts = list(fmt.decode_system(system)) if system else []
    parts.extend(decode_entries(envelope, fmt))
    for message in parts:
        cost = counter.parts(as_sent(message))
        spent["system" if message.role == "system" else "messages"] += cost.total
        spent["reasoning"] += cost.reasoning
        spent["images"] += cost.images + cost.documents
    tool_tokens = counter.tools(tools) if tools else 0
    overhead = counter.request(has_tools=bool(tools)) if parts else 0
    return TokenCount(
        total=spent["system"] + spent["messages"] + tool_tokens + overhead,
        tools=tool_tokens,
        overhead=overhead,
        exact=counter.exact,
        margin=counter.margin,
        rule=counter.rule,
        format=fmt.name,
        **spent,
    )


def convert(
    messages: Any,
    *,
    to: str,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    strict: bool = False,
) -> Conversion:
    """A history in another format; costs the history.

    Args:
        messages:
            A list of messages in any format, or a request body.
        to:
            The format to write.
        format:
            The format of *messages*; detected when not given.
        model:
            Helps detection where several formats fit.
        strict:
            Raise where something would be lost.

    Returns:
        `value`, the history in its new shape, and `losses`, what it could not carry.

    Raises:
        FormatError: The input is malformed, or (strict) something would be lost.
    """
    source, envelope = open_messages(messages, format, model)
    return convert_value(envelope, source, get_format(to), strict=strict)


def check(
    messages: Any,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    strict: bool = False,
    original: Any = None,
    profile: str | Profile | None = None,
) -> list[Violation]:
    """What the provider would refuse about a request; empty where it would take it.

    Each violation names the rule, the place, what is wrong and what would mend it. The
    rules are listed in the reference, under "Providers". Linear in the request.

    >>> lone = [{"role": "tool", "tool_call_id": "call_1", "content": "42"}]
    >>> [(found.rule, found.where) for found in check(lone, format="openai")]
    [('OC-10', '$[0]')]

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
            `Message` objects are judged as what *format* would send.
        format:
            Its format; detected when not given.
        model:
            The model it is for; else the one that a body names.
        strict:
            Whether to report the soft rules as well, where the evidence differs.
        original:
            The request it was cut from, for the rules that compare the two.
        profile:
            Another profile to judge by, such as `"alternating/gemma2"`.

    Raises:
        FormatError: The input is malformed; its path says where.
        ValueError: There is no such profile.
    """
    fmt, envelope = open_messages(messages, format, model)
    model = model or envelope.model
    if not isinstance(profile, Profile):
        profile = get_profile(fmt.name, model, profile)
    return check_request(
        _as_request(messages, fmt, profile),
        format=fmt.name,
        model=model,
        strict=strict,
        original=None if original is None else _as_request(original, fmt, profile),
        profile=profile,
    )


def _as_request(value: Any, fmt: Format, profile: Profile) -> Any:
    """*value* as its provider would get it: foreign shapes are written out for it."""
    if fmt.name in profile.formats or fmt.name in _CHATS:
        return value
    envelope = fmt.open(value)
    wire = get_format(profile.formats[0])
    return wire.encode_request(list(decode_entries(envelope, fmt)), envelope.tools)


_CHATS = frozenset({"openai", "mistral", "deepseek", "ollama"})
"""Formats that share a shape, so that one's rules can be asked about another."""


def repair(
    messages: Any,
    *,
    close: Close = (),
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
) -> tuple[Any, RepairReport]:
    """The mended history in the shape it came in, and a report of what was mended.

    Results whose call is absent and second results go; results move to their call;
    calls named in *close* get an error result that says so; what the provider refuses
    about empty contents, equal neighbours and lone reasoning is mended. Pinned
    messages, awaited calls, empty results and ids that are used again and pair up are
    left alone. Entries that need nothing are the caller's own. Linear; repairing again
    changes nothing.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        close:
            Ids of the open calls to give up, or `"all"`.
        format:
            Its format; detected when not given.
        model:
            The model it is for; else the one that a body names.

    Raises:
        FormatError: The input is malformed; its path says where.
        UnknownCallError: No open call has an id of *close*.
    """
    fmt, envelope = open_messages(messages, format, model)
    profile = get_profile(fmt.name, model or envelope.model)
    mended, report = repair_messages(
        list(decode_entries(envelope, fmt)), profile=profile, close=close
    )
    if not report.changed:
        return messages, report
    return envelope.replace(_entries_of(envelope, fmt, mended)), report


def _entries_of(envelope: Envelope, fmt: Format, mended: list[Message]) -> list[Any]:
    """The entries of *mended*: the caller's own for all that says what it said.

    They are written as a whole, because neighbours may share an entry.
    """
    own: dict[str, deque[Any]] = {}
    for entry in envelope.entries:
        own.setdefault(_key_of(entry), deque()).append(entry)
    made: list[Any] = []
    for entry in fmt.encode(mended):
        known = own.get(_key_of(entry))
        made.append(known.popleft() if known else entry)
    return made


def _key_of(entry: Any) -> str:
    """A text that is equal for entries that say the same."""
    if isinstance(entry, Message):
        return str(id(entry))
    return json.dumps(entry, sort_keys=True, default=repr)


def open_messages(
    messages: Any, format_name: str | None, model: str | None
) -> tuple[Format, Envelope]:
    """The format of *messages* and its envelope.

    Raises:
        FormatError: No format takes it, or (`AmbiguousFormatError`) several do.
    """
    if format_name is None:
        format_name = detect(messages, model=model).format
    fmt = get_format(format_name)
    return fmt, fmt.open(messages)


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


class _Job:
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
