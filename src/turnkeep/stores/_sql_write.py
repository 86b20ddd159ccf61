"""What is written to a database: one change, made whole or not at all."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from turnkeep.errors import ConflictError, DuplicateIdError, UnknownMessageError
from turnkeep.turns import entry_of

from ._codec import dump_body, dump_call, id_of, now, scope_of, stamp
from ._document import after
from ._progress import Placed, Progress
from ._sql import (
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
)
from ._sql_index import indexed
from ._tail import RawRow
from ._values import (
    CallRecord,
    Change,
    Pin,
    Row,
    check_names,
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
        check_names(change)
        yield from self._remove(change.remove)
        yield from self._replace(change.replace)
        yield from self._pin(change.pins)
        yield from self._append(change.append)
        if self.regroup:
            yield from self._group_again()
        yield from self._note(change.calls)
        if change.state:
            yield from put_state(self.n, change.state)
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
            found.update((row.id, row) for row in raw(rows))
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
        return self.n, row.seq, words_of(decoded(row, self.before.id).message)

    def _replace(self, rows: Sequence[Row]) -> Generator[Query, Rows, None]:
        if not rows:
            return
        before = yield from self._demand([id_of(row.message) for row in rows])
        border = yield from indexed(self.dialect, self.n)
        for row in rows:
            old = before[id_of(row.message)]
            former = decoded(old, self.before.id).message
            entry = entry_of(row.message)
            if entry != entry_of(former):
                self.regroup = True
            words, fresh = words_of(former), words_of(row.message)
            if words != fresh and old.seq < border:
                yield from self.dialect.unindex([(self.n, old.seq, words)])
                yield from self.dialect.index([(self.n, old.seq, fresh)])
            yield Query(
                "UPDATE messages SET kind = ?, pin = ?, tokens = ?, counter = ?,"
                " body = ? WHERE conversation = ? AND seq = ?",
                (
                    entry.kind,
                    scope_of(row.message),
                    row.tokens,
                    row.counter,
                    dump_body(row.message),
                    self.n,
                    old.seq,
                ),
            )
            self.tokens += max(row.tokens, 0) - max(old.tokens, 0)
            self.touched.append((old.id, 0))

    def _pin(self, pins: Sequence[Pin]) -> Generator[Query, Rows, None]:
        if not pins:
            return
        found = yield from self._demand([pin.message for pin in pins])
        yield Query(
            "UPDATE messages SET pin = ? WHERE conversation = ? AND seq = ?",
            [(pin.scope, self.n, found[pin.message].seq) for pin in pins],
            many=True,
        )
        self.touched += [(pin.message, 0) for pin in pins]

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
        placed = self._place(ids.values(), rows)
        columns = [
            (
                self.n,
                self.version,
                place.seq,
                row.message.id,
                place.kind,
                place.step,
                place.turn,
                scope_of(row.message),
                row.tokens,
                row.counter,
                dump_body(row.message),
            )
            for place, row in zip(placed, rows, strict=True)
        ]
        border = yield from indexed(self.dialect, self.n)
        yield Query(INSERT, columns, many=True)
        yield from self._link(placed)
        words = zip(ids.values(), (words_of(row.message) for row in rows), strict=True)
        yield from self.dialect.index((self.n, s, w) for s, w in words if s < border)
        self.messages += len(rows)
        self.tokens += sum(max(row.tokens, 0) for row in rows)

    def _place(self, seqs: Iterable[int], rows: Sequence[Row]) -> list[Placed]:
        entries = [entry_of(row.message) for row in rows]
        if self.regroup:
            # Everything is going to be placed again.
            return [Placed(s, e.kind, s, s) for s, e in zip(seqs, entries, strict=True)]
        placed, self.progress = self.progress.advance(zip(seqs, entries, strict=True))
        return placed

    def _link(self, placed: Iterable[Placed]) -> Iterator[Query]:
        links = [(self.n, step, place.seq) for place in placed for step in place.links]
        if links:
            yield Query(
                "INSERT INTO links (conversation, step, seq) VALUES (?, ?, ?)",
                links,
                many=True,
            )

    def _group_again(self) -> Generator[Query, Rows, None]:
        """Place every message anew; costs the history."""
        rows = yield from all_rows(self.n)
        entries = [
            (row.seq, entry_of(decoded(row, self.before.id).message)) for row in rows
        ]
        placed, self.progress = Progress().advance(entries)
        yield Query("DELETE FROM links WHERE conversation = ?", (self.n,))
        yield Query(
            "UPDATE messages SET step = ?, turn = ? WHERE conversation = ? AND seq = ?",
            [
                (place.step, place.turn, self.n, place.seq)
                for place, row in zip(placed, rows, strict=True)
                if (place.step, place.turn) != (row.step, row.turn)
            ],
            many=True,
        )
        yield from self._link(placed)

    def _note(self, calls: Sequence[CallRecord]) -> Generator[Query, Rows, None]:
        if not calls:
            return
        yield from self._demand(list({call.message for call in calls}))
        yield Query(
            "INSERT INTO calls (conversation, message_id, position, state, expires_at,"
            " version, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (conversation, message_id, position) DO UPDATE SET"
            " state = excluded.state, expires_at = excluded.expires_at,"
            " version = excluded.version, body = excluded.body",
            [
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
            ],
            many=True,
        )

    def _finish(self) -> Generator[Query, Rows, Head]:
        if self.touched:
            yield Query(
                "INSERT INTO changes (conversation, version, message_id, removed)"
                " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(self.n, self.version, *touched) for touched in self.touched],
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
            self.progress,
            self.progress.text(),
        )
        yield Query(
            "UPDATE conversations SET version = ?, serial = ?, next_seq = ?,"
            " messages = ?, tokens = ?, updated_at = ?, progress = ? WHERE n = ?",
            (
                left.version,
                left.serial,
                left.next_seq,
                left.messages,
                left.tokens,
                stamp(now()),
                left.kept,
                self.n,
            ),
        )
        return left


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
        " tokens, created_at, updated_at, progress)"
        " VALUES (?, 0, 0, 0, 0, 0, 0, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n",
        (conversation_id, moment, moment, start.text()),
    )
    if not made:
        there = yield from head(conversation_id)
        raise ConflictError(conversation_id, 0, there.version)
    n = made[0][0]
    before = Head(conversation_id, n, 0, 0, 0, 0, 0, 0, start, start.text())
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
        (n, row.seq, words_of(decoded(row, conversation_id).message))
        for row in rows
        if row.seq < border
    )
    yield Query("DELETE FROM messages WHERE conversation = ?", (n,))
    yield Query("DELETE FROM conversations WHERE n = ?", (n,))
    return True
