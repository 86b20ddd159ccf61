from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import CLEARED, Block, Image, Text, ToolResult, mark
from turnkeep.plans import Cause, Edit, Replace

from ._base import Shrinking, Stable, at_least

PLACEHOLDER = mark(CLEARED, "A picture was here.")


@attrs.frozen
class StripImages(Shrinking, Stable):
    """Old pictures give way to a line that says so, the oldest first; text stays.

    Pictures of users and of tools alike. Evidence: a picture costs some hundred to some
    thousand tokens, and is seldom looked at twice; the model's own words about it stay.

    Costs one look at each message.

    >>> StripImages(keep=3)
    StripImages(keep=3)

    Args:
        keep:
            Newest pictures that stay.
    """

    keep: int = attrs.field(default=1, validator=at_least(0))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the messages with old pictures, one picture less each time."""
        holders = [
            index
            for index in range(len(history))
            for _ in range(_count(history.current(index).content))
        ]
        for index in holders[: max(len(holders) - self.keep, 0)]:
            if not history.pinned(index):
                message = history.current(index)
                blocks, _ = _less_one(message.content)
                content = message.evolve(content=tuple(blocks))
                yield Replace(index, content, Cause.STRIPPED)


def _count(blocks: Sequence[Block]) -> int:
    return sum(
        _count(block.content)
        if isinstance(block, ToolResult) and block.final
        else isinstance(block, Image)
        for block in blocks
    )


def _less_one(blocks: Sequence[Block]) -> tuple[list[Any], bool]:
    """*blocks* with the first picture replaced, and whether there was one."""
    made: list[Any] = []
    done = False
    for block in blocks:
        if not done and isinstance(block, Image):
            made.append(Text(PLACEHOLDER))
            done = True
        elif not done and isinstance(block, ToolResult) and block.final:
            inner, done = _less_one(block.content)
            made.append(attrs.evolve(block, content=tuple(inner)))
        else:
            made.append(block)
    return made, done
