"""What a log says: a conversation in memory, changed by its records."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnkeep.errors import DuplicateIdError, UnknownMessageError
from turnkeep.turns import SYSTEM, entry_of

from ._codec import id_of, merged, scope_of
from ._document import after
from ._progress import Placed, Progress, meant_by
from ._tail import (
    Ask,
    Fixed,
    Forward,
    LinksFrom,
    LinksOf,
    Newest,
    NextTurn,
    Numbered,
    RawRow,
)
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Pin,
    Row,
    Snapshot,
    serial_of,
)


@attrs.frozen
class Cell:
    """A message, where it belongs, and the version that brought it."""

    row: Row
    place: Placed
    version: int

    def raw(self) -> RawRow:
        """As selection sees it."""
        message = self.row.message
        tokens = self.row.tokens
        if tokens < 0:
            # Nobody has counted: four characters a token decides what is read.
            tokens = len(message.text) // 4 + 4
        return RawRow(
            self.place.seq,
            message.id or "",
            self.place.kind,
            self.place.step,
            self.place.turn,
            scope_of(message),
            tokens,
            None,
            "",
        )


class Replica:
    """One conversation, as its records leave it."""

    def __init__(self, conversation_id: str = "", moment: str = "") -> None:
        """Nothing in it yet."""
        self.id = conversation_id
        self.created_at = self.updated_at = moment
        self.version = self.floor = self.serial = self.next_seq = 0
        self.progress = Progress()
        self.state: dict[str, Any] = {}
        self.cells: dict[int, Cell] = {}
        self.order: list[int] = []
        self.numbers: dict[str, int] = {}
        self.calls: dict[tuple[str, int], tuple[CallRecord, int]] = {}
        self.changes: list[tuple[int, str, bool]] = []
        self.links: set[tuple[int, int]] = set()

    # -- changing ---------------------------------------------------------------

    def validate(self, change: Change) -> None:
        """Refuse what cannot be done, before anything is written.

        Raises:
            UnknownMessageError: A message to change is absent.
            DuplicateIdError: A new message's id is taken.
            FormatError: An id cannot be stored.
        """
        named = [row.message.id or "" for row in change.replace]
        named += [pin.message for pin in change.pins]
        gone = set(change.remove)
        for message_id in [*change.remove, *named]:
            if message_id not in self.numbers:
                raise UnknownMessageError(message_id)
        for message_id in named:
            if message_id in gone:
                raise UnknownMessageError(message_id)
        fresh: set[str] = set()
        for row in change.append:
            identity = id_of(row.message)
            taken = identity in self.numbers and identity not in gone
            if taken or identity in fresh:
                raise DuplicateIdError(identity)
            fresh.add(identity)
        for call in change.calls:
            known = call.message in self.numbers and call.message not in gone
            if not known and call.message not in fresh:
                raise UnknownMessageError(call.message)

    def apply(self, change: Change, moment: str) -> None:
        """Make a change in memory that stands in the file."""
        self.validate(change)
        self.version += 1
        self.updated_at = moment
        regroup = self._remove(change.remove)
        for row in change.replace:
            regroup |= self._replace(row)
        for pin in change.pins:
            self._pin(pin)
        seqs = range(self.next_seq, self.next_seq + len(change.append))
        self.next_seq = seqs.stop
        self.place(list(zip(seqs, change.append, strict=True)), self.version)
        if regroup:
            self._group_again()
        for call in change.calls:
            self.calls[call.message, call.position] = (call, self.version)
        self.state = merged(self.state, change.state)
        ids = [row.message.id or "" for row in change.append]
        self.serial = max(self.serial, after(change.state), *map(serial_of, ids), 0)

    def _remove(self, message_ids: Sequence[str]) -> bool:
        gone = set(message_ids)
        for message_id in gone:
            del self.cells[self.numbers.pop(message_id)]
            self.changes.append((self.version, message_id, True))
        if gone:
            self.order = list(self.cells)
            self.calls = {k: v for k, v in self.calls.items() if k[0] not in gone}
        return bool(gone)

    def _replace(self, row: Row) -> bool:
        cell = self.cells[self.numbers[row.message.id or ""]]
        before, entry = entry_of(cell.row.message), entry_of(row.message)
        place = cell.place._replace(kind=entry.kind)
        self.cells[place.seq] = Cell(row, place, cell.version)
        self.changes.append((self.version, row.message.id or "", False))
        return entry != before

    def _pin(self, pin: Pin) -> None:
        cell = self.cells[self.numbers[pin.message]]
        fields = {"pinned": pin.scope is not None, "pin_scope": pin.scope or "turn"}
        message = cell.row.message.evolve(**fields)
        row = attrs.evolve(cell.row, message=message)
        self.cells[cell.place.seq] = attrs.evolve(cell, row=row)
        self.changes.append((self.version, pin.message, False))

    def place(self, rows: Sequence[tuple[int, Row]], version: int) -> None:
        """Add messages under given numbers, brought by *version*."""
        entries = [(seq, entry_of(row.message)) for seq, row in rows]
        self.numbers.update((row.message.id or "", seq) for seq, row in rows)
        meant = meant_by(((seq, row.message) for seq, row in rows), self.numbers)
        placed, self.progress = self.progress.advance(entries, meant)
        for place, (seq, row) in zip(placed, rows, strict=True):
            self.cells[seq] = Cell(row, place, version)
            self.order.append(seq)
            self.links.update((step, seq) for step in place.links)

    def _group_again(self) -> None:
        entries = [(s, entry_of(self.cells[s].row.message)) for s in self.order]
        messages = ((s, self.cells[s].row.message) for s in self.order)
        meant = meant_by(messages, self.numbers)
        placed, self.progress = Progress().advance(entries, meant)
        self.links = {(step, p.seq) for p in placed for step in p.links}
        for place in placed:
            self.cells[place.seq] = attrs.evolve(self.cells[place.seq], place=place)

    # -- asking -----------------------------------------------------------------

    def rows(self) -> tuple[Row, ...]:
        """Every message, in order."""
        return tuple(self.cells[seq].row for seq in self.order)

    def records(self) -> tuple[CallRecord, ...]:
        """What is known about calls."""
        return tuple(self.calls[key][0] for key in sorted(self.calls))

    def snapshot(self, damage: tuple[Damage, ...] = ()) -> Snapshot:
        """Everything."""
        return Snapshot(
            self.id,
            self.version,
            self.serial,
            self.rows(),
            self.records(),
            self.state,
            rows_read=len(self.order),
            damage=damage,
        )

    def since(self, version: int) -> Delta:
        """What happened since a version."""
        if not self.floor <= version <= self.version:
            everything = Change(
                append=self.rows(), calls=self.records(), state=self.state
            )
            return Delta(self.version, self.serial, everything, reset=True)
        start = self._first_after(version)
        fresh = [self.cells[seq] for seq in self.order[start:]]
        new = {cell.row.message.id for cell in fresh}
        touched = [c for c in self.changes if c[0] > version]
        removed = tuple(dict.fromkeys(c[1] for c in touched if c[2]))
        changed = {c[1] for c in touched if not c[2]} - new
        seqs = sorted(self.numbers[i] for i in changed if i in self.numbers)
        calls = [k for k in sorted(self.calls) if self.calls[k][1] > version]
        return Delta(
            self.version,
            self.serial,
            Change(
                append=tuple(cell.row for cell in fresh),
                replace=tuple(self.cells[seq].row for seq in seqs),
                remove=removed,
                calls=tuple(self.calls[key][0] for key in calls),
            ),
        )

    def changed_ids(self, version: int) -> tuple[str, ...]:
        """Ids of messages that came, changed or went since a version, each once."""
        start = self._first_after(version)
        fresh = [self.cells[seq].row.message.id or "" for seq in self.order[start:]]
        others = sorted({c[:2] for c in self.changes if c[0] > version})
        return tuple(dict.fromkeys([*fresh, *(c[1] for c in others)]))

    def _first_after(self, version: int) -> int:
        start = len(self.order)
        while start and self.cells[self.order[start - 1]].version > version:
            start -= 1
        return start

    def answer(self, ask: Ask) -> list[Any]:
        """What selection asks for."""
        match ask:
            case Newest(before, limit):
                stop = len(self.order)
                if before is not None:
                    stop = bisect_left(self.order, before)
                chosen = self.order[max(stop - limit, 0) : stop][::-1]
            case Forward(start, limit):
                first = bisect_left(self.order, start)
                chosen = self.order[first : first + limit]
            case Numbered(seqs):
                chosen = [seq for seq in seqs if seq in self.cells]
            case Fixed():
                chosen = list(self._fixed())
            case NextTurn(after_seq):
                first = bisect_left(self.order, after_seq + 1)
                turns = (
                    seq
                    for seq in self.order[first:]
                    if self.cells[seq].place.turn == seq
                )
                return [(seq, seq) for seq in turns][:1]
            case LinksOf(steps):
                return [link for link in sorted(self.links) if link[0] in steps]
            case LinksFrom(None, seqs):
                return [link for link in sorted(self.links) if link[1] in seqs]
            case LinksFrom(start):
                return [link for link in sorted(self.links) if link[1] >= (start or 0)]
        return [self.cells[seq].raw() for seq in chosen]

    def _fixed(self) -> Iterator[int]:
        for seq in self.order:
            cell = self.cells[seq]
            if cell.place.kind == SYSTEM or cell.row.message.pinned:
                yield seq
