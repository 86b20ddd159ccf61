from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.plans import Drop, Edit

from ._base import Stable


@attrs.frozen
class OldestTurns(Stable):
    """Old turns go whole, the oldest first; the current turn is never offered.

    Costs O(1) a turn that goes.
    """

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield every turn but the current one, oldest first."""
        for turn in history.turns[:-1]:
            yield Drop(turn)


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
