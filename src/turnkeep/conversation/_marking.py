"""Cache marks of a window: where it goes on, as the conversation remembers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from turnkeep.formats._cache import Extent, Marker, marker_for
from turnkeep.formats._sending import request_of
from turnkeep.index._holds import held_now, newest_step
from turnkeep.index._ledger import Ledger
from turnkeep.index._sums import Sums
from turnkeep.model import Message, Role, as_sent
from turnkeep.policy import Policy
from turnkeep.providers import cache_minimum

if TYPE_CHECKING:
    from ._asking import Ask

_LISTS = ("messages", "input")
"""Keys of the list in the bodies of formats that have marks."""


@attrs.frozen
class Marking:
    """The marks of one window, by the places of its messages."""

    marker: Marker
    head: int
    """How many messages stay at the next cut: what is held, up to the first free
    step."""
    previous: int | None
    """How many the window before had of them; none where nobody remembers it."""
    floor: int
    """With how many the request is long enough to be cached."""
    tools: bool
    """Whether the tools alone are."""
    system: bool
    """Whether tools and the system text in front are."""

    def applied(
        self,
        body: Mapping[str, Any],
        name: str,
        messages: Sequence[Message],
        demands: Policy,
    ) -> dict[str, Any]:
        """*body*, which says *messages*, with marks. Costs the window.

        How much of the list some messages make is found out by writing them: a format
        may make one entry of several, or put some of them in front.
        """
        key = next((key for key in _LISTS if key in body), None)
        if key is None:
            return dict(body)
        marker, entries = self.marker, body[key]

        def written(some: Sequence[Message]) -> list[Any]:
            made: list[Any] = request_of(name, some, None, demands)[key] if some else []
            return made

        previous = None
        if self.previous is not None:
            behind = marker.blocks_in(written(messages[self.previous :]))
            previous = marker.blocks_in(entries) - behind
        extent = Extent(
            head=marker.blocks_in(written(messages[: self.head])),
            previous=previous,
            floor=len(written(messages[: self.floor])) - 1,
        )
        front = marker.frames(body, tools=self.tools, system=self.system)
        sent = marker.in_list(entries, extent, body, front=front)
        made = {**body, key: sent.entries}
        return marker.in_body(made, sent, tools=self.tools, system=self.system)


def marking_of(
    ask: Ask,
    messages: Sequence[Message],
    ledger: Ledger,
    sums: Sums,
    *,
    tools: int,
    before: str | None,
) -> Marking | None:
    """Where the marks of a window go; none where they are left as they are.

    Costs what is held in front, and the beginning of the window until it is long enough
    to be cached.

    Args:
        ask:
            What the window was asked for.
        messages:
            The window's.
        ledger:
            The history.
        sums:
            What is held in it.
        tools:
            Tokens of the tools.
        before:
            Id of the message that the previous window ended with.
    """
    marker = marker_for(ask.format_name, ask.model, ask.cache_marks)
    if marker is None:
        return None
    minimum = cache_minimum(ask.model, on_bedrock=ask.format_name == "bedrock")
    floor, tokens, system = 0, tools, 0
    while tokens < minimum and floor < len(messages):
        message = messages[floor]
        tokens += ledger.counter.message(as_sent(message))
        floor += 1
        if message.role is Role.SYSTEM and floor == system + 1:
            system = floor
    if tokens < minimum:
        floor = len(messages) + 1
    return Marking(
        marker,
        head=_held(messages, ledger, sums),
        previous=_ended(messages, before),
        floor=floor,
        tools=tools >= minimum,
        # Long enough before anything but system text was needed.
        system=tokens >= minimum and floor == system,
    )


def _held(messages: Sequence[Message], ledger: Ledger, sums: Sums) -> int:
    grouping, newest = ledger.grouping, newest_step(ledger.grouping, ledger.gone)
    now = () if newest is None else held_now(grouping, newest, ledger.gone)
    for nth, message in enumerate(messages):
        index = ledger.index.get(message.id or "")
        step = -1 if index is None else grouping.step_of[index]
        if step < 0 or not (step in now or sums.is_held(sums.lead_of(step))):
            return nth
    return len(messages)


def _ended(messages: Sequence[Message], before: str | None) -> int | None:
    if before is None:
        return None
    for nth in range(len(messages), 0, -1):
        if messages[nth - 1].id == before:
            return nth
    return None
