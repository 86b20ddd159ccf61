"""What a step's score says of the steps around it: neighbours and sessions."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

FAR = 2
"""How many steps away a neighbour may be: answers follow questions."""

FADE = 0.5
"""Share of a score that each step of distance leaves."""

PRIOR = 0.2
"""Share of its session's score that each step gets."""

BEST = 3
"""Steps whose mean is the score of a session."""


def sessions_of(starts: Iterable[int], count: int) -> list[range]:
    """The steps of each session.

    >>> sessions_of([4, 4], 6)
    [range(0, 4), range(4, 6)]
    """
    ends = sorted({0, count, *starts})
    return [range(start, stop) for start, stop in pairwise(ends)]


def best_of(scores: Sequence[float], steps: Iterable[int]) -> list[int]:
    """The three of *steps* with the best scores above zero, best first."""
    able = (step for step in steps if scores[step] > 0)
    return heapq.nsmallest(BEST, able, key=lambda step: (-scores[step], step))


def with_surroundings(
    scores: list[float], sessions: Sequence[range], apart: Collection[int] = ()
) -> list[float]:
    """Each score with its neighbours' and its session's.

    Steps *apart* give nothing and get only a share of the better one beside them: what
    stands around a tool's result tells less of it. Linear.

    >>> with_surroundings([0.0, 4.0, 0.0, 0.0, 0.0], [range(5)])
    [2.0, 4.0, 2.0, 1.0, 0.0]
    >>> with_surroundings([0.0, 4.0, 0.0, 0.0, 0.0], [range(5)], apart={2, 3})
    [2.0, 4.0, 2.0, 0.0, 0.0]
    """
    made = list(scores)
    for step in apart:
        beside = scores[max(step - 1, 0) : step] + scores[step + 1 : step + 2]
        made[step] += FADE * max(beside, default=0.0)
    for session in sessions:
        able = [step for step in session if scores[step] > 0 and step not in apart]
        for step in able:
            for far in range(1, FAR + 1):
                part = scores[step] * FADE**far
                for near in (step - far, step + far):
                    if near in session and near not in apart:
                        made[near] += part
        # Where there is one session only, its score tells nothing apart.
        if able and len(sessions) > 1:
            best = best_of(scores, able)
            prior = PRIOR * sum(scores[step] for step in best) / BEST
            for step in session:
                if step not in apart:
                    made[step] += prior
    return made
