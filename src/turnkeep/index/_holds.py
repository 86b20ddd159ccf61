"""What holds what: which steps must stay because others do, and the newest ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from turnkeep.policy import Policy, bound_to
from turnkeep.turns import HIDDEN, SYSTEM, UNSAID, Grouping


def kept_with(
    grouping: Grouping, steps: Iterable[int], demands: Policy, leading: int
) -> tuple[set[int], bool]:
    """The steps that stay because *steps* do, those included.

    What is tied together stays together; what is kept of a turn keeps the turn's first
    step (and last one) where the provider demands it; system text in the list keeps its
    neighbours.

    Args:
        grouping:
            The history's.
        steps:
            What is held.
        demands:
            What the provider demands.
        leading:
            How many steps there are before anybody says anything.

    Returns:
        The steps, and whether one of them still waits for a neighbour behind it.
    """
    found: set[int] = set()
    turns: dict[int, set[int]] = {}
    todo = list(steps)
    waits = False
    ties, kinds, first = grouping.ties, grouping.kinds, grouping.first
    core, between = demands.core, demands.system_between
    while todo:
        step = todo.pop()
        if step in found:
            continue
        found.add(step)
        if ties:
            todo += grouping.together(step)
        kind = kinds[first[step]]
        if kind not in UNSAID:
            if core:
                turn = grouping.turn_of(step)
                kept = turns.setdefault(turn, set())
                kept.add(step)
                todo += bound_to(grouping, turn, kept, demands)
        elif between and kind == SYSTEM and step >= leading:
            before = next_said(grouping, range(step - 1, -1, -1))
            after = next_said(grouping, range(step + 1, len(first)))
            todo += [near for near in (before, after) if near is not None]
            waits = waits or after is None
    return found, waits


def next_said(grouping: Grouping, steps: Iterable[int]) -> int | None:
    """The first of *steps* in which somebody speaks."""
    kinds, first = grouping.kinds, grouping.first
    for step in steps:
        if kinds[first[step]] not in UNSAID:
            return step
    return None


def leading_steps(grouping: Grouping) -> int:
    """How many steps there are before anybody says anything."""
    said = next_said(grouping, range(len(grouping.first)))
    return len(grouping.first) if said is None else said


def leading_systems(grouping: Grouping) -> int:
    """How many system messages lead the history."""
    kinds = grouping.kinds
    for step, index in enumerate(grouping.first):
        if kinds[index] != SYSTEM:
            return step
    return len(grouping.first)


def newest_step(grouping: Grouping, gone: Collection[int]) -> int | None:
    """The step of the last message that a window can hold."""
    if not gone:
        return grouping.newest
    kinds, index = grouping.kinds, len(grouping) - 1
    while index >= 0 and (index in gone or kinds[index] == HIDDEN):
        index -= 1
    return grouping.step_at(index) if index >= 0 else None


def held_now(grouping: Grouping, newest: int, gone: Collection[int]) -> list[int]:
    """The steps that the moment holds: the newest one, the question, what is unread.

    Args:
        grouping:
            The history's.
        newest:
            The newest step.
        gone:
            Messages that no window holds.
    """
    question = grouping.question_of(grouping.turns - 1)
    unread = [grouping.step_at(i) for i in grouping.unread() if i not in gone]
    if question is not None:
        return [*{question: 0, newest: 0, **dict.fromkeys(unread, 0)}]
    if unread:
        return [*{newest: 0, **dict.fromkeys(unread, 0)}]
    if grouping.kinds[grouping.first[newest]] in UNSAID:
        # A window of system messages alone would not do.
        said = last_said(grouping, gone, range(grouping.steps))
        if said is not None:
            return [newest, said]
    return [newest]


def last_said(grouping: Grouping, gone: Collection[int], steps: range) -> int | None:
    """The last of *steps* that says anything in a window."""
    kinds, first = grouping.kinds, grouping.first
    for step in reversed(steps):
        if kinds[first[step]] in UNSAID:
            continue
        if not gone or any(
            index not in gone and kinds[index] != HIDDEN
            for index in grouping.members(step)
        ):
            return step
    return None
