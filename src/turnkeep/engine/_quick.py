"""The default strategy's cut, from sums: what is new costs, not what is old.

Dropping the oldest turns until the rest fits is keeping the newest steps while they
fit. So a window is one step from which on all is kept, what is held before it, and a
few earlier steps that came back; its size is two prefix sums, and the step is found by
one descent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import attrs

from turnkeep.budgets import share_of
from turnkeep.engine import Memory
from turnkeep.engine._order import kept_indexes
from turnkeep.index._additions import bridge_end, ends_on_call
from turnkeep.index._holds import held_now, newest_step
from turnkeep.index._ledger import Ledger
from turnkeep.index._sums import Moved, Sums
from turnkeep.plans import Cause, Inserted
from turnkeep.plans._edits import SPLIT_ABOVE
from turnkeep.policy import core_of


@attrs.frozen
class Cut:
    """What the last prune left: everything from a step on, and some steps before it.

    Tied steps are spoken of by the first of them.
    """

    step: int
    """The first step that is kept whatever it is."""
    kept: tuple[int, ...] = ()
    """Earlier steps that stayed without being held for good, in order."""

    def keeps(self, step: int, sums: Sums) -> bool:
        """Whether a window of now holds a step."""
        lead = sums.lead_of(step)
        return lead >= self.step or lead in self.kept or sums.is_held(lead)

    def memory(self, sums: Sums) -> Memory:
        """The same for the engine; costs the steps."""
        dropped = bytearray(b"\1" * self.step)
        for step in early_steps(sums, self):
            if step < self.step:
                dropped[step] = 0
        for step in lost_steps(sums, self):
            dropped.extend(bytes(max(step + 1 - len(dropped), 0)))
            dropped[step] = 1
        return Memory(bytes(dropped), ("", Cause.AGE), {}, ())


@attrs.frozen(eq=False)
class Remains(Cut):
    """What a plan of any strategy left; answers the same questions as a cut."""

    left: Memory = attrs.field(kw_only=True)

    @classmethod
    def of(cls, left: Memory) -> Remains:
        """What *left* says; nothing is dropped from its last dropped step on."""
        return cls(len(left.dropped.rstrip(b"\0")), left=left)

    def keeps(self, step: int, sums: Sums) -> bool:
        """Whether a window of now holds a step."""
        del sums
        return step >= len(self.left.dropped) or not self.left.dropped[step]

    def memory(self, sums: Sums) -> Memory:
        """The plan's own."""
        del sums
        return self.left


def cut_of(memory: Memory | None, sums: Sums) -> Cut | None:
    """The cut that *memory* says, if it is one; costs the steps."""
    if memory is None:
        return Cut(0)
    if not memory.only_drops or not set(memory.causes) <= {"", Cause.AGE}:
        return None
    dropped = memory.dropped
    together, lead = sums.grouping.together, sums.lead
    whole = bytearray(dropped)
    for step, first in lead.items():
        gone = all(t < len(dropped) and dropped[t] for t in together(step))
        if step < len(whole):
            whole[step] = gone and step == first
    stop = len(whole.rstrip(b"\0"))
    kept: list[int] = []
    at = whole.find(b"\0", 0, stop)
    while at >= 0:
        if not sums.is_held(at) and lead.get(at, at) == at:
            kept.append(at)
        at = whole.find(b"\0", at + 1, stop)
    return Cut(stop, tuple(kept))


class Outcome(NamedTuple):
    """A window's size, where it is cut, and whether anything had to go."""

    tokens: int
    cut: Cut
    pruned: bool
    bridge: tuple[int, Inserted] | None = None
    """A message of ours at the very end, and the newest step, which it follows."""
    sealed: Sequence[int] = ()
    """Steps that stayed because their reasoning did."""


class Moment(NamedTuple):
    """What only the moment holds, and what it adds."""

    leads: list[int]
    """Steps that are not held for longer, in order."""
    bridge: tuple[int, Inserted] | None


def moment_of(ledger: Ledger, sums: Sums, sealed: Sequence[int]) -> Moment | None:
    """What the moment holds; none where there is nothing to send.

    Args:
        ledger:
            The history.
        sums:
            Its sums.
        sealed:
            Steps that stay because their reasoning does.
    """
    grouping, gone = ledger.grouping, ledger.gone
    newest = newest_step(grouping, gone)
    if newest is None:
        return None
    leads = sums.passing([*held_now(grouping, newest, gone), *sealed])
    setting, bridge = sums.setting, None
    if setting.demands.ends_with_user and ends_on_call(
        grouping, gone, sums.additions, per_message=setting.per_message
    ):
        bridge = newest, bridge_end(len(grouping) - 1, ledger.cost)
    return Moment(leads, bridge)


def went_on(cut: Cut, sums: Sums, moves: Iterable[tuple[Moved, int]]) -> Cut:
    """*cut* after what happened since: what was kept stays, held or not."""
    firsts: dict[int, Moved] = {}
    early = {*cut.kept}
    for what, lead in moves:
        if what is Moved.TIED:
            group = sums.grouping.together(lead)
            if any(
                step >= cut.step
                or step in early
                or firsts.get(step) is Moved.FREE
                or (step not in firsts and sums.is_held(step))
                for step in group
            ):
                early.add(lead)
        elif what is not Moved.SIZED:
            if lead not in firsts and what is Moved.FREE:
                early.add(lead)
            firsts.setdefault(lead, what)
    leads = {sums.lead_of(step) for step in early}
    kept = sorted(s for s in leads if s < cut.step and not sums.is_held(s))
    changed = any(s < cut.step for s in firsts)
    return (
        cut if tuple(kept) == cut.kept and not changed else Cut(cut.step, tuple(kept))
    )


def still_true(
    remains: Remains,
    ledger: Ledger,
    moves: Iterable[tuple[Moved, int]],
    moment: Moment,
) -> bool:
    """Whether a plan's window has only got longer since: nothing it dropped moved.

    Costs what moved.
    """
    together, dropped = ledger.grouping.together, remains.left.dropped
    stop = len(dropped)
    for what, lead in moves:
        if what is not Moved.FREE and any(
            step < stop and dropped[step] for step in together(lead)
        ):
            return False
    return not any(lead < stop and dropped[lead] for lead in moment.leads)


def cut_by_sums(
    ledger: Ledger,
    sums: Sums,
    cut: Cut,
    *,
    trigger: int,
    target: int,
    sealed: Sequence[int] = (),
    longest: int | None = None,
) -> Outcome | None:
    """The next window's cut; none where the engine has to look.

    Costs O(log n), and what only the moment holds.

    Args:
        ledger:
            The history.
        sums:
            Its sums.
        cut:
            Where the last window was cut.
        trigger:
            Tokens above which to prune.
        target:
            Tokens to prune down to.
        sealed:
            Steps that stay because their reasoning does.
        longest:
            Tokens of a message above which the engine has to look whether to cut it.
    """
    moment = moment_of(ledger, sums, sealed)
    if moment is None:
        return None
    held, bridge = moment
    early = held[: bisect_left(held, cut.step)]
    kept = tuple(sorted({*cut.kept, *early})) if early else cut.kept
    if ledger.last_uncounted >= 0 and not _is_counted(ledger, sums, cut.step, kept):
        return None
    more = 0 if bridge is None else bridge[1].tokens
    tokens = sums.kept_from(cut.step, kept) + more
    if tokens <= trigger:
        if kept != cut.kept:
            # What came back stays until the next prune, so that the prefix does.
            cut = Cut(cut.step, kept)
        return Outcome(tokens, cut, pruned=False, bridge=bridge, sealed=sealed)
    wanted = sums.every.total + more - target
    at = _find(sums, held, wanted)
    step, last = _behind(sums, held, wanted, at, target)
    kept = tuple(sorted({*held[: bisect_left(held, step)], *last}))
    if longest is not None and _has_long(ledger, sums, at, kept, longest):
        return None
    if ledger.last_uncounted >= 0 and not _is_counted(ledger, sums, step, kept):
        return None
    tokens = sums.kept_from(step, kept) + more
    return Outcome(tokens, Cut(step, kept), True, bridge, sealed)


def _is_counted(ledger: Ledger, sums: Sums, cut: int, kept: Iterable[int]) -> bool:
    """Whether all that the sums are asked for has been counted."""
    grouping, counts = ledger.grouping, ledger.counts
    start = grouping.first[cut] if cut < grouping.steps else len(counts)
    if ledger.last_uncounted >= start:
        return False
    before = sums.held_leads.irange(maximum=cut, inclusive=(True, False))
    together = grouping.together
    return all(
        counts[index] >= 0 or index in ledger.forgotten
        for lead in chain(before, kept)
        for step in together(lead)
        for index in grouping.members(step)
    )


def _find(sums: Sums, held: Sequence[int], wanted: int) -> int:
    """The first step to keep so that *wanted* free tokens go, or all that is free.

    What only the moment holds is among the sums of free tokens, so the search is
    repeated with it added, until no more of it lies before the place found.
    """
    values = sums.every.values
    passed = 0
    while True:
        extra = sum(values[step] for step in held[:passed])
        step = sums.every.reach(wanted + extra, sums.held)
        if step > len(values):
            return len(values)
        more = bisect_left(held, step)
        if more == passed:
            return step
        passed = more


def _behind(
    sums: Sums, held: Sequence[int], wanted: int, at: int, target: int
) -> tuple[int, Sequence[int]]:
    """The first step to keep where *at* would do, and earlier ones that stay.

    Old turns go whole, save a large one that would free too much: that is cut inside,
    and its question stays, with what its provider wants to go last.
    """
    grouping = sums.grouping
    turn = grouping.turn_of(at - 1) if at else 0
    if not at or turn + 1 == grouping.turns:
        return at, ()
    steps = grouping.steps_of(turn)
    before, fixed = sums.every.before, sums.held.before
    size = before(steps.stop) - before(steps.start)
    size -= fixed(steps.stop) - fixed(steps.start)
    start, stop = bisect_left(held, steps.start), bisect_left(held, steps.stop)
    size -= sum(sums.every.values[step] for step in held[start:stop])
    freed = before(steps.stop) - fixed(steps.stop)
    freed -= sum(sums.every.values[step] for step in held[:stop])
    if freed <= wanted or size <= share_of(target, SPLIT_ABOVE):
        return steps.stop, ()
    demands = sums.setting.demands
    last = {*core_of(grouping, turn, demands)} if demands.core else set[int]()
    question = grouping.question_of(turn)
    if question is not None:
        last.add(question)
    free = [s for s in last if sums.lead_of(s) == s and not sums.is_held(s)]
    inside = _find(sums, sorted({*held, *free}), wanted)
    now = {*held}
    if not any(
        sums.lead_of(s) == s and not sums.is_held(s) and s not in last and s not in now
        for s in range(inside, steps.stop)
    ):
        # A question alone says nothing: it goes with the last of its answer.
        return steps.stop, ()
    return inside, sorted(s for s in free if s < inside and s not in now)


def _has_long(
    ledger: Ledger, sums: Sums, at: int, kept: Iterable[int], longest: int
) -> bool:
    """Whether what decides about a cut at *at* holds a message of so many tokens."""
    grouping, counts = ledger.grouping, ledger.counts
    start = grouping.first[at - 1] if at else 0
    if max(counts[start:], default=0) > longest:
        return True
    before = sums.held_leads.irange(maximum=at, inclusive=(True, False))
    together = grouping.together
    return any(
        counts[index] > longest
        for lead in chain(before, kept)
        for step in together(lead)
        for index in grouping.members(step)
    )


def early_steps(sums: Sums, cut: Cut) -> list[int]:
    """The steps that *cut* keeps without being behind it; costs their number."""
    held = sums.held_leads.irange(maximum=cut.step, inclusive=(True, False))
    if not sums.lead:
        return [*held, *cut.kept]
    together = sums.grouping.together
    return [step for lead in chain(held, cut.kept) for step in together(lead)]


def lost_steps(sums: Sums, cut: Cut) -> list[int]:
    """The steps behind *cut* that go all the same, tied to one before it."""
    return [
        step
        for step, lead in sums.lead.items()
        if step >= cut.step > lead and not cut.keeps(lead, sums)
    ]


def indexes_from(ledger: Ledger, cut: Cut, total: int) -> list[int]:
    """Indexes of the messages of all steps that *cut* keeps; costs their number.

    Only the first *total* messages are looked at.
    """
    grouping, sums, at = ledger.grouping, ledger.sums, cut.step
    if not at or sums is None:
        return list(range(total))
    if isinstance(cut, Remains):
        dropped = bytearray(cut.left.dropped[: grouping.steps])
        dropped.extend(bytes(grouping.steps - len(dropped)))
        return [i for i in kept_indexes(grouping, dropped) if i < total]
    step_of = grouping.step_of
    start = grouping.first[at] if at < grouping.steps else len(grouping)
    early = early_steps(sums, cut)
    head = sorted(chain.from_iterable(map(grouping.members, early)))
    lost = lost_steps(sums, cut) if sums.lead else ()
    if not grouping.late and not lost and not sums.lead:
        return [*head, *range(start, total)]
    gone = {*lost}
    tail = [
        i for i in range(start, total) if step_of[i] >= at and step_of[i] not in gone
    ]
    if not head or head[-1] < start:
        return head + tail
    return sorted({*(i for i in head if i < total), *tail})
