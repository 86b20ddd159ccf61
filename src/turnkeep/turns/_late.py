from __future__ import annotations

from collections.abc import Sequence

from ._calls import OpenCall
from ._entries import ASSISTANT, Answer
from ._grouping import Grouping


def late_answers(
    grouping: Grouping, answers: Sequence[Answer], index: int
) -> list[int]:
    """Which of several results answer calls from before the last thing said.

    A list tells them apart from those of the last calls, so that a step does not tie
    others to it that only shared a message with its results.

    Args:
        grouping:
            The messages before, paired.
        answers:
            What the results of one message say.
        index:
            That message.
    """
    if len(answers) < 2:
        return []
    last = index - 1
    while last >= 0 and grouping.kinds[last] == ASSISTANT:
        last -= 1
    return [
        nth
        for nth, answer in enumerate(answers)
        if answer.id is not None
        and (calls := grouping.open_of(answer.id))
        and all(call.message <= last for call in calls)
    ]


def early_answers(grouping: Grouping) -> dict[int, tuple[int, OpenCall]]:
    """Results that stand before the call they answer, where nothing else is meant.

    That is: one result of an id that no earlier call has, and behind it one open call
    of that id. Costs the misfits and the open calls.

    Returns:
        By message, which of its results it is, and the call.
    """
    orphans = [p for p in grouping.problems if p.kind == "orphan_result"]
    if not orphans:
        return {}
    seen: dict[str, int] = {}
    for problem in grouping.problems:
        seen[problem.call_id] = seen.get(problem.call_id, 0) + 1
    carried: dict[int, int] = {}
    for problem in orphans:
        carried[problem.message] = carried.get(problem.message, 0) + 1
    open_calls: dict[str, list[OpenCall]] = {}
    for call in grouping.open_calls:
        if call.id is not None:
            open_calls.setdefault(call.id, []).append(call)
    found: dict[int, tuple[int, OpenCall]] = {}
    for problem in orphans:
        calls = open_calls.get(problem.call_id, [])
        if (
            len(calls) == 1
            and seen[problem.call_id] == carried[problem.message] == 1
            and calls[0].message > problem.message
            and calls[0].answer is None
        ):
            found[problem.message] = (problem.position, calls[0])
    return found
