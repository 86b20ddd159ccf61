"""What a strategy may propose, and what the engine decided and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, overload

import attrs

from turnkeep.errors import StalePlanError
from turnkeep.model import Message


class Cause(StrEnum):
    """Why something stays, goes or changes. Strategies may use words of their own."""

    # why it stays
    ROOM = "room"
    """There was room for it."""
    SYSTEM = "system"
    QUESTION = "question"
    NEWEST = "newest"
    PINNED = "pinned"
    PENDING = "pending"
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
    STRIPPED = "stripped"
    OPEN_CALL = "open_call"
    """A stand-in for the result of a call that is still open."""
    PROFILE = "profile"
    """The provider demands it."""
    SIGNATURE = "signature"
    """Signed reasoning of the tool round in progress is only valid with it."""


Action: TypeAlias = Literal["keep", "drop", "edit"]


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
    """Give up a turn's free steps, or one step."""

    unit: Unit
    cause: str = Cause.AGE
    may_return: bool = False
    """Whether it comes back when, after a larger drop, there is room for it again.

    What was given up last returns first. For rankings; not where what goes must be one
    piece."""


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
class Summarise:
    """Let whole turns (and single steps) go together and send *content* for them."""

    turns: tuple[int, ...]
    content: Message
    cause: str = Cause.SUMMARY
    steps: tuple[int, ...] = ()
    """Steps of turns that do not go whole: the beginning of a long tool loop, and an
    earlier summary."""


Edit: TypeAlias = Drop | Replace | Batch | Reserve | Note | Insert | Summarise


@attrs.frozen
class Run:
    """Neighbouring messages that were decided alike."""

    start: int
    """Index of the first message."""
    stop: int
    """Index behind the last message."""
    action: Action
    cause: str

    def __len__(self) -> int:
        """Number of messages."""
        return self.stop - self.start


@attrs.frozen
class Decision:
    """What happens to one message, and why."""

    index: int
    id: str
    action: Action
    cause: str
    tokens: int
    """Tokens it has in the history."""
    tokens_after: int
    """Tokens it has in the window; 0 when dropped."""


@attrs.frozen
class Inserted:
    """A message of ours that the window holds and the history does not."""

    after: int
    """Index of the message it follows; -1 for the beginning."""
    message: Message
    tokens: int
    cause: str
    call_id: str | None = None
    """The open call it stands in for."""


@attrs.frozen
class Refused:
    """An edit that was proposed and not taken, and why."""

    edit: str
    reason: str


class Decisions(Sequence[Decision]):
    """The decisions of one kind, made from runs as they are asked for.

    `len` costs the number of runs; iterating costs the number of messages.
    """

    __slots__ = ("_make", "runs")

    def __init__(
        self, runs: Sequence[Run], make: Callable[[int, Action, str], Decision]
    ) -> None:
        """Decisions over *runs*."""
        self.runs = tuple(runs)
        self._make = make

    def __len__(self) -> int:
        """Number of messages."""
        return sum(map(len, self.runs))

    def __iter__(self) -> Iterator[Decision]:
        """Every decision, in the order of the history."""
        for run in self.runs:
            for index in range(run.start, run.stop):
                yield self._make(index, run.action, run.cause)

    @overload
    def __getitem__(self, at: int) -> Decision: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Decision]: ...
    def __getitem__(self, at: int | slice) -> Decision | Sequence[Decision]:
        """One decision, or a list of them."""
        if isinstance(at, slice):
            return list(self)[at]
        left = at if at >= 0 else at + len(self)
        for run in self.runs:
            if 0 <= left < len(run):
                return self._make(run.start + left, run.action, run.cause)
            left -= len(run)
        msg = f"decision {at} of {len(self)}"
        raise IndexError(msg)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the messages, in order."""
        return tuple(decision.id for decision in self)

    def __repr__(self) -> str:
        """Show the runs."""
        return f"Decisions({len(self)} messages in {len(self.runs)} runs)"


class PlanSource(Protocol):
    """What a plan asks the history it was made for."""

    def count(self, index: int) -> int:
        """Tokens of a message; counted now if they have not been."""
        ...

    def id(self, index: int) -> str:
        """Id of a message."""
        ...

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        ...

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window that *plan* leaves of *messages*, in their shape."""
        ...


@attrs.frozen(eq=False, repr=False)
class Plan:
    """What the engine decided about each message, and what it adds up to.

    `print(plan)` shows a short table.
    """

    tokens: int
    """Tokens of the window: messages, stand-ins, system, tools and overhead."""

    available: int
    """Tokens the budget leaves for messages."""

    fixed: int
    """Tokens of tools, system text beside the list, and per-request overhead."""

    inserted: tuple[Inserted, ...]
    """Stand-ins and other messages of ours, in their order."""

    edits: dict[int, tuple[Message, str, int]]
    """Messages that are sent changed: index -> (what is sent, cause, its tokens)."""

    warnings: tuple[str, ...]
    """What the caller should know: a missed target, a mended history, ..."""

    refused: tuple[Refused, ...]
    """Edits that were proposed and not taken."""

    exact: bool
    """Whether *tokens* is the provider's own count."""

    margin: float
    """Share by which the true count may be higher."""

    pruned: bool
    """Whether anything had to go."""

    source: PlanSource
    fingerprint: Any
    memory: Any
    make_runs: Callable[[], tuple[Run, ...]]
    make_order: Callable[[], tuple[Sequence[int | Inserted], tuple[int, ...]]]

    joins: Callable[[Sequence[int | Inserted]], Sequence[int]] | None = None
    """Finds the places of the window that its provider wants joined."""

    @cached_property
    def _placed(self) -> tuple[Sequence[int | Inserted], tuple[int, ...]]:
        return self.make_order()

    @property
    def order(self) -> Sequence[int | Inserted]:
        """The window: indexes of messages, and messages of ours."""
        return self._placed[0]

    @property
    def moved(self) -> tuple[int, ...]:
        """Results that are placed right behind their call, by index."""
        return self._placed[1]

    @cached_property
    def joined(self) -> tuple[int, ...]:
        """Places in *order* whose entry is joined with the one before it on the wire.

        Only where a hole or a message of ours made neighbours that the provider wants
        as one.
        """
        return () if self.joins is None else tuple(self.joins(self.order))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every message's decision, neighbours with the same one taken together."""
        return self.make_runs()

    def _decision(self, index: int, action: Action, cause: str) -> Decision:
        tokens = self.source.count(index)
        after = 0 if action == "drop" else tokens
        if index in self.edits and action != "drop":
            after = self.edits[index][2]
        return Decision(index, self.source.id(index), action, cause, tokens, after)

    def _select(self, action: Action) -> Decisions:
        return Decisions([r for r in self.runs if r.action == action], self._decision)

    @property
    def decisions(self) -> Decisions:
        """Every message's decision, in the order of the history."""
        return Decisions(self.runs, self._decision)

    @property
    def kept(self) -> Decisions:
        """Messages sent as they are."""
        return self._select("keep")

    @property
    def dropped(self) -> Decisions:
        """Messages left out."""
        return self._select("drop")

    @property
    def edited(self) -> Decisions:
        """Messages sent changed."""
        return self._select("edit")

    @property
    def tokens_before(self) -> int:
        """Tokens of the whole history; counts what has not been counted yet."""
        stop = self.runs[-1].stop if self.runs else 0
        return self.fixed + sum(map(self.source.count, range(stop)))

    def apply(self, messages: Any) -> Any:
        """The window that this plan leaves of *messages*, in their own shape.

        Raises:
            StalePlanError: These are not the messages that the plan was made for.
        """
        if self.source.fingerprint() != self.fingerprint:
            reason = "it has changed since"
            raise StalePlanError(reason)
        return self.source.apply(self, messages)

    def __str__(self) -> str:
        """A short table: what is kept, what went, and why."""
        verb = "kept" if not self.pruned else "pruned to fit"
        more = max(self.margin, 0)
        about = "" if self.exact else f" (estimated, up to {more:.0%} more)"
        head = (
            f"{self.tokens} tokens{about} of {self.available + self.fixed} available, "
            f"{verb}: {len(self.kept)} messages kept, {len(self.edited)} edited, "
            f"{len(self.dropped)} dropped, {len(self.inserted)} added"
        )
        lines = [head]
        for run in self.runs[:_SHOWN_RUNS]:
            first, last = self.source.id(run.start), self.source.id(run.stop - 1)
            name = first if len(run) == 1 else f"{first} .. {last}"
            lines.append(f"  {run.action:<5} {name:<28} {len(run):>6}  {run.cause}")
        if len(self.runs) > _SHOWN_RUNS:
            lines.append(f"  ... and {len(self.runs) - _SHOWN_RUNS} more runs")
        lines += [
            f"  add   {item.cause} {item.call_id or ''}".rstrip()
            for item in self.inserted
        ]
        if self.moved:
            names = ", ".join(map(self.source.id, self.moved[:5]))
            lines.append(f"  move  {len(self.moved)} results to their call: {names}")
        if self.joined:
            lines.append(f"  join  {len(self.joined)} entries with the one before")
        lines += [f"  note  {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Show the figures."""
        return (
            f"Plan(tokens={self.tokens}, kept={len(self.kept)}, "
            f"edited={len(self.edited)}, dropped={len(self.dropped)})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: figures, runs and causes."""
        from turnkeep.notebook import plan_html  # noqa: PLC0415 - rarely shown

        return plan_html(self)


_SHOWN_RUNS = 20
