"""The tables of SQLite, how it says what PostgreSQL says otherwise, and its errors."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from turnkeep.errors import CorruptStoreError

from ._sql import SEARCH_ROW, Query
from ._values import Damage

SCHEMA: Final = 3
"""Version of the tables, kept in `user_version`."""

APPLICATION: Final = 0x74_6B_65_70
"""`application_id`: says that a file is ours ("tkep")."""

_SHIFT: Final = 2**32
# A row of the search index is known by one number: the conversation's in the upper
# half, the message's in the lower.

_WAITING = """
CREATE TABLE waiting (
  conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
  seq INTEGER NOT NULL
)"""

_CRC: Final = "crc INTEGER NOT NULL DEFAULT 0"

_SEALED: Final = ("conversations", "states", "messages", "calls", "changes")
# Tables whose rows have a checksum.

MIGRATIONS: Final[dict[int, str]] = {
    1: _WAITING,
    2: ";\n".join(f"ALTER TABLE {table} ADD COLUMN {_CRC}" for table in _SEALED),
}
"""By version of the tables: the statements that lead to the next one."""

TABLES = (
    f"""
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
  progress TEXT NOT NULL,
  {_CRC}
);
CREATE TABLE states (
  conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
  body TEXT NOT NULL,
  {_CRC}
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
  {_CRC},
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
  {_CRC},
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
  {_CRC},
  PRIMARY KEY (conversation, version, message_id, removed)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE search_index USING fts5(
  words, content='', tokenize='unicode61 remove_diacritics 0'
);
"""
    + _WAITING
)


WAIT: Final = "INSERT OR IGNORE INTO waiting (conversation, seq) VALUES (?, ?)"
"""Lets a conversation's messages wait from one on, if none waits yet."""


class Sqlite:
    """How SQLite says it."""

    lock = ""  # BEGIN IMMEDIATE has locked already
    free = ""
    position = "instr"

    def index(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        rows = [(n * _SHIFT + seq, text) for n, seq, text in words if text]
        sql = "INSERT INTO search_index (rowid, words) VALUES (?, ?)"
        yield Query(sql, rows, many=True)

    def unindex(self, words: Iterable[tuple[int, int, str]]) -> Iterator[Query]:
        # The index keeps no texts, so it must be told what to forget.
        rows = [(n * _SHIFT + seq, text) for n, seq, text in words if text]
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


def integrity(connection: sqlite3.Connection) -> Iterator[Damage]:
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
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # An error may quote what is damaged, and be no UTF-8 for that.
            code = getattr(error, "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_READONLY:
                yield Damage(None, "database", f"{sql}: {error}")
            continue
        for row in rows:
            reason = judge(row)
            if reason is not None:
                yield Damage(None, "database", reason)


class Told:
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
        if isinstance(error, sqlite3.ProgrammingError):
            return  # a mistake of ours
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in self._CODES:
            number, words = self._CODES[code]
            raise OSError(
                number, f"{words} ({error}); nothing was written", str(self.path)
            ) from error
        # Our statements fit our tables: where one does not, these are not as they were.
        reason = f"{self.path}: {error}"
        raise CorruptStoreError(reason) from error
