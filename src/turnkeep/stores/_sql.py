"""What is done in a database, in SQL that SQLite and PostgreSQL both understand.

Each operation is a generator: it yields statements and is sent their rows. Whoever
drives it (a connection that waits, or one that is awaited) holds the transaction around
it. What the two databases say differently is their `Dialect`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from turnkeep.errors import CorruptStoreError, FormatError
from turnkeep.serial import dumps, loads

from ._checks import check_state
from ._codec import corrupt, load_body, load_call, load_state, merged
from ._progress import Progress
from ._sql_seals import demand_numbers, demand_seal, demand_text, seal
from ._tail import RawRow
from ._values import CallRecord, Row, is_id, unknown

BATCH = 500
"""Values in one `IN (...)`: databases limit them."""


@attrs.frozen
class Query:
    """A statement with its values; with *many*, once for each row of values."""

    sql: str
    values: Sequence[Any] = ()
    many: bool = False


Rows: TypeAlias = list[tuple[Any, ...]]


class Head(NamedTuple):
    """A conversation's own row."""

    id: str
    n: int
    version: int
    floor: int
    """Versions below it are not told apart any more."""
    serial: int
    next_seq: int
    messages: int
    tokens: int
    created: str
    updated: str
    progress: Progress
    kept: str
    """`progress` as it is kept."""

    def seal(self) -> int:
        """Its checksum."""
        return seal(*self[:10], self.kept)


class Append(NamedTuple):
    """One message to add, and what must be true for it."""

    left: Head
    """How the conversation is afterwards."""
    moved: Sequence[Any]
    """Values of `APPEND`."""
    columns: Sequence[Any]
    """Values of `INSERT_ROW`."""

    @property
    def n(self) -> int:
        """The conversation."""
        return self.left.n

    @property
    def seq(self) -> int:
        """The number of the message."""
        return self.left.next_seq - 1


class Dialect(Protocol):
    """What differs between the databases."""

    lock: str
    """Behind the `SELECT` of a conversation that is going to change."""
    position: str
    """Name of the function that finds a text in another, from 1, 0 if absent."""

    free: str
    """Behind the `SELECT` of conversations: only those that nobody is writing to."""

    def index(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        """Make rows findable: a conversation, its row's number and its words each."""
        ...

    def unindex(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        """Make them unfindable again; the words are those they were indexed by."""
        ...

    def search(self, words: Sequence[str], n: int | None, limit: int) -> Query:
        """Find rows, the newest first: `SEARCH_ROW`."""
        ...


APPEND = (
    "UPDATE conversations SET version = version + 1, serial = ?,"
    " next_seq = next_seq + 1, messages = messages + 1, tokens = tokens + ?,"
    " updated_at = ?, progress = ?, crc = ? WHERE n = ? AND id = ? AND version = ?"
    " AND next_seq = ? AND serial = ? AND progress = ? AND crc = ?"
)
"""Moves a conversation on by one message, if it is as it was left: `Append.moved`."""

HEAD = (
    "id, n, version, floor, serial, next_seq, messages, tokens, created_at,"
    " updated_at, progress, crc"
)
ROW = "seq, id, kind, step, turn, pin, tokens, counter, body, version, crc"
"""Columns of a `RawRow`."""

CALL = "message_id, position, state, expires_at, version, body, crc"
INSERT = (
    f"INSERT INTO messages (conversation, {ROW})"  # noqa: S608
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""Adds a message: the values of `sealed`."""

SEARCH_ROW = ", ".join(
    [*(f"v.{name}" for name in HEAD.split(", ")), *(f"m.{n}" for n in ROW.split(", "))]
)
"""Columns that a search gives: `v` is the conversation, `m` the message."""


def head(conversation_id: str, lock: str = "") -> Generator[Query, Rows, Head]:
    """A conversation's row, locked where *lock* says how.

    Raises:
        UnknownConversationError: There is none.
    """
    if not is_id(conversation_id):
        raise unknown(conversation_id)
    found = yield Query(
        f"SELECT {HEAD} FROM conversations WHERE id = ?{lock}",  # noqa: S608
        (conversation_id,),
    )
    if not found:
        raise unknown(conversation_id)
    return head_of(found[0])


def head_of(row: tuple[Any, ...]) -> Head:
    """A conversation's row, as `HEAD` selects it.

    Raises:
        CorruptStoreError: It is damaged.
    """
    made = open_head(row)
    demand_seal(row[-1], (*made[:10], made.kept), f"conversation {made.id!r}")
    return made


def open_head(row: tuple[Any, ...]) -> Head:
    """The same, whatever its checksum is.

    Raises:
        CorruptStoreError: The list of open calls is no such list.
    """
    kept = row[10]
    where = f"conversation {row[0]!r}"
    demand_text(kept, where)
    try:
        progress = Progress.load(loads(kept))
    except FormatError as error:
        raise corrupt(where, error) from None
    return Head._make((*row[:10], progress, kept))


def found_of(row: tuple[Any, ...]) -> tuple[Head, RawRow]:
    """The conversation and the message of a row of `SEARCH_ROW`.

    Raises:
        CorruptStoreError: The conversation's part is damaged.
    """
    return head_of(row[:12]), RawRow(*row[12:])


def call_of(n: int, row: tuple[Any, ...], where: str) -> CallRecord:
    """What is known about a call, of a row of `CALL`.

    Raises:
        CorruptStoreError: It is damaged.
    """
    *columns, body, crc = row
    demand_text(body, where)
    made = load_call(body, where)
    demand_seal(crc, (n, *columns, body), where)
    return made


def raw(found: Rows, n: int) -> list[RawRow]:
    """Message rows of conversation number *n*, in which numbers are numbers.

    Raises:
        CorruptStoreError: One of them is none.
    """
    rows = [RawRow(*row) for row in found]
    for row in rows:
        numbers = row.seq, row.kind, row.step, row.turn, row.tokens, row.version
        demand_numbers(numbers, f"messages of conversation number {n}, row {row.seq!r}")
    return rows


def numbers(found: Rows, n: int) -> Rows:
    """Rows of whole numbers, of conversation number *n*.

    Raises:
        CorruptStoreError: One of them is none.
    """
    for row in found:
        demand_numbers(row, f"steps and turns of conversation number {n}")
    return found


def sealed(n: int, row: RawRow) -> tuple[Any, ...]:
    """The values of `INSERT` for a message of conversation *n*: its checksum last."""
    columns = (n, *row[:-1])
    return (*columns, seal(*columns))


def decoded(row: RawRow, n: int, conversation_id: str) -> Row:
    """The message of a row.

    Raises:
        CorruptStoreError: It is damaged.
    """
    made = opened(row, conversation_id)
    where = f"conversation {conversation_id!r}, row {row.seq}"
    demand_seal(row.crc, (n, *row[:-1]), where)
    return made


def opened(row: RawRow, conversation_id: str) -> Row:
    """The same, whatever its checksum is.

    Raises:
        CorruptStoreError: It holds no message, or another one.
    """
    where = f"conversation {conversation_id!r}, row {row.seq}"
    demand_text(row.body, where)
    message = load_body(row.body, row.pin, where)
    if message.id != row.id:
        reason = f"{where}: holds message {message.id!r} instead of {row.id!r}"
        raise CorruptStoreError(reason)
    return Row(message, row.tokens, row.counter)


def possible(ids: Iterable[str]) -> list[str]:
    """Those that may be ids at all: a database refuses to look for the others."""
    return [value for value in dict.fromkeys(ids) if is_id(value)]


def batched(values: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Values in batches, each with its placeholders."""
    todo = list(values)
    for start in range(0, len(todo), BATCH):
        part = todo[start : start + BATCH]
        yield ", ".join("?" * len(part)), part


def all_rows(n: int) -> Generator[Query, Rows, list[RawRow]]:
    """Every message row of a conversation, in order, as it is kept."""
    found = yield Query(
        f"SELECT {ROW} FROM messages WHERE conversation = ? ORDER BY seq",  # noqa: S608
        (n,),
    )
    return [RawRow(*row) for row in found]


def state_of(n: int, conversation_id: str) -> Generator[Query, Rows, dict[str, Any]]:
    """A conversation's settings."""
    found = yield Query("SELECT body, crc FROM states WHERE conversation = ?", (n,))
    if not found:
        return {}
    [(body, crc)] = found
    where = f"state of {conversation_id!r}"
    demand_text(body, where)
    made: dict[str, Any] = load_state(body, where)
    demand_seal(crc, (n, body), where)
    return made


def put_state(
    n: int, conversation_id: str, patch: Mapping[str, Any]
) -> Generator[Query, Rows, None]:
    """Merge *patch* into a conversation's settings."""
    old = yield from state_of(n, conversation_id)
    state = merged(old, patch)
    check_state(state)
    body = dumps(state).decode()
    yield Query(
        "INSERT INTO states (conversation, body, crc) VALUES (?, ?, ?)"
        " ON CONFLICT (conversation) DO UPDATE SET body = excluded.body,"
        " crc = excluded.crc",
        (n, body, seal(n, body)),
    )


# Versions rise with the numbers, so walking back ends at the first old row.
NEW_ROWS = (
    "SELECT {} FROM messages WHERE conversation = ? AND seq > COALESCE((SELECT seq"
    " FROM messages WHERE conversation = ? AND version <= ? ORDER BY seq DESC LIMIT 1),"
    " -1) ORDER BY seq"
)
