"""Reasoning that a change makes invalid, and which steps of a turn go last.

Some providers sign a model's reasoning together with everything that stood before it,
or want the tool round in progress to keep all of its reasoning. The engine asks here
what a change would cost, before it plans.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from turnkeep.index import History
from turnkeep.model import Message, Thinking
from turnkeep.policy import core_of
from turnkeep.turns import ASSISTANT, OURS, RESULT, UNSAID, Grouping

Frame: TypeAlias = tuple[tuple[int, ...], ...]
"""What a window has changed beside its drops: where messages of ours stand, the results
that moved, the messages that were mended."""


def thoughts(history: History) -> list[int]:
    """The messages that hold reasoning, as the window has them."""
    stripped = history.stripped
    return [index for index in history.source.reasoning() if index not in stripped]


def rounds_in_progress(grouping: Grouping, gone: Collection[int]) -> range:
    """The steps of the tool loop whose newest round is in progress; the last is it.

    From the one behind the turn's question on; nothing where no round is.
    """
    now = grouping.round_in_progress(gone)
    if now is None:
        return range(0)
    turn = grouping.turn_of(now)
    asked = grouping.question_of(turn)
    start = grouping.steps_of(turn).start if asked is None else asked + 1
    return range(start, now + 1)


def sealed_in(
    grouping: Grouping, gone: Collection[int], found: Sequence[int]
) -> list[int]:
    """The steps that keep their reasoning as it is, in order: the last is the round.

    Where a round of the loop has none of its own, the loop's first step stays too: what
    is left of a loop has to open with reasoning, as the loop did. Costs the loop.

    Args:
        grouping:
            The history's.
        gone:
            Messages that no window holds.
        found:
            The messages that hold reasoning, in order.
    """
    rounds = rounds_in_progress(grouping, gone)
    if not rounds:
        return []
    step_of, kinds, first = grouping.step_of, grouping.kinds, grouping.first
    start = bisect_left(found, first[rounds.start])
    thinking = {step_of[index] for index in found[start:] if step_of[index] in rounds}
    if not thinking:
        return []
    said = [s for s in rounds if kinds[first[s]] == ASSISTANT]
    if said[0] in thinking and len(thinking) < len(said):
        return sorted({said[0], rounds[-1]})
    return [rounds[-1]]


def ends_in_bare_round(history: History, dropped: Sequence[int] | None) -> bool:
    """Whether the window's last answer makes calls, without reasoning, and none did.

    What the provider takes for the round in progress has to open with reasoning; here
    it was an older one, which lost its own, and what was said behind it has left.

    Args:
        history:
            The history, of which some reasoning was stripped.
        dropped:
            One byte a step, 0 for kept ones; none: all are kept.
    """
    grouping = history.grouping
    kinds, step_of = grouping.kinds, grouping.step_of
    newest = at = kinds.rfind(ASSISTANT)
    while at >= 0 and (at in history.gone or (dropped and dropped[step_of[at]])):
        at = kinds.rfind(ASSISTANT, 0, at)
    if at < 0 or step_of[at] == step_of[newest]:
        return False
    step = step_of[at]
    return any(kinds[index] == RESULT for index in grouping.members(step)) and not any(
        step_of[index] == step for index in thoughts(history)
    )


def frame_of(history: History) -> Frame:
    """What any window of *history* changes beside its drops. Costs their number."""
    grouping = history.grouping
    per_message = history.rules.per_message
    moved = grouping.displaced if per_message else grouping.displaced_run
    added = {
        item.after for s in history.with_additions() for item in history.additions(s)
    }
    mended = {*history.mended, *history.gone} - history.stripped
    return (
        tuple(sorted(added)),
        tuple(sorted(moved)) if history.rules.repair else (),
        tuple(sorted(mended)),
    )


def first_change(grouping: Grouping, before: Frame | None, now: Frame) -> int:
    """The message behind which all stands behind a change: their number for none.

    Args:
        grouping:
            The history's.
        before:
            What an earlier window had changed; none: it is the first.
        now:
            What this one changes.
    """
    added, moved, mended = (
        {*new} ^ {*old} for new, old in zip(now, before or ((), (), ()), strict=True)
    )
    places = {*added, *mended, *(grouping.displaced.get(i, i) for i in moved)}
    return min(places, default=len(grouping))


def keeps_reasoning(old: Message, new: Message) -> bool:
    """Whether *new* has the reasoning of *old*, unchanged."""
    return _reasoning(old) == _reasoning(new)


def adds_reasoning(old: Message, new: Message) -> bool:
    """Whether *new* has reasoning that *old* has not."""
    known = _reasoning(old)
    return any(block not in known for block in _reasoning(new))


def _reasoning(message: Message) -> list[Thinking]:
    return [block for block in message.content if isinstance(block, Thinking)]


def keeps_seals(old: Message, new: Message) -> bool:
    """Whether the calls of *new* carry what those of *old* carried beside them."""
    return [call.extra for call in old.tool_calls] == [
        call.extra for call in new.tool_calls
    ]


class Last:
    """The steps that go last of their turn: proposed early, they wait for others."""

    def __init__(self, history: History) -> None:
        """Nothing waits yet."""
        self._history = history
        self._waiting: dict[int, set[int]] = {}

    def ready(self, free: Iterable[int], kept: Sequence[int] | None) -> list[int]:
        """Which of *free* may go now, and what of their turns has waited for that.

        Costs the turns concerned once, then the steps.

        Args:
            free: Steps that a strategy gives up and nothing holds.
            kept: One byte a step, 0 for kept ones; none: all are kept.
        """
        grouping, history = self._history.grouping, self._history
        by_turn: dict[int, list[int]] = {}
        for step in free:
            by_turn.setdefault(grouping.turn_of(step), []).append(step)
        going: list[int] = []
        for turn, steps in by_turn.items():
            core = core_of(grouping, turn, history.rules.demands)
            inner = [step for step in steps if step not in core]
            going += inner
            others = self._waiting.get(turn)
            if others is None:
                if len(inner) == len(steps):
                    continue
                others = self._waiting[turn] = {
                    step
                    for step in grouping.steps_of(turn)
                    if step not in core
                    and step not in history.held  # it stays without them as well
                    and step not in history.soft
                    and grouping.kinds[grouping.first[step]] not in (*UNSAID, OURS)
                    and not (kept and kept[step])
                }
            others.difference_update(inner)
            if not others:
                held, soft = history.held, history.soft
                going += [s for s in core if s not in held and s not in soft]
        return going

    def may_return(self, steps: Iterable[int], gone: Sequence[int]) -> bool:
        """Whether what is dropped last of their turns is still there."""
        grouping, demands = self._history.grouping, self._history.rules.demands
        coming = set(steps)
        return all(
            step in coming or not gone[step]
            for turn in {grouping.turn_of(step) for step in coming}
            for step in core_of(grouping, turn, demands)
        )
