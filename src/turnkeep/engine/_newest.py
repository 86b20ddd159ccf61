from __future__ import annotations

from typing import Final, NamedTuple

from turnkeep.plans import Cause
from turnkeep.plans._edits import SPLIT_ABOVE
from turnkeep.policy import core_of
from turnkeep.strategies import OldestTurns

from ._case import Case
from ._draft import Draft
from ._shortening import Shortening

OLDEST: Final = OldestTurns()


class Kept(NamedTuple):
    """What the default strategy leaves."""

    tokens: int
    cut: int
    """The first step that is not dropped unless held."""
    early: frozenset[int] = frozenset()
    """Steps before it that stay: the question of a turn that is cut inside."""


class NewestEnd:
    """The default strategy, counting from the newest end.

    For histories without steps that must leave together.
    """

    def __init__(self, case: Case, shortening: Shortening | None = None) -> None:
        self.case = case
        self.shortening = shortening or Shortening(case)

    def prune(self, draft: Draft) -> bool:
        """What `OldestTurns()`, or `OldestTurns() | OldestSteps()`, leaves.

        Dropping the oldest turns until the rest fits is keeping the newest while they
        fit; so the count starts at the newest end and stops at the first turn that no
        longer does.
        """
        case, history, grouping = (
            self.case,
            self.case.history,
            self.case.history.grouping,
        )
        held = sum(map(draft.step_tokens, (*history.held, *history.soft)))
        total, whole = self._count_down(draft, held, case.trigger)
        if whole:
            draft.tokens = total
            return False
        counts = case.terms.counts
        if counts is not None and case.target < case.trigger:
            # The window may be larger than the target by design.
            total = history.total_of(counts())
            self.shortening.cut_older(draft)
            total -= sum(map(draft.freed_by, draft.replaced))
            case.aim = max(case.target, self._grid_target(total))
        kept = self._find_cut(draft, case.aim)
        draft.tokens = kept.tokens
        if not kept.cut:
            self.shortening.bring_back(draft)
            return True
        draft.dropped = dropped = bytearray(grouping.steps)
        code = draft.code(Cause.AGE)
        dropped[: kept.cut] = bytes([code]) * kept.cut
        for step in (*history.held, *history.soft, *kept.early):
            dropped[step] = 0
        return True

    def _count_down(self, draft: Draft, held: int, limit: int) -> tuple[int, bool]:
        """Tokens in all, and whether that is everything (it stops above *limit*)."""
        history, total = self.case.history, held
        fixed = {*history.held, *history.soft}
        for step in range(history.grouping.steps - 1, -1, -1):
            if step not in fixed:
                if total > limit:
                    return total, False
                total += draft.step_tokens(step)
        return total, total <= limit

    def _find_cut(self, draft: Draft, target: int) -> Kept:
        """The newest steps that fit beside what is held."""
        history, grouping = self.case.history, self.case.history.grouping
        fixed = {*history.held, *history.soft}

        def size(step: int) -> int:
            return self.shortening.size(draft, step)

        held = total = sum(map(size, fixed))
        cut = grouping.steps
        for step in range(grouping.steps - 1, -1, -1):
            if step not in fixed:
                if total + size(step) > target:
                    break
                total += size(step)
            cut = step
        if not cut:
            return Kept(total, 0)
        turn = grouping.turn_of(cut - 1)
        if turn + 1 < grouping.turns:
            stop = grouping.steps_of(turn).stop
            total = held + sum(
                size(s) for s in range(stop, grouping.steps) if s not in fixed
            )
            return self._inside(draft, turn, total, target)
        if self.case.strategy == OLDEST:
            # The current turn stays, whatever it takes.
            cut = min(cut, grouping.steps_of(turn).start)
        kept = (s for s in range(cut, grouping.steps) if s not in fixed)
        return Kept(held + sum(map(size, kept)), cut)

    def _inside(self, draft: Draft, turn: int, total: int, target: int) -> Kept:
        """The cut behind an old turn, or inside of it where it is large.

        Args:
            draft:
                The window in the making.
            turn:
                The newest turn that does not fit.
            total:
                Tokens of what is kept behind it, and of what is held.
            target:
                Tokens to keep.
        """
        history, grouping = self.case.history, self.case.history.grouping
        steps = grouping.steps_of(turn)
        whole = Kept(total, steps.stop)
        if total >= target:
            return whole
        free = [s for s in steps if s not in history.held and s not in history.soft]
        seen = 0
        for step in reversed(free):
            seen += self.shortening.size(draft, step)
            if self.case.is_large(seen, SPLIT_ABOVE):
                break
        else:
            return whole
        last = last_of(self.case, turn).intersection(free)
        total += sum(self.shortening.size(draft, step) for step in last)
        if total > target:
            return whole
        cut = steps.stop
        for step in reversed(free):
            if step not in last:
                tokens = self.shortening.size(draft, step)
                if total + tokens > target:
                    break
                total += tokens
                cut = step
        # A question alone says nothing: it goes with the last of its answer.
        return whole if cut == steps.stop else Kept(total, cut, last)

    def _grid_target(self, total: int) -> int:
        """The target as a pure function of the log, which has *total* tokens.

        See `Case.lines`.
        """
        depth = self.case.trigger - self.case.target
        return total - depth * self.case.lines(total)


def last_of(case: Case, turn: int) -> frozenset[int]:
    """The steps that go last of a turn: its question, and what its provider wants."""
    grouping = case.history.grouping
    question = grouping.question_of(turn)
    core = core_of(grouping, turn, case.demands) if case.demands.core else ()
    return frozenset(core if question is None else (question, *core))
