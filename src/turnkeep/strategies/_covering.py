"""What a summary covers: whole old turns, then the beginning of a long tool loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from turnkeep.index import HistoryView, StepView
from turnkeep.model import Message
from turnkeep.plans import Cause

from ._rank import loop_steps, old_turns


@attrs.frozen
class Covered:
    """Steps for which a summary stands, in order, an earlier summary among them."""

    steps: tuple[StepView, ...]
    turns: tuple[int, ...]
    """The old turns of which all that may go is covered."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing but an earlier summary is covered."""
        return all(step.held == Cause.SUMMARY for step in self.steps)

    @property
    def tokens(self) -> int:
        """Tokens of the steps."""
        return sum(step.tokens for step in self.steps)

    def beside_questions(self) -> Covered:
        """The same without what the user said, which stays."""
        return Covered(tuple(s for s in self.steps if not s.is_question), ())

    @property
    def loose(self) -> tuple[int, ...]:
        """The steps of turns that do not go whole, and an earlier summary."""
        whole = set(self.turns)
        return tuple(
            step.index
            for step in self.steps
            if step.turn not in whole or step.held == Cause.SUMMARY
        )

    def indexes(self) -> Iterator[int]:
        """The indexes of their messages."""
        for step in self.steps:
            yield from step.indexes


def choose(history: HistoryView, excess: int) -> Covered:
    """What must go so that *excess* tokens are freed, or all that may."""
    taken: list[tuple[int | None, StepView]] = []
    begun: int | None = None
    for turn, step in _candidates(history):
        if excess <= 0 and (turn is None or turn != begun):
            break
        taken.append((turn, step))
        excess -= step.tokens
        begun = turn
    turns = dict.fromkeys(turn for turn, _ in taken if turn is not None)
    return _covered(history, [step for _, step in taken], tuple(turns))


def choose_same(history: HistoryView, sources: Sequence[Message]) -> Covered | None:
    """The steps that say just what *sources* do, where those are the first to go.

    None where one of them was changed, went, or is held by now.
    """
    candidates = list(_candidates(history))
    pool = _covered(history, [step for _, step in candidates], ()).steps
    taken: list[StepView] = []
    count = 0
    for step in pool:
        if count == len(sources):
            break
        for index in step.indexes:
            if count == len(sources) or history.message(index) != sources[count]:
                return None
            count += 1
        taken.append(step)
    if count < len(sources):
        return None
    known = {step.index for step in taken}
    left = {turn for turn, step in candidates if step.index not in known}
    turns = dict.fromkeys(t for t, _ in candidates if t is not None and t not in left)
    return Covered(tuple(taken), tuple(turns))


def _candidates(history: HistoryView) -> Iterator[tuple[int | None, StepView]]:
    """The steps that may go, in their order, those of old turns with their turn."""
    for turn in old_turns(history):
        for step in turn.free_steps:
            if history.is_kept(step.index):
                yield turn.index, step
    for step in loop_steps(history):
        if history.is_kept(step.index):
            yield None, step


def _covered(
    history: HistoryView, steps: Sequence[StepView], turns: tuple[int, ...]
) -> Covered:
    earlier = [
        step
        for step in history.steps
        if step.held == Cause.SUMMARY and history.is_kept(step.index)
    ]
    ordered = sorted([*earlier, *steps], key=_place)
    return Covered(tuple(ordered), turns)


def _place(step: StepView) -> int:
    return step.index
