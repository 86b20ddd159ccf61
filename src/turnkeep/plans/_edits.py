from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Literal, Protocol, TypeAlias

import attrs

from turnkeep.model import Message


class Cause(StrEnum):
    """Why something stays, goes or changes. Strategies may use words of their own."""

    # why it stays
    ROOM = "room"
    """There was room for it."""
    SYSTEM = "system"
    QUESTION = "question"
    NEWEST = "newest"
    UNREAD = "unread"
    """A result that the model has not read yet, and its call."""
    PINNED = "pinned"
    PENDING = "pending"
    MEMORY = "memory"
    """What the provider put in place of earlier messages; they go because of it."""
    STATEFUL = "stateful"
    """It refers to what the provider keeps, or answers a call that is kept there."""
    # why it goes
    AGE = "age"
    SIZE = "size"
    PRIORITY = "priority"
    UNUSED = "unused"
    """Nothing later refers to it."""
    RELEVANCE = "relevance"
    LIMIT = "limit"
    """Only the hard budget demanded it: the rest of a pinned turn."""
    SUMMARY = "summary"
    """A summary stands for it."""
    DIGEST = "digest"
    """A list of the ids and names of what went stands for it."""
    REPAIR = "repair"
    """It would have been refused: an orphan, a duplicate."""
    RESOLVED = "resolved"
    """A placeholder whose answer has come."""
    DISPLAY = "display"
    """Shown to people only."""
    # why it changes or is added
    CLEARED = "cleared"
    SHORTENED = "shortened"
    OFFLOADED = "offloaded"
    """It is in a store, and a reference stands for it."""
    STRIPPED = "stripped"
    OPEN_CALL = "open_call"
    """A stand-in for the result of a call that is still open."""
    PROFILE = "profile"
    """The provider demands it."""
    SIGNATURE = "signature"
    """Signed reasoning of the tool round in progress is only valid with it."""


Place: TypeAlias = Literal["there", "behind", "front"]


SPLIT_ABOVE: Final = 0.1
"""A turn that is larger than a tenth of the target is cut inside, if that will do."""


class Unit(Protocol):
    """A turn or a step, as strategies see them."""

    @property
    def index(self) -> int:
        """Its place among the turns or steps of the history."""
        ...

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn."""
        ...


@attrs.frozen
class Drop:
    """Give up a turn's free steps, or one step.

    A large turn that would free more than is needed is given up step by step instead:
    its oldest steps first, its question with the last of them, and no more than it
    takes.
    """

    unit: Unit
    cause: str = Cause.AGE
    may_return: bool = False
    """Whether it comes back when, after a larger drop, there is room for it again.

    What was given up last returns first. For rankings; not where what goes must be one
    piece."""
    split_above: float = SPLIT_ABOVE
    """Share of the target from which on a turn is large."""


@attrs.frozen
class Replace:
    """Send *content* instead of a message; its calls and results stay linked."""

    message: int
    """Index of the message in the history."""
    content: Message
    cause: str


@attrs.frozen
class Batch:
    """Replacements that only pay together: all that is needed of them, or none."""

    edits: tuple[Replace, ...]
    """Taken in their order until the target is met and *at_least* is freed."""
    at_least: int
    """Tokens they must free in all; below that none is taken."""


@attrs.frozen
class Reserve:
    """Keep room for a message that can only be written when the cut is known.

    The engine cuts *tokens* deeper, then asks for the message and adds it if it fits
    the room that is left below the target.
    """

    tokens: int
    write: Callable[[Sequence[int], int], Message | None]
    """From the indexes of the dropped messages, oldest first, and the room in tokens,
    to the message; `None` for none."""
    cause: str


@attrs.frozen
class Note:
    """Something the caller should know; it becomes a warning of the plan."""

    text: str


@attrs.frozen
class Insert:
    """Add a message of ours in front of what is kept from a turn on."""

    content: Message
    before_turn: int
    """The turn in front of whose kept messages it stands."""
    cause: str


@attrs.frozen
class Cover:
    """Let whole turns (and single steps) go together and send *content* for them."""

    turns: tuple[int, ...]
    content: Message
    cause: str = Cause.SUMMARY
    steps: tuple[int, ...] = ()
    """Steps of turns that do not go whole: the beginning of a long tool loop, and an
    earlier summary."""
    place: Place = "there"
    """Where *content* stands: in front of the first step that goes, behind the last, or
    in front of all but leading system messages."""


Edit: TypeAlias = Drop | Replace | Batch | Reserve | Note | Insert | Cover
