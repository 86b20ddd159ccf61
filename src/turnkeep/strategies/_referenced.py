from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Message
from turnkeep.plans import Cause, Edit

from ._base import Composable
from ._memory import Memory
from ._rank import drop_ranked
from ._referents import referents_of


class ReferentIndex:
    """Which message was last used by which: ids, paths, names and values in calls.

    A use counts for the newest message that named the referent in a result or a call:
    that one is enough to know it, and the older ones may go.
    """

    def __init__(self) -> None:
        """Nothing read yet."""
        self.size = 0
        """Messages read."""
        self.holder: dict[str, int] = {}
        """The newest message that names a referent in a result or a call."""
        self.used: dict[int, int] = {}
        """The last message whose calls used what a message named."""

    def add(self, message: Message) -> None:
        """Learn one more message. Costs what it names (found once a message)."""
        nth, holder = self.size, self.holder
        found = referents_of(message)
        for name in found.used:
            before = holder.get(name)
            if before is not None:
                self.used[before] = nth
            holder[name] = nth
        for name in found.shown:
            holder[name] = nth
        self.size = nth + 1


@attrs.frozen
class LeastRecentlyReferenced(Composable):
    """What was least recently used by a later tool call goes first.

    A step counts as used when a later call takes an id, a path, a name or a value that
    the step was the last to name, in a result or a call; until then, when it was made.
    Small steps that a later, larger drop made room for come back.

    Evidence: at 32,000 tokens, cut to 0.6, 87.8 % of a coding session's calls had all
    that they took from earlier results, with the default 85.1 %; of airline chats at
    1,000 tokens 65.4 %, with the default 57.6 % (`benchmarks/bench_recall.py`).

    Referents are found once a message; appending costs the new text. A plan costs
    O(n log n) in the steps.

    >>> LeastRecentlyReferenced()
    LeastRecentlyReferenced()
    """

    _memory: Memory[ReferentIndex] = attrs.field(
        factory=lambda: Memory(ReferentIndex), init=False, eq=False, repr=False
    )

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield steps, the one whose last use is longest ago first."""
        used = [-1] * history.step_count
        step_of = history.message_steps
        for nth, step in enumerate(step_of):
            used[step] = nth
        with self._memory.reading(history.messages) as index:
            for nth, last in index.used.items():
                step = step_of[nth]
                used[step] = max(used[step], last)
        steps = history.free_steps
        ranks = (used[step.index] for step in steps)
        yield from drop_ranked(steps, ranks, Cause.UNUSED, may_return=True)
