"""Damage of any kind: noticed or harmless, never a raw error of a driver."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.stores.keeping import QUICK, quick_folder, schema
from turnkeep import Message, ToolCall
from turnkeep.errors import (
    CorruptStoreError,
    UnknownConversationError,
)
from turnkeep.stores import (
    CallRecord,
    Change,
    JsonlStore,
    Pin,
    PostgresStore,
    SqliteStore,
    Store,
)

DAMAGES = int(os.environ.get("TURNKEEP_DAMAGES", "70"))
"""How many files are damaged for each kind of store and of damage."""

WORDS = ("orion", "täglich", "text", "wörter", "first")


def fill(store: Store) -> None:
    """Something of everything, in three conversations."""
    for name in ("one", "two", "drei ü"):
        said = [
            Message.system("Be brief, täglich.", id="s"),
            Message.user("orion first text", id="msg-1", metadata={"a": [1, None]}),
            Message.assistant("", tool_calls=[ToolCall("c1", "f", {"x": 1})], id="a"),
            Message.user("wörter zwischendurch", id="msg-2", pinned=True),
            Message.assistant("", tool_calls=[ToolCall("c2", "wait")], id="b"),
            Message.tool_result("c1", "built", id="r"),
        ]
        calls = [CallRecord("b", 0, None, waits_for={"who": "eve"})]
        change = Change.of_messages(said, tokens=[7] * len(said), counter="c")
        version = store.create(name, change)
        change = Change(pins=[Pin("msg-1", "step")], calls=calls, state={"m": "x"})
        version = store.write(name, change, expected=version)
        for nth in range(5):
            more = Message.user(f"text {nth} " + "lorem ipsum " * 30, id=f"n{nth}")
            change = Change.of_messages([more], tokens=[80], counter="c")
            version = store.write(name, change, expected=version)
        store.put_state(name, {"m": "y", "n": 5})


ASKS = [
    ("all", ""),
    *(
        (what, name)
        for name in ("one", "two", "drei ü")
        for what in ("whole", "tail", "since", "some")
    ),
    *(("search", word) for word in WORDS),
]
"""What a store is asked, and about what."""


def shown(store: Store) -> dict[tuple[str, str], Any]:
    """Everything that a store tells."""
    return {ask: shown_one(store, ask) for ask in ASKS}


def shown_one(store: Store, ask: tuple[str, str]) -> Any:
    """What a store tells to one question."""
    what, name = ask
    match what:
        case "all":
            return store.conversations()
        case "whole":
            return store.read(name)
        case "tail":
            return store.read_tail(name, messages=2, held=True)
        case "since":
            return store.read_since(name, 1)
        case "some":
            return store.read_messages(name, ["msg-1", "n3"])
        case _:
            return store.search(name, limit=99)


def judge(open_it: Callable[[], Store], before: dict[Any, Any]) -> str:
    """How damage comes out: `noticed`, `harmless` or what went wrong."""
    try:
        with open_it() as store:
            if any(not item.recovered for item in store.check()):
                return "noticed"
            recovered = bool(store.check())
            after = shown(store)
    except (CorruptStoreError, UnknownConversationError):
        return "noticed"
    except OSError as error:
        assert not isinstance(error, BlockingIOError)
        return "noticed"
    if recovered:
        return "recovered"
    wrong = [key for key, value in before.items() if after[key] != value]
    return f"unnoticed: {wrong}" if wrong else "harmless"


def flip(data: bytearray, random: Random) -> None:
    """Change one byte."""
    place = random.randrange(len(data))
    data[place] ^= random.randrange(1, 256)


def overwrite(data: bytearray, random: Random) -> None:
    """Put other bytes over a few."""
    place = random.randrange(len(data))
    size = random.choice([2, 8, 100])
    data[place : place + size] = random.randbytes(len(data[place : place + size]))


def swap(data: bytearray, random: Random) -> None:
    """Exchange two blocks."""
    size = random.choice([16, 512])
    size = min(size, len(data) // 2)
    first = random.randrange(0, len(data) - 2 * size + 1)
    second = random.randrange(first + size, len(data) - size + 1)
    block = data[first : first + size]
    data[first : first + size] = data[second : second + size]
    data[second : second + size] = block


def cut(data: bytearray, random: Random) -> None:
    """Cut off the end."""
    del data[random.randrange(1, len(data)) :]


def letter(data: bytearray, random: Random) -> None:
    """Make another letter of one, or no letter at all: text, and what is no UTF-8."""
    places = [n for n, byte in enumerate(data) if chr(byte).isalnum()]
    data[random.choice(places)] = random.choice(b"aZ7\xff\xc3\x80")


BYTES = [flip, overwrite, swap, cut, letter]


@pytest.mark.parametrize("damage", BYTES)
def test_damaged_files_of_sqlite(
    damage: Callable[[bytearray, Random], None],
) -> None:
    """Whatever byte it is."""
    with quick_folder() as folder:
        path = folder / "chats.db"
        with SqliteStore(path) as store:
            fill(store)
            before = shown(store)
            assert store.check() == ()
        sound = path.read_bytes()
        found = {}
        for trial in range(DAMAGES):
            data = bytearray(sound)
            damage(data, Random(trial))
            for beside in folder.iterdir():
                beside.unlink()
            path.write_bytes(data)
            found[trial] = judge(lambda: SqliteStore(path), before)
    wrong = {trial: how for trial, how in found.items() if "unnoticed" in how}
    assert wrong == {}
    assert "noticed" in found.values()


@pytest.mark.parametrize("damage", BYTES)
def test_damaged_logs(damage: Callable[[bytearray, Random], None]) -> None:
    """Of a log only the end may be cut off: that is what a crash does, and is told."""
    with quick_folder() as folder:
        where = folder / "logs"
        with JsonlStore(where) as store:
            fill(store)
            before = shown(store)
            path = store.path("two")
        sound = path.read_bytes()
        found = {}
        for trial in range(DAMAGES):
            data = bytearray(sound)
            damage(data, Random(trial))
            path.write_bytes(data)
            if damage is not overwrite or data.endswith(b"\n"):
                # Garbage up to the very end is what crashes leave.
                found[trial] = judge(lambda: JsonlStore(where), before)
        if damage is cut:
            breaks = {n + 1 for n, byte in enumerate(sound) if byte == ord("\n")}
            found = {
                trial: how
                for trial, how in found.items()
                if Random(trial).randrange(1, len(sound)) not in breaks
            }
    allowed = {"noticed", "harmless"} | ({"recovered"} if damage is cut else set())
    assert {t: how for t, how in found.items() if how not in allowed} == {}


def test_every_line_of_a_log_stands_where_it_was_written() -> None:
    """One that is moved, repeated or taken out is noticed, settings included."""
    with quick_folder() as folder:
        with JsonlStore(folder) as store:
            fill(store)
            for nth in range(4):
                store.put_state("two", {"n": nth})
            store.write("two", Change(), expected=7)
            before = shown(store)
            path = store.path("two")
        lines = path.read_bytes().splitlines(keepends=True)
        for nth in range(1, len(lines) - 1):
            for other in (
                [*lines[:nth], *lines[nth + 1 :]],
                [*lines[:nth], lines[nth], *lines[nth:]],
                [*lines[:nth], lines[nth + 1], lines[nth], *lines[nth + 2 :]],
            ):
                path.write_bytes(b"".join(other))
                assert judge(lambda: JsonlStore(folder), before) == "noticed"


ROWS = [
    ("conversations", "id", "'onf'"),
    ("conversations", "version", "version + 1"),
    ("conversations", "floor", "1"),
    ("conversations", "serial", "serial + 1"),
    ("conversations", "next_seq", "next_seq + 1"),
    ("conversations", "messages", "messages - 1"),
    ("conversations", "tokens", "tokens + 1"),
    ("conversations", "created_at", "'x'"),
    ("conversations", "updated_at", "updated_at || 'x'"),
    ("conversations", "progress", "'[1,1,1,1,[]]'"),
    ("conversations", "progress", "'\"'"),
    ("conversations", "crc", "crc - 1"),
    ("states", "body", "replace(body, 'y', 'z')"),
    ("states", "body", "'{}'"),
    ("states", "crc", "crc - 1"),
    ("messages", "id", "CASE id WHEN 's' THEN 'sx' ELSE id END"),
    ("messages", "kind", "kind + 1"),
    ("messages", "step", "step + 1"),
    ("messages", "turn", "turn + 1"),
    ("messages", "pin", "'turn'"),
    ("messages", "pin", "'x'"),
    ("messages", "tokens", "tokens + 1"),
    ("messages", "counter", "'d'"),
    ("messages", "counter", "NULL"),
    ("messages", "body", "replace(body, 'text', 'tuxt')"),
    ("messages", "body", "replace(body, 'system', 'user')"),
    ("messages", "body", "body || ' '"),
    ("messages", "body", "''"),
    ("messages", "version", "version + 1"),
    ("messages", "crc", "crc + 1"),
    ("calls", "body", "replace(body, 'eve', 'bob')"),
    ("calls", "state", "'resolved'"),
    ("calls", "expires_at", "'2026'"),
    ("calls", "position", "position + 1"),
    ("calls", "version", "version + 1"),
    ("changes", "removed", "1 - removed"),
    ("changes", "version", "version + 1"),
    ("changes", "message_id", "message_id || 'x'"),
]
"""Table, column, and what is put there."""


@pytest.mark.parametrize(("table", "column", "value"), ROWS)
@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def test_changed_rows(kind: str, table: str, column: str, value: str) -> None:
    """Each is noticed where it is checked, and where it is read if it shows there."""
    with quick_folder() as folder, rows_of(kind, folder) as (open_it, execute):
        with open_it() as store:
            fill(store)
            before = shown(store)
            one = "conversation"
            if table == "conversations":
                one = "n"
            execute(f"UPDATE {table} SET {column} = {value} WHERE {one} = 2")  # noqa: S608
            found = store.check()
            assert found
            assert not any(damage.recovered for damage in found)
            assert {damage.conversation for damage in found} <= {"two", "onf", None}
            after = before
            try:
                after = shown(store)
            except (CorruptStoreError, UnknownConversationError):
                return
        assert after == before


TABLES = ["conversations", "states", "messages", "links", "calls", "changes", "waiting"]


@pytest.mark.parametrize("value", ["'x'", "x'ff61'", "3.5", "-1", "'{}'"])
@pytest.mark.parametrize("table", TABLES)
def test_values_of_another_type(table: str, value: str) -> None:
    """SQLite keeps any value in any column: a check says so, and no reading breaks."""
    with quick_folder() as folder:
        path = folder / "sound.db"
        with SqliteStore(path) as store:
            fill(store)
            before = shown(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as sound:
            columns = [row[1] for row in sound.execute(f"PRAGMA table_info({table})")]
            assert sound.execute(f"SELECT 1 FROM {table}").fetchone(), "nothing there"  # noqa: S608
        for column in columns:
            other = folder / f"{column}.db"
            other.write_bytes(path.read_bytes())
            with closing(sqlite3.connect(other, isolation_level=None)) as changed:
                try:
                    changed.execute(f"UPDATE OR IGNORE {table} SET {column} = {value}")  # noqa: S608
                except sqlite3.IntegrityError:
                    continue  # the one column that SQLite guards: a row's own number
            with SqliteStore(other) as store:
                found = store.check()
                assert not any(damage.recovered for damage in found)
                for ask, told in before.items():
                    with suppress(CorruptStoreError, UnknownConversationError):
                        assert shown_one(store, ask) == told or found, (column, ask)


@contextmanager
def rows_of(
    kind: str, folder: Path
) -> Iterator[tuple[Callable[[], Store], Callable[[str], object]]]:
    """An empty store in a database, and a way to change rows behind its back."""
    if kind == "sqlite":
        path = folder / "chats.db"
        SqliteStore(path).close()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield lambda: SqliteStore(path), connection.execute
        return
    name = schema()
    with psycopg.connect(QUICK, autocommit=True) as admin:
        admin.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(name)))
        admin.execute("ALTER SEQUENCE conversations_n_seq RESTART")
        yield (
            lambda: PostgresStore(QUICK, schema=name, connections=1),
            lambda statement: admin.execute(statement.encode()),
        )


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("messages", "body"),
        ("messages", "counter"),
        ("messages", "id"),
        ("states", "body"),
        ("calls", "body"),
        ("conversations", "progress"),
        ("conversations", "updated_at"),
    ],
)
@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def test_what_is_no_utf8(kind: str, table: str, column: str) -> None:
    """It is told with its place: by reading, by a search, by a check."""
    with (
        quick_folder() as folder,
        rows_of(kind, folder) as (open_it, execute),
        open_it() as store,
    ):
        fill(store)
        where = "n = 2" if table == "conversations" else "conversation = 2"
        if table == "messages":
            where += " AND seq = 1"
        bad = f"x'7b{'61' * 10}ff22'"
        if kind == "sqlite":
            value = f"CAST({bad} AS TEXT)"
        else:
            # A server takes no such text; a cast that only renames the type does.
            execute("CREATE CAST (bytea AS text) WITHOUT FUNCTION")
            value = rf"'\x7b{'61' * 10}ff22'::bytea::text"
        try:
            execute(f"UPDATE {table} SET {column} = {value} WHERE {where}")  # noqa: S608
        finally:
            if kind == "postgres":
                execute("DROP CAST (bytea AS text)")
        assert store.check()
        assert [d for d in store.check("two") if d.conversation == "two"]
        with pytest.raises(CorruptStoreError, match="'two'"):
            store.read("two")
        if table == "messages" and column == "body":
            with pytest.raises(CorruptStoreError, match="row 1: not UTF-8: byte"):
                store.search("orion")
            assert any("not UTF-8" in d.reason for d in store.check())
        assert store.read("one").version == 7
