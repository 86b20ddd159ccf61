from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from turnkeep.errors import CorruptStoreError
from turnkeep.model import freeze

from . import _sql, _sql_read
from ._base import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    MakeChange,
    Row,
    Snapshot,
)
from ._sql import Query, Rows
from ._sql_check import check
from ._sql_read import SEARCH_ROW

T = TypeVar("T")

SCHEMA: Final = 1
"""Version of the tables, kept in `user_version`."""

APPLICATION: Final = 0x74_6B_65_70
"""`application_id`: says that a file is ours ("tkep")."""

_SHIFT: Final = 2**32
# A row of the search index is known by one number: the conversation's in the upper
# half, the message's in the lower.

_TABLES = """
CREATE TABLE conversations (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  floor INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  next_seq INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  progress TEXT NOT NULL
);
CREATE TABLE states (
  conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
  body TEXT NOT NULL
);
CREATE TABLE messages (
  conversation INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind INTEGER NOT NULL,
  step INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  pin TEXT,
  tokens INTEGER NOT NULL,
  counter TEXT,
  body TEXT NOT NULL,
  PRIMARY KEY (conversation, seq),
  UNIQUE (conversation, id)
);
CREATE INDEX held ON messages (conversation, seq) WHERE pin IS NOT NULL OR kind = 0;
CREATE INDEX starts ON messages (conversation, seq) WHERE seq = turn;
CREATE TABLE links (
  conversation INTEGER NOT NULL,
  step INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (conversation, step, seq),
  FOREIGN KEY (conversation, seq) REFERENCES messages (conversation, seq)
    ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX links_by_row ON links (conversation, seq);
CREATE TABLE calls (
  conversation INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  state TEXT,
  expires_at TEXT,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (conversation, message_id, position),
  FOREIGN KEY (conversation, message_id) REFERENCES messages (conversation, id)
    ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX calls_by_version ON calls (conversation, version);
CREATE INDEX calls_due ON calls (expires_at)
  WHERE state IS NULL AND expires_at IS NOT NULL;
CREATE TABLE changes (
  conversation INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  removed INTEGER NOT NULL,
  PRIMARY KEY (conversation, version, message_id, removed)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE search_index USING fts5(
  words, content='', tokenize='unicode61 remove_diacritics 0'
);
"""


class _Sqlite:
    """How SQLite says it."""

    lock = ""  # BEGIN IMMEDIATE has locked already
    position = "instr"

    def index(self, n: int, words: Iterable[tuple[int, str]]) -> Iterator[Query]:
        rows = [(n * _SHIFT + seq, text) for seq, text in words if text]
        if rows:
            sql = "INSERT INTO search_index (rowid, words) VALUES (?, ?)"
            yield Query(sql, rows, many=True)

    def unindex(self, n: int, words: Iterable[tuple[int, str]]) -> Iterator[Query]:
        # The index keeps no texts, so it must be told what to forget.
        rows = [(n * _SHIFT + seq, text) for seq, text in words if text]
        if rows:
            sql = (
                "INSERT INTO search_index (search_index, rowid, words)"
                " VALUES ('delete', ?, ?)"
            )
            yield Query(sql, rows, many=True)

    def search(self, words: Sequence[str], n: int | None, limit: int) -> Query:
        # Quoted, so that nothing in a query is taken for FTS5's own syntax.
        match = " ".join(f'"{word}"' for word in words)
        low, high = (0, 2**62) if n is None else (n * _SHIFT, (n + 1) * _SHIFT - 1)
        return Query(
            f"SELECT {SEARCH_ROW} FROM search_index s"  # noqa: S608
            f" JOIN messages m ON m.conversation = s.rowid / {_SHIFT}"
            f" AND m.seq = s.rowid % {_SHIFT}"
            " JOIN conversations v ON v.n = m.conversation"
            " WHERE search_index MATCH ? AND s.rowid BETWEEN ? AND ?"
            " ORDER BY s.rowid DESC LIMIT ?",
            (match, low, high, limit),
        )


class SqliteStore:
    """Conversations in one SQLite file: the store for one machine.

    Write-ahead log, `synchronous=FULL`: a write is on the disk when it returns, and
    readers never wait for writers. Several processes may use the file at once, on one
    machine; not over a network file system. One connection guarded by a lock: safe to
    use from several threads, and opened again in a forked process.

    Args:
        path:
            The file; made with mode 0600 where there is none.
        timeout:
            Seconds to wait for another writer before `TimeoutError`.

    Raises:
        CorruptStoreError: The file is damaged, or not one of ours.
        OSError: It cannot be opened or made.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        """See the class."""
        self.path = Path(path)
        self._timeout = timeout
        self._lock = RLock()
        self._dialect = _Sqlite()
        self._pid = 0
        self._connection: sqlite3.Connection | None = None
        self._connect()

    def __repr__(self) -> str:
        """Show the file."""
        return f"SqliteStore({str(self.path)!r})"

    # -- the connection ---------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid == os.getpid():
            return self._connection
        if self._pid == os.getpid():
            msg = f"{self!r} is closed"
            raise ValueError(msg)
        fresh = not self.path.exists()
        if fresh:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
        # A connection must not cross a fork: the child opens its own.
        self._pid = os.getpid()
        with _told(self.path):
            made = sqlite3.connect(
                self.path,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                self._prepare(made)
            except BaseException:
                made.close()
                raise
        self._connection = made
        return made

    def _prepare(self, connection: sqlite3.Connection) -> None:
        execute = connection.execute
        execute("PRAGMA foreign_keys = ON")
        execute("PRAGMA synchronous = FULL")
        # Nothing in a file from elsewhere may run functions of ours.
        execute("PRAGMA trusted_schema = OFF")
        if self._version(connection) == SCHEMA:
            return
        mode = execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":  # pragma: no cover - file systems without shared memory
            reason = f"{self.path}: SQLite cannot keep a write-ahead log here ({mode})"
            raise OSError(errno.ENOTSUP, reason)
        execute("BEGIN IMMEDIATE")
        try:
            if self._version(connection) == 0:
                for statement in _TABLES.strip().split(";\n"):
                    execute(statement)
                execute(f"PRAGMA application_id = {APPLICATION}")
                execute(f"PRAGMA user_version = {SCHEMA}")
            execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise

    def _version(self, connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        mine: int = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and mine != APPLICATION:
            reason = f"{self.path} is a database, but not one of turnkeep"
            raise CorruptStoreError(reason)
        if version > SCHEMA:
            reason = (
                f"{self.path} was written by a newer turnkeep (tables {version}; this "
                f"one knows {SCHEMA}): upgrade turnkeep"
            )
            raise CorruptStoreError(reason)
        return version

    def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        with self._lock, _told(self.path):
            connection = self._connect()
            connection.execute(begin)
            try:
                made = _drive(connection.cursor(), operation)
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise
            return made

    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, "BEGIN IMMEDIATE")

    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, "BEGIN")

    # -- writing ----------------------------------------------------------------

    def create(self, conversation_id: str, change: Change = Change()) -> int:  # noqa: B008
        """See `Store.create`."""
        return self._write(_sql.create(self._dialect, conversation_id, change))

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """See `Store.write`."""
        return self._write(_sql.write(self._dialect, conversation_id, change, expected))

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """See `Store.update`."""
        return self._write(
            _sql_read.update(self._dialect, conversation_id, make, since)
        )

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """See `Store.put_state`."""
        self._write(_sql_read.put_state(self._dialect, conversation_id, freeze(state)))

    def delete(self, conversation_id: str) -> bool:
        """See `Store.delete`."""
        return self._write(_sql.delete(self._dialect, conversation_id))

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`; rewrites the file, which takes its size again."""
        self._write(_sql_read.compact(self._dialect, conversation_id))
        with self._lock, _told(self.path):
            connection = self._connect()
            sql = "INSERT INTO search_index (search_index) VALUES ('optimize')"
            connection.execute(sql)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- reading ----------------------------------------------------------------

    def read(self, conversation_id: str) -> Snapshot:
        """See `Store.read`."""
        return self._read(_sql_read.read(conversation_id))

    def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Snapshot:
        """See `Store.read_tail`."""
        return self._read(_sql_read.read_tail(conversation_id, messages, tokens, held))

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]:
        """See `Store.read_messages`."""
        return self._read(_sql_read.read_messages(conversation_id, message_ids))

    def read_since(self, conversation_id: str, version: int) -> Delta:
        """See `Store.read_since`."""
        return self._read(_sql_read.read_since(conversation_id, version))

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """See `Store.conversations`."""
        return self._read(_sql_read.conversations(self._dialect, contains, limit))

    def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> tuple[Hit, ...]:
        """See `Store.search`."""
        return self._read(
            _sql_read.search(self._dialect, query, conversation_id, limit)
        )

    def due(self, now: datetime) -> tuple[tuple[str, CallRecord], ...]:
        """See `Store.due`."""
        return self._read(_sql_read.due(now))

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`; SQLite's own checks come first."""
        damage: list[Damage] = []
        if conversation_id is None:
            with self._lock:
                damage += _integrity(self._connect())
        try:
            damage += self._read(check(conversation_id))
        except CorruptStoreError as error:
            damage.append(Damage(conversation_id, str(self.path), error.reason))
        return tuple(damage)

    # -- closing ----------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; nothing is lost if it is forgotten."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        """Close when left."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _drive(cursor: sqlite3.Cursor, operation: Generator[Query, Rows, T]) -> T:
    rows: Any = None
    while True:
        try:
            query = operation.send(rows)
        except StopIteration as stop:
            made: T = stop.value
            return made
        if query.many:
            cursor.executemany(query.sql, query.values)
            rows = []
        else:
            rows = cursor.execute(query.sql, query.values).fetchall()


def _integrity(connection: sqlite3.Connection) -> Iterator[Damage]:
    checks: tuple[tuple[str, Callable[[tuple[Any, ...]], str | None]], ...] = (
        ("PRAGMA integrity_check", lambda r: None if r[0] == "ok" else str(r[0])),
        ("PRAGMA foreign_key_check", lambda r: f"{r[0]} row {r[1]} refers to nothing"),
        (
            "INSERT INTO search_index (search_index) VALUES ('integrity-check')",
            lambda r: str(r[0]),
        ),
    )
    for sql, judge in checks:
        try:
            rows = connection.execute(sql).fetchall()
        except sqlite3.DatabaseError as error:
            yield Damage(None, "database", f"{sql}: {error}")
            continue
        for row in rows:
            reason = judge(row)
            if reason is not None:
                yield Damage(None, "database", reason)


class _told:  # noqa: N801 - used like a function
    """Turns SQLite's errors into ours and Python's, with the file's name."""

    _CODES: Final = {
        sqlite3.SQLITE_FULL: (errno.ENOSPC, "the disk is full"),
        sqlite3.SQLITE_READONLY: (errno.EROFS, "it is read-only"),
        sqlite3.SQLITE_CANTOPEN: (errno.ENOENT, "it cannot be opened"),
        sqlite3.SQLITE_PERM: (errno.EACCES, "access is denied"),
        sqlite3.SQLITE_BUSY: (errno.ETIMEDOUT, "another writer holds it for too long"),
        sqlite3.SQLITE_LOCKED: (errno.ETIMEDOUT, "another writer holds it"),
        sqlite3.SQLITE_IOERR: (errno.EIO, "reading or writing failed"),
    }

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not isinstance(error, sqlite3.DatabaseError):
            return
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            reason = f"{self.path}: {error}"
            raise CorruptStoreError(reason) from error
        if code in self._CODES:
            number, words = self._CODES[code]
            raise OSError(
                number, f"{words} ({error}); nothing was written", str(self.path)
            ) from error
