"""What windows are made from: the history as it was when one was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import RLock
from typing import Any

import attrs

from turnkeep.engine import left_bare, left_out, missed_target, not_counted
from turnkeep.engine._order import Order, arrange, joined_in, runs_of
from turnkeep.engine._quick import Outcome, Remains, indexes_from
from turnkeep.formats._pieces import Pieces
from turnkeep.index import History
from turnkeep.index._ledger import Ledger
from turnkeep.index._past import Past
from turnkeep.index._sums import Moved, Sums
from turnkeep.model import Message
from turnkeep.plans import Cause, Inserted, Plan, Run
from turnkeep.profiles import Policy

from ._asking import Ask, Limits, rules_of
from ._desk import CallDesk


class Planned:
    """A window that the engine planned."""

    __slots__ = ("_pieces", "demands", "plan")

    def __init__(self, plan: Plan, demands: Policy, pieces: Pieces) -> None:
        self.plan = plan
        self.demands = demands
        self._pieces = pieces

    @property
    def tokens(self) -> int:
        return self.plan.tokens

    @property
    def pruned(self) -> bool:
        return self.plan.pruned

    @property
    def exact(self) -> bool:
        return self.plan.exact

    def message(self, index: int) -> Message:
        return self.plan.message(index)

    def messages(self) -> list[Message] | None:
        return None

    def request(
        self, name: str, messages: Sequence[Message], tools: Any
    ) -> dict[str, Any] | None:
        return self._pieces.request(name, messages, tools, self.demands)


@attrs.frozen(eq=False)
class Stage:
    """What all windows of one conversation share.

    Does not know the fitter: that keeps the last window, and a cycle would keep every
    dropped conversation until the garbage collector comes by.
    """

    ledger: Ledger
    desk: CallDesk
    lock: RLock
    pieces: Pieces


class Scene(Past):
    """A window that was planned by sums; the plan is written when it is asked for.

    Made for every window, most of which are only sent: so it notes what it needs, and
    works out nothing.
    """

    __slots__ = (
        "_added",
        "_ask",
        "_key",
        "_limits",
        "_misfits",
        "_moves",
        "_outcome",
        "_policy",
        "_revision",
        "_stage",
        "_sums",
        "_total",
        "_version",
        "demands",
        "exact",
        "pruned",
        "tokens",
    )

    def __init__(
        self,
        stage: Stage,
        sums: Sums,
        outcome: Outcome,
        ask: Ask,
        limits: Limits,
        setting: tuple[Policy, Policy],
    ) -> None:
        ledger = stage.ledger
        super().__init__(ledger)
        self._stage = stage
        self._sums = sums
        self._moves = sums.now
        self._added = sums.added
        self._outcome = outcome
        self._ask = ask
        self._limits = limits
        self._policy, self.demands = setting
        self._key: tuple[int, Any, int] | None = None
        self._total = len(ledger.messages)
        self._revision = ledger.revision
        self._version = ledger.version
        self._misfits = ledger.misfits
        self.exact = ledger.counter.exact
        self.pruned = outcome.pruned
        self.tokens = outcome.tokens + sum(limits.spent)

    @property
    def plan(self) -> Plan:
        """Why these messages; made anew each time.

        A plan that this kept would keep this, and both the conversation.
        """
        limits = self._limits
        with self._stage.lock:
            edits, warnings, inserted = self._exceptions()
        joins = self.demands.joins != "nothing"
        return Plan(
            tokens=self.tokens,
            available=limits.available,
            fixed=sum(limits.spent),
            inserted=inserted,
            edits=edits,
            warnings=tuple(warnings),
            refused=(),
            exact=self.exact,
            margin=limits.margin,
            pruned=self.pruned,
            source=self,
            fingerprint=self._revision,
            memory=None,
            joins=self.joined if joins else None,
            make_order=lambda: self.order(inserted),
            make_runs=self.runs,
        )

    def _exceptions(
        self,
    ) -> tuple[dict[int, tuple[Message, str, int]], list[str], tuple[Inserted, ...]]:
        """What the window holds changed, what is to be said of it, and what is added.

        Costs their number, as long as nothing moved that concerns them.
        """
        ledger, outcome = self._ledger, self._outcome
        if not self._is_as_then or self._misfits != ledger.misfits:
            ledger = self._then()
        history = self._history(ledger)
        edits = {
            index: (message, cause, ledger.cost(message))
            for index, (message, cause) in self._edits(history).items()
        }
        warnings: list[str] = []
        if outcome.pruned and outcome.tokens > self._limits.goal:
            warnings.append(missed_target(self._limits.goal, outcome.tokens))
        if history.gone or history.mended:
            warnings += left_out(ledger.grouping.problems, self.id)
        warnings += [*not_counted(history), *left_bare(history)]
        inserted: list[Inserted] = []
        newest, bridge = outcome.bridge or (-1, None)
        sums = ledger.sums or self._sums
        for step, items in self._added:
            if bridge is not None and newest < step:
                inserted.append(bridge)
                bridge = None
            if outcome.cut.keeps(step, sums):
                inserted += items
        if bridge is not None:
            inserted.append(bridge)
        if isinstance(outcome.cut, Remains):
            inserted += outcome.cut.left.inserted
        return edits, warnings, tuple(inserted)

    def _edits(self, history: History) -> dict[int, tuple[Message, str]]:
        """The messages that are sent changed, and why."""
        cut, made = self._outcome.cut, dict[int, tuple[Message, str]]()
        if isinstance(cut, Remains):
            for index, (message, cause) in cut.left.replaced.items():
                kept = index not in history.rules.pins and index not in history.gone
                if kept and cause != Cause.PROFILE:
                    made[index] = message, cause
        for index, message in history.mended.items():
            why = Cause.PROFILE if index in history.stripped else Cause.REPAIR
            made.setdefault(index, (message, why))
        return made

    @property
    def _is_as_then(self) -> bool:
        """Whether the cut keeps what it kept, however much has been appended since."""
        ledger, sums = self._ledger, self._sums
        if self._version != ledger.version or sums is not ledger.sums:
            return False
        if self._moves == sums.now:
            return True
        moves = sums.moved_since(self._moves)
        step = self._outcome.cut.step
        return moves is not None and all(
            what is Moved.SIZED or lead >= step for what, lead in moves
        )

    def _then(self) -> Ledger:
        """The ledger as it was, with the sums of then."""
        ledger = self._ledger
        if ledger.revision == self._revision and ledger.sums is self._sums:
            return ledger
        earlier = self.ledger(self._total)
        desk = self._stage.desk
        earlier.sums_for(self._sums.setting, CallDesk(earlier, desk.book).awaiting())
        return earlier

    def _history(self, ledger: Ledger) -> History:
        rules = rules_of(ledger, self._stage.desk, self._ask, self._policy)
        rules = attrs.evolve(rules, stand_ins=False)
        history, cut = History(ledger.grouping, ledger, rules), self._outcome.cut
        if isinstance(cut, Remains):
            lost = (i for i, (_, c) in cut.left.replaced.items() if c == Cause.PROFILE)
            history.strip(index for index in lost if index not in history.gone)
        if self._outcome.sealed:
            history.seal(self._outcome.sealed)
        return history

    @property
    def _is_plain(self) -> bool:
        """Whether the window is the history's own messages in their order.

        What has been appended since makes no difference as long as this holds.
        """
        ledger, grouping = self._ledger, self._ledger.grouping
        if (
            grouping.displaced
            or grouping.displaced_run
            or ledger.gone
            or ledger.mended
            or ledger.shown_only
            or self._outcome.bridge is not None
            or (
                isinstance(self._outcome.cut, Remains)
                and not self._outcome.cut.left.only_drops
            )
            or not self._is_as_then
        ):
            return False
        cut = self._outcome.cut
        return not any(cut.keeps(step, self._sums) for step, _ in self._added)

    def messages(self) -> list[Message] | None:
        """The window's messages, if they are the history's own in their order.

        Costs what is new since the last window of the same cut.
        """
        stage = self._stage
        with stage.lock:
            if not self._is_plain:
                return None
            ledger, cut = self._ledger, self._outcome.cut
            if not ledger.grouping.late:
                # The very cut: one that was made anew may be equal, and hold less.
                self._key = id(cut), cut, self._version
            indexes = partial(indexes_from, ledger, cut, self._total)
            return stage.pieces.messages(
                ledger.messages, self._total, self._key, indexes
            )

    def request(
        self, name: str, messages: Sequence[Message], tools: Any
    ) -> dict[str, Any] | None:
        """The window's *messages* encoded, if that can be done piece by piece."""
        pieces = self._stage.pieces
        return pieces.request(name, messages, tools, self.demands, self._key)

    def joined(self, order: Order) -> list[int]:
        """See `Plan.joins`."""
        with self._stage.lock:
            return joined_in(self._history(self._then()), order)

    def order(self, inserted: tuple[Inserted, ...]) -> tuple[Order, tuple[int, ...]]:
        with self._stage.lock:
            cut = self._outcome.cut
            if self._is_plain:
                return indexes_from(self._ledger, cut, self._total), ()
            ledger = self._then()
            indexes = indexes_from(ledger, cut, self._total)
            history = self._history(ledger)
            return arrange(history, indexes, inserted, self._policy.results)

    def runs(self) -> tuple[Run, ...]:
        with self._stage.lock:
            ledger, cut = self._then(), self._outcome.cut
            history = self._history(ledger)
            dropped: bytearray | None = None
            causes: Sequence[str] = ("",)
            if cut.step and ledger.sums is not None:
                left = cut.memory(ledger.sums)
                dropped, causes = bytearray(left.dropped), left.causes
                dropped.extend(bytes(max(ledger.grouping.steps - len(dropped), 0)))
            edits = {index: why for index, (_, why) in self._edits(history).items()}
            return runs_of(history, dropped, causes, edits)
