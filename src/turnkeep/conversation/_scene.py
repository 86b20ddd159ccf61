"""What windows are made from: the history as it was when one was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import RLock
from typing import Any

import attrs

from turnkeep.engine import left_out
from turnkeep.engine._order import Order, arrange, runs_of
from turnkeep.engine._quick import Cut, Outcome, indexes_from
from turnkeep.formats._pieces import Pieces
from turnkeep.index import History
from turnkeep.index._ledger import Ledger
from turnkeep.index._past import Past
from turnkeep.model import Message
from turnkeep.plans import Cause, Inserted, Plan, Run
from turnkeep.profiles import Policy
from turnkeep.turns import Problem

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
        "_ask",
        "_cut",
        "_inserted",
        "_key",
        "_limits",
        "_policy",
        "_revision",
        "_stage",
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
        outcome: Outcome,
        ask: Ask,
        limits: Limits,
        setting: tuple[Policy, Policy],
        inserted: tuple[Inserted, ...],
    ) -> None:
        ledger = stage.ledger
        super().__init__(ledger)
        self._stage = stage
        self._cut = outcome.cut
        self._ask = ask
        self._limits = limits
        self._policy, self.demands = setting
        self._inserted = inserted
        self._key: tuple[Cut, int] | None = None
        self._total = len(ledger.messages)
        self._revision = ledger.revision
        self._version = ledger.version
        self.exact = ledger.counter.exact
        self.pruned = outcome.pruned
        self.tokens = outcome.tokens + sum(limits.spent)

    @property
    def plan(self) -> Plan:
        """Why these messages; made anew each time.

        A plan that this kept would keep this, and both the conversation.
        """
        limits = self._limits
        return Plan(
            tokens=self.tokens,
            available=limits.available,
            fixed=sum(limits.spent),
            inserted=self._inserted,
            edits={},
            warnings=tuple(left_out(self._problems(), self.id)),
            refused=(),
            exact=self.exact,
            margin=limits.margin,
            pruned=self.pruned,
            source=self,
            fingerprint=self._revision,
            memory=None,
            make_order=self.order,
            make_runs=self.runs,
        )

    def _problems(self) -> list[Problem]:
        with self._stage.lock:
            ledger = self._ledger
            if ledger.version != self._version:
                return self._then().grouping.problems
            return [p for p in ledger.grouping.problems if p.message < self._total]

    def _then(self) -> Ledger:
        """The ledger as it was."""
        ledger = self._ledger
        if ledger.revision == self._revision:
            return ledger
        return self.ledger(self._total)

    def _history(self, ledger: Ledger) -> History:
        rules = rules_of(ledger, self._stage.desk, self._ask, self._policy)
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
        stage = self._stage
        with stage.lock:
            if not self._is_plain:
                return None
            ledger = self._ledger
            if not ledger.grouping.late:
                self._key = self._cut, self._version
            indexes = partial(indexes_from, ledger, self._cut, self._total)
            return stage.pieces.messages(
                ledger.messages, self._total, self._key, indexes
            )

    def request(
        self, name: str, messages: Sequence[Message], tools: Any
    ) -> dict[str, Any] | None:
        """The window's *messages* encoded, if that can be done piece by piece."""
        pieces = self._stage.pieces
        return pieces.request(name, messages, tools, self.demands, self._key)

    def order(self) -> tuple[Order, tuple[int, ...]]:
        with self._stage.lock:
            if self._is_plain:
                return indexes_from(self._ledger, self._cut, self._total), ()
            ledger = self._then()
            indexes = indexes_from(ledger, self._cut, self._total)
            history = self._history(ledger)
            return arrange(history, indexes, self._inserted, self._policy.results)

    def runs(self) -> tuple[Run, ...]:
        with self._stage.lock:
            ledger = self._then()
            steps = ledger.grouping.steps
            dropped = bytearray(self._cut.memory(ledger).dropped)
            dropped.extend(bytes(steps - len(dropped)))
            return runs_of(self._history(ledger), dropped, ("", Cause.AGE), {})
