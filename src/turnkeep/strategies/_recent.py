from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnkeep.index import HistoryView, StepView
from turnkeep.plans import Cause, Drop, Edit

from ._base import Composable, Strategy, share, strategy_or_none
from ._rank import loop_steps


@attrs.frozen
class KeepRecent(Composable):
    """The newest share of the window is out of another strategy's reach.

    Recency as a reserve, not as a factor: what is newest stays whatever *rest* thinks
    of it, and *rest* ranks the remainder by its own lights. When *rest* has nothing
    more to offer and the hard budget is still exceeded, the reserve goes too, oldest
    steps first.

    Evidence: of invented dialogues, `Relevance` within it held all that answers a
    question for 90.3 % at 1,000 tokens, with what was said last; a sliding window for
    5.1 %. In a coding session at 32,000 tokens,
    `Digest() | KeepRecent(0.3, Relevance() & LeastRecentlyReferenced())` had all that
    90.8 % of the calls used, a sliding window of the same mean size 85.1 %
    (`benchmarks/bench_recall.py`). Recency multiplied into a score was harmful, half of
    the target reserved for it cost more than it gave.

    Costs what *rest* costs, and the tokens of the reserve.

    >>> KeepRecent(0.3).share
    0.3

    Args:
        share:
            Share of the target, counted from the newest end, that stays.
        rest:
            Ranks everything older; the oldest first unless given.
    """

    share: float = attrs.field(default=0.3, validator=share)
    rest: Strategy | None = attrs.field(default=None, validator=strategy_or_none)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield *rest*'s edits of what is older than the reserve."""
        start = self._reserve(history)
        edits = _oldest(history) if self.rest is None else self.rest.propose(history)
        for edit in edits:
            if not isinstance(edit, Drop):
                yield edit
            elif edit.unit.is_turn:
                yield from _outside(history, edit, start)
            elif edit.unit.index < start:
                yield edit
        if history.tokens <= history.available:
            return
        # The question of a turn across the border goes after what is recent in it.
        late = history.steps[start:]
        turns = history.turns[late[0].turn :] if late else ()
        for step in (*late, *(turn.steps[0] for turn in turns)):
            if history.tokens <= history.available:
                return
            if step.is_free and history.is_kept(step.index):
                yield Drop(step, Cause.LIMIT)

    def _reserve(self, history: HistoryView) -> int:
        """The first step of the reserve."""
        room = round(self.share * history.target, 6)
        for step in reversed(range(history.step_count)):
            if history.is_said(step):
                room -= history.step_tokens(step)
                if room < 0:
                    return step + 1
        return 0


def _oldest(history: HistoryView) -> Iterator[Edit]:
    """Old turns whole, then the steps of the current one."""
    for turn in history.turns[:-1]:
        yield Drop(turn)
    for step in loop_steps(history):
        yield Drop(step)


def _outside(history: HistoryView, edit: Drop, start: int) -> Iterator[Edit]:
    """The part of a turn's drop that does not touch the reserve."""
    steps: list[StepView] = list(history.turns[edit.unit.index].steps)
    if not steps or steps[-1].index < start:
        yield edit
        return
    for step in steps:
        if step.index < start and step.is_free and not step.is_question:
            yield attrs.evolve(edit, unit=step)
