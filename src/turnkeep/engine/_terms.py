from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from turnkeep.engine._choices import OpenCalls, Overflow
from turnkeep.engine._order import Placement
from turnkeep.engine._reasoning import Frame
from turnkeep.errors import Held
from turnkeep.model import Message
from turnkeep.plans import Inserted


@attrs.frozen
class Terms:
    """What a plan is made under, beside history, budget and strategy."""

    fixed: tuple[Held, ...] = ()
    """What the request costs beyond its messages: tools, system text, overhead."""

    default_target: float = 1.0
    """The target of a budget that names none."""

    placement: Placement = "after-call"
    """Where the target format wants results."""

    exact: bool = True
    margin: float = 0.0
    """Share by which true counts may exceed ours."""

    on_overflow: Overflow = "shorten"
    open_calls: OpenCalls = "stand-in"

    trigger_at: int | None = None
    """Tokens from which to prune, instead of the budget's trigger."""

    longest: int | None = None
    """Tokens that one result may have at most, where the model's window is known."""

    counts: Callable[[], Sequence[int]] | None = None
    """Counts the whole log, where the depth of a cut is a pure function of it: then two
    processes with the same history send the same prefix (plain lists with a target
    below 1)."""


@attrs.frozen
class Memory:
    """What a conversation keeps of its last plan, so that the next window begins alike.

    Holds as long as the history only grows.
    """

    dropped: bytes
    """One byte a step: 0 kept, else the place of its cause in *causes*."""
    causes: tuple[str, ...]
    replaced: Mapping[int, tuple[Message, str]]
    inserted: tuple[Inserted, ...]
    frame: Frame | None = None
    """What else was changed, where reasoning is bound to it; none when not known."""

    @property
    def only_drops(self) -> bool:
        """Whether nothing was edited or added."""
        return not self.replaced and not self.inserted
