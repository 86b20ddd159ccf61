"""The default strategy's plan from sums: what is new costs, not what is old.

Gives the same windows as the engine, wherever it answers at all; whatever is out of the
ordinary (edits, limits, a missed target, an overflow) is left to the engine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import attrs

from turnkeep.engine import Memory
from turnkeep.index._ledger import Ledger
from turnkeep.plans import Cause
from turnkeep.turns import ASSISTANT, SYSTEM, OpenCall

_SPOKE = bytes([ASSISTANT])


@attrs.frozen
class Cut:
    """What the last prune left: everything from a step on, and some steps before it."""

    step: int
    """The first step that is kept whatever it is."""
    kept: tuple[int, ...] = ()
    """Earlier steps that stayed without being held for good, in order."""

    def memory(self, ledger: Ledger) -> Memory:
        """The same for the engine; costs the steps."""
        dropped = bytearray(b"\1" * self.step)
        for step in self.kept:
            dropped[step] = 0
        for step in ledger.static.irange(maximum=self.step, inclusive=(True, False)):
            dropped[step] = 0
        return Memory(bytes(dropped), ("", Cause.AGE), {}, ())


def cut_of(memory: Memory | None, ledger: Ledger) -> Cut | None:
    """The cut that *memory* says, if it is one; costs the steps."""
    if memory is None:
        return Cut(0)
    if not memory.only_drops or not set(memory.causes) <= {"", Cause.AGE}:
        return None
    stop = len(memory.dropped.rstrip(b"\0"))
    kept: list[int] = []
    at = memory.dropped.find(b"\0", 0, stop)
    while at >= 0:
        if at not in ledger.static:
            kept.append(at)
        at = memory.dropped.find(b"\0", at + 1, stop)
    return Cut(stop, tuple(kept))


class Outcome(NamedTuple):
    """A window's size, where it is cut, and whether anything had to go."""

    tokens: int
    cut: Cut
    pruned: bool


@attrs.frozen
class Base:
    """What a window holds beside the newest end: a number, until something there moves.

    Between two cuts an agent's window only gets longer: what the moment held before the
    cut has come back for good, so the window's size is this and the sum of all steps.
    """

    cut: Cut
    version: int
    shifts: int
    rest: int
    """The window's tokens less those of all steps."""

    @classmethod
    def of(cls, ledger: Ledger, outcome: Outcome) -> Base | None:
        """For windows without open calls like *outcome*; none where that is not all."""
        grouping = ledger.grouping
        newest = grouping.newest
        if newest is None or newest < outcome.cut.step:
            return None
        if grouping.question_of(grouping.turns - 1) is None:
            return None
        if any(grouping.step_at(i) < outcome.cut.step for i in _unread(ledger)):
            return None
        rest = outcome.tokens - ledger.steps.total
        return cls(outcome.cut, ledger.version, ledger.shifts, rest)

    def outcome(
        self,
        ledger: Ledger,
        cut: Cut,
        pending: Sequence[OpenCall],
        stand_ins: int,
        trigger: int,
    ) -> Outcome | None:
        """The window of now, if it is still like that and within *trigger* tokens."""
        if (
            self.cut is not cut
            or self.shifts != ledger.shifts
            or self.version != ledger.version
            or ledger.last_uncounted >= 0
            or ledger.irregular
            or ledger.ends_left_out
            or (pending and not _are_behind(ledger, cut, pending))
        ):
            return None
        tokens = ledger.steps.total + self.rest + stand_ins
        return Outcome(tokens, cut, pruned=False) if tokens <= trigger else None


def _are_behind(ledger: Ledger, cut: Cut, pending: Sequence[OpenCall]) -> bool:
    """Whether *cut* keeps all that awaited calls hold."""
    grouping = ledger.grouping
    for call in pending:
        step = grouping.step_of[call.message]
        if step < cut.step:
            return False
        asked = grouping.question_of(grouping.turn_of(step))
        if asked is not None and asked < cut.step and asked not in cut.kept:
            return False
    return True


def quick_plan(
    ledger: Ledger,
    cut: Cut,
    pending: Sequence[OpenCall],
    stand_ins: int,
    *,
    trigger: int,
    target: int,
) -> Outcome | None:
    """Plan by sums; none where the engine has to look.

    Costs O(log n) and the number of calls that are awaited.

    Args:
        ledger:
            The history.
        cut:
            Where the last window was cut.
        pending:
            Calls that are awaited.
        stand_ins:
            Tokens of the stand-ins that any window needs.
        trigger:
            Tokens above which to prune.
        target:
            Tokens to prune down to.
    """
    grouping = ledger.grouping
    newest = grouping.newest
    if newest is None or ledger.irregular or ledger.ends_left_out:
        return None
    if (
        grouping.kinds[grouping.first[newest]] == SYSTEM
        and grouping.question_of(grouping.turns - 1) is None
    ):
        # A window of system messages alone would not do.
        return None
    held = _held_now(ledger, pending, newest)
    cut = _loosened(cut, ledger)
    values, steps, fixed = ledger.steps.values, ledger.steps, ledger.fixed
    early = held[: bisect_left(held, cut.step)]
    before = sorted({*cut.kept, *early}) if early else cut.kept
    if ledger.last_uncounted >= 0 and not _is_counted(ledger, cut.step, before):
        return None
    total = steps.total + stand_ins
    tokens = total - steps.before(cut.step) + fixed.before(cut.step)
    for step in before:
        tokens += values[step]
    if tokens <= trigger:
        if early and tuple(before) != cut.kept:
            # What came back stays until the next prune, so that the prefix does.
            cut = Cut(cut.step, tuple(before))
        return Outcome(tokens, cut, pruned=False)
    if grouping.summaries:
        # They go last of all.
        return None
    found = _find(ledger, held, total - target, newest)
    if found is None:
        return None
    before = held[: bisect_left(held, found)]
    tokens = total - steps.before(found) + fixed.before(found)
    tokens += sum(values[step] for step in before)
    return Outcome(tokens, Cut(found, tuple(before)), pruned=True)


def _loosened(cut: Cut, ledger: Ledger) -> Cut:
    """*cut* without the steps that are held for good by now, and counted there."""
    static = ledger.static
    if not static or static.isdisjoint(cut.kept):
        return cut
    return Cut(cut.step, tuple([step for step in cut.kept if step not in static]))


def _is_counted(ledger: Ledger, cut: int, before: Sequence[int]) -> bool:
    """Whether all that the sums are asked for has been counted."""
    grouping, counts = ledger.grouping, ledger.counts
    start = grouping.first[cut] if cut < grouping.steps else len(counts)
    if ledger.last_uncounted >= start:
        return False
    return all(counts[i] >= 0 for step in before for i in grouping.members(step))


def _unread(ledger: Ledger) -> list[int]:
    return [i for i in ledger.grouping.unread() if not ledger.is_left_out(i)]


def _held_now(ledger: Ledger, pending: Sequence[OpenCall], newest: int) -> list[int]:
    """Steps that only the moment holds: open calls, the question, the newest step."""
    grouping, static = ledger.grouping, ledger.static
    held = {newest}
    if ledger.grouping.kinds[-1:] != _SPOKE:
        held.update(map(grouping.step_at, _unread(ledger)))
    question = grouping.question_of(grouping.turns - 1)
    if question is not None:
        held.add(question)
    for call in pending:
        step = grouping.step_of[call.message]
        held.add(step)
        asked = grouping.question_of(grouping.turn_of(step))
        if asked is not None:
            held.add(asked)
    return sorted([step for step in held if step not in static])


def _find(ledger: Ledger, held: Sequence[int], wanted: int, newest: int) -> int | None:
    """The first step to keep so that *wanted* free tokens go; none if they cannot.

    What only the moment holds is among the sums of free tokens, so the search is
    repeated with it added, until no more of it lies before the place found.
    """
    grouping, values = ledger.grouping, ledger.steps.values
    current = grouping.turn_first[grouping.turns - 1]
    passed = 0
    while True:
        extra = sum(values[step] for step in held[:passed])
        step = ledger.steps.reach(wanted + extra, ledger.fixed)
        if step > len(ledger.steps):
            return None
        if step <= current:
            # Old turns go whole.
            step = grouping.turn_first[bisect_left(grouping.turn_first, step)]
        more = bisect_left(held, step)
        if more == passed:
            return step if step <= newest or step <= current else None
        passed = more


def indexes_from(ledger: Ledger, cut: Cut, total: int) -> list[int]:
    """Indexes of the messages of all steps that *cut* keeps; costs their number.

    Only the first *total* messages are looked at; no later one is late.
    """
    grouping = ledger.grouping
    step_of, at = grouping.step_of, cut.step
    start = grouping.first[at] if at < grouping.steps else total
    if not at:
        return list(range(total))
    static = ledger.static.irange(maximum=at, inclusive=(True, False))
    early = {*cut.kept, *static}
    head = sorted(chain.from_iterable(map(grouping.members, early)))
    if grouping.late:
        tail = [i for i in range(start, total) if step_of[i] >= at]
        return sorted(chain(head, tail)) if head and head[-1] > start else head + tail
    return [*head, *range(start, total)]
