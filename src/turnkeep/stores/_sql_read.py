"""What is read from a database: whole, in part, since a version, by words."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from datetime import datetime
from typing import Any

from turnkeep.errors import CorruptStoreError
from turnkeep.model import FrozenDict

from ._base import MakeChange
from ._codec import stamp
from ._sql import (
    CALL,
    HEAD,
    NEW_ROWS,
    ROW,
    Dialect,
    Head,
    Query,
    Rows,
    all_rows,
    batched,
    call_of,
    decoded,
    found_of,
    head,
    head_of,
    numbers,
    possible,
    raw,
    state_of,
)
from ._sql import (
    put_state as merge_state,
)
from ._sql_index import settle, waiting
from ._sql_seals import demand_seal
from ._sql_write import Writer, leave
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
    select,
)
from ._values import (
    CallRecord,
    Change,
    Delta,
    Hit,
    Info,
    Row,
    Snapshot,
    checked_limit,
    checked_text,
    is_id,
)
from ._words import split, words_of

_ROWS = f"SELECT {ROW} FROM messages WHERE conversation = ?"  # noqa: S608
_DUE = ", ".join(
    [
        "m.seq",
        *(f"v.{c}" for c in HEAD.split(", ")),
        *(f"c.{c}" for c in CALL.split(", ")),
    ]
)


def read(conversation_id: str) -> Generator[Query, Rows, Snapshot]:
    """The whole conversation."""
    found = yield from head(conversation_id)
    return (yield from _whole(found))


def _whole(found: Head) -> Generator[Query, Rows, Snapshot]:
    rows = yield from all_rows(found.n)
    calls = yield from calls_of(found)
    state = yield from state_of(found.n, found.id)
    messages = tuple(decoded(row, found.n, found.id) for row in rows)
    if len(rows) != found.messages:
        reason = (
            f"conversation {found.id!r}: {found.messages} messages were written, "
            f"{len(rows)} are there"
        )
        raise CorruptStoreError(reason)
    return Snapshot(
        found.id,
        found.version,
        found.serial,
        messages,
        calls,
        state,
        rows_read=len(rows),
    )


def calls_of(found: Head, since: int = -1) -> Generator[Query, Rows, tuple[Any, ...]]:
    rows = yield Query(
        f"SELECT {CALL} FROM calls WHERE conversation = ? AND version > ?"  # noqa: S608
        " ORDER BY message_id, position",
        (found.n, since),
    )
    return tuple(call_of(found.n, row, f"calls of {found.id!r}") for row in rows)


def read_tail(
    conversation_id: str, messages: int | None, tokens: int | None, held: bool
) -> Generator[Query, Rows, Snapshot]:
    """The newest messages, and what a window must hold."""
    found = yield from head(conversation_id)
    selecting = select(
        found.progress, found.messages, messages=messages, tokens=tokens, held=held
    )
    answer: Any = None
    while True:
        try:
            ask = selecting.send(answer)
        except StopIteration as stop:
            chosen = stop.value
            break
        answer = yield from _answer(found.n, ask)
    rows = tuple(decoded(row, found.n, found.id) for row in chosen.rows)
    calls: list[CallRecord] = []
    for marks, part in batched(
        row.message.id for row in rows if row.message.tool_calls
    ):
        bodies = yield Query(
            f"SELECT {CALL} FROM calls WHERE conversation = ?"  # noqa: S608
            f" AND message_id IN ({marks}) ORDER BY message_id, position",
            (found.n, *part),
        )
        calls += (call_of(found.n, row, f"calls of {found.id!r}") for row in bodies)
    state = yield from state_of(found.n, found.id)
    return Snapshot(
        found.id,
        found.version,
        found.serial,
        rows,
        tuple(calls),
        state,
        chosen.whole,
        chosen.border,
        chosen.read,
    )


def _answer(n: int, ask: Ask) -> Generator[Query, Rows, list[Any]]:
    links = "SELECT step, seq FROM links WHERE conversation = ?"
    match ask:
        case Newest(before, limit):
            where = "" if before is None else " AND seq < ?"
            values = (n, limit) if before is None else (n, before, limit)
            found = yield Query(f"{_ROWS}{where} ORDER BY seq DESC LIMIT ?", values)
            return raw(found, n)
        case Forward(start, limit):
            sql = f"{_ROWS} AND seq >= ? ORDER BY seq LIMIT ?"
            return raw((yield Query(sql, (n, start, limit))), n)
        case Fixed():
            # The condition of the index `held`, word for word.
            sql = f"{_ROWS} AND (pin IS NOT NULL OR kind = 0) ORDER BY seq"
            return raw((yield Query(sql, (n,))), n)
        case NextTurn(after):
            # The condition of the index `starts`, word for word.
            sql = (
                "SELECT seq, turn FROM messages WHERE conversation = ? AND seq > ?"
                " AND seq = turn ORDER BY seq LIMIT 1"
            )
            return numbers((yield Query(sql, (n, after))), n)
        case Numbered(seqs):
            found = yield from _in(f"{_ROWS} AND seq", n, seqs)
            return raw(found, n)
        case LinksOf(steps):
            return numbers((yield from _in(f"{links} AND step", n, steps)), n)
        case LinksFrom(None, seqs):
            return numbers((yield from _in(f"{links} AND seq", n, seqs)), n)
        case LinksFrom(start):
            return numbers((yield Query(f"{links} AND seq >= ?", (n, start))), n)


def _in(sql: str, n: int, values: Iterable[int]) -> Generator[Query, Rows, Rows]:
    found: Rows = []
    for marks, part in batched(values):
        found += yield Query(f"{sql} IN ({marks})", (n, *part))
    return found


def read_messages(
    conversation_id: str, message_ids: Iterable[str]
) -> Generator[Query, Rows, tuple[Row, ...]]:
    """Some messages by their ids."""
    found = yield from head(conversation_id)
    rows: list[RawRow] = []
    for marks, part in batched(possible(message_ids)):
        values = (found.n, *part)
        named = yield Query(f"{_ROWS} AND id IN ({marks})", values)
        rows += raw(named, found.n)
    rows.sort()
    return tuple(decoded(row, found.n, conversation_id) for row in rows)


def read_since(conversation_id: str, version: int) -> Generator[Query, Rows, Delta]:
    """What happened since a version."""
    found = yield from head(conversation_id)
    return (yield from since(found, version))


def since(found: Head, version: int) -> Generator[Query, Rows, Delta]:
    """What happened to a conversation since a version."""
    if not found.floor <= version <= found.version:
        whole = yield from _whole(found)
        everything = Change(append=whole.rows, calls=whole.calls, state=whole.state)
        return Delta(found.version, found.serial, everything, reset=True)
    if version == found.version:
        return Delta(found.version, found.serial, Change())
    newest = yield Query(NEW_ROWS.format(ROW), (found.n, found.n, version))
    fresh = raw(newest, found.n)
    touched = yield Query(
        "SELECT message_id, removed, version, crc FROM changes"
        " WHERE conversation = ? AND version > ? ORDER BY version",
        (found.n, version),
    )
    for name, gone, at, crc in touched:
        demand_seal(crc, (found.n, at, name, gone), f"changes of {found.id!r}")
    removed = tuple(dict.fromkeys(row[0] for row in touched if row[1]))
    new = {row.id for row in fresh}
    changed = {row[0] for row in touched if not row[1]} - new
    replaced: list[RawRow] = []
    for marks, part in batched(sorted(changed)):
        values = (found.n, *part)
        named = yield Query(f"{_ROWS} AND id IN ({marks})", values)
        replaced += raw(named, found.n)
    replaced.sort()
    calls = yield from calls_of(found, version)
    return Delta(
        found.version,
        found.serial,
        Change(
            append=tuple(decoded(row, found.n, found.id) for row in fresh),
            replace=tuple(decoded(row, found.n, found.id) for row in replaced),
            remove=removed,
            calls=calls,
        ),
    )


def update(
    dialect: Dialect, conversation_id: str, make: MakeChange, version: int
) -> Generator[Query, Rows, tuple[Delta, Head]]:
    """Tell *make* what is new since a version, and write what it makes."""
    before = yield from head(conversation_id, dialect.lock)
    news = yield from since(before, version)
    change = make(news)
    written = yield from Writer(dialect, before, change).run()
    return Delta(written.version, before.serial, change), written


def conversations(
    dialect: Dialect, contains: str, limit: int | None
) -> Generator[Query, Rows, tuple[Info, ...]]:
    """The conversations, the last changed one first."""
    most = checked_limit(2**62 if limit is None else limit)
    if checked_text(contains, "contains") and not is_id(contains):
        return ()
    where, values = "", []
    if contains:
        where, values = f" WHERE {dialect.position}(id, ?) > 0", [contains]
    rows = yield Query(
        f"SELECT {HEAD} FROM conversations{where}"  # noqa: S608
        " ORDER BY updated_at DESC, id LIMIT ?",
        (*values, most),
    )
    return tuple(
        Info(
            each.id,
            each.version,
            each.messages,
            each.tokens,
            len(each.progress.open),
            datetime.fromisoformat(each.created),
            datetime.fromisoformat(each.updated),
        )
        for each in map(head_of, rows)
    )


def search(
    dialect: Dialect, query: str, conversation_id: str | None, limit: int
) -> Generator[Query, Rows, tuple[Hit, ...]]:
    """Messages that hold every word, the newest first."""
    limit = checked_limit(limit)
    words = split(checked_text(query, "what is searched for"))
    n = None
    if conversation_id is not None:
        n = (yield from head(conversation_id)).n
    if not words:
        return ()
    found = yield dialect.search(words, n, limit)
    hits: list[tuple[int, int, Hit]] = []
    for row in (*found, *(yield from waiting(n))):
        there, message = found_of(row)
        hit = Hit(there.id, decoded(message, there.n, there.id))
        # What waits may lack them, and so may what a damaged index names.
        if set(words) <= set(words_of(hit.message).split(" ")):
            hits.append((there.n, message.seq, hit))
    hits.sort(key=lambda hit: hit[:2], reverse=True)
    return tuple(hit for _, _, hit in hits[:limit])


def due(now: datetime) -> Generator[Query, Rows, tuple[tuple[str, CallRecord], ...]]:
    """Awaited calls whose deadline has passed, the earliest first."""
    rows = yield Query(
        f"SELECT {_DUE} FROM calls c"  # noqa: S608
        " JOIN conversations v ON v.n = c.conversation"
        " JOIN messages m ON m.conversation = c.conversation AND m.id = c.message_id"
        " WHERE c.expires_at <= ? AND c.state IS NULL ORDER BY c.expires_at, v.id",
        (stamp(now),),
    )
    made: list[tuple[str, CallRecord]] = []
    for seq, *row in rows:
        found, call = head_of(tuple(row[:12])), row[12:]
        record = call_of(found.n, tuple(call), f"calls of {found.id!r}")
        place = (seq, record.position)
        if any((each.seq, each.position) == place for each in found.progress.open):
            made.append((found.id, record))
    return tuple(made)


def put_state(
    dialect: Dialect, conversation_id: str, state: FrozenDict
) -> Generator[Query, Rows, None]:
    """Set settings without a new version."""
    found = yield from head(conversation_id, dialect.lock)
    yield from merge_state(found.n, found.id, state)


def compact(dialect: Dialect, conversation_id: str) -> Generator[Query, Rows, Head]:
    """Forget which messages changed when; returns how the conversation is then."""
    found = yield from head(conversation_id, dialect.lock)
    yield from settle(dialect)
    yield Query("DELETE FROM changes WHERE conversation = ?", (found.n,))
    left = found._replace(floor=found.version)
    yield leave(left)
    return left
