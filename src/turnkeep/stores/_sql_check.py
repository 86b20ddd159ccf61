"""Finding damage in a database: what is kept twice must agree."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import attrs

from turnkeep.errors import CorruptStoreError
from turnkeep.model import Message

from ._codec import load_call, stamp
from ._progress import Placed, Progress
from ._sql import (
    CALL,
    HEAD,
    Head,
    Query,
    Rows,
    all_rows,
    open_head,
    opened,
    state_of,
)
from ._sql_seals import BROKEN_SEAL, demand_numbers, demand_text, seal
from ._sql_write import grouped
from ._tail import RawRow
from ._values import Damage, is_id, serial_of, unknown


def check(
    conversation_id: str | None,
) -> Generator[Query, Rows, tuple[Damage, ...]]:
    """Damage in one conversation or in all; costs their length."""
    if conversation_id is not None:
        if not is_id(conversation_id):
            raise unknown(conversation_id)
        found = yield Query(
            f"SELECT {HEAD} FROM conversations WHERE id = ?",  # noqa: S608
            (conversation_id,),
        )
        if not found:
            raise unknown(conversation_id)
        return tuple((yield from _check_one(found[0])))
    everything = yield Query(f"SELECT {HEAD} FROM conversations ORDER BY id")  # noqa: S608
    damage: list[Damage] = []
    for row in everything:
        damage += yield from _check_one(row)
    strays = yield Query(
        "SELECT conversation, seq FROM messages m WHERE NOT EXISTS (SELECT 1"
        " FROM conversations v WHERE v.n = m.conversation) ORDER BY conversation, seq"
    )
    reason = "row {} is of conversation number {}, which is not there"
    damage += [Damage(None, "messages", reason.format(seq, n)) for n, seq in strays]
    waits = yield Query(
        "SELECT conversation, seq FROM waiting w WHERE NOT EXISTS (SELECT 1"
        " FROM conversations v WHERE v.n = w.conversation) ORDER BY conversation"
    )
    damage += [Damage(None, "waiting", reason.format(seq, n)) for n, seq in waits]
    return tuple(damage)


def _check_one(row: tuple[Any, ...]) -> Generator[Query, Rows, list[Damage]]:
    name = row[0] if is_id(row[0]) else None
    try:
        found = open_head(row)
    except CorruptStoreError as error:
        return [Damage(name, "conversations", error.reason)]
    rows = yield from all_rows(found.n)
    links = yield Query(
        "SELECT step, seq FROM links WHERE conversation = ? ORDER BY step, seq",
        (found.n,),
    )
    one = _One(found, rows)
    # Where a row is damaged, what is compared with it may be of any type.
    one.seals(row[-1])
    try:
        one.figures()
        messages = one.messages()
        if len(messages) == len(rows):
            one.places(messages, one.numbers("links", links))
        yield from one.calls({m.id: len(m.tool_calls) for m in messages})
        yield from one.changes()
        yield from one.versions()
    except (TypeError, ValueError, AttributeError):
        if not one.damage:
            raise
    try:
        yield from state_of(found.n, found.id)
    except CorruptStoreError as error:
        one.note("states", error.reason)
    return one.damage


class _One:
    """One conversation's damage, as far as it has been found."""

    def __init__(self, found: Head, rows: Sequence[RawRow]) -> None:
        self.found = found
        self.rows = rows
        self.damage: list[Damage] = []

    def note(self, where: str, reason: str) -> None:
        self.damage.append(Damage(self.found.id, where, reason))

    def numbers(self, where: str, rows: Rows) -> list[tuple[int, ...]]:
        """Those of *rows* that hold whole numbers alone; the others are damage."""
        sound: list[tuple[int, ...]] = []
        for row in rows:
            try:
                demand_numbers(row, where)
            except CorruptStoreError as error:
                self.note(where, str(error))
            else:
                sound.append(row)
        return sound

    def seals(self, crc: object) -> None:
        """Whether the rows of the conversation and its messages are as written."""
        found = self.found
        if crc != found.seal():
            self.note("conversations", BROKEN_SEAL)
        for row in self.rows:
            if row.crc != seal(found.n, *row[:-1]):
                self.note(f"messages, row {row.seq}", BROKEN_SEAL)

    def figures(self) -> None:
        """Whether the conversation's own row counts what is there."""
        found, rows = self.found, self.rows
        if len(rows) != found.messages:
            reason = f"{found.messages} messages were written, {len(rows)} are there"
            self.note("messages", reason)
        tokens = sum(max(row.tokens, 0) for row in rows)
        if tokens != found.tokens:
            reason = f"{found.tokens} tokens are filed; the messages have {tokens}"
            self.note("conversations", reason)
        serial = max((serial_of(row.id) for row in rows), default=0)
        if serial > found.serial:
            reason = f"msg-{serial} is there; the highest is filed as {found.serial}"
            self.note("conversations", reason)
        if rows and rows[-1].seq >= found.next_seq:
            last = rows[-1]
            reason = f"message {last.id!r} stands behind the end of the conversation"
            self.note(f"messages, row {last.seq}", reason)

    def messages(self) -> list[Message]:
        """Those that can be read."""
        messages: list[Message] = []
        for row in self.rows:
            try:
                messages.append(opened(row, self.found.id).message)
            except CorruptStoreError as error:
                self.note(f"messages, row {row.seq}", str(error))
        return messages

    def places(
        self, messages: Sequence[Message], filed: Sequence[tuple[int, ...]]
    ) -> None:
        """Whether steps, turns, links and open calls are those of the messages."""
        links = {(step, seq) for step, seq in filed}
        seqs = [row.seq for row in self.rows]
        placed, after = grouped(list(zip(seqs, messages, strict=True)))
        for place, row in zip(placed, self.rows, strict=True):
            if (place.kind, place.step, place.turn) != (row.kind, row.step, row.turn):
                reason = (
                    f"message {row.id!r} is filed under {_filed(row)}; it belongs to "
                    f"{_filed(place)}"
                )
                self.note(f"messages, row {row.seq}", reason)
        needed = {(step, place.seq) for place in placed for step in place.links}
        for step, seq in sorted(needed - links):
            reason = f"step {step} needs row {seq}, and no link says so"
            self.note("links", reason)
        for step, seq in sorted(links - needed):
            reason = f"a link says that step {step} needs row {seq}, which it does not"
            self.note("links", reason)
        self._end(after)

    def _end(self, after: Progress) -> None:
        before = self.found.progress
        if after.open != before.open:
            reason = (
                f"{len(before.open)} calls are filed as open{_listed(before)}; the "
                f"messages leave {len(after.open)} open{_listed(after)}"
            )
            self.note("conversations", reason)
        ends = [attrs.evolve(each, open=()).text() for each in (before, after)]
        if ends[0] != ends[1]:
            reason = (
                f"the end (turn, step, its turn, run) is filed as {ends[0]}; the "
                f"messages lead to {ends[1]}"
            )
            self.note("conversations", reason)

    def changes(self) -> Generator[Query, Rows, None]:
        """Whether what is told about changed messages is as it was written."""
        found = yield Query(
            "SELECT version, message_id, removed, crc FROM changes"
            " WHERE conversation = ? ORDER BY version, message_id",
            (self.found.n,),
        )
        for *change, crc in found:
            if crc != seal(self.found.n, *change):
                self.note(f"changes, {change[1]!r:.60}", BROKEN_SEAL)

    def versions(self) -> Generator[Query, Rows, None]:
        """Whether nothing is newer than the conversation, or out of order."""
        found = self.found
        if not 0 <= found.floor <= found.version:
            reason = (
                f"changes are told from version {found.floor} on, of {found.version}"
            )
            self.note("conversations", reason)
        newest = 0
        for row in self.rows:
            version = row.version
            if not newest <= version <= found.version:
                reason = (
                    f"it is of version {version}, behind one of version {newest}, in a "
                    f"conversation at version {found.version}"
                )
                self.note(f"messages, row {row.seq}", reason)
            newest = max(newest, version)
        for table in ("calls", "changes"):
            [(last,)] = yield Query(
                f"SELECT max(version) FROM {table} WHERE conversation = ?",  # noqa: S608
                (found.n,),
            )
            if last is not None and last > found.version:
                reason = f"version {last}, of a conversation at version {found.version}"
                self.note(table, reason)
        waits = yield Query(
            "SELECT seq FROM waiting WHERE conversation = ?", (found.n,)
        )
        for (seq,) in self.numbers("waiting", waits):
            if not 0 <= seq < found.next_seq:
                reason = f"messages wait from row {seq} on, which is not there"
                self.note("waiting", reason)

    def calls(self, made: Mapping[str | None, int]) -> Generator[Query, Rows, None]:
        """Whether what is known about calls is theirs, and filed as it says."""
        rows = yield Query(
            f"SELECT {CALL} FROM calls"  # noqa: S608
            " WHERE conversation = ? ORDER BY message_id, position",
            (self.found.n,),
        )
        for *columns, version, body, crc in rows:
            where = f"calls, {columns[0]!r:.60}, {columns[1]}"
            if crc != seal(self.found.n, *columns, version, body):
                self.note(where, BROKEN_SEAL)
            try:
                demand_text(body, where)
                call = load_call(body, where)
            except CorruptStoreError as error:
                self.note(where, error.reason)
                continue
            if call.position >= made.get(call.message, 0):
                reason = (
                    f"message {call.message!r} makes no call number {call.position}"
                )
                self.note(where, reason)
            expires = stamp(call.expires_at) if call.expires_at else None
            said = [call.message, call.position, call.state, expires]
            if said != columns:
                reason = f"it is filed as {columns}; it says {said}"
                self.note(where, reason)


def _filed(place: Placed | RawRow) -> str:
    return f"step {place.step}, turn {place.turn}, kind {place.kind}"


def _listed(progress: Progress) -> str:
    calls = ", ".join(f"{place.id!r} of row {place.seq}" for place in progress.open)
    return f" ({calls})" if calls else ""
