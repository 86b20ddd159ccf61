"""Where a list's cache marks go, settled when it is planned.

For a plan may cross processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.formats._base import Envelope
from turnkeep.formats._cache import Extent, Marker
from turnkeep.index import History
from turnkeep.plans import Inserted, Plan


@attrs.frozen
class Marking:
    """The marks of one window, by the places of its plan's order."""

    marker: Marker
    head: int
    """How many places stay at the next cut: what is held, up to the first free step."""
    floor: int
    """Behind how many places the request is long enough to be cached; -1: behind none,
    what stands in front of the list is."""
    tools: bool
    """Whether the tools alone are."""
    system: bool
    """Whether tools and system text are."""
    fixed: tuple[Any, ...] = ()
    """What is sent beside the list and was given apart from it."""

    def applied(
        self, entries: list[Any], ends: Sequence[tuple[int, int]], envelope: Envelope
    ) -> Any:
        """The caller's own shape with *entries*, marked; linear in them.

        Args:
            entries:
                The window's.
            ends:
                For each stretch of the order, up to which place it goes, and how many
                entries there were behind it.
            envelope:
                What the list came in.
        """
        marker = self.marker
        body = envelope.replace([]) if envelope.is_body else {}
        head = max((made for done, made in ends if done <= self.head), default=0)
        extent = Extent(
            head=marker.blocks_in(entries[:head]),
            floor=self._floor(ends),
        )
        front = marker.frames(body, tools=self.tools, system=self.system)
        sent = marker.in_list(entries, extent, body, front=front, fixed=self.fixed)
        if envelope.objects is not None:
            for old, new in zip(entries, sent.entries, strict=True):
                if new is not old:
                    envelope.objects.replaced(old, new)
        made = envelope.replace(sent.entries)
        if not envelope.is_body:
            return made
        return marker.in_body(made, sent, tools=self.tools, system=self.system)

    def _floor(self, ends: Sequence[tuple[int, int]]) -> int:
        if self.floor < 0:
            return -1
        enough = (made for done, made in ends if done >= self.floor)
        return next(enough, ends[-1][1] + 1 if ends else 0) - 1


def marking_of(
    plan: Plan,
    history: History,
    marker: Marker,
    minimum: int,
    *,
    tools: int,
    system: int,
    fixed: tuple[Any, ...],
) -> Marking:
    """Where the marks of *plan*'s window go.

    Counts messages from the front, until the request is long enough to be cached.

    Args:
        plan:
            The window.
        history:
            What it was planned for.
        marker:
            Sets them.
        minimum:
            Tokens from which the model caches.
        tools:
            Tokens of the tools.
        system:
            Tokens of the system text beside the list.
        fixed:
            Tools and system text that were given apart from the list.
    """
    return Marking(
        marker,
        head=_held(plan, history),
        floor=_long_enough(plan, history, minimum - tools - system),
        tools=tools >= minimum,
        system=tools + system >= minimum,
        fixed=fixed,
    )


def _held(plan: Plan, history: History) -> int:
    held, step_of = history.held, history.grouping.step_of
    for nth, item in enumerate(plan.order):
        if isinstance(item, Inserted) or step_of[item] not in held:
            return nth
    return len(plan.order)


def _long_enough(plan: Plan, history: History, missing: int) -> int:
    if missing <= 0:
        return -1
    for nth, item in enumerate(plan.order):
        if isinstance(item, Inserted):
            missing -= item.tokens
        elif item in plan.edits:
            missing -= plan.edits[item].tokens
        else:
            missing -= history.source.count(item)
        if missing <= 0:
            return nth + 1
    return len(plan.order) + 1
