from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Thinking
from turnkeep.plans import Cause, Edit, Replace

from ._base import Shrinking, Stable, at_least


@attrs.frozen
class StripThinking(Shrinking, Stable):
    """The model's reasoning of old turns goes, oldest first; what it said stays.

    The current turn keeps its reasoning, because providers check that it is there and
    unchanged. A message that is nothing but reasoning is left for others to drop.

    A matter of what a provider accepts rather than a way to save.

    Costs one look at each message.

    >>> StripThinking(keep=2)
    StripThinking(keep=2)

    Args:
        keep:
            Newest turns whose reasoning stays, the current one included; at least 1.
    """

    keep: int = attrs.field(default=1, validator=at_least(1))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the old messages that reason, without their reasoning."""
        old = history.turns[: -self.keep]
        stop = old[-1].range.stop if old else 0
        step_of = history.message_steps
        reasoning = [
            index
            for index, message in enumerate(history.messages)
            if Thinking in map(type, message.content) and step_of[index] < stop
        ]
        reasoning.sort(key=step_of.__getitem__)
        for index in reasoning:
            if history.pinned(index) or not history.is_shown(index):
                continue
            message = history.current(index)
            left = tuple(b for b in message.content if not isinstance(b, Thinking))
            if left and len(left) < len(message.content):
                yield Replace(index, message.with_blocks(left), Cause.STRIPPED)
