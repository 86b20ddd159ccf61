"""Who sees a message, decided here once for every kind."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from ._blocks import Block, Document, Image, ToolResult
from ._message import DISPLAY_KINDS, Message


@attrs.frozen
class Audience:
    """For whom a message is: the person in front of the transcript, the model, or both.

    What is sent is counted, and nothing else is.
    """

    shown: bool = True
    """Part of the transcript that people read."""

    sent: bool = True
    """Part of what the model reads."""

    @property
    def counted(self) -> bool:
        """Whether it takes up budget."""
        return self.sent


BOTH = Audience()
MODEL_ONLY = Audience(shown=False)
PEOPLE_ONLY = Audience(sent=False)

_MODEL_KINDS = frozenset({"bridge", "pin_copy", "context_marker", "recovery_nudge"})
"""Kinds that steer the model, or that only the provider demands."""


def audience_of(kind: str | None) -> Audience:
    """Who sees messages of *kind*; a kind that nobody knows is an ordinary message.

    >>> audience_of("run_summary")
    Audience(shown=True, sent=False)
    """
    if kind in DISPLAY_KINDS:
        return PEOPLE_ONLY
    return MODEL_ONLY if kind in _MODEL_KINDS else BOTH


def sent(messages: Iterable[Message]) -> list[Message]:
    """Those of *messages* that the model reads, in order."""
    return [m for m in messages if audience_of(m.kind).sent]


def shown(messages: Iterable[Message]) -> list[Message]:
    """Those of *messages* that people read, in order."""
    return [m for m in messages if audience_of(m.kind).shown]


def count_images(messages: Iterable[Message]) -> int:
    """Pictures and files in what is sent of *messages*, those in results included."""
    return sum(_images(m.content) for m in sent(messages))


def _images(blocks: Iterable[Block]) -> int:
    return sum(
        _images(block.content)
        if isinstance(block, ToolResult)
        else isinstance(block, (Image, Document))
        for block in blocks
    )
