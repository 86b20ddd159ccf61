from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from turnkeep.index import HistoryView, StepView, TurnView
from turnkeep.plans import Drop, Unit


def in_rank(keys: Iterable[Any]) -> Iterable[int]:
    """Places of *keys*, the smallest key first, ties by place. O(n log n).

    Keys are numbers or tuples of them; fractions come rounded to 1e-6, so that every
    machine ranks alike.
    """
    ranks = list(keys)
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def drop_ranked(
    units: Sequence[Unit], keys: Iterable[Any], cause: str, *, may_return: bool = False
) -> Iterator[Drop]:
    """Drops of *units*, the one with the smallest key first. O(n log n)."""
    for nth in in_rank(keys):
        yield Drop(units[nth], cause, may_return)


def old_turns(history: HistoryView) -> list[TurnView]:
    """The turns before the current one of which something may go, oldest first."""
    return [turn for turn in history.turns[:-1] if turn.is_free]


def loop_steps(history: HistoryView) -> list[StepView]:
    """The steps of the current turn that may go, oldest first."""
    return [step for turn in history.turns[-1:] for step in turn.free_steps]
