from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Message
from turnkeep.plans import Cause, Edit

from ._base import Composable, at_least
from ._rank import drop_ranked, loop_steps, old_turns


@attrs.frozen
class LowestPriority(Composable):
    """What the host calls least important goes first; the oldest first among equals.

    `Message.priority` says it: 0 is the most important. A turn is as important as its
    most important message. Then the current turn's steps, ranked alike. Evidence: the
    host's own knowledge beats any guess of ours, where there is any.

    Costs O(n log n) in the turns.

    >>> LowestPriority().default
    50

    Args:
        default:
            The priority of messages that have none.
    """

    default: int = attrs.field(default=50, validator=at_least(0))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield turns by rising importance, then the current turn's steps."""
        turns = old_turns(history)
        ranks = (-self._rank(turn.messages) for turn in turns)
        yield from drop_ranked(turns, ranks, Cause.PRIORITY)
        steps = loop_steps(history)
        ranks = (-self._rank(step.messages) for step in steps)
        yield from drop_ranked(steps, ranks, Cause.PRIORITY)

    def _rank(self, messages: Sequence[Message]) -> int:
        given = (m.priority for m in messages)
        return min((self.default if p is None else p for p in given), default=0)
