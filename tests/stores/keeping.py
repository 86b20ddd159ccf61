"""Stores for tests: one of each kind, empty, and gone afterwards."""

from __future__ import annotations

import atexit
import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from turnkeep.stores import JsonlStore, PostgresStore, SqliteStore, Store

DSN = os.environ.get(
    "TURNKEEP_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test"
)
"""Where a PostgreSQL server is; each test makes a schema of its own there."""

QUICK = make_conninfo(DSN, options="-c synchronous_commit=off")
"""The same without waiting for the disk, which most tests are not about."""

KINDS = [
    "jsonl",
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
]
"""Every kind of store."""


@cache
def _refusal() -> str | None:
    """Why there is no server, or nothing."""
    try:
        psycopg.connect(DSN, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        return f"no PostgreSQL at {DSN}: {error}"
    return None


def demand_postgres() -> None:
    """Skip where there is no server; fail where there must be one (in CI)."""
    reason = _refusal()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@cache
def _schema() -> str:
    """A schema for this run, dropped when it ends."""
    name = f"turnkeep_test_{uuid.uuid4().hex[:16]}"
    drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name))

    def clean() -> None:
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute(drop)

    atexit.register(clean)
    PostgresStore(QUICK, schema=name, connections=1).close()
    return name


def schema() -> str:
    """The name of this run's schema, emptied."""
    demand_postgres()
    name = _schema()
    tables = [sql.Identifier(name, table) for table in ("conversations", "messages")]
    empty = sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(tables))
    with psycopg.connect(QUICK, autocommit=True) as connection:
        connection.execute(empty)
    return name


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: most tests are not about the disk."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder is ours alone
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as made:
        yield Path(made)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    """An address at which `open_at` opens an empty store of a kind."""
    match kind:
        case "jsonl":
            yield f"jsonl:{folder / 'logs'}"
        case "sqlite":
            yield f"sqlite:{folder / 'chats.db'}"
        case _:
            yield f"postgres:{schema()}"


def open_at(address: str) -> Store:
    """The store at an address; works in another process, too."""
    kind, _, where = address.partition(":")
    match kind:
        case "jsonl":
            return JsonlStore(where)
        case "sqlite":
            return SqliteStore(where)
        case _:
            return PostgresStore(QUICK, schema=where, connections=2)


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Store]:
    """An empty store of a kind."""
    with place(kind, folder) as address, open_at(address) as store:
        yield store


class Alarm(BaseException):
    """What the handler of a signal raises."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `Alarm` inside, after a while, wherever the program is then."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
