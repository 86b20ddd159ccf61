"""When a conversation prunes, and how it keeps the cut it has made."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any, Final, TypeAlias
from weakref import ref

import attrs

from turnkeep.budgets import Budget
from turnkeep.engine import Memory, Terms, make_plan
from turnkeep.engine._order import Placement
from turnkeep.engine._quick import Base, Cut, Outcome, cut_of, quick_plan
from turnkeep.errors import BudgetExceededError, Held
from turnkeep.formats._pieces import Pieces
from turnkeep.index import History
from turnkeep.index._ledger import Ledger
from turnkeep.index._past import Past
from turnkeep.model import Message, Thinking
from turnkeep.plans import Cause, Inserted, Plan, memory_of
from turnkeep.policy import NO_DEMANDS, Policy
from turnkeep.profiles import get_profile
from turnkeep.tokens import RequestCounter
from turnkeep.turns import ASSISTANT, SYSTEM, USER, OpenCall, early_answers

from ._asking import GOAL, NO_LIMITS, Ask, Limits, rules_of
from ._desk import CallDesk
from ._learning import Learner
from ._scene import Planned, Scene, Stage
from ._window import Source, Window

SMALL = 4_000
"""Tokens below which pruning costs more than it saves (measured on short chats)."""

MANY: Final = 64
"""Windows that are watched before those that are gone are looked for."""

_SYSTEM = bytes([SYSTEM])


_StandIns: TypeAlias = dict[tuple[str | None, str, str], tuple[Message, int]]
"""Stand-ins and their tokens by the call's id and name, and the text."""


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


class Fitter:
    """Plans windows of one conversation and remembers where it has cut."""

    def __init__(
        self, ledger: Ledger, desk: CallDesk, lock: RLock | None = None
    ) -> None:
        """Nothing cut yet; windows are read under *lock*."""
        lock = RLock() if lock is None else lock
        self.stage = Stage(ledger, desk, lock, Pieces())
        self.ledger = ledger
        self.desk = desk
        self.pace = Pace()
        self.learner = Learner()
        self._last: Source | None = None
        self.available = 0
        """Tokens the last window had for messages."""
        self._memory: Memory | None = None
        self._cut: Cut | None = Cut(0)
        self._policies: dict[
            tuple[str, str | None, str | None], tuple[Policy, Policy]
        ] = {}
        self._asked: Ask | None = None
        self._setting: tuple[Policy, Policy]
        self._overheads: tuple[RequestCounter | None, tuple[int, int]] = (None, (0, 0))
        self._thinks = (0, False)
        """Messages looked through so far, and whether one of them holds reasoning."""
        self._tools: tuple[Any, RequestCounter | None, int] = (None, None, 0)
        self._stand_ins: tuple[RequestCounter | None, _StandIns] = (None, {})
        self._windows: list[ref[Window]] = []
        self._limits = NO_LIMITS
        self._limited: tuple[Ask | None, RequestCounter | None] = (None, None)
        """Whose limits these are."""
        self._base: Base | None = None

    @property
    def last(self) -> Plan | None:
        """The last window's plan."""
        return None if self._last is None else self._last.plan

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
        names = ("_memory", "_cut", "available", "_last", "_thinks")
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
        windows.append(ref(window))
        if len(windows) > MANY:
            self._windows = [known for known in windows if known() is not None]

    # -- planning ----------------------------------------------------------------------

    def fit(self, budget: Budget, ask: Ask) -> Source:
        """Plan the next window. An error leaves the remembered cut alone."""
        limits, counter = self._limits, self.ledger.counter
        asked, counted = self._limited
        if (
            limits.budget is not budget
            or asked is not ask
            or counted is not counter
            or not counter.exact
            or not self.ledger.messages
        ):
            limits = self._limit(budget, ask)
        if limits.nominal > self.available and self.available:
            self.forget()
        trigger = self._trigger(limits)
        made: Source | None = self._quick(limits, ask, trigger)
        if made is None:
            plan, demands = self._plan(limits, ask, trigger), self.policy(ask)[1]
            made = Planned(plan, demands, self.stage.pieces)
        self._learn(made, limits)
        return made

    def _limit(self, budget: Budget, ask: Ask) -> Limits:
        """What *budget* leaves, in tokens."""
        counter = self.ledger.counter
        overhead = self._overhead(ask.tools) if self.ledger.messages else 0
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
        if self.ledger.messages:
            self._limited = ask, counter
        return limits

    def _count_tools(self, tools: Any) -> int:
        if not tools:
            return 0
        known, counter, tokens = self._tools
        if known is not tools or counter is not self.ledger.counter:
            counter = self.ledger.counter
            tokens = counter.tools(tools)
            self._tools = (tools, counter, tokens)
        return tokens

    def _overhead(self, tools: Any) -> int:
        counter, known = self._overheads
        if counter is not self.ledger.counter:
            counter = self.ledger.counter
            known = counter.request(has_tools=False), counter.request(has_tools=True)
            self._overheads = counter, known
        return known[bool(tools)]

    def policy(self, ask: Ask) -> tuple[Policy, Policy]:
        """What the provider of *ask* wants, and what planning has to heed of it."""
        if ask is self._asked:
            return self._setting
        key = (ask.format_name, ask.model, ask.profile)
        known = self._policies.get(key)
        if known is None:
            policy = get_profile(*key).policy
            # Most want nothing more, and a look tells.
            demands = NO_DEMANDS if policy.asks_nothing else policy
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

    def _plan(self, limits: Limits, ask: Ask, trigger: int) -> Plan:
        """By the engine: any strategy, any limit, and the errors."""
        ledger, counter = self.ledger, self.ledger.counter
        tools, overhead = limits.spent
        terms = Terms(
            fixed=tuple(
                Held(name, name, tokens)
                for name, tokens in (("tools", tools), ("overhead", overhead))
                if tokens
            ),
            default_target=GOAL,
            placement=self._placement(ask),
            exact=counter.exact,
            margin=limits.margin,
            on_overflow=ask.on_overflow,
            open_calls=ask.open_calls,
            trigger_at=trigger,
        )
        rules = rules_of(ledger, self.desk, ask, self.policy(ask)[0])
        history = History(ledger.grouping, Past(ledger), rules)
        try:
            plan = make_plan(history, limits.budget, ask.strategy, terms, self.memory)
        except BudgetExceededError as error:
            if error.limit != "tokens" or not self.learner.calibration.count:
                raise
            raise BudgetExceededError(
                needed=error.needed,
                available=error.available,
                smallest=self._smallest(limits, error),
                limit=error.limit,
                held=error.held,
            ) from None
        # The history goes on: what a plan says must not.
        _ = plan.order, plan.runs
        self.remember(memory_of(plan), 0)
        return plan

    def _smallest(self, limits: Limits, error: BudgetExceededError) -> int:
        """The smallest `max_tokens` that takes what is needed, as taught by now.

        The margin of a taught counter is another one for another budget.
        """
        counter, reserve = self.ledger.counter, limits.budget.reserve
        spent = sum(limits.spent)

        def takes(max_tokens: int) -> bool:
            budget = attrs.evolve(limits.budget, max_tokens=max_tokens)
            margin = self.learner.margin(max_tokens - reserve, counter)
            return budget.available(tools=spent, margin=margin) >= error.needed - spent

        low, high = reserve, max(error.smallest, reserve + 1)
        while not takes(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            if takes(middle):
                high = middle
            else:
                low = middle
        return high

    def _learn(self, made: Source, limits: Limits) -> None:
        if made.pruned or limits.budget.prices is not None:
            pace, goal = self.pace, limits.goal
            size = made.tokens - sum(limits.spent)
            if made.pruned:
                pace.regret = 0.0
                pace.missed_at = size if size > goal else None
            if self.ledger.revision != pace.counted_revision:
                pace.counted_revision = self.ledger.revision
                pace.regret += max(size - goal, 0)
            pace.cold = False
        self.available = limits.nominal
        self._last = made

    # -- planning by sums --------------------------------------------------------------

    def _quick(self, limits: Limits, ask: Ask, trigger: int) -> Scene | None:
        cut, ledger = self._cut, self.ledger
        if cut is None or not ask.by_sums or not limits.by_sums or limits.nominal < 0:
            return None
        calls = ledger.grouping.open_calls
        setting = self.policy(ask)
        demands = setting[1]
        if demands is not NO_DEMANDS and self._needs_more(demands, calls):
            return None
        trigger = min(trigger, limits.available)
        inserted: tuple[Inserted, ...] = ()
        stand_ins = 0
        if calls:
            if not all(map(self.desk.is_awaited, calls)):
                return None
            if ledger.grouping.problems and early_answers(ledger.grouping):
                return None
            inserted = self._stand_in_for(calls, ask)
            stand_ins = sum([item.tokens for item in inserted])
        outcome: Outcome | None = None
        if self._base is not None:
            outcome = self._base.outcome(ledger, cut, calls, stand_ins, trigger)
        if outcome is None:
            outcome = quick_plan(
                ledger, cut, calls, stand_ins, trigger=trigger, target=limits.goal
            )
            if outcome is None:
                return None
            if outcome.cut is not cut:
                self._cut, self._memory = outcome.cut, None
            if not calls:
                self._base = Base.of(ledger, outcome)
        return Scene(self.stage, outcome, ask, limits, setting, inserted)

    def _needs_more(self, demands: Policy, calls: Sequence[OpenCall]) -> bool:
        """Whether the provider demands what the sums do not know.

        Costs the calls, the pins and, once, the history.
        """
        ledger, grouping = self.ledger, self.ledger.grouping
        if demands.core and (
            not grouping.turns or grouping.question_of(grouping.turns - 1) is None
        ):
            return True
        if calls and (demands.closer_stays or demands.joins != "nothing"):
            return True
        if demands.core and grouping.late and self._reads_late_results():
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

    def _reads_late_results(self) -> bool:
        """Whether an unread result answers a call of an earlier turn."""
        grouping = self.ledger.grouping
        now = grouping.turns - 1
        return any(
            grouping.turn_of(grouping.step_at(index)) != now
            for index in grouping.unread()
        )

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
        counter, made_before = self._stand_ins
        if counter is not self.ledger.counter or len(made_before) > (
            MANY + 2 * len(calls)
        ):
            made_before = {}
            self._stand_ins = self.ledger.counter, made_before
        made: list[Inserted] = []
        for call in calls:
            if grouping.needs_stand_in(call, per_message=per_message):
                key = (call.id, call.name, ask.stand_in_text)
                known = made_before.get(key)
                if known is None:
                    message = Message.tool_result(
                        call.id,
                        ask.stand_in_text,
                        pending=True,
                        tool_name=call.name,
                    )
                    known = (message, self.ledger.cost(message))
                    made_before[key] = known
                made.append(Inserted(call.message, *known, Cause.OPEN_CALL, call.key))
        return tuple(made)
