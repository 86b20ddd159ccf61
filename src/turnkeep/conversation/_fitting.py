"""When a conversation prunes, and how it keeps the cut it has made."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any
from weakref import ref

import attrs

from turnkeep.budgets import Budget, share_of
from turnkeep.demands import NO_DEMANDS, Demands
from turnkeep.engine import Memory, OpenCalls, Overflow, Terms, make_plan
from turnkeep.errors import Held
from turnkeep.index import History, Rules
from turnkeep.model import STAND_IN_TEXT, Message, Thinking
from turnkeep.placing import Order, Placement, arrange, runs_of
from turnkeep.plans import Cause, Inserted, Plan, Run
from turnkeep.profiles import Policy, get_profile
from turnkeep.strategies import DEFAULT, Strategy
from turnkeep.tokens import RequestCounter
from turnkeep.turns import ASSISTANT, SYSTEM, USER, OpenCall

from ._desk import CallDesk
from ._learning import Learner
from ._ledger import Ledger
from ._past import Past
from ._quick import Cut, Outcome, cut_of, indexes_from, quick_plan
from ._shelf import Shelf
from ._window import Window

SMALL = 4_000
"""Tokens below which pruning costs more than it saves (measured on short chats)."""

_SYSTEM = bytes([SYSTEM])

GOAL = 0.6
"""The target of a conversation's budget that names none: few deep cuts are cheaper."""


@attrs.frozen
class Ask:
    """What one window is asked for, beside the budget."""

    format_name: str
    model: str | None = None
    strategy: Strategy | None = None
    tools: Any = None
    stand_in_text: str = STAND_IN_TEXT
    open_calls: OpenCalls = "stand-in"
    on_overflow: Overflow = "raise"
    drop_system: bool = False


@attrs.define
class Pace:
    """What is remembered between two plans to decide when the next prune is due."""

    regret: float = 0.0
    """Sum over the calls since the last prune of the tokens above the target."""
    cold: bool = False
    """Whether the provider's prompt cache is known to be empty."""
    missed_at: int | None = None
    """Tokens of the last window, if it missed its target."""
    counted_revision: int = -1
    """The revision whose call is in `regret` already."""


@attrs.frozen
class Limits:
    """A budget in tokens, worked out once."""

    budget: Budget
    spent: tuple[int, int]
    """Tokens of tools and of per-request overhead."""
    margin: float
    available: int
    trigger: int
    goal: int
    nominal: int
    """Tokens there would be for messages if every count were exact."""

    @classmethod
    def of(cls, budget: Budget, tools: int, overhead: int, margin: float) -> Limits:
        """The limits of *budget*."""
        available = budget.available(tools=tools, overhead=overhead, margin=margin)
        return cls(
            budget,
            (tools, overhead),
            margin,
            available,
            share_of(available, budget.trigger),
            share_of(available, budget.goal(GOAL)),
            budget.max_tokens - budget.reserve - tools - overhead,
        )


def rules_of(ledger: Ledger, desk: CallDesk, ask: Ask, policy: Policy) -> Rules:
    """What the engine is told beside budget and strategy."""
    return Rules(
        pins=dict(ledger.pins),
        awaited=desk.is_awaited,
        drop_system=ask.drop_system,
        stand_ins=ask.open_calls == "stand-in",
        stand_in_text=ask.stand_in_text,
        per_message=policy.results == "after-call",
        demands=policy.demands,
    )


class Fitter:
    """Plans windows of one conversation and remembers where it has cut."""

    def __init__(
        self, ledger: Ledger, desk: CallDesk, lock: RLock | None = None
    ) -> None:
        """Nothing cut yet; windows are read under *lock*."""
        self.lock = RLock() if lock is None else lock
        self.ledger = ledger
        self.desk = desk
        self.pace = Pace()
        self.learner = Learner()
        self.last: Plan | None = None
        self.available = 0
        """Tokens the last window had for messages."""
        self._memory: Memory | None = None
        self._cut: Cut | None = Cut(0)
        self._policies: dict[tuple[str, str | None], tuple[Policy, Demands]] = {}
        self._asked: Ask | None = None
        self._setting: tuple[Policy, Demands]
        self._overheads: tuple[RequestCounter | None, tuple[int, int]] = (None, (0, 0))
        self._thinks = (0, False)
        """Messages looked through so far, and whether one of them holds reasoning."""
        self._tools: tuple[Any, str, int] = (None, "", 0)
        self._stand_ins: dict[tuple[str | None, str, str], tuple[Message, int]] = {}
        self._windows: list[ref[Window]] = []
        self._limits = Limits(Budget(1), (-1, -1), 0.0, 0, 0, 0, 0)
        self.shelf = Shelf()
        self.scene: Scene | None = None
        """What the last plan's window is made from, if it was planned by sums."""

    # -- the cut -----------------------------------------------------------------------

    @property
    def memory(self) -> Memory | None:
        """What the last plan dropped and changed, for the engine and for saving."""
        if self._memory is None and self._cut is not None and self._cut.step:
            self._memory = self._cut.memory(self.ledger)
        return self._memory

    def remember(self, memory: Memory | None, available: int) -> None:
        """Go on from an earlier plan's memory."""
        self._memory = memory
        self._cut = cut_of(memory, self.ledger)
        self.available = available

    def forget(self) -> None:
        """Start the next plan from the whole history."""
        self._memory = None
        self._cut = Cut(0)
        self.pace = Pace()
        self._thinks = (0, False)

    def checkpoint(self) -> dict[str, Any]:
        """What a plan changes, to go back to."""
        names = ("_memory", "_cut", "available", "last", "scene", "_thinks")
        return {**{n: getattr(self, n) for n in names}, "pace": attrs.evolve(self.pace)}

    def roll_back(self, state: dict[str, Any]) -> None:
        """Go back to a checkpoint, as if no plan had been made since."""
        for name, value in state.items():
            setattr(self, name, value)

    def settle(self) -> None:
        """Finish the windows that nobody has looked at, before messages change."""
        for known in self._windows:
            window = known()
            if window is not None:
                _ = window.messages, window.plan.runs
        self._windows.clear()

    def watch(self, window: Window) -> None:
        """Remember a window, to finish it when messages are about to change."""
        windows = self._windows
        if windows:
            self._windows = windows = [w for w in windows if w() is not None]
        windows.append(ref(window))

    # -- planning ----------------------------------------------------------------------

    def fit(self, budget: Budget, ask: Ask) -> Plan:
        """Plan the next window. An error leaves the remembered cut alone."""
        ledger, counter = self.ledger, self.ledger.counter
        overhead = self._overhead(ask.tools) if ledger.messages else 0
        tools = self._count_tools(ask.tools)
        margin = counter.margin
        if not counter.exact and self.learner.calibration.count:
            margin = self.learner.margin(budget.max_tokens - budget.reserve, counter)
        limits = self._limits
        if (
            limits.spent != (tools, overhead)
            or limits.margin != margin
            or (limits.budget is not budget and limits.budget != budget)
        ):
            limits = self._limits = Limits.of(budget, tools, overhead, margin)
        available = limits.nominal
        if available > self.available and self.available:
            self.forget()
        trigger = self._trigger(limits)
        self.scene = None
        plan = self._quick(limits, ask, trigger)
        if plan is None:
            plan = self._plan(budget, ask, trigger, tools, overhead)
        self._learn(plan, limits)
        return plan

    def _count_tools(self, tools: Any) -> int:
        if not tools:
            return 0
        counter = self.ledger.counter
        known, name, tokens = self._tools
        if known is not tools or name != counter.name:
            tokens = counter.tools(tools)
            self._tools = (tools, counter.name, tokens)
        return tokens

    def _overhead(self, tools: Any) -> int:
        counter, known = self._overheads
        if counter is not self.ledger.counter:
            counter = self.ledger.counter
            known = counter.request(has_tools=False), counter.request(has_tools=True)
            self._overheads = counter, known
        return known[bool(tools)]

    def policy(self, ask: Ask) -> tuple[Policy, Demands]:
        """What the provider of *ask* wants, and what planning has to heed of it."""
        if ask is self._asked:
            return self._setting
        key = (ask.format_name, ask.model)
        known = self._policies.get(key)
        if known is None:
            policy = get_profile(ask.format_name, ask.model).policy
            demands = policy.demands
            if demands == NO_DEMANDS:
                demands = NO_DEMANDS  # most want nothing more: a look tells
            known = self._policies[key] = policy, demands
        self._asked, self._setting = ask, known
        return known

    def _placement(self, ask: Ask) -> Placement:
        return self.policy(ask)[0].results

    def _holds_thinking(self) -> bool:
        """Whether the history holds reasoning; costs what is new in it."""
        seen, found = self._thinks
        messages = self.ledger.messages
        if seen > len(messages):
            seen, found = 0, False
        if not found and seen < len(messages):
            found = any(
                isinstance(block, Thinking)
                for nth in range(seen, len(messages))
                for block in messages[nth].content
            )
        self._thinks = (len(messages), found)
        return found

    def _trigger(self, limits: Limits) -> int:
        """The size above which to prune."""
        pace, goal, available = self.pace, limits.goal, limits.available
        prices = limits.budget.prices
        if prices is not None:
            due = prices.read * pace.regret >= (prices.write - prices.read) * goal
            if pace.cold or (due and pace.regret):
                return max(goal, min(SMALL, available))
            return available
        trigger = limits.trigger
        if pace.missed_at is not None:
            # The last plan could not reach its target: not again until it grew.
            grown = pace.missed_at + max(trigger - goal, 1)
            return max(trigger, min(available, grown))
        return trigger

    def _plan(
        self, budget: Budget, ask: Ask, trigger: int, tools: int, overhead: int
    ) -> Plan:
        """By the engine: any strategy, any limit, and the errors."""
        ledger, counter = self.ledger, self.ledger.counter
        terms = Terms(
            fixed=tuple(
                Held(name, name, tokens)
                for name, tokens in (("tools", tools), ("overhead", overhead))
                if tokens
            ),
            default_target=GOAL,
            placement=self._placement(ask),
            exact=counter.exact,
            margin=self._limits.margin,
            on_overflow=ask.on_overflow,
            open_calls=ask.open_calls,
            trigger_at=trigger,
        )
        rules = rules_of(ledger, self.desk, ask, self.policy(ask)[0])
        history = History(ledger.grouping, Past(ledger), rules)
        plan = make_plan(history, budget, ask.strategy, terms, self.memory)
        # The history goes on: what a plan says must not.
        _ = plan.order, plan.runs
        self.remember(plan.memory, 0)
        return plan

    def _learn(self, plan: Plan, limits: Limits) -> None:
        pace, goal = self.pace, limits.goal
        size = plan.tokens - plan.fixed
        if plan.pruned or limits.budget.prices is not None:
            if plan.pruned:
                pace.regret = 0.0
                pace.missed_at = size if size > goal else None
            if self.ledger.revision != pace.counted_revision:
                pace.counted_revision = self.ledger.revision
                pace.regret += max(size - goal, 0)
            pace.cold = False
        self.available = limits.nominal
        self.last = plan

    # -- planning by sums --------------------------------------------------------------

    def _quick(self, limits: Limits, ask: Ask, trigger: int) -> Plan | None:
        cut, ledger, budget = self._cut, self.ledger, limits.budget
        if (
            cut is None
            or ask.drop_system
            or ask.open_calls == "raise"
            or (ask.strategy is not None and ask.strategy != DEFAULT)
            or budget.max_turns is not None
            or budget.max_messages is not None
            or budget.max_images is not None
        ):
            return None
        calls = ledger.grouping.open_calls
        demands = self.policy(ask)[1]
        if demands is not NO_DEMANDS and self._needs_more(demands, calls):
            return None
        if calls and not all(map(self.desk.is_awaited, calls)):
            return None
        inserted = self._stand_in_for(calls, ask) if calls else ()
        outcome = quick_plan(
            ledger,
            cut,
            calls,
            sum([item.tokens for item in inserted]) if inserted else 0,
            trigger=min(trigger, limits.available),
            target=limits.goal,
        )
        if outcome is None:
            return None
        if outcome.pruned or outcome.cut is not cut:
            self._cut, self._memory = outcome.cut, None
        return self._plan_of(outcome, ask, limits, inserted)

    def _needs_more(self, demands: Demands, calls: Sequence[OpenCall]) -> bool:
        """Whether the provider demands what the sums do not know.

        Costs the calls, the pins and, once, the history.
        """
        ledger, grouping = self.ledger, self.ledger.grouping
        if calls and (demands.closer_stays or demands.joins != "nothing"):
            return True
        if demands.core and (
            "step" in ledger.pins.values()
            or any(
                grouping.question_of(grouping.turn_of(grouping.step_of[c.message]))
                is None
                for c in calls
            )
        ):
            return True
        if demands.ends_with_user and self._ends_on_late_result():
            return True
        if demands.system_between and grouping.kinds.lstrip(_SYSTEM).find(SYSTEM) >= 0:
            return True
        return demands.thinking and self._holds_thinking()

    def _ends_on_late_result(self) -> bool:
        """Whether what stands last is sent further up; costs the run of results."""
        grouping = self.ledger.grouping
        last = len(grouping) - 1
        while last >= 0 and grouping.kinds[last] not in (USER, ASSISTANT):
            if last in grouping.displaced or last in grouping.displaced_run:
                return True
            last -= 1
        return False

    def _stand_in_for(
        self, calls: Sequence[OpenCall], ask: Ask
    ) -> tuple[Inserted, ...]:
        if ask.open_calls != "stand-in":
            return ()
        grouping = self.ledger.grouping
        per_message = self._placement(ask) == "after-call"
        made: list[Inserted] = []
        for call in calls:
            if grouping.needs_stand_in(call, per_message=per_message):
                key = (call.id, call.name, ask.stand_in_text)
                known = self._stand_ins.get(key)
                if known is None:
                    message = Message.tool_result(
                        call.id,
                        ask.stand_in_text,
                        pending=True,
                        tool_name=call.name,
                    )
                    known = (message, self.ledger.cost(message))
                    self._stand_ins[key] = known
                made.append(Inserted(call.message, *known, Cause.OPEN_CALL, call.key))
        return tuple(made)

    def _plan_of(
        self,
        outcome: Outcome,
        ask: Ask,
        limits: Limits,
        inserted: tuple[Inserted, ...],
    ) -> Plan:
        ledger, counter = self.ledger, self.ledger.counter
        fixed = sum(limits.spent)
        past = Past(ledger)
        self.scene = Scene(self, ask, self.policy(ask)[0], outcome.cut, inserted, past)
        return Plan(
            tokens=outcome.tokens + fixed,
            available=limits.available,
            fixed=fixed,
            inserted=inserted,
            edits={},
            warnings=(),
            refused=(),
            exact=counter.exact,
            margin=limits.margin,
            pruned=outcome.pruned,
            source=past,
            fingerprint=ledger.revision,
            memory=None,
            make_order=self.scene.order,
            make_runs=self.scene.runs,
        )


class Scene:
    """The history as it was when a plan was made, for what is asked of it later.

    Does not know the fitter: that keeps the last plan, and a cycle would keep every
    dropped conversation until the garbage collector comes by.
    """

    __slots__ = (
        "_ask",
        "_cut",
        "_desk",
        "_inserted",
        "_ledger",
        "_lock",
        "_past",
        "_policy",
        "_revision",
        "_shelf",
        "_shelved",
        "_total",
        "_version",
    )

    def __init__(
        self,
        fitter: Fitter,
        ask: Ask,
        policy: Policy,
        cut: Cut,
        inserted: tuple[Inserted, ...],
        past: Past,
    ) -> None:
        ledger = fitter.ledger
        self._past = past
        self._lock = fitter.lock
        self._ledger = ledger
        self._desk = fitter.desk
        self._shelf = fitter.shelf
        self._policy = policy
        self._cut = cut
        self._inserted = inserted
        self._ask = ask
        self._shelved = False
        self._total = len(ledger.messages)
        self._revision = ledger.revision
        self._version = ledger.version

    def _then(self) -> Ledger:
        """The ledger as it was."""
        ledger = self._ledger
        if ledger.revision == self._revision:
            return ledger
        return self._past.ledger(self._total)

    def _history(self, ledger: Ledger) -> History:
        rules = rules_of(ledger, self._desk, self._ask, self._policy)
        return History(ledger.grouping, ledger, attrs.evolve(rules, stand_ins=False))

    @property
    def _is_plain(self) -> bool:
        """Whether the window is the history's own messages in their order.

        What has been appended since makes no difference as long as this holds.
        """
        ledger, grouping = self._ledger, self._ledger.grouping
        return not (
            self._version != ledger.version
            or self._inserted
            or grouping.displaced
            or grouping.displaced_run
            or grouping.problems
            or grouping.superseded
            or ledger.shown_only
        )

    def messages(self) -> list[Message] | None:
        """The window's messages, if they are the history's own in their order.

        Costs what is new since the last window of the same cut.
        """
        with self._lock:
            if not self._is_plain:
                return None
            self._shelved = True
            return self._shelf.messages(self._ledger, self._cut, self._total)

    def entries(self, name: str, messages: Sequence[Message]) -> list[Any] | None:
        """The window's *messages* encoded, if that can be done piece by piece."""
        if not self._shelved:
            return None
        return self._shelf.entries(name, messages, (self._cut, self._version))

    def order(self) -> tuple[Order, tuple[int, ...]]:
        with self._lock:
            if self._is_plain:
                return indexes_from(self._ledger, self._cut, self._total), ()
            ledger = self._then()
            indexes = indexes_from(ledger, self._cut, self._total)
            history = self._history(ledger)
            return arrange(history, indexes, self._inserted, self._policy.results)

    def runs(self) -> tuple[Run, ...]:
        with self._lock:
            ledger = self._then()
            steps = ledger.grouping.steps
            dropped = bytearray(self._cut.memory(ledger).dropped)
            dropped.extend(bytes(steps - len(dropped)))
            return runs_of(self._history(ledger), dropped, ("", Cause.AGE), {})
