"""BM25 over the steps of a history that grows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from turnkeep.model import Message, ToolCall, ToolResult

from ._words import terms_of

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza 2009), not tuned to anything."""

PAUSE = timedelta(hours=1)
"""A longer silence ends a session."""


class WordIndex:
    """Which term stands how often in which message, and where sessions begin."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self.postings: dict[str, list[tuple[int, int]]] = {}
        """For each term the messages it stands in, and how often."""
        self.sizes: list[int] = []
        """Terms of each message."""
        self.breaks: list[int] = []
        """Messages before which there was a long pause."""
        self.with_calls: list[int] = []
        """Messages that hold tool calls or their results."""
        self._at: datetime | None = None

    def add(self, message: Message) -> None:
        """Learn one more message. Costs its words (found once a message)."""
        nth = len(self.sizes)
        terms = terms_of(message)
        for term, times in terms.items():
            self.postings.setdefault(term, []).append((nth, times))
        self.sizes.append(sum(terms.values()))
        if has_call(message):
            self.with_calls.append(nth)
        if (at := message.timestamp) is not None:
            if self._at is not None and at - self._at > PAUSE:
                self.breaks.append(nth)
            self._at = at

    def found(
        self, terms: Iterable[str], step_of: Sequence[int]
    ) -> list[dict[int, int]]:
        """For each of *terms*, how often it stands in which step."""
        found: list[dict[int, int]] = []
        # A set has no order of its own; sums of fractions depend on it.
        for term in sorted(terms):
            times: dict[int, int] = {}
            for nth, often in self.postings.get(term, ()):
                step = step_of[nth]
                times[step] = times.get(step, 0) + often
            found.append(times)
        return found

    def telling(
        self, messages: Iterable[Message], known: frozenset[str], most: int
    ) -> list[str]:
        """The terms, *most* at most, that tell *messages* from the others best.

        By occurrences times rarity; what is *known* is left out.
        """
        often: Counter[str] = Counter()
        for message in messages:
            often.update(terms_of(message))
        count = len(self.sizes)
        worth = {
            term: round(times * rarity(len(self.postings[term]), count), 6)
            for term, times in often.items()
            if term not in known
        }
        return sorted(worth, key=lambda term: (-worth[term], term))[:most]


def has_call(message: Message) -> bool:
    """Whether it holds a tool call or a result."""
    return any(isinstance(block, (ToolCall, ToolResult)) for block in message.content)


def rarity(holders: int, count: int) -> float:
    """What a term weighs that *holders* of *count* documents hold."""
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))


def bm25(found: Iterable[dict[int, int]], sizes: Sequence[int]) -> list[float]:
    """BM25 scores of documents of *sizes* terms.

    Args:
        found:
            For each term of the query, how often it stands in which document.
        sizes:
            Terms of each document.
    """
    count = len(sizes)
    mean = max(sum(sizes) / count, 1.0) if count else 1.0
    scores = [0.0] * count
    for times in found:
        weight = rarity(len(times), count) * (K1 + 1)
        for nth, often in times.items():
            length = K1 * (1 - B + B * sizes[nth] / mean)
            scores[nth] += weight * often / (often + length)
    return scores
