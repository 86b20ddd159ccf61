"""When a conversation prunes, and how it keeps the cut it has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Final
from weakref import ref

import attrs

from turnkeep.budgets import Budget, share_of
from turnkeep.engine import Memory, Terms, make_plan
from turnkeep.engine._order import Placement
from turnkeep.engine._quick import (
    Cut,
    cut_by_sums,
    cut_of,
    went_on,
)
from turnkeep.engine._reasoning import sealed_in
from turnkeep.errors import BudgetExceededError, Held
from turnkeep.formats._pieces import Pieces
from turnkeep.index import History
from turnkeep.index._ledger import Ledger
from turnkeep.index._memory import needs_look
from turnkeep.index._past import Past
from turnkeep.index._sums import Setting, Sums
from turnkeep.plans import Plan, handover_of, memory_of
from turnkeep.policy import NO_DEMANDS, Policy
from turnkeep.profiles import get_profile
from turnkeep.strategies._ahead import Preparing, Work
from turnkeep.tokens import ContextExceeded, RequestCounter
from turnkeep.turns import early_answers

from ._asking import GOAL, NO_LIMITS, Ask, Limits, rules_of
from ._desk import CallDesk
from ._learning import Learner
from ._marking import Marking, marking_of
from ._pace import Pace
from ._resting import Rest, changes_more, rest_of
from ._scene import Planned, Scene, Stage
from ._window import Source, Window

MANY: Final = 64
"""Windows that are watched before those that are gone are looked for."""


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
        self._has_prepared = False
        """Whether the next prune has been prepared for, or nothing could be."""
        self.work: Work | None = None
        """What is to be begun in the background: whoever does takes it."""
        self.before: Callable[[], None] | None = None
        """What is to be done before the last window is handed out."""
        self.available = 0
        """Tokens the last window had for messages."""
        self._memory: Memory | None = None
        self._cut: Cut | None = Cut(0)
        self._unread = False
        """Whether the cut is still to be read from the memory."""
        self._cut_at: tuple[Sums | None, int] = (None, 0)
        """The sums that the cut is about, and the place in their journal."""
        self._policies: dict[
            tuple[str, str | None, str | None], tuple[Policy, Policy]
        ] = {}
        self._asked: Ask | None = None
        self._setting: tuple[Policy, Policy]
        self._overheads: tuple[RequestCounter | None, tuple[int, int]] = (None, (0, 0))
        self._tools: tuple[Any, RequestCounter | None, int] = (None, None, 0)
        self._rest: Rest | None = None
        self._settings: tuple[Ask | None, Setting] = (None, Setting())
        self._windows: list[ref[Window]] = []
        self._limits = NO_LIMITS
        self._limited: tuple[Ask | None, RequestCounter | None] = (None, None)
        """Whose limits these are."""

    @property
    def last(self) -> Plan | None:
        """The last window's plan."""
        return None if self._last is None else self._last.plan

    # -- the cut -----------------------------------------------------------------------

    @property
    def memory(self) -> Memory | None:
        """What the last plan dropped and changed, for the engine and for saving."""
        if self._memory is None and self._cut is not None and self._cut.step:
            sums, at = self._cut_at
            if sums is not None and sums is self.ledger.sums:
                self._memory = self._catch_up(sums, at).memory(sums)
        return self._memory

    def remember(self, memory: Memory | None, available: int) -> None:
        """Go on from an earlier plan's memory."""
        self._memory = memory
        self._cut = Cut(0) if memory is None else None
        self._rest = None
        self._cut_at = (None, 0)
        self._unread = memory is not None
        self.available = available

    def forget(self) -> None:
        """Start the next plan from the whole history."""
        self._memory = self._rest = None
        self._cut = Cut(0)
        self._cut_at = (None, 0)
        self.pace = self.pace.anew()
        self._has_prepared = False

    def checkpoint(self) -> dict[str, Any]:
        """What a plan changes, to go back to."""
        names = ("_memory", "_cut", "_cut_at", "_unread", "_rest", "available", "_last")
        also = ("before", "_has_prepared", "work")
        state = {name: getattr(self, name) for name in (*names, *also)}
        return {**state, "pace": attrs.evolve(self.pace)}

    def roll_back(self, state: dict[str, Any]) -> None:
        """Go back to a checkpoint, as if no plan had been made since."""
        for name, value in state.items():
            setattr(self, name, value)

    def settle(self) -> None:
        """Finish the windows that nobody has looked at, before messages change."""
        for known in self._windows:
            window = known()
            if window is not None:
                _ = window._finish(), window.plan.runs  # noqa: SLF001 - ours
        self._windows.clear()

    def settle_all(self) -> None:
        """The same, and the last plan, which is asked about what it left out."""
        self.settle()
        last = self._last
        if last is not None and not isinstance(last, Planned):
            plan = last.plan
            _ = plan.runs, plan.order, plan.dropped
            self._last = Planned(plan, last.demands, self.stage.pieces)

    def watch(self, window: Window) -> None:
        """Remember a window, to finish it when messages are about to change."""
        windows = self._windows
        windows.append(ref(window))
        if len(windows) > MANY:
            self._windows = [known for known in windows if known() is not None]

    # -- planning ----------------------------------------------------------------------

    def fit(self, budget: Budget, ask: Ask) -> Source:
        """Plan the next window. An error leaves the remembered cut alone."""
        if self.ledger.join_lines(self.policy(ask)[0].system_joins_rounds):
            self.forget()
        budget = self.learner.within(budget)
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
        trigger = self.pace.trigger(limits, self.ledger)
        made: Source | None = self._by_sums(limits, ask, trigger)
        if made is not None:
            self.before = None
        else:
            made = self._by_rest(limits, ask, trigger)
        if made is None:
            plan, demands = self._plan(limits, ask, trigger), self.policy(ask)[1]
            made = Planned(plan, demands, self.stage.pieces)
            self.before = handover_of(plan)
        self._learn(made, limits)
        if ask.preparing is not None:
            self._prepare(ask.preparing, made, limits, ask, trigger)
        return made

    def _prepare(
        self,
        strategy: Preparing,
        made: Source,
        limits: Limits,
        ask: Ask,
        trigger: int,
    ) -> None:
        """Look ahead to the next prune, once. Costs the history then."""
        if made.pruned:
            self._has_prepared = False
            return
        size = made.tokens - sum(limits.spent)
        if self._has_prepared or size < share_of(trigger, strategy.ahead or 1.0):
            return
        self._has_prepared = True
        view = self._history(ask).view(available=limits.available, target=limits.goal)
        memory = self.memory
        if memory is not None:
            view.earlier = tuple(item.message for item in memory.inserted)
        self.work = strategy.prepare(view, max(trigger - size, 0))

    def _history(self, ask: Ask) -> History:
        rules = rules_of(self.ledger, self.desk, ask, self.policy(ask)[0])
        return History(self.ledger.grouping, Past(self.ledger), rules)

    def marking(self, ask: Ask, window: Window) -> Marking | None:
        """Where cache marks go in a window that was just planned."""
        return marking_of(
            ask,
            window._finish(),  # noqa: SLF001 - ours
            self.ledger,
            self._sums(ask),
            tools=self._limits.spent[0],
            before=self.pace.before,
        )

    def _limit(self, budget: Budget, ask: Ask) -> Limits:
        """What *budget* leaves, in tokens."""
        counter = self.ledger.counter
        overhead = self._overhead(ask.tools) if self.ledger.messages else 0
        tools = self._count_tools(ask.tools)
        margin = counter.margin
        if not counter.exact and self.learner.calibration.count:
            margin = self.learner.margin(budget.max_tokens - budget.reserve, counter)
        if self.learner.ceiling is not None:
            margin = max(margin, 0.0)  # the ceiling is in tokens as we count them
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
            longest=self.learner.longest,
        )
        history = self._history(ask)
        sums = ledger.sums
        looks = needs_look(ledger.grouping, ledger.pins) or self._has_early()
        if sums is not None and not (sums.lead or looks) and ledger.last_uncounted < 0:
            history.size_up(self._sums(ask).every.values)
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
        if limits.nominal >= 0 and ledger.messages:
            self._rest = self._rest_of(plan, limits, ask)
        return plan

    def _rest_of(self, plan: Plan, limits: Limits, ask: Ask) -> Rest | None:
        """What the next windows have beside what comes."""
        ledger = self.ledger
        if ledger.sums is None and ledger.last_uncounted >= 0 and self._last is None:
            return None  # who asks once needs no sums
        return rest_of(plan, limits, ask, ledger, self._sums(ask))

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
        size = made.tokens - sum(limits.spent)
        self.pace.learn(size, limits, self.ledger, pruned=made.pruned)
        self.available = limits.nominal
        self._last = made

    # -- planning by sums --------------------------------------------------------------

    def _by_sums(self, limits: Limits, ask: Ask, trigger: int) -> Scene | None:
        """The next window by the default strategy; none where the engine must look."""
        ledger = self.ledger
        if not ask.by_sums or not limits.by_sums or limits.nominal < 0:
            return None
        if ledger.sums is None and ledger.last_uncounted >= 0 and self._last is None:
            return None  # who asks once counts from the newest end
        if self._has_early():
            return None
        if needs_look(ledger.grouping, ledger.pins):
            return None  # a memory of the provider's asks for more
        sums = self._sums(ask)
        cut = self._settled_cut(sums)
        if cut is None:
            return None
        sealed = self._sealed(sums)
        if sealed is None:
            return None
        outcome = cut_by_sums(
            ledger,
            sums,
            cut,
            trigger=min(trigger, limits.available),
            target=limits.goal,
            sealed=sealed,
            longest=limits.goal // 2 if ask.on_overflow == "shorten" else None,
        )
        if outcome is None or outcome.tokens > limits.available:
            return None
        if sums.setting.demands.signs_prefix and (
            outcome.bridge is not None
            or changes_more(ledger, sums)
            or (self._memory is not None and any(self._memory.frame or ()))
        ):
            return None  # what comes is signed together with it: a plan remembers that
        if self._has_long(ask, outcome.cut.step):
            return None
        if outcome.cut is not self._cut:
            self._cut, self._memory = outcome.cut, None
        self._cut_at = sums, sums.now
        return Scene(self.stage, sums, outcome, ask, limits, self.policy(ask))

    def _by_rest(self, limits: Limits, ask: Ask, trigger: int) -> Scene | None:
        """The next window of any strategy, where it is the last one and what came."""
        rest, ledger = self._rest, self.ledger
        if (
            rest is None
            or rest.ask is not ask
            or rest.limits is not limits
            or self._is_long(ask, rest.total)
        ):
            return None
        sums, sealed = rest.sums, self._sealed(rest.sums)
        if rest.sums is not ledger.sums or not rest.may_go_on(ledger):
            return None
        if self._has_early():
            return None
        if needs_look(ledger.grouping, ledger.pins):
            return None
        outcome = rest.outcome(ledger, sealed or ())
        if outcome is None or outcome.tokens > min(trigger, limits.available):
            return None
        return Scene(self.stage, sums, outcome, ask, limits, self.policy(ask))

    def _has_early(self) -> bool:
        """Whether a result stands before its call: it moves, and steps change by it."""
        grouping = self.ledger.grouping
        return bool(grouping.problems and early_answers(grouping))

    def _has_long(self, ask: Ask, step: int) -> bool:
        """Whether a text behind *step* is longer than the model's window allows one."""
        first = self.ledger.grouping.first
        return step < len(first) and self._is_long(ask, first[step])

    def _is_long(self, ask: Ask, index: int) -> bool:
        """The same of the messages from *index* on. Costs them, once it is known."""
        longest = self.learner.longest
        if longest is None or ask.on_overflow != "shorten":
            return False
        return max(self.ledger.counts[index:], default=0) > longest

    def exceed(self, told: ContextExceeded, source: Source | None, room: int) -> None:
        """Learn from a request that was too long, so that the next one is not.

        Args:
            told:
                What the server said.
            source:
                The window that was sent; none: the last one.
            room:
                What it was counted as where no window was made.
        """
        sent = source or self._last
        tokens = room if sent is None else sent.tokens
        self.learner.exceed(told, tokens, self._limits.budget.reserve)
        self._rest = None

    def _sums(self, ask: Ask) -> Sums:
        """The sums that *ask* is planned by."""
        asked, setting = self._settings
        if asked is not ask:
            policy, demands = self.policy(ask)
            setting = Setting(
                demands=demands,
                per_message=policy.results == "after-call",
                stand_ins=ask.open_calls == "stand-in",
                stand_in_text=ask.stand_in_text,
                drop_system=ask.drop_system,
            )
            self._settings = ask, setting
        ledger, before = self.ledger, self.ledger.sums
        if before is not None and before is self._cut_at[0]:
            if before.setting is setting or before.setting == setting:
                return before
            # What is held differs: what is kept is written down before they go.
            self._memory = self.memory
            self._cut = Cut(0) if self._memory is None else None
            self._cut_at = (None, 0)
            self._unread = self._memory is not None
        return ledger.sums_for(setting, self.desk.awaiting())

    def _settled_cut(self, sums: Sums) -> Cut | None:
        """The last cut as it is by now; none where drops do not tell all."""
        known, at = self._cut_at
        if known is sums:
            return None if self._cut is None else self._catch_up(sums, at)
        if self._cut is None and self._unread:
            self._cut, self._unread = cut_of(self._memory, sums), False
        return self._cut

    def _catch_up(self, sums: Sums, at: int) -> Cut:
        cut = self._cut or Cut(0)
        if at == sums.now or not cut.step:
            return cut
        moves = sums.moved_since(at)
        if moves is None:
            return cut
        now = went_on(cut, sums, moves)
        if now is not cut:
            self._cut, self._memory = now, None
        self._cut_at = sums, sums.now
        return now

    def _sealed(self, sums: Sums) -> Sequence[int] | None:
        """Steps that stay because of their reasoning; none: the engine must look."""
        demands, ledger = sums.setting.demands, self.ledger
        if not demands.thinking or not ledger.thoughts:
            return ()
        if demands.signs_prefix:
            return None
        return sealed_in(ledger.grouping, ledger.gone, ledger.thoughts)
