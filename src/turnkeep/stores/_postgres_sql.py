"""The tables of PostgreSQL, and how it says what SQLite says otherwise."""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg_pool import PoolClosed, PoolTimeout

from turnkeep.errors import CorruptStoreError

from ._sql import APPEND, ROW, SEARCH_ROW, Append, Query, Rows
from ._sql_migrate import seal_everything
from ._sql_seals import LENIENT

SCHEMA: Final = 3
"""Version of the tables, kept in the table `turnkeep`."""

READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""A read sees one moment, however many statements it takes."""

WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""A write locks its conversation's row first, and sees what was committed before."""

_WAITING = """
CREATE TABLE waiting (
  conversation BIGINT PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
  seq BIGINT NOT NULL
);
"""

# A message refers to its conversation without a foreign key: each is written along with
# the conversation's row, by the same statement or under its lock, and asking for that
# row once more cost a tenth of an append.
MIGRATIONS: Final[dict[int, str]] = {
    1: f"{_WAITING}ALTER TABLE messages DROP CONSTRAINT messages_conversation_fkey;",
    2: "".join(
        f"ALTER TABLE {table} ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;"
        f"ALTER TABLE {table} ALTER COLUMN crc DROP DEFAULT;"
        for table in ("conversations", "states", "messages", "calls", "changes")
    ),
}
"""By version of the tables: the statements that lead to the next one."""

_LOCK: Final = 0x74_6B_65_70
# Advisory lock around the migration, so that two starting workers do not both do it.

TABLES: Final = (
    """
CREATE TABLE conversations (
  n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  version BIGINT NOT NULL,
  floor BIGINT NOT NULL,
  serial BIGINT NOT NULL,
  next_seq BIGINT NOT NULL,
  messages BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  progress TEXT NOT NULL,
  crc INTEGER NOT NULL
);
CREATE TABLE states (
  conversation BIGINT PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
  body TEXT NOT NULL,
  crc INTEGER NOT NULL
);
CREATE TABLE messages (
  conversation BIGINT NOT NULL,
  version BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  kind SMALLINT NOT NULL,
  step BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  pin TEXT,
  tokens BIGINT NOT NULL,
  counter TEXT,
  body TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (conversation, seq),
  UNIQUE (conversation, id)
);
CREATE INDEX held ON messages (conversation, seq) WHERE pin IS NOT NULL OR kind = 0;
CREATE INDEX starts ON messages (conversation, seq) WHERE seq = turn;
CREATE TABLE links (
  conversation BIGINT NOT NULL,
  step BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (conversation, step, seq),
  FOREIGN KEY (conversation, seq) REFERENCES messages (conversation, seq)
    ON DELETE CASCADE
);
CREATE INDEX links_by_row ON links (conversation, seq);
CREATE TABLE calls (
  conversation BIGINT NOT NULL,
  message_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  state TEXT,
  expires_at TEXT,
  version BIGINT NOT NULL,
  body TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (conversation, message_id, position),
  FOREIGN KEY (conversation, message_id) REFERENCES messages (conversation, id)
    ON DELETE CASCADE
);
CREATE INDEX calls_by_version ON calls (conversation, version);
CREATE INDEX calls_due ON calls (expires_at)
  WHERE state IS NULL AND expires_at IS NOT NULL;
CREATE TABLE changes (
  conversation BIGINT NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
  version BIGINT NOT NULL,
  message_id TEXT NOT NULL,
  removed INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (conversation, version, message_id, removed)
);
CREATE TABLE search_index (
  conversation BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  words TSVECTOR NOT NULL,
  PRIMARY KEY (conversation, seq),
  FOREIGN KEY (conversation, seq) REFERENCES messages (conversation, seq)
    ON DELETE CASCADE
);
CREATE INDEX search_words ON search_index USING gin (words);
"""
    + _WAITING
)

_APPEND = (
    f"WITH v AS ({APPEND} RETURNING n, version, next_seq - 1 AS seq),"  # noqa: S608
    " w AS (INSERT INTO waiting SELECT n, seq FROM v ON CONFLICT DO NOTHING)"
    f" INSERT INTO messages (conversation, {ROW})"
    " SELECT n, seq, ?, ?, ?, ?, ?, ?, ?, ?, version, ? FROM v"
).replace("?", "%s")


class Postgres:
    """How PostgreSQL says it."""

    lock = " FOR UPDATE"
    free = " FOR UPDATE OF v SKIP LOCKED"
    position = "strpos"

    def index(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        """The words themselves, not what its parser would make of them; all at once."""
        rows = [row for row in words if row[2]]
        if rows:
            sql = (
                "INSERT INTO search_index SELECT n, s, w::tsvector"
                " FROM unnest(?::bigint[], ?::bigint[], ?::text[]) t (n, s, w)"
            )
            yield Query(sql, [list(column) for column in zip(*rows, strict=True)])

    def unindex(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        """By row; its own index knows the words."""
        rows = [(n, seq) for n, seq, text in words if text]
        sql = "DELETE FROM search_index WHERE conversation = ? AND seq = ?"
        yield Query(sql, rows, many=True)

    def search(self, words: Sequence[str], n: int | None, limit: int) -> Query:
        """The newest rows that hold every word."""
        match = " & ".join(f"'{word}'" for word in words)  # letters and digits only
        only, values = ("", ()) if n is None else (" AND s.conversation = ?", (n,))
        return Query(
            f"SELECT {SEARCH_ROW} FROM search_index s"  # noqa: S608
            " JOIN messages m ON m.conversation = s.conversation AND m.seq = s.seq"
            " JOIN conversations v ON v.n = m.conversation"
            f" WHERE s.words @@ ?::tsquery{only}"
            " ORDER BY s.conversation DESC, s.seq DESC LIMIT ?",
            (match, *values, limit),
        )


def append(one: Append) -> tuple[str, Sequence[Any]]:
    """The statement that appends a message; it concerns one row, or none.

    One statement: one journey to the server, and one commit there.
    """
    # The server knows the conversation's number, the message's and the version.
    columns = one.columns
    return _APPEND, (*one.moved, *columns[2:10], columns[11])


def translated(query: Query) -> str:
    """A statement with the placeholders of psycopg."""
    return query.sql.replace("?", "%s")


def path_to(schema: str) -> sql.Composed:
    """The statement that makes a connection use *schema*."""
    return sql.SQL("SET search_path TO {}").format(sql.Identifier(schema))


def migrate(schema: str) -> Generator[tuple[Any, Sequence[Any]], Rows, None]:
    """Make the schema and its tables, or bring them up to date.

    Raises:
        CorruptStoreError: A newer turnkeep made them.
    """
    # Most of the time everything is there, and a server that only reads can say so.
    [(known,)] = yield "SELECT to_regclass('turnkeep')::text", ()
    if known is not None:
        found = yield "SELECT version FROM turnkeep", ()
        if found and found[0][0] == SCHEMA:
            return
    yield "SELECT pg_advisory_xact_lock(%s)", (_LOCK,)
    yield sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)), ()
    yield "CREATE TABLE IF NOT EXISTS turnkeep (version INTEGER NOT NULL)", ()
    found = yield "SELECT version FROM turnkeep", ()
    version = found[0][0] if found else 0
    if version > SCHEMA:
        reason = (
            f"schema {schema!r} was made by a newer turnkeep (tables {version}; this "
            f"one knows {SCHEMA}): upgrade turnkeep"
        )
        raise CorruptStoreError(reason)
    if version == 0:
        yield TABLES, ()
        yield "INSERT INTO turnkeep VALUES (%s)", (SCHEMA,)
    elif version < SCHEMA:
        for each in range(version, SCHEMA):
            yield MIGRATIONS[each], ()
        if version < 3:
            yield from _answered(seal_everything(Postgres()))
        yield "UPDATE turnkeep SET version = %s", (SCHEMA,)


def _answered(
    operation: Generator[Query, Rows, None],
) -> Generator[tuple[Any, Sequence[Any]], Rows, None]:
    """An operation's queries, one at a time, as statements with their values."""
    rows: Rows = []
    query = next(operation)
    while True:
        statement = translated(query)
        for values in query.values if query.many else [query.values]:
            rows = yield statement, values
        try:
            query = operation.send(rows)
        except StopIteration:
            return


def told(error: psycopg.Error) -> Exception:
    """What to raise for an error of PostgreSQL: Python's own where there is one."""
    match error:
        case psycopg.errors.DiskFull():
            return OSError(errno.ENOSPC, f"the server's disk is full: {error}")
        case psycopg.errors.ReadOnlySqlTransaction():
            return OSError(errno.EROFS, f"the server is read-only: {error}")
        case psycopg.errors.InsufficientPrivilege():
            return PermissionError(errno.EACCES, f"the server refuses: {error}")
        case psycopg.errors.DataCorrupted() | psycopg.errors.IndexCorrupted():
            return CorruptStoreError(f"PostgreSQL: {error}")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return ConnectionError(f"PostgreSQL: {error}")
        case _:
            # Our statements fit our tables: where one does not, these are others now.
            return CorruptStoreError(f"PostgreSQL: {error}")


class _Lenient(Loader):
    """Text that is no UTF-8 all the same: whoever looks at it says where it stands."""

    def load(self, data: Buffer) -> str:
        """The text; what cannot be read becomes lone surrogates."""
        return bytes(data).decode("utf-8", LENIENT)


_Cursor = TypeVar("_Cursor", psycopg.Cursor[Any], psycopg.AsyncCursor[Any])


def read_leniently(cursor: _Cursor) -> _Cursor:
    """*cursor*, which from now on reads text that psycopg refuses."""
    cursor.adapters.register_loader("text", _Lenient)
    return cursor


def is_amid(connection: psycopg.BaseConnection[Any]) -> bool:
    """Whether answers are still to come: whoever waited for them was interrupted."""
    pgconn = connection.pgconn
    return (
        pgconn.transaction_status == TransactionStatus.ACTIVE
        or pgconn.pipeline_status != PipelineStatus.OFF
    )


def untaken(
    store: object, error: psycopg.OperationalError, connections: int, timeout: float
) -> Exception:
    """What to raise where a pool gives no connection."""
    if isinstance(error, PoolClosed):
        return ValueError(f"{store!r} is closed")
    if isinstance(error, PoolTimeout):
        reason = (
            f"PostgreSQL: none of the {connections} connections was free within "
            f"{timeout:g} seconds, or none could be made: raise connections= or "
            "timeout=, or look at the server"
        )
        return ConnectionError(reason)
    return told(error)
