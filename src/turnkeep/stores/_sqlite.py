from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Generator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from turnkeep.errors import CorruptStoreError

from . import _sql_read
from ._forks import Guard, keep
from ._sql import APPEND, INSERT, Append, Query, Rows
from ._sql_append import Heads
from ._sql_check import check
from ._sql_index import WAITING, settle
from ._sql_store import SqlStore
from ._sqlite_sql import (
    APPLICATION,
    MIGRATIONS,
    SCHEMA,
    TABLES,
    WAIT,
    Sqlite,
    Told,
    integrity,
)
from ._values import (
    Damage,
)

T = TypeVar("T")


class SqliteStore(SqlStore):
    """Conversations in one SQLite file: the store for one machine.

    Write-ahead log, `synchronous=FULL`: a write is on the disk when it returns, and
    readers never wait for writers. Several processes may use the file at once, on one
    machine; not over a network file system. One connection guarded by a lock: safe to
    use from several threads. Before the process forks it waits until no thread is
    inside and closes the connection; parent and child open their own at the next use.

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
        self.path: Path = Path(path)
        self._timeout = timeout
        self._told = Told(self.path)
        self._guard = Guard(self._pause, self._renew)
        self._dialect = Sqlite()
        self._heads = Heads()
        self._alone = count(1)
        self._refusal = ""
        self._connection: sqlite3.Connection | None = None
        self._connect()

    def __repr__(self) -> str:
        """Show the file."""
        return f"SqliteStore({str(self.path)!r})"

    # -- the connection ---------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        if self._refusal:
            msg = f"{self!r} {self._refusal}"
            raise ValueError(msg)
        if self._connection is not None:
            return self._connection
        fresh = not self.path.exists()
        if fresh:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
        with self._told:
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

    def _pause(self) -> bool:
        """Close the connection before a fork; the next use opens another.

        A child that inherits one believes that it holds the file's locks. When the
        parent closes the file, its log is then deleted under the child's writes.
        """
        if self._connection is None:
            return True
        if self._connection.in_transaction:
            return False
        self._connection.close()
        self._connection = None
        return True

    def _renew(self, paused: bool) -> None:
        self._heads = Heads()
        if not paused and not self._refusal:
            keep(self._connection)
            self._refusal = "was at work while this process forked: fork when it rests"

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
            version = self._version(connection)
            steps = [TABLES]
            if version:
                steps = [MIGRATIONS[each] for each in range(version, SCHEMA)]
            for step in steps:
                for statement in step.strip().split(";\n"):
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

    def _outermost(self) -> sqlite3.Connection:
        """The connection, in no transaction.

        Raises:
            ValueError: The store is used inside its own `update`, or by a signal
                handler that interrupts it.
        """
        connection = self._connect()
        if connection.in_transaction:
            msg = f"{self!r} cannot be used inside its own update()"
            raise ValueError(msg)
        return connection

    def _run(self, operation: Generator[Query, Rows, T], begin: str) -> T:
        with self._guard.lock, self._told:
            connection = self._outermost()
            try:
                connection.execute(begin)
                made = _drive(connection.cursor(), operation)
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise
            return made

    def _append(self, one: Append) -> bool:
        # By hand: what drives an operation would cost as much as its statements.
        with self._guard.lock, self._told:
            connection = self._outermost()
            cursor = connection.cursor()
            execute = cursor.execute
            try:
                execute("BEGIN IMMEDIATE")
                if not execute(APPEND, one.moved).rowcount:
                    connection.rollback()
                    return False
                execute(INSERT, one.columns)
                execute(WAIT, (one.n, one.seq))
                if next(self._alone) % WAITING == 0:
                    _drive(cursor, settle(self._dialect))
                execute("COMMIT")
            except sqlite3.IntegrityError:
                connection.rollback()
                return False
            except BaseException:
                connection.rollback()
                raise
            return True

    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, "BEGIN IMMEDIATE")

    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        return self._run(operation, "BEGIN")

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`; rewrites the file, which takes its size again."""
        self._write(_sql_read.compact(self._dialect, conversation_id))
        with self._guard.lock, self._told:
            connection = self._connect()
            sql = "INSERT INTO search_index (search_index) VALUES ('optimize')"
            connection.execute(sql)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`; SQLite's own checks come first."""
        damage: list[Damage] = []
        if conversation_id is None:
            with self._guard.lock:
                damage += integrity(self._connect())
        try:
            damage += self._read(check(conversation_id))
        except CorruptStoreError as error:
            damage.append(Damage(conversation_id, str(self.path), error.reason))
        return tuple(damage)

    # -- closing ----------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; nothing is lost if it is forgotten."""
        with self._guard.lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._refusal = self._refusal or "is closed"


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
