"""What type checkers know of other people's strategies and counters."""

from collections.abc import Iterator
from typing import Any

import turnkeep
from turnkeep import ClearToolResults, OldestTurns, Strategy
from turnkeep.plans import Cause, Drop, Edit
from turnkeep.strategies import Alternating, HistoryView, Then
from turnkeep.tokens import TextCounter


class Loudest:
    """A strategy that drops whoever shouts."""

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the turns with the most exclamation marks first."""
        for turn in history.turns[:-1]:
            indexes = (index for step in turn.steps for index in step.indexes)
            if any("!" in history.message(index).text for index in indexes):
                yield Drop(turn, Cause.SIZE)


class Words:
    """A counter of words."""

    name = "words"
    exact = False
    margin = 0.5

    def count(self, text: str) -> int:
        """Tokens of *text*, roughly."""
        return len(text.split())


def uses(chat: list[dict[str, Any]]) -> Strategy:
    """They go wherever ours go, and compose with them."""
    mine: Strategy = Loudest()
    both: Then = OldestTurns() | mine
    mixed: Alternating = ClearToolResults(keep=5) & OldestTurns()
    turnkeep.fit(chat, 900, strategy=mine)
    turnkeep.fit(chat, 900, strategy=both | mixed)
    counter: TextCounter = Words()
    turnkeep.fit(chat, 900, token_counter=counter)
    turnkeep.fit(chat, 900, strategy=Words())  # type: ignore[call-overload]
    return both
