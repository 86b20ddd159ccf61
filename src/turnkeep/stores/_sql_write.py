"""What is written to a database: one change, made whole or not at all."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

from turnkeep.errors import ConflictError, DuplicateIdError, UnknownMessageError
from turnkeep.model import Message
from turnkeep.turns import ANSWERS, entry_of

from ._checks import check_change
from ._codec import dump_body, dump_call, id_of, now, scope_of, stamp
from ._document import after
from ._progress import Placed, Progress, meant_by
from ._sql import (
    CALL,
    INSERT,
    NEW_ROWS,
    ROW,
    Dialect,
    Head,
    Query,
    Rows,
    all_rows,
    batched,
    decoded,
    head,
    possible,
    put_state,
    raw,
    sealed,
)
from ._sql_index import indexed
from ._sql_seals import seal
from ._tail import RawRow
from ._values import (
    CallRecord,
    Change,
    Pin,
    Row,
    checked_id,
    is_id,
    serial_of,
)
from ._words import words_of


class Writer:
    """One change, made inside a transaction that holds the conversation's lock."""

    def __init__(self, dialect: Dialect, before: Head, change: Change) -> None:
        self.dialect = dialect
        self.before = before
        self.change = change
        self.n = before.n
        self.version = before.version + 1
        self.messages = before.messages
        self.tokens = before.tokens
        self.progress = before.progress
        self.regroup = False
        self.touched: list[tuple[str, int]] = []
        """Ids that were changed or removed, with 1 for the latter."""

    def run(self) -> Generator[Query, Rows, Head]:
        """Make the change; returns how the conversation is then."""
        change = self.change
        check_change(change)
        yield from self._remove(change.remove)
        yield from self._replace(change.replace)
        yield from self._pin(change.pins)
        yield from self._append(change.append)
        if self.regroup:
            yield from self.group_again()
        yield from self._note(change.calls)
        if change.state:
            yield from put_state(self.n, self.before.id, change.state)
        return (yield from self._finish())

    def _existing(
        self, message_ids: Iterable[str]
    ) -> Generator[Query, Rows, dict[str, RawRow]]:
        found: dict[str, RawRow] = {}
        for marks, part in batched(possible(message_ids)):
            rows = yield Query(
                f"SELECT {ROW} FROM messages WHERE conversation = ?"  # noqa: S608
                f" AND id IN ({marks})",
                (self.n, *part),
            )
            found.update((row.id, row) for row in raw(rows, self.n))
        return found

    def _demand(
        self, message_ids: Sequence[str]
    ) -> Generator[Query, Rows, dict[str, RawRow]]:
        found = yield from self._existing(message_ids)
        for message_id in message_ids:
            if message_id not in found:
                raise UnknownMessageError(message_id)
        return found

    def _remove(self, message_ids: Sequence[str]) -> Generator[Query, Rows, None]:
        if not message_ids:
            return
        gone = yield from self._demand(message_ids)
        border = yield from indexed(self.dialect, self.n)
        known = map(self._words, (row for row in gone.values() if row.seq < border))
        yield from self.dialect.unindex(known)
        for marks, part in batched(gone):
            yield Query(
                "DELETE FROM messages WHERE conversation = ?"  # noqa: S608
                f" AND id IN ({marks})",
                (self.n, *part),
            )
        self.messages -= len(gone)
        self.tokens -= sum(max(row.tokens, 0) for row in gone.values())
        self.touched += [(message_id, 1) for message_id in gone]
        self.regroup = True

    def _words(self, row: RawRow) -> tuple[int, int, str]:
        return self.n, row.seq, words_of(self._message(row))

    def _message(self, row: RawRow) -> Message:
        return decoded(row, self.n, self.before.id).message

    def _replace(self, rows: Sequence[Row]) -> Generator[Query, Rows, None]:
        if not rows:
            return
        before = yield from self._demand([id_of(row.message) for row in rows])
        border = yield from indexed(self.dialect, self.n)
        for row in rows:
            old = before[id_of(row.message)]
            body = dump_body(row.message)
            former = self._message(old)
            entry = entry_of(row.message)
            if entry != entry_of(former):
                self.regroup = True
            words, fresh = words_of(former), words_of(row.message)
            if words != fresh and old.seq < border:
                yield from self.dialect.unindex([(self.n, old.seq, words)])
                yield from self.dialect.index([(self.n, old.seq, fresh)])
            made = old._replace(
                kind=entry.kind,
                pin=scope_of(row.message),
                tokens=row.tokens,
                counter=row.counter,
                body=body,
            )
            yield self._update([made])
            self.tokens += max(row.tokens, 0) - max(old.tokens, 0)
            self.touched.append((old.id, 0))

    def _pin(self, pins: Sequence[Pin]) -> Generator[Query, Rows, None]:
        if not pins:
            return
        found = yield from self._demand([pin.message for pin in pins])
        for pin in pins:
            row = found[pin.message]
            message = self._message(row)
            body = row.body
            if pin.scope is None and '"pin_scope"' in body:
                body = dump_body(message.evolve(pinned=False, pin_scope="turn"))
            found[pin.message] = row._replace(pin=pin.scope, body=body)
        yield self._update(found.values())
        self.touched += [(pin.message, 0) for pin in pins]

    def _update(self, rows: Iterable[RawRow]) -> Query:
        """Write rows anew that were there, with the checksums that they have now."""
        columns = [sealed(self.n, row) for row in rows]
        return Query(
            "UPDATE messages SET kind = ?, step = ?, turn = ?, pin = ?, tokens = ?,"
            " counter = ?, body = ?, crc = ? WHERE conversation = ? AND seq = ?",
            [(*c[3:10], c[11], *c[:2]) for c in columns],
            many=True,
        )

    def _append(self, rows: Sequence[Row]) -> Generator[Query, Rows, None]:
        if not rows:
            return
        ids: dict[str, int] = {}
        for nth, row in enumerate(rows):
            identity = id_of(row.message)
            if identity in ids:
                raise DuplicateIdError(identity)
            ids[identity] = self.before.next_seq + nth
        if self.messages:
            taken = yield from self._existing(ids)
            if taken:
                raise DuplicateIdError(next(i for i in ids if i in taken))
        bodies = [dump_body(row.message) for row in rows]
        placed = yield from self._place(ids, rows)
        columns = [
            sealed(
                self.n,
                RawRow(
                    place.seq,
                    row.message.id or "",
                    place.kind,
                    place.step,
                    place.turn,
                    scope_of(row.message),
                    row.tokens,
                    row.counter,
                    body,
                    self.version,
                ),
            )
            for place, row, body in zip(placed, rows, bodies, strict=True)
        ]
        border = yield from indexed(self.dialect, self.n)
        yield Query(INSERT, columns, many=True)
        yield from self._link(placed)
        words = zip(ids.values(), (words_of(row.message) for row in rows), strict=True)
        yield from self.dialect.index((self.n, s, w) for s, w in words if s < border)
        self.messages += len(rows)
        self.tokens += sum(max(row.tokens, 0) for row in rows)

    def _place(
        self, ids: Mapping[str, int], rows: Sequence[Row]
    ) -> Generator[Query, Rows, list[Placed]]:
        entries = [
            (seq, entry_of(row.message))
            for seq, row in zip(ids.values(), rows, strict=True)
        ]
        if self.regroup:
            # Everything is going to be placed again.
            return [Placed(seq, entry.kind, seq, seq) for seq, entry in entries]
        numbers = dict(ids)
        asked = [row.message.metadata.get(ANSWERS) for row in rows]
        if any(asked) and self.messages:
            found = yield from self._existing(name for name in asked if name)
            numbers |= {name: row.seq for name, row in found.items()}
        messages = (row.message for row in rows)
        meant = meant_by(zip(ids.values(), messages, strict=True), numbers)
        placed, self.progress = self.progress.advance(entries, meant)
        return placed

    def _link(self, placed: Iterable[Placed]) -> Iterator[Query]:
        links = [(self.n, step, place.seq) for place in placed for step in place.links]
        if links:
            yield Query(
                "INSERT INTO links (conversation, step, seq) VALUES (?, ?, ?)",
                links,
                many=True,
            )

    def group_again(self) -> Generator[Query, Rows, None]:
        """Place every message anew; costs the history."""
        rows = yield from all_rows(self.n)
        messages = [(row.seq, self._message(row)) for row in rows]
        placed, self.progress = grouped(messages)
        yield Query("DELETE FROM links WHERE conversation = ?", (self.n,))
        yield self._update(
            row._replace(step=place.step, turn=place.turn)
            for place, row in zip(placed, rows, strict=True)
            if (place.step, place.turn) != (row.step, row.turn)
        )
        yield from self._link(placed)

    def _note(self, calls: Sequence[CallRecord]) -> Generator[Query, Rows, None]:
        if not calls:
            return
        yield from self._demand(list({call.message for call in calls}))
        columns = [
            (
                self.n,
                call.message,
                call.position,
                call.state,
                stamp(call.expires_at) if call.expires_at else None,
                self.version,
                dump_call(call),
            )
            for call in calls
        ]
        yield Query(
            f"INSERT INTO calls (conversation, {CALL})"  # noqa: S608
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (conversation, message_id, position) DO UPDATE SET"
            " state = excluded.state, expires_at = excluded.expires_at,"
            " version = excluded.version, body = excluded.body, crc = excluded.crc",
            [(*each, seal(*each)) for each in columns],
            many=True,
        )

    def _finish(self) -> Generator[Query, Rows, Head]:
        if self.touched:
            columns = [(self.n, self.version, *touched) for touched in self.touched]
            yield Query(
                "INSERT INTO changes (conversation, version, message_id, removed, crc)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(*each, seal(*each)) for each in columns],
                many=True,
            )
        before = self.before
        ids = [id_of(row.message) for row in self.change.append]
        serials = [before.serial, after(self.change.state), *map(serial_of, ids)]
        left = Head(
            before.id,
            self.n,
            self.version,
            before.floor,
            max(serials),
            before.next_seq + len(ids),
            self.messages,
            self.tokens,
            before.created,
            stamp(now()),
            self.progress,
            self.progress.text(),
        )
        yield leave(left)
        return left


def leave(left: Head) -> Query:
    """The statement that writes a conversation's row as it is left."""
    return Query(
        "UPDATE conversations SET version = ?, floor = ?, serial = ?, next_seq = ?,"
        " messages = ?, tokens = ?, updated_at = ?, progress = ?, crc = ? WHERE n = ?",
        (*left[2:8], left.updated, left.kept, left.seal(), left.n),
    )


def grouped(messages: Sequence[tuple[int, Message]]) -> tuple[list[Placed], Progress]:
    """Where each of all messages of a conversation belongs, by their numbers."""
    entries = ((seq, entry_of(message)) for seq, message in messages)
    numbers = {message.id or "": seq for seq, message in messages}
    return Progress().advance(entries, meant_by(messages, numbers))


def create(
    dialect: Dialect, conversation_id: str, change: Change
) -> Generator[Query, Rows, Head]:
    """Begin a conversation; returns how it is then.

    Raises:
        ConflictError: It exists.
    """
    checked_id(conversation_id, "conversation")
    moment = stamp(now())
    start = Progress()
    made = yield Query(
        "INSERT INTO conversations (id, version, floor, serial, next_seq, messages,"
        " tokens, created_at, updated_at, progress, crc)"
        " VALUES (?, 0, 0, 0, 0, 0, 0, ?, ?, ?, 0) ON CONFLICT DO NOTHING RETURNING n",
        (conversation_id, moment, moment, start.text()),
    )
    if not made:
        there = yield from head(conversation_id)
        raise ConflictError(conversation_id, 0, there.version)
    n = made[0][0]
    kept = start.text()
    before = Head(conversation_id, n, 0, 0, 0, 0, 0, 0, moment, moment, start, kept)
    return (yield from Writer(dialect, before, change).run())


def write(
    dialect: Dialect, conversation_id: str, change: Change, expected: int
) -> Generator[Query, Rows, Head]:
    """Make a change to the version *expected*; returns how the conversation is then.

    Raises:
        ConflictError: The conversation is at another one.
    """
    before = yield from head(conversation_id, dialect.lock)
    if before.version != expected:
        changed = yield from changed_ids(before, expected)
        raise ConflictError(conversation_id, expected, before.version, changed)
    return (yield from Writer(dialect, before, change).run())


def changed_ids(before: Head, since: int) -> Generator[Query, Rows, tuple[str, ...]]:
    """Ids of messages that came, changed or went since a version, each once."""
    if since >= before.version:
        return ()
    since = max(since, 0)
    fresh = yield Query(NEW_ROWS.format("id"), (before.n, before.n, since))
    others = yield Query(
        "SELECT message_id FROM changes WHERE conversation = ? AND version > ?"
        " ORDER BY version, message_id",
        (before.n, since),
    )
    return tuple(dict.fromkeys(row[0] for row in [*fresh, *others]))


def delete(dialect: Dialect, conversation_id: str) -> Generator[Query, Rows, bool]:
    """Delete a conversation; costs its length."""
    if not is_id(conversation_id):
        return False
    found = yield Query(
        f"SELECT n FROM conversations WHERE id = ?{dialect.lock}",  # noqa: S608
        (conversation_id,),
    )
    if not found:
        return False
    n = found[0][0]
    border = yield from indexed(dialect, n)
    rows = yield from all_rows(n)
    yield from dialect.unindex(
        (n, row.seq, words_of(decoded(row, n, conversation_id).message))
        for row in rows
        if row.seq < border
    )
    yield Query("DELETE FROM messages WHERE conversation = ?", (n,))
    yield Query("DELETE FROM conversations WHERE n = ?", (n,))
    return True
