from __future__ import annotations

from collections.abc import Sequence

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
