"""Windows of any strategy between two prunes: the last one, and what has come since."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import attrs

from turnkeep.engine import Memory
from turnkeep.engine._limits import images_in
from turnkeep.engine._quick import Outcome, Remains, moment_of, still_true
from turnkeep.index._ledger import Ledger
from turnkeep.index._sums import Sums
from turnkeep.plans import Cause, Plan, memory_of

from ._asking import Ask, Limits


@attrs.frozen(eq=False)
class Rest:
    """What a window has beside what all steps have: true until something moves.

    Between two prunes a window only gets longer, whatever strategy made it.
    """

    ask: Ask
    limits: Limits
    sums: Sums
    remains: Remains
    tokens: int
    """The window's tokens less those of all steps."""
    moves: int
    """The place in the journal of the sums."""
    version: int
    changed: tuple[int, int, tuple[int, int]]
    """What else a window changes: messages of ours, moved results, misfits."""
    end: int
    """Behind which message one of ours stands at the very end; -1: behind none."""
    total: int
    """How many messages there were."""
    pictures: int
    """How many pictures more the window may hold."""

    def may_go_on(self, ledger: Ledger) -> bool:
        """Whether what the window changed is still all that it has to change."""
        demands, limits = self.sums.setting.demands, self.limits
        if (
            self.version != ledger.version
            or ledger.last_uncounted >= self.total
            or self.changed[2] != ledger.misfits
        ):
            return False
        if demands.signs_prefix and self.changed != _changed(ledger, self.sums):
            return False  # signed together with all that stood before it
        if limits.budget.max_images is None:
            return True
        return self._new_pictures(ledger) <= self.pictures

    def _new_pictures(self, ledger: Ledger) -> int:
        pictures = ledger.pictures
        start = bisect_left(pictures, self.total)
        return sum(images_in(ledger.messages[i].content) for i in pictures[start:])

    def outcome(self, ledger: Ledger, sealed: Sequence[int]) -> Outcome | None:
        """The window of now; none where something moved that it does not hold."""
        sums = self.sums
        moment = moment_of(ledger, sums, sealed)
        moves = sums.moved_since(self.moves)
        if moment is None or moves is None:
            return None
        if not still_true(self.remains, ledger, moves, moment):
            return None
        bridge = moment.bridge
        end = -1 if bridge is None else bridge[1].after
        if sums.setting.demands.signs_prefix and end != self.end:
            return None
        tokens = sums.every.total + self.tokens
        if bridge is not None:
            tokens += bridge[1].tokens
        return Outcome(tokens, self.remains, pruned=False, bridge=bridge, sealed=sealed)


def rest_of(
    plan: Plan, limits: Limits, ask: Ask, ledger: Ledger, sums: Sums
) -> Rest | None:
    """What windows after *plan* have beside what comes; none where that is not all.

    Costs the steps.
    """
    budget, moment = limits.budget, moment_of(ledger, sums, ())
    if moment is None or budget.max_turns or budget.max_messages:
        return None
    memory = memory_of(plan) or Memory(b"", ("",), {}, ())
    if any(cause == Cause.LIMIT for _, cause in memory.replaced.values()):
        return None  # cut for this window alone
    dropped = memory.dropped
    held = sums.held_leads.irange(maximum=len(dropped), inclusive=(True, False))
    if any(dropped[lead] for lead in held):
        return None  # what is dropped last of all went: it is tried again each time
    pictures = 0
    if budget.max_images is not None:
        edits, message = plan.edits, ledger.message
        pictures = budget.max_images - sum(
            images_in((edits[i][0] if i in edits else message(i)).content)
            for i in plan.order
            if isinstance(i, int)
        )
    bridge, end = 0, -1
    if moment.bridge is not None:
        bridge, end = moment.bridge[1].tokens, moment.bridge[1].after
    return Rest(
        ask=ask,
        limits=limits,
        sums=sums,
        remains=Remains.of(memory),
        tokens=plan.tokens - sum(limits.spent) - sums.every.total - bridge,
        moves=sums.now,
        version=ledger.version,
        changed=_changed(ledger, sums),
        end=end,
        total=len(ledger.messages),
        pictures=pictures,
    )


def changes_more(ledger: Ledger, sums: Sums) -> bool:
    """Whether windows change more than what they leave out."""
    _, moved, misfits = _changed(ledger, sums)
    return bool(sums.additions) or moved > 0 or misfits != (0, 0)


def _changed(ledger: Ledger, sums: Sums) -> tuple[int, int, tuple[int, int]]:
    grouping = ledger.grouping
    moved = grouping.displaced if sums.setting.per_message else grouping.displaced_run
    return sums.frame, len(moved), ledger.misfits
