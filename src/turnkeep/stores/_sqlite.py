from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from turnkeep.errors import CorruptStoreError

from ._forks import Guard, keep
from ._sql import APPEND, INSERT, Append, Query, Rows
from ._sql_index import WAITING, settle
from ._sql_migrate import seal_everything
from ._sql_operations import SqlOperations
from ._sql_seals import LENIENT
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

_UNREADABLE: Final = "Could not decode to UTF-8"
# What sqlite3 says, and nothing but its words tell it from other errors.


class SqliteStore(SqlStore):
    """Conversations in one SQLite file: the store for one machine.

    Write-ahead log, `synchronous=FULL`: a write is on the disk when it returns, and
    readers never wait for writers. Several processes may use the file at once, on one
    machine; not over a network file system. One connection guarded by a lock: safe to
    use from several threads. Before the process forks it waits until no thread is
    inside and closes the connection; parent and child open their own at the next use.

    Args:
        path:
            The file; made with mode 0600 where there is none. A URI of SQLite is
            understood, too: `"file:chats.db?mode=ro"`.
        timeout:
            Seconds to wait for another writer before `TimeoutError`.
        read_only:
            Refuse to write, and leave the file as it is. A file that cannot be written
            (its mode, a read-only file system) is opened so in any case.

    Raises:
        CorruptStoreError: The file is damaged, or not one of ours.
        OSError: It cannot be opened or made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = 60.0,
        read_only: bool = False,
    ) -> None:
        """See the class."""
        self.path: Path
        self.path, read = _place(path)
        self.read_only: bool = read_only or read
        self._timeout = timeout
        self._told = Told(self.path)
        self._guard = Guard(self._pause, self._renew)
        self._operations = SqlOperations(Sqlite())
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
        if not self.read_only and not self.path.exists():
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
        with self._told:
            try:
                if self.read_only or not os.access(self.path, os.W_OK):
                    self._connection = self._opened_to_read()
                else:
                    self._connection = self._prepared(self._opened())
            except UnicodeDecodeError as error:
                # SQLite's own error, which quotes what is damaged.
                reason = f"{self.path}: {error}"
                raise CorruptStoreError(reason) from error
        return self._connection

    def _opened(self, query: str = "") -> sqlite3.Connection:
        """A connection; nothing has been read yet."""
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}{query}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )

    def _opened_to_read(self) -> sqlite3.Connection:
        """A connection to what cannot be written, or must not be.

        SQLite shares an index of its log through a file, which it must be able to make.
        Where it cannot, the file is read alone if there is no log beside it.
        """
        log = Path(f"{self.path}-wal")
        made = self._opened("?mode=ro")
        try:
            made.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            made.close()
            if log.exists() and log.stat().st_size:
                raise
            made = self._opened("?mode=ro&immutable=1")
        if self._version(made) != SCHEMA:
            # Earlier tables are brought up to date in a copy.
            copy = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
            with closing(made):
                made.backup(copy)
            self._prepared(copy).execute("PRAGMA query_only = ON")
            return copy
        self._configure(made)
        return made

    def _prepared(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """*connection* with tables that are up to date; closed if they cannot be."""
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

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
        self._operations = SqlOperations(Sqlite())
        if not paused and not self._refusal:
            keep(self._connection)
            self._refusal = "was at work while this process forked: fork when it rests"

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        # Nothing in a file from elsewhere may run functions of ours.
        connection.execute("PRAGMA trusted_schema = OFF")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        execute = connection.execute
        self._configure(connection)
        if self._version(connection) == SCHEMA:
            return
        mode = execute("PRAGMA journal_mode = WAL").fetchone()[0]
        # A copy in memory has no log, and no file system is without one otherwise.
        if mode not in ("wal", "memory"):  # pragma: no cover - no shared memory
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
            if 0 < version < 3:
                _drive(connection.cursor(), seal_everything(self._operations.dialect))
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
                    _drive(cursor, settle(self._operations.dialect))
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
        super().compact(conversation_id)
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
            with self._guard.lock, self._told:
                damage += integrity(self._connect())
        try:
            damage += super().check(conversation_id)
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


def _place(path: str | os.PathLike[str]) -> tuple[Path, bool]:
    """A file, and whether it is only to be read: a path, or a URI of SQLite.

    Raises:
        ValueError: The URI asks for what a store does not do.
    """
    if not isinstance(path, str) or not path.startswith("file:"):
        return Path(path), False
    parts = urlsplit(path)
    wishes = dict(parse_qsl(parts.query))
    mode = wishes.pop("mode", "rwc")
    if wishes or mode not in ("ro", "rw", "rwc"):
        msg = f"{path!r}: a store understands mode=ro, and no other wishes of a URI"
        raise ValueError(msg)
    return Path(unquote(parts.path)), mode == "ro"


def _leniently(cursor: sqlite3.Cursor, query: Query) -> Rows:
    """Read what is no UTF-8 all the same: whoever looks at it says where it stands."""
    connection = cursor.connection
    connection.text_factory = _lenient
    try:
        return connection.execute(query.sql, query.values).fetchall()
    finally:
        connection.text_factory = str


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", LENIENT)


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
            try:
                rows = cursor.execute(query.sql, query.values).fetchall()
            except sqlite3.OperationalError as error:
                if _UNREADABLE not in str(error):
                    raise
                rows = _leniently(cursor, query)
            except UnicodeDecodeError as error:
                # SQLite's own error, which quotes what is damaged.
                raise sqlite3.DatabaseError(str(error)) from error
