from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.plans import Cause, Edit

from ._base import Composable
from ._rank import drop_ranked, loop_steps, old_turns


@attrs.frozen
class LargestFirst(Composable):
    """The turns that free most go first, so that the fewest are lost.

    Then, if that is not enough, the largest steps of the current turn. The older one
    first on a tie. Evidence: it drops the fewest turns by construction, and takes no
    notice of what they say; good where a few huge turns are of no further use.

    Costs O(n log n) in the turns, and counts the whole history.

    >>> LargestFirst()
    LargestFirst()
    """

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the turns by falling size, then the current turn's steps."""
        turns = old_turns(history)
        yield from drop_ranked(turns, (-t.free_tokens for t in turns), Cause.SIZE)
        steps = loop_steps(history)
        yield from drop_ranked(steps, (-s.tokens for s in steps), Cause.SIZE)
