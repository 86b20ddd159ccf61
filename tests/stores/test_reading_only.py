"""Stores that cannot be written, or must not be: they can be read."""

from __future__ import annotations

import gzip
import os
import sqlite3
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from tests.stores.keeping import DSN, demand_postgres, quick_folder, schema
from tests.stores.test_crashes import NOBODY
from tests.stores.working import together
from turnkeep import Conversation, Message
from turnkeep.stores import Change, JsonlStore, PostgresStore, SqliteStore, Store

DATA = Path(__file__).parent.parent / "data" / "stores"


def fill(store: Store) -> None:
    """Two writes."""
    store.create("chat", Change.of_messages([Message.user("orion", id="m1")]))
    store.write(
        "chat", Change.of_messages([Message.user("orion too", id="m2")]), expected=1
    )


def shows(store: Store) -> None:
    """Everything that is read can be read; nothing is written."""
    assert [row.message.id for row in store.read("chat").rows] == ["m1", "m2"]
    assert len(store.read_tail("chat", messages=1).rows) == 1
    assert len(store.search("orion")) == 2
    assert [info.id for info in store.conversations()] == ["chat"]
    assert store.check() == ()
    assert Conversation.open(store, "chat").messages[1].text == "orion too"
    with pytest.raises(OSError, match=r"read-only|denied"):
        store.write("chat", Change(), expected=2)
    with pytest.raises(OSError, match=r"read-only|denied"):
        store.create("other")
    assert store.read("chat").version == 2


def look(path: str, out: Connection) -> None:
    """As somebody who may write nothing."""
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    where = Path(path)
    with JsonlStore(where) if where.is_dir() else SqliteStore(where) as store:
        shows(store)
    out.send("shown")


@pytest.mark.parametrize(
    ("kind", "folder_mode"), [("jsonl", 0o555), ("sqlite", 0o555), ("sqlite", 0o777)]
)
def test_files_of_a_mode_that_forbids_writing(kind: str, folder_mode: int) -> None:
    """Whether the folder does so, too, or lets SQLite make its files."""
    with quick_folder() as folder:
        where = folder / ("logs" if kind == "jsonl" else "chats.db")
        with JsonlStore(where) if kind == "jsonl" else SqliteStore(where) as store:
            fill(store)
        inside = list(where.iterdir()) if where.is_dir() else [where]
        for file in inside:
            file.chmod(0o444)
        if where.is_dir():
            where.chmod(folder_mode)
        folder.chmod(folder_mode)

        assert together(look, [(str(where),)]) == ["shown"]

        for thing in (folder, where):
            thing.chmod(0o700)


def test_a_wish_to_read_only(tmp_path: Path) -> None:
    """By an argument or in a URI of SQLite, beside somebody who writes."""
    path = tmp_path / "chats ü?.db"
    with SqliteStore(path) as writer:
        fill(writer)
        with SqliteStore(path, read_only=True) as store:
            shows(store)
        uri = f"{path.as_uri()}?mode=ro"
        with SqliteStore(uri) as store:
            shows(store)
            writer.put_state("chat", {"a": 1})
            assert store.read("chat").state == {"a": 1}
    with SqliteStore(uri) as store:
        shows(store)
    with SqliteStore(path.as_uri()) as store:
        assert store.write("chat", Change(), expected=2) == 3
    for odd in ("cache=shared", "mode=memory"):
        with pytest.raises(ValueError, match="understands mode=ro"):
            SqliteStore(f"{path.as_uri()}?{odd}")


def test_reading_makes_no_file(tmp_path: Path) -> None:
    """Where there is none, that is the error."""
    path = tmp_path / "nowhere.db"
    with pytest.raises(OSError, match="cannot be opened"):
        SqliteStore(path, read_only=True)
    assert not path.exists()


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_earlier_version(tmp_path: Path, version: int) -> None:
    """It is read as if it were brought up to date, and stays as it is."""
    path = tmp_path / "chats.db"
    path.write_bytes(gzip.decompress((DATA / f"sqlite-{version}.db.gz").read_bytes()))
    before = path.read_bytes()
    with SqliteStore(path, read_only=True) as store:
        assert store.check() == ()
        assert len(store.read("chat").rows) == 5
        with pytest.raises(OSError, match="read-only"):
            store.create("new")
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.postgres
def test_a_server_that_only_reads() -> None:
    """A standby, for example: opening it writes nothing."""
    demand_postgres()
    name = schema()
    with PostgresStore(DSN, schema=name) as store:
        fill(store)
    options = "-c default_transaction_read_only=on"
    with PostgresStore(make_conninfo(DSN, options=options), schema=name) as store:
        assert len(store.read("chat").rows) == 2
        assert len(store.search("orion")) == 2
