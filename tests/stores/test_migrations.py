"""Tables of earlier versions: brought up to date when a store is opened."""

from __future__ import annotations

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.stores.keeping import DSN, QUICK, demand_postgres
from turnkeep import Message
from turnkeep.stores import Change, PostgresStore, SqliteStore, Store
from turnkeep.stores._postgres_sql import SCHEMA as POSTGRES
from turnkeep.stores._sqlite_sql import SCHEMA as SQLITE

DATA = Path(__file__).parent.parent / "data" / "stores"


def holds_what_was_written(store: Store) -> None:
    """Everything is there, is found, and goes on."""
    assert store.check() == ()
    found = store.read("chat")
    names = [row.message.id for row in found.rows]
    assert names == ["s", "msg-1", "a", "r", "msg-3"]
    assert (found.version, found.serial, found.state) == (4, 3, {"model": "gpt-4o"})
    assert [call.state for call in found.calls] == ["resolved", None]
    assert [hit.conversation for hit in store.search("orion")] == ["other", "chat"]

    version = found.version
    for nth in range(70):
        change = Change.of_messages([Message.user(f"Orion {nth}", id=f"new-{nth}")])
        version = store.write("chat", change, expected=version)
    change = Change(remove=["msg-1", "new-0", "new-69"])
    store.write("chat", change, expected=version)

    assert len(store.search("orion", limit=999)) == 69
    assert store.check() == ()


@pytest.mark.parametrize("version", range(1, SQLITE))
def test_files_of_every_version_open(version: int, tmp_path: Path) -> None:
    """And are of this version then."""
    path = tmp_path / "chats.db"
    path.write_bytes(gzip.decompress((DATA / f"sqlite-{version}.db.gz").read_bytes()))

    with SqliteStore(path) as store:
        holds_what_was_written(store)

    fresh = tmp_path / "fresh.db"
    SqliteStore(fresh).close()
    assert tables(path) == tables(fresh)


def tables(path: Path) -> list[tuple[str, str]]:
    """What a file's tables and indexes are."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SQLITE,)
        sql = "SELECT name, sql FROM sqlite_master ORDER BY name"
        return [
            (name, re.sub(r"\s*([,()])\s*", r"\1", " ".join((text or "").split())))
            for name, text in connection.execute(sql)
        ]


@pytest.mark.postgres
@pytest.mark.parametrize("version", range(1, POSTGRES))
def test_schemas_of_every_version_open(version: int) -> None:
    """And are of this version then."""
    demand_postgres()
    name, fresh = f"turnkeep_test_v{version}", "turnkeep_test_fresh"
    script = (DATA / f"postgres-{version}.sql").read_text("utf-8")
    with psycopg.connect(DSN, autocommit=True) as admin:
        for one in (name, fresh):
            admin.execute(f"DROP SCHEMA IF EXISTS {one} CASCADE".encode())
        try:
            admin.execute(script.replace(f"turnkeep_v{version}", name).encode())
            with PostgresStore(QUICK, schema=name) as store:
                holds_what_was_written(store)
            PostgresStore(QUICK, schema=fresh).close()
            assert columns(admin, name) == columns(admin, fresh)
            assert constraints(admin, name) == constraints(admin, fresh)
        finally:
            for one in (name, fresh):
                admin.execute(f"DROP SCHEMA IF EXISTS {one} CASCADE".encode())


def columns(admin: psycopg.Connection, name: str) -> list[tuple[str, ...]]:
    """Every column of a schema."""
    return admin.execute(
        "SELECT table_name, column_name, data_type, is_nullable"
        " FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
        (name,),
    ).fetchall()


def constraints(admin: psycopg.Connection, name: str) -> list[tuple[str, ...]]:
    """Every constraint and index of a schema."""
    return admin.execute(
        "SELECT conname, contype::text FROM pg_constraint"
        " WHERE connamespace = %(name)s::text::regnamespace UNION ALL"
        " SELECT indexname, 'index' FROM pg_indexes WHERE schemaname = %(name)s"
        " ORDER BY 1, 2",
        {"name": name},
    ).fetchall()
