"""Which step and turn each stored message belongs to, known without the history.

What decides where the next message goes is small: the calls that are still open, and
whether the last message was the assistant's. It is kept beside a conversation, so that
an append costs the open calls and not the history, and so that the newest part can be
read with every call and result that belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Self

import attrs

from turnkeep.errors import CorruptStoreError
from turnkeep.model import Message
from turnkeep.serial import dumps
from turnkeep.turns import (
    ANSWERS,
    ASSISTANT,
    HIDDEN,
    USER,
    CallKey,
    Entry,
    Grouping,
    Hosted,
)

_NONE: Final = 2**62
# The place of no message.

_NOBODY: Final[Mapping[int, int]] = {}


class OpenPlace(NamedTuple):
    """A call without a final result, and where it stands."""

    seq: int
    step: int
    turn: int
    position: int
    id: str | None
    name: str


class Placed(NamedTuple):
    """Where a message belongs."""

    seq: int
    kind: int
    step: int
    """Number of its step's first message."""
    turn: int
    """Number of its step's turn's first message."""
    links: tuple[int, ...] = ()
    """Steps that cannot be read without this message and that it does not follow."""


@attrs.frozen
class Progress:
    """What must be known to place the next message."""

    turn: int = -1
    """First message of the newest turn; -1 in an empty conversation."""
    step: int = -1
    """First message of the newest step."""
    turn_of_step: int = -1
    run: int = -1
    """The step that an assistant message would go on with; -1 for a new one."""
    open: tuple[OpenPlace, ...] = ()
    reach: int = -1
    """The first message that a window may need for what its provider does itself: a
    memory, calls of its own and their answers, references; -1 for none."""

    def advance(
        self, entries: Iterable[tuple[int, Entry]], meant: Mapping[int, int] = _NOBODY
    ) -> tuple[list[Placed], Self]:
        """Place messages, given by number and entry; costs them and the open calls.

        Args:
            entries:
                The messages.
            meant:
                For results that say which message's call they answer: its number, by
                theirs (see `meant_by`).
        """
        return _Placer(self, meant).run(entries)  # type: ignore[return-value]

    def follow(self, seq: int, entry: Entry) -> tuple[Placed, Progress]:
        """Place one message as `advance` does; faster where nothing is open."""
        kind, calls, results, _, hosted = entry
        if not (self.open or calls or results or hosted):
            reach = self.reach
            if kind == USER:
                after = Progress(seq, seq, seq, -1, (), reach)
                return Placed(seq, USER, seq, seq), after
            if kind == ASSISTANT and self.run < 0:
                turn = seq if self.turn < 0 else self.turn
                after = Progress(turn, seq, turn, seq, (), reach)
                return Placed(seq, kind, seq, turn), after
        [placed], progress = self.advance([(seq, entry)])
        return placed, progress

    def dump(self) -> list[Any]:
        """As JSON."""
        places = [list(place) for place in self.open]
        reach = [self.reach] if self.reach >= 0 else []
        return [self.turn, self.step, self.turn_of_step, self.run, places, *reach]

    def text(self) -> str:
        """As the text of that JSON."""
        if self.open or self.reach >= 0:
            return dumps(self.dump()).decode()
        return f"[{self.turn},{self.step},{self.turn_of_step},{self.run},[]]"

    @classmethod
    def load(cls, value: Any) -> Self:
        """What `dump` gave.

        Raises:
            CorruptStoreError: It is something else.
        """
        try:
            turn, step, turn_of_step, run, places, *more = value
            made = tuple(OpenPlace(*place) for place in places)
            [reach] = more or [-1]
            numbers = [turn, step, turn_of_step, run, reach]
            numbers += [n for place in made for n in place[:4]]
        except (TypeError, ValueError):
            numbers = [None]
        if not all(type(number) is int for number in numbers):
            reason = f"the list of open calls is damaged: {str(value)[:80]}"
            raise CorruptStoreError(reason)
        return cls(turn, step, turn_of_step, run, made, reach)


def meant_by(
    messages: Iterable[tuple[int, Message]], numbers: Mapping[str, int]
) -> dict[int, int]:
    """Numbers of results that say whose call they answer, each with the number of that.

    An id alone may name several open calls.
    """
    meant: dict[int, int] = {}
    for seq, message in messages:
        if message.metadata and ANSWERS in message.metadata:
            there = numbers.get(message.metadata[ANSWERS])
            if there is not None and there < seq:
                meant[seq] = there
    return meant


class _Placer:
    """Feeds a grouping that knows the open calls and nothing else of the past."""

    def __init__(self, before: Progress, meant: Mapping[int, int]) -> None:
        self.meant = meant
        self.known: dict[int, int] = {}
        """By number of a message with calls: its place in the grouping."""
        self.turn, self.step = before.turn, before.step
        self.turn_of_step, self.run_step = before.turn_of_step, before.run
        self.grouping = Grouping()
        self.places: list[OpenPlace | None] = []
        """By message of the grouping: where its first call stands."""
        self.numbers: list[int] = []
        self.home: dict[int, tuple[int, int]] = {}
        """By step of the grouping: our step and turn."""
        self.positions: dict[tuple[int, int], int] = {}
        self.reach = before.reach
        self._seed(before)

    def _seed(self, before: Progress) -> None:
        last = -1
        by_message: dict[int, list[OpenPlace]] = {}
        for place in before.open:
            by_message.setdefault(place.seq, []).append(place)
        for seq, calls in by_message.items():
            if calls[0].step != last:
                # A user message between, so that steps do not run together.
                self._add(-1, Entry(USER))
            last = calls[0].step
            entry = Entry(ASSISTANT, tuple(CallKey(c.id, c.name) for c in calls))
            for nth, call in enumerate(calls):
                self.positions[len(self.numbers), nth] = call.position
            step = self._add(seq, entry)
            self.home[step] = (last, calls[0].turn)
        if before.run < 0 or before.run != last:
            self._add(-1, Entry(USER))
        if before.run >= 0 and before.run != last:
            step = self._add(-1, Entry(ASSISTANT))
            self.home[step] = (before.run, before.turn_of_step)

    def _add(self, seq: int, entry: Entry) -> int:
        if entry.calls:
            self.known[seq] = len(self.numbers)
        self.numbers.append(seq)
        there = -1
        if seq in self.meant:
            # A message without an open call is none whose call is answered.
            there = self.known.get(self.meant[seq], _NONE)
        return self.grouping.add(entry, there)

    def run(
        self, entries: Iterable[tuple[int, Entry]]
    ) -> tuple[list[Placed], Progress]:
        placed = [self._place(seq, entry) for seq, entry in entries]
        return placed, Progress(
            self.turn,
            self.step,
            self.turn_of_step,
            self.run_step,
            self._open(),
            self.reach,
        )

    def _place(self, seq: int, entry: Entry) -> Placed:
        if entry.kind == HIDDEN and self.step >= 0:
            # Shown beside the newest message, whichever that is.
            return Placed(seq, HIDDEN, self.step, self.turn_of_step)
        newest = self.step
        if entry.hosted is not None:
            self.reach = _reached(self.reach, seq, entry.hosted)
            # What a provider's own calls tie is all in reach, and needs no links.
            entry = entry._replace(hosted=None)
        theirs = self._add(seq, entry)
        if theirs not in self.home:
            if entry.kind == USER or self.turn < 0:
                self.turn = seq
            self.step, self.turn_of_step = seq, self.turn
            self.home[theirs] = (seq, self.turn)
            newest = seq
        step, turn = self.home[theirs]
        tied = self.grouping.together(theirs)
        links = {self.home[other][0] for other in tied} - {step}
        if step != newest:
            links.add(step)
        self.run_step = step if entry.kind == ASSISTANT else -1
        return Placed(seq, entry.kind, step, turn, tuple(sorted(links)))

    def _open(self) -> tuple[OpenPlace, ...]:
        made: list[OpenPlace] = []
        for call in self.grouping.open_calls:
            step, turn = self.home[self.grouping.step_of[call.message]]
            key = (call.message, call.position)
            made.append(
                OpenPlace(
                    self.numbers[call.message],
                    step,
                    turn,
                    self.positions.get(key, call.position),
                    call.id,
                    call.name,
                )
            )
        return tuple(made)


def _reached(reach: int, seq: int, hosted: Hosted) -> int:
    """How far back a window reaches once a message holds this of its provider's doing.

    A memory that replaces what stands before it is as far as any window looks.
    """
    if hosted.memory is not None and (hosted.memory.replaces or reach < 0):
        return seq
    if reach < 0 and (hosted.refers or not hosted.is_alone):
        return seq
    return reach
