"""Where conversations are kept: files, SQLite, PostgreSQL, behind one protocol.

A conversation in a store has a version. Every write names the version it was made for
and is refused with `ConflictError` when somebody else wrote first; a write is one
`Change`, done whole or not at all, and durable when the call returns. Classes load on
first use: `import turnkeep.stores` opens no database driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._base import AsyncStore, Store
from ._document import changes_of, document_of
from ._threaded import in_thread
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    Pin,
    Row,
    Snapshot,
)

if TYPE_CHECKING:
    from ._jsonl import JsonlStore
    from ._postgres import PostgresStore
    from ._postgres_async import AsyncPostgresStore
    from ._sqlite import SqliteStore

_PLACES = {
    "AsyncPostgresStore": "_postgres_async",
    "JsonlStore": "_jsonl",
    "PostgresStore": "_postgres",
    "SqliteStore": "_sqlite",
}

__all__ = [
    "AsyncPostgresStore",
    "AsyncStore",
    "CallRecord",
    "Change",
    "Damage",
    "Delta",
    "Hit",
    "Info",
    "JsonlStore",
    "Pin",
    "PostgresStore",
    "Row",
    "Snapshot",
    "SqliteStore",
    "Store",
    "changes_of",
    "document_of",
    "in_thread",
]


def __getattr__(name: str) -> object:
    """Load a store on first use (PEP 562)."""
    place = _PLACES.get(name)
    if place is None:
        msg = f"module 'turnkeep.stores' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f".{place}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
