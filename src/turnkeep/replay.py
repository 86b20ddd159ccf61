"""Replaying a recorded session call by call, under one strategy after the other.

Each assistant message was one call of the model; its request is the history before it.
What a strategy would have sent, what that would have cost with the provider's prompt
cache, and whether what the next tool calls used was still there: no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from turnkeep.budgets import Budget, Prices, share_of
from turnkeep.engine import Terms, make_plan
from turnkeep.formats import decode_entries, detect, get_format
from turnkeep.index import History, Rules
from turnkeep.model import Message, Role, as_sent
from turnkeep.plans import Inserted, Plan
from turnkeep.strategies import OldestSteps, Strategy
from turnkeep.strategies._referents import referents_of
from turnkeep.strategies._when import SMALL, Excess
from turnkeep.tokens import RequestCounter, request_counter
from turnkeep.turns import ASSISTANT, HIDDEN, Grouping, entry_of

SLIDING = "sliding window"
"""The reference: the default strategy moved at every call, as most libraries do."""

DEFAULT_TARGET = 0.6
"""The target of a budget that names none: that of a conversation."""


@attrs.frozen
class Outcome:
    """What one strategy would have cost and kept over a session."""

    name: str
    cost: float
    """Of all requests, in plain prompt tokens."""
    to_full: float
    """Cost relative to never trimming."""
    to_sliding: float
    """Cost relative to the window that moves at every call."""
    calls: int
    tokens: int
    """Prompt tokens sent in all."""
    cached: float
    """Share of them that the provider's cache held."""
    breaks: int
    """Calls whose request did not begin with the whole of the one before."""
    prunes: int
    """Calls at which the strategy was asked."""
    largest: int
    """Tokens of the largest window."""
    over: int
    """Calls at which what must stay did not fit, sent all the same."""
    referents: int
    """Ids, paths, names and values that calls took from earlier results."""
    kept: float
    """Share of them that stood in the window when they were used."""
    steps: int
    """Calls that took any."""
    whole: float
    """Share of those calls whose referents were all there."""
    windows: tuple[int, ...] = attrs.field(repr=False)
    """Tokens of each window, call by call."""


@attrs.frozen
class Report:
    """A session replayed under several strategies."""

    calls: int
    tokens: int
    """Tokens of the whole session."""
    limit: int
    """Tokens a window may have."""
    target: int
    """Tokens a cut goes down to."""
    prices: Prices
    outcomes: tuple[Outcome, ...]
    """Never trimming first, then the sliding window, then the strategies."""

    def outcome(self, name: str) -> Outcome:
        """The outcome of that name.

        Raises:
            KeyError: There is none.
        """
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(name)


ReplayReport = Report
"""The name under which the package exports it."""

FULL = "no trimming"
"""The other reference: every request holds the whole history."""


def replay(
    messages: Any,
    strategies: Mapping[str, Strategy],
    budget: Budget,
    prices: Prices | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    counter: RequestCounter | None = None,
) -> Report:
    """Replay a session under *strategies*.

    The budget is for what a strategy may drop: system messages are never dropped, so
    they count neither against it nor in the figures. Each strategy prunes when the
    window exceeds the trigger (or, with `budget.prices`, when it pays) down to the
    target (0.6 unless given), and keeps its cut until then.

    Costs, per strategy, one plan a cut, and the window's length a call.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        strategies:
            What to compare, by the names to show.
        budget:
            Tokens, trigger and target.
        prices:
            Of the prompt cache; those of the budget, else 0.1 to read, 1.25 to write.
        format:
            Its format; detected when not given.
        model:
            Chooses the tokenizer.
        counter:
            Counts the messages instead.

    Raises:
        FormatError: The input is malformed; its path says where.
    """
    log = _Log(*_read(messages, format, model, counter))
    prices = prices or budget.prices or Prices()
    full = _run(log, FULL, None, attrs.evolve(budget, prices=None), prices)
    window = attrs.evolve(budget, trigger=1.0, target=1.0, prices=None)
    sliding = _run(log, SLIDING, OldestSteps(), window, prices)
    runs = [full, sliding]
    for name, strategy in strategies.items():
        runs.append(_run(log, name, strategy, budget, prices))
    room = budget.available()
    return Report(
        calls=len(log.calls),
        tokens=sum(map(log.count, range(len(log.messages)))),
        limit=share_of(room, budget.trigger),
        target=share_of(room, budget.goal(DEFAULT_TARGET)),
        prices=prices,
        outcomes=tuple(run.outcome(full.cost, sliding.cost) for run in runs),
    )


def _read(
    messages: Any,
    format_name: str | None,
    model: str | None,
    counter: RequestCounter | None,
) -> tuple[list[Message], RequestCounter]:
    name = format_name or detect(messages, model=model).format
    fmt = get_format(name)
    envelope = fmt.open(messages)
    parts = list(decode_entries(envelope, fmt))
    return parts, counter or request_counter(format=name, model=model or envelope.model)


class _Log:
    """The session as the engine's source, growing call by call."""

    def __init__(self, messages: Sequence[Message], counter: RequestCounter) -> None:
        self.messages = messages
        self.entries = [entry_of(message) for message in messages]
        self._counter = counter
        self._counts: dict[int, int] = {}
        self._made: dict[Message, int] = {}
        self.calls = [
            index
            for index, entry in enumerate(self.entries)
            if entry.kind == ASSISTANT
            and index
            and self.entries[index - 1].kind != ASSISTANT
        ]
        """Where the model was called: the first message of each of its answers."""
        self.needs = self._needs()
        """For each call, what it takes from earlier results."""

    def _needs(self) -> list[frozenset[str]]:
        needs: list[frozenset[str]] = []
        shown: set[str] = set()
        at = 0
        for nth, index in enumerate(self.calls):
            while at < index:
                shown |= referents_of(self.messages[at]).shown
                at += 1
            stop = self.calls[nth + 1] if nth + 1 < len(self.calls) else len(self)
            used: set[str] = set()
            for i in range(index, stop):
                if self.entries[i].kind != ASSISTANT:
                    break
                used |= referents_of(self.messages[i]).used
            needs.append(frozenset(used & shown))
        return needs

    def __len__(self) -> int:
        return len(self.messages)

    def count(self, index: int) -> int:
        """Tokens of a message; none for system text and what is only shown."""
        known = self._counts.get(index)
        if known is None:
            message = self.messages[index]
            known = 0
            if message.role != Role.SYSTEM and self.entries[index].kind != HIDDEN:
                known = self._counter.message(as_sent(message))
            self._counts[index] = known
        return known

    def message(self, index: int) -> Message:
        return self.messages[index]

    def id(self, index: int) -> str:
        return self.messages[index].id or str(index)

    def cost(self, message: Message) -> int:
        known = self._made.get(message)
        if known is None:
            known = self._made[message] = self._counter.message(as_sent(message))
        return known

    def fingerprint(self) -> Any:
        return None

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window as messages."""
        del messages
        return [item[0] for item in self.items(plan)]

    def items(self, plan: Plan) -> list[tuple[Message, int]]:
        """The window: each message as sent, and its tokens."""
        made: list[tuple[Message, int]] = []
        for entry in plan.order:
            if isinstance(entry, Inserted):
                made.append((entry.message, entry.tokens))
            elif entry in plan.edits:
                message, _, tokens = plan.edits[entry]
                made.append((message, tokens))
            else:
                made.append((self.messages[entry], self.count(entry)))
        return made


@attrs.define
class _Run:
    """The requests of one strategy, added up."""

    name: str
    needs: Sequence[frozenset[str]]
    prices: Prices
    cost: float = 0.0
    tokens: int = 0
    cached: int = 0
    breaks: int = 0
    prunes: int = 0
    over: int = 0
    found: int = 0
    whole: int = 0
    windows: list[int] = attrs.field(factory=list)
    before: list[tuple[Message, int]] = attrs.field(factory=list)

    def send(self, items: list[tuple[Message, int]]) -> None:
        """Add one request: its cost, and what of the call's needs it holds."""
        same = 0
        held = 0
        for (left, tokens), (right, _) in zip(self.before, items, strict=False):
            if left is not right and left != right:
                break
            same += 1
            held += tokens
        if same < len(self.before):
            self.breaks += 1
        total = sum(tokens for _, tokens in items)
        self.cost += self.prices.read * held + self.prices.write * (total - held)
        self.tokens += total
        self.cached += held
        needs = self.needs[len(self.windows)]
        if needs:
            missing = set(needs)
            for message, _ in items:
                missing -= referents_of(message).named
                if not missing:
                    break
            self.found += len(needs) - len(missing)
            self.whole += not missing
        self.windows.append(total)
        self.before = items

    def outcome(self, full: float, sliding: float) -> Outcome:
        """The figures."""
        needed = sum(map(len, self.needs))
        steps = sum(map(bool, self.needs))
        return Outcome(
            name=self.name,
            cost=round(self.cost, 2),
            to_full=_share(self.cost, full),
            to_sliding=_share(self.cost, sliding),
            calls=len(self.windows),
            tokens=self.tokens,
            cached=_share(self.cached, self.tokens, 0.0),
            breaks=self.breaks,
            prunes=self.prunes,
            largest=max(self.windows, default=0),
            over=self.over,
            referents=needed,
            kept=_share(self.found, needed),
            steps=steps,
            whole=_share(self.whole, steps),
            windows=tuple(self.windows),
        )


def _run(
    log: _Log, name: str, strategy: Strategy | None, budget: Budget, prices: Prices
) -> _Run:
    """Send every request of the session under one strategy."""
    run = _Run(name, log.needs, prices)
    room = budget.available()
    trigger = share_of(room, budget.trigger)
    low = share_of(room, budget.goal(DEFAULT_TARGET))
    terms = Terms(default_target=DEFAULT_TARGET, on_overflow="send")
    watch = Excess(low)
    grouping = Grouping()
    items: list[tuple[Message, int]] = []
    missed = 0
    at = 0
    for index in log.calls:
        while at < index:
            grouping.add(log.entries[at])
            if log.entries[at].kind != HIDDEN:
                items = [*items, (log.messages[at], log.count(at))]
            at += 1
        tokens = sum(tokens for _, tokens in items)
        if strategy is not None:
            due = tokens > max(trigger, missed)
            if budget.prices is not None and not due:
                watch = watch.after(tokens)
                due = tokens > SMALL and watch.is_due(budget.prices)
            if due:
                due_budget = budget
                if tokens <= trigger:
                    share = max(tokens - 1, low, 1) / room
                    due_budget = attrs.evolve(budget, trigger=share, target=low / room)
                history = History(grouping, log, Rules())
                plan = make_plan(history, due_budget, strategy, terms)
                run.prunes += 1
                items = log.items(plan)
                tokens = sum(tokens for _, tokens in items)
                run.over += tokens > room
                # A missed target is tried again when the window has grown enough.
                missed = min(tokens + trigger - low, room) if tokens > low else 0
                watch = Excess(low)
        run.send(items)
    return run


def total(reports: Sequence[Report]) -> Report:
    """Several sessions replayed under the same terms, as one. Costs their calls.

    Raises:
        ValueError: There is none, or they differ in strategies, limit or prices.
    """
    if not reports:
        msg = "no report to add up"
        raise ValueError(msg)
    first = reports[0]
    terms = [
        (r.limit, r.target, r.prices, [o.name for o in r.outcomes]) for r in reports
    ]
    if any(others != terms[0] for others in terms):
        msg = "reports made under different terms cannot be added up"
        raise ValueError(msg)
    columns = list(zip(*(r.outcomes for r in reports), strict=True))
    costs = {column[0].name: sum(o.cost for o in column) for column in columns}
    return attrs.evolve(
        first,
        calls=sum(r.calls for r in reports),
        tokens=sum(r.tokens for r in reports),
        outcomes=tuple(
            _added(column, costs[FULL], costs[SLIDING]) for column in columns
        ),
    )


def _added(outcomes: Sequence[Outcome], full: float, sliding: float) -> Outcome:
    cost, tokens = sum(o.cost for o in outcomes), sum(o.tokens for o in outcomes)
    referents = sum(o.referents for o in outcomes)
    steps = sum(o.steps for o in outcomes)
    return Outcome(
        name=outcomes[0].name,
        cost=round(cost, 2),
        to_full=_share(cost, full),
        to_sliding=_share(cost, sliding),
        calls=sum(o.calls for o in outcomes),
        tokens=tokens,
        cached=_share(sum(o.cached * o.tokens for o in outcomes), tokens, 0.0),
        breaks=sum(o.breaks for o in outcomes),
        prunes=sum(o.prunes for o in outcomes),
        largest=max(o.largest for o in outcomes),
        over=sum(o.over for o in outcomes),
        referents=referents,
        kept=_share(sum(o.kept * o.referents for o in outcomes), referents),
        steps=steps,
        whole=_share(sum(o.whole * o.steps for o in outcomes), steps),
        windows=tuple(tokens for o in outcomes for tokens in o.windows),
    )


def _share(part: float, whole: float, empty: float = 1.0) -> float:
    return round(part / whole, 6) if whole else empty


def named(strategies: Iterable[Strategy]) -> dict[str, Strategy]:
    """Strategies by what they look like."""
    return {repr(strategy): strategy for strategy in strategies}
