from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
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
        best: list[float] = [math.inf] * history.step_count
        for step, message in zip(history.message_steps, history.messages, strict=True):
            given = message.priority
            best[step] = min(best[step], self.default if given is None else given)
        turns = old_turns(history)
        ranks = (-min(best[turn.range.start : turn.range.stop]) for turn in turns)
        yield from drop_ranked(turns, ranks, Cause.PRIORITY)
        steps = loop_steps(history)
        ranks = (-best[step.index] for step in steps)
        yield from drop_ranked(steps, ranks, Cause.PRIORITY)
