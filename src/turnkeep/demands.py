"""What a provider demands of a window, as far as planning has to heed it.

Dropping whole steps keeps calls and results together; what is here are the other ways
in which a hole can make a list that its provider refuses. The profiles say which of
them hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import attrs

from turnkeep.turns import HIDDEN, SYSTEM, Grouping

Joins: TypeAlias = Literal["nothing", "sides", "results"]
"""What a provider wants as one entry: nothing; neighbours of one side, because roles
must alternate; or results, and calls with what the model said before."""


@attrs.frozen(kw_only=True)
class Demands:
    """Plain data, made from a profile's policy; all off: planning costs no more."""

    opener_stays: bool = False
    """A turn's first message goes last of its turn: what is kept of a turn follows its
    question."""
    closer_stays: bool = False
    """So does the last one, because roles must alternate."""
    answers_tools: bool = False
    """An assistant message must stand between results and the next user message."""
    ends_with_user: bool = False
    """A list that ends on an assistant message is refused."""
    system_between: bool = False
    """System text in the list keeps the messages beside it, so that it stands right."""
    system_after_results: bool = False
    """Whether it may also stand behind tool results there."""
    system_first: bool = False
    """System text may only stand in front of the list, or beside it."""
    joins: Joins = "nothing"
    binds_thinking: bool = False
    """Kept thinking is only valid behind an unchanged prefix."""
    thinking_whole: bool = False
    """The tool round in progress keeps all of its thinking or none."""
    thinking_required: bool = False
    """None is not enough: thinking is switched on."""
    pairs_reasoning: bool = False
    """Reasoning and what follows it stay together."""
    reasoning_with_calls: bool = False
    """Messages with calls keep their reasoning."""
    signed_calls: bool = False
    """Calls keep their signatures."""

    @property
    def core(self) -> bool:
        """Whether some steps of a turn go last of it."""
        return self.opener_stays or self.closer_stays

    @property
    def thinking(self) -> bool:
        """Whether a change may make thinking invalid."""
        return self.binds_thinking or self.thinking_whole


NO_DEMANDS = Demands()


def core_of(grouping: Grouping, turn: int, demands: Demands) -> tuple[int, ...]:
    """The steps of a turn that go last of it, and together.

    Costs the turn's system messages.
    """
    steps = grouping.steps_of(turn)
    core: list[int] = []
    if demands.opener_stays:
        core += _first_said(grouping, steps)
    if demands.closer_stays and turn + 1 < grouping.turns:
        core += _first_said(grouping, reversed(steps))
    return tuple(sorted({*core}))


def _first_said(grouping: Grouping, steps: Iterable[int]) -> list[int]:
    kinds, first = grouping.kinds, grouping.first
    for step in steps:
        if kinds[first[step]] not in (SYSTEM, HIDDEN):
            return [step]
    return []
