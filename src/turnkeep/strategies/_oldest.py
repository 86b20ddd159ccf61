from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.plans import Drop, Edit
from turnkeep.plans._edits import SPLIT_ABOVE

from ._base import Stable, part


@attrs.frozen
class OldestTurns(Stable):
    """Old turns go whole, the oldest first; the current turn is never offered.

    The last turn to go is cut inside where it is large: its oldest steps go, its
    question and its newest steps stay, so that the room there is gets used.

    Costs O(1) a turn that goes.

    >>> OldestTurns(split_above=0.25)
    OldestTurns(split_above=0.25)

    Args:
        split_above:
            Share of the target from which on a turn is large.
    """

    split_above: float = attrs.field(default=SPLIT_ABOVE, validator=part)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield every turn but the current one, oldest first."""
        for turn in history.turns[:-1]:
            yield Drop(turn, split_above=self.split_above)


@attrs.frozen
class OldestSteps(Stable):
    """Single steps go, the oldest first, so that a long tool loop is cut inside.

    A turn's question goes after the turn's other steps. Costs O(1) a step that goes.
    """

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield every free step, oldest first, a turn's question last."""
        for turn in history.turns:
            question = None
            for step in turn.steps:
                if step.is_question and question is None:
                    question = step
                else:
                    yield Drop(step)
            if question is not None:
                yield Drop(question)
