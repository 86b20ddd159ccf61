from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.plans import Drop, Edit

from ._base import Composable, at_least


@attrs.frozen
class KeepEnds(Composable):
    """The first and the last turns stay; what is between goes, oldest first.

    For chats whose beginning states the task. The last turns include the current one.
    Nothing else is offered: what does not fit then is an error, unless another strategy
    follows (`KeepEnds(1, 4) | OldestSteps()`). Evidence: of constraints stated at the
    top, a sliding window keeps none; of those stated in the middle, neither does this.

    Costs O(1) a turn that goes.

    >>> KeepEnds(first=1, last=4)
    KeepEnds(first=1, last=4)

    Args:
        first:
            Turns to keep at the beginning. System messages before the first user
            message stay anyway and do not count as one.
        last:
            Turns to keep at the end, at least 1.
    """

    first: int = attrs.field(default=1, validator=at_least(0))
    last: int = attrs.field(default=4, validator=at_least(1))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the turns between the ends, oldest first."""
        turns = history.turns
        start = 0
        if turns and not any(map(history.is_said, turns[0].range)):
            start = 1  # a preamble of nothing but system text
        for turn in turns[start + self.first : max(len(turns) - self.last, 0)]:
            yield Drop(turn)
