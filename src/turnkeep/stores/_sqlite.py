from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from turnkeep.errors import CorruptStoreError
from turnkeep.model import freeze

from . import _sql_read, _sql_write
from ._base import MakeChange
from ._sql import Query, Rows
from ._sql_check import check
from ._sqlite_sql import APPLICATION, SCHEMA, TABLES, Sqlite, Told, integrity
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    Row,
    Snapshot,
)

T = TypeVar("T")


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
        self._dialect = Sqlite()
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
        with Told(self.path):
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
                for statement in TABLES.strip().split(";\n"):
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
        with self._lock, Told(self.path):
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
        return self._write(_sql_write.create(self._dialect, conversation_id, change))

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """See `Store.write`."""
        return self._write(
            _sql_write.write(self._dialect, conversation_id, change, expected)
        )

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
        return self._write(_sql_write.delete(self._dialect, conversation_id))

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`; rewrites the file, which takes its size again."""
        self._write(_sql_read.compact(self._dialect, conversation_id))
        with self._lock, Told(self.path):
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
                damage += integrity(self._connect())
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
