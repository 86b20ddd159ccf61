"""How a conversation that follows a list was cut, without a word of what it says.

A cut is a function of the list, the budget and what had been learned by then. So it is
enough to know at which lengths of the list it was made: whoever has the list again cuts
it again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from turnkeep.budgets import Budget
from turnkeep.errors import TurnkeepError
from turnkeep.model import FrozenDict, freeze, thaw
from turnkeep.serial import structure, unstructure

from ._learning import Learner, SavedLearning
from ._pace import Pace, SavedPace
from ._restoring import budget_of
from ._saving import SavedBudget, saved_budget

if TYPE_CHECKING:
    from ._conversation import Conversation


@attrs.frozen
class Cutting:
    """One window that did not begin as the one before: figures, no texts."""

    entries: int
    """How long the list was."""
    budget: SavedBudget
    pruned: bool = True
    left: int | None = None
    excess: int = 0
    missed_at: int | None = None
    """The pace before it (`SavedPace`)."""
    learned: FrozenDict | None = attrs.field(default=None)
    """What had been learned before it."""


@attrs.frozen
class Moment:
    """What a window will be made by, noted before it is made."""

    learned: Mapping[str, Any] | None
    left: int | None
    excess: int
    missed_at: int | None

    @classmethod
    def of(cls, chat: Conversation) -> Moment:
        """The state of *chat* now; costs nothing."""
        fitter = chat._fitter  # noqa: SLF001 - ours
        learned = fitter.learner.to_saved()
        pace = fitter.pace
        return cls(
            None if learned is None else unstructure(learned),
            None if pace.excess is None else pace.excess.low,
            0 if pace.excess is None else pace.excess.tokens,
            pace.missed_at,
        )

    def cutting(self, entries: int, budget: Budget, *, pruned: bool) -> Cutting:
        """The window that was made then of a list of *entries*."""
        return Cutting(
            entries,
            saved_budget(budget),
            pruned,
            self.left,
            self.excess,
            self.missed_at,
            None if self.learned is None else freeze(self.learned),
        )


def to_saved(track: Sequence[Cutting]) -> list[Any]:
    """The track as plain JSON."""
    return [unstructure(cutting) for cutting in track]


def from_saved(value: Any) -> tuple[Cutting, ...]:
    """The track that was saved.

    Raises:
        FormatError: It is none, with the path.
    """
    return structure(thaw(value), tuple[Cutting, ...], "$.track")


def cut_again(
    chat: Conversation,
    track: Sequence[Cutting],
    entries: Sequence[Any],
    follow: Callable[[Sequence[Any]], object],
) -> int:
    """Cut *chat*, which is new, as the track says; returns how often it was cut.

    Costs a plan for each cut.

    Args:
        chat: A conversation without messages.
        track: What to do.
        entries: The list as it is now; cuts of longer ones are left out.
        follow: Has *chat* follow a part of the list, and pins what is to be pinned.
    """
    done = 0
    fitter = chat._fitter  # noqa: SLF001 - ours
    for cutting in track:
        if cutting.entries > len(entries):
            continue
        if cutting.learned is not None:
            saved = structure(thaw(cutting.learned), SavedLearning, "$.track.learned")
            fitter.learner = Learner.from_saved(saved)
        try:
            follow(entries[: cutting.entries])
        except TurnkeepError:
            break  # it no longer begins as it did
        pace = SavedPace(cutting.left, cutting.excess, cutting.missed_at)
        fitter.pace = Pace.from_saved(pace, chat._ledger)  # noqa: SLF001 - ours
        budget = budget_of(cutting.budget)
        # A priced budget cuts when it pays: it did.
        fitter.pace.cold = cutting.pruned and budget.prices is not None
        try:
            _ = chat.fit(budget).messages
        except TurnkeepError:
            break
        done += 1
    return done
