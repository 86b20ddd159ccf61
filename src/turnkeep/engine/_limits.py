"""How many turns, messages and pictures a window in the making holds."""

from __future__ import annotations

from collections.abc import Sequence

from turnkeep.index import History
from turnkeep.model import Block, Image, ToolResult
from turnkeep.turns import OURS, SYSTEM


class Census:
    """Counts that follow each drop, so that a limit costs nothing to look at.

    Making one costs the steps that are kept; each change costs the steps it concerns.
    """

    def __init__(self, history: History, kept: Sequence[bool]) -> None:
        """Count what is kept: one truth value a step."""
        self._history = history
        self._by_turn: dict[int, int] = {}
        self.turns: int = 0
        """Turns of which something is kept that is neither system text nor ours."""
        self.messages: int = 0
        """Messages, stand-ins and bridges included."""
        for step, is_kept in enumerate(kept):
            if is_kept:
                self.move(step, 1)

    def move(self, step: int, change: int) -> None:
        """A step comes back (1) or goes (-1)."""
        history = self._history
        size = len(history.visible(step)) + sum(1 for _ in history.additions(step))
        self.messages += change * size
        grouping = history.grouping
        if not size or grouping.kinds[grouping.first[step]] in (SYSTEM, OURS):
            return
        turn = grouping.turn_of(step)
        before = self._by_turn.get(turn, 0)
        self._by_turn[turn] = before + change
        self.turns += (before + change > 0) - (before > 0)


def images_in(blocks: Sequence[Block]) -> int:
    """Pictures among *blocks*, those inside tool results too."""
    return sum(
        images_in(block.content)
        if isinstance(block, ToolResult)
        else isinstance(block, Image)
        for block in blocks
    )
