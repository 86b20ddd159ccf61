from __future__ import annotations

from typing import Final

from turnkeep.plans import Cause
from turnkeep.strategies import OldestTurns

from ._case import Case
from ._draft import Draft

OLDEST: Final = OldestTurns()


class NewestEnd:
    """The default strategy, counting from the newest end.

    For histories without steps that must leave together.
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    def prune(self, draft: Draft) -> bool:
        """What `OldestTurns()`, or `OldestTurns() | OldestSteps()`, leaves.

        Dropping the oldest turns until the rest fits is keeping the newest while they
        fit; so the count starts at the newest end and stops at the first turn that no
        longer does.
        """
        history, grouping = self.case.history, self.case.history.grouping
        held = sum(map(history.tokens, history.held))
        held += sum(map(history.tokens, history.soft))
        total, whole = self._count_down(held, self.case.trigger)
        if whole:
            draft.tokens = total
            return False
        counts = self.case.terms.counts
        if counts is not None and self.case.target < self.case.trigger:
            # The window may be larger than the target by design.
            total = self.case.history.total_of(counts())
            self.case.aim = max(self.case.target, self._grid_target(total))
        total, within = self._find_cut(held, self.case.aim)
        draft.tokens = total
        draft.dropped = dropped = bytearray(grouping.steps)
        code = draft.code(Cause.AGE)
        dropped[:within] = bytes([code]) * within
        for step in (*history.held, *history.soft):
            dropped[step] = 0
        return True

    def _count_down(self, held: int, limit: int) -> tuple[int, bool]:
        """Tokens in all, and whether that is everything (it stops above *limit*)."""
        history, total = self.case.history, held
        fixed = {*history.held, *history.soft}
        for step in range(history.grouping.steps - 1, -1, -1):
            if step not in fixed:
                if total > limit:
                    return total, False
                total += history.tokens(step)
        return total, total <= limit

    def _find_cut(self, held: int, target: int) -> tuple[int, int]:
        """Tokens kept, and the first step that is not dropped unless held."""
        history, grouping = self.case.history, self.case.history.grouping
        tokens, fixed = history.tokens, {*history.held, *history.soft}
        total, cut = held, grouping.steps
        for step in range(grouping.steps - 1, -1, -1):
            if step not in fixed:
                if total + tokens(step) > target:
                    break
                total += tokens(step)
            cut = step
        cut = grouping.whole_from(cut)
        if self.case.strategy == OLDEST:
            # The current turn stays, whatever it takes.
            cut = min(cut, grouping.steps_of(grouping.turns - 1).start)
        kept = (s for s in range(cut, grouping.steps) if s not in fixed)
        return held + sum(map(tokens, kept)), cut

    def _grid_target(self, total: int) -> int:
        """The target as a pure function of the log, which has *total* tokens.

        See `Case.lines`.
        """
        depth = self.case.trigger - self.case.target
        return total - depth * self.case.lines(total)
