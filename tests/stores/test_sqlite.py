"""What only `SqliteStore` has: one file, shared by processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.stores.keeping import Alarm, alarm
from turnkeep import Message, ToolCall
from turnkeep.errors import CorruptStoreError
from turnkeep.stores import CallRecord, Change, Delta, SqliteStore
from turnkeep.stores._sqlite_sql import SCHEMA


def started(path: Path) -> SqliteStore:
    """A store with one conversation that has something of everything."""
    store = SqliteStore(path)
    messages = [
        Message.system("s", id="s"),
        Message.user("hello", id="u"),
        Message.assistant(tool_calls=[ToolCall("c", "f")], id="a"),
        Message.user("more", id="u2"),
        Message.tool_result("c", "late", id="r"),
    ]
    calls = [CallRecord("a", 0, "resolved")]
    change = Change(Change.of_messages(messages).append, calls=calls, state={"x": 1})
    store.create("chat", change)
    return store


def another(path: Path) -> sqlite3.Connection:
    """A connection of somebody else; for any thread."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def user(name: str) -> Change:
    """A change that appends one message."""
    return Change.of_messages([Message.user(f"text {name}", id=name)])


def alter(path: Path, *statements: str) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_the_file_is_private_and_durable(tmp_path: Path) -> None:
    """Mode 0600, write-ahead log, full synchronisation, foreign keys."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        execute = store._connect().execute
        assert execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert execute("PRAGMA synchronous").fetchone() == (2,)
        assert execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert "chats.db" in repr(store)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE messages SET body = '{' WHERE seq = 1", "not JSON"),
        ("UPDATE messages SET body = '[]' WHERE seq = 1", "expected a message"),
        (
            "UPDATE messages SET id = 'z' WHERE seq = 1",
            "holds message 'u' instead of 'z'",
        ),
        ("UPDATE messages SET step = 9 WHERE seq = 1", "filed under step 9"),
        ("UPDATE messages SET kind = 2 WHERE seq = 1", "filed under step 1"),
        ("DELETE FROM messages WHERE seq = 1", "5 messages were written, 4 are there"),
        ("UPDATE messages SET seq = 99 WHERE seq = 1", "behind the end"),
        ("UPDATE conversations SET progress = '[]'", "open calls is damaged"),
        ("UPDATE conversations SET progress = '{'", "not JSON"),
        (
            'UPDATE conversations SET progress = \'[1,1,1,-1,[[2,2,1,0,"c","f"]]]\'',
            "1 calls are filed as open",
        ),
        (
            'UPDATE conversations SET progress = \'[1,1,1,-1,[["x",2,1,0,"c","f"]]]\'',
            "open calls is damaged",
        ),
        ("UPDATE calls SET body = '{}'", "required field missing"),
        (
            'UPDATE calls SET body = \'{"message":"a","position":5}\'',
            "makes no call number 5",
        ),
        ("UPDATE states SET body = '[]'", "an object expected"),
        ("DELETE FROM links", "step 2 needs row 4, and no link says so"),
        ("INSERT INTO links VALUES (1, 1, 0)", "a link says that step 1 needs row 0"),
        (
            "UPDATE messages SET kind = 0 WHERE seq = 1",
            "to step 1, turn 1, kind 1",
        ),
        (
            "UPDATE conversations SET tokens = 7",
            "7 tokens are filed; the",
        ),
        ("UPDATE messages SET tokens = 7 WHERE seq = 1", "the messages have 7"),
        (
            "UPDATE conversations SET messages = 9",
            "9 messages were written",
        ),
        (
            "UPDATE conversations SET progress = replace(progress, '[3,', '[1,')",
            "is filed as [1,3,3,-1,[]]; the messages lead to [3,3,3,-1,[]]",
        ),
        ("UPDATE conversations SET version = 0", "in a conversation at version 0"),
        ("UPDATE conversations SET version = 0", "version 1, of a conversation at"),
        ("UPDATE messages SET version = 9 WHERE seq = 1", "it is of version 9"),
        ("UPDATE messages SET version = 0 WHERE seq = 1", "behind one of version 1"),
        ("UPDATE conversations SET floor = 9", "told from version 9 on, of 1"),
        ("INSERT INTO waiting VALUES (1, 99)", "wait from row 99 on"),
        ("UPDATE calls SET state = NULL", "it says ['a', 0, 'resolved', None]"),
        ("UPDATE calls SET expires_at = 'x'", "filed as ['a', 0, 'resolved', 'x']"),
        ("UPDATE calls SET position = 7", "filed as ['a', 7, 'resolved', None]"),
        ("UPDATE calls SET version = 9", "version 9, of a conversation at version 1"),
        ("UPDATE states SET body = '{'", "not JSON"),
    ],
)
def test_damage_is_found(tmp_path: Path, statement: str, reason: str) -> None:
    """Whatever was changed: what is kept twice must agree."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        assert store.check() == ()
        alter(path, statement)

        found = store.check("chat")

        assert found
        assert any(reason in damage.reason for damage in found), found
        assert {damage.conversation for damage in found} == {"chat"}
        assert not any(damage.recovered for damage in found)


def test_a_number_that_is_filed_too_low_is_found(tmp_path: Path) -> None:
    """The next message would get an id that is taken."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        store.write("chat", user("msg-7"), expected=1)
        assert store.check() == ()
        alter(path, "UPDATE conversations SET serial = 3")
        reasons = [damage.reason for damage in store.check("chat")]
        assert "msg-7 is there; the highest is filed as 3" in reasons


def test_waiting_for_no_conversation_is_found(tmp_path: Path) -> None:
    """As messages of none are."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        alter(path, "INSERT INTO waiting VALUES (77, 0)")
        reasons = [damage.reason for damage in store.check()]
        assert "row 0 is of conversation number 77, which is not there" in reasons


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.read("chat"),
        lambda store: store.read_tail("chat", messages=9),
        lambda store: store.read_since("chat", 0),
        lambda store: store.read_messages("chat", ["u"]),
        lambda store: store.search("hello"),
        lambda store: store.delete("chat"),
    ],
    ids=["read", "tail", "since", "messages", "search", "delete"],
)
def test_a_damaged_message_is_never_read(
    tmp_path: Path, read: Callable[[SqliteStore], Any]
) -> None:
    """The error names its row."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        alter(path, "UPDATE messages SET body = '{' WHERE id = 'u'")
        with pytest.raises(CorruptStoreError, match="conversation 'chat', row 1"):
            read(store)


def test_damage_of_the_file_itself_is_found(tmp_path: Path) -> None:
    """By SQLite's own checks: pages, references, the search index."""
    path = tmp_path / "chats.db"
    with started(path) as store:
        alter(path, "INSERT INTO links VALUES (7, 7, 7)")
        [reference] = store.check()
        assert "refers to nothing" in reference.reason
        alter(path, "DELETE FROM links WHERE conversation = 7")
    data = bytearray(path.read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096 * 4] = b"\xff" * 4096 * 4
    path.write_bytes(data)

    with SqliteStore(path) as store:
        assert store.check()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not a database, however long it may be" * 100, "not a database"),
        (b"SQLite format 3\0" + b"\1" * 4_000, "chats.db"),
    ],
)
def test_files_that_are_no_databases(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    """They are refused, and stay as they are."""
    path = tmp_path / "chats.db"
    path.write_bytes(content)
    with pytest.raises((CorruptStoreError, OSError), match=reason):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_databases_that_are_not_ours(tmp_path: Path) -> None:
    """They are refused, and so is one of a newer turnkeep."""
    path = tmp_path / "theirs.db"
    alter(path, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(CorruptStoreError, match="not one of turnkeep"):
        SqliteStore(path)
    newer = tmp_path / "newer.db"
    started(newer).close()
    alter(newer, f"PRAGMA user_version = {SCHEMA + 1}")
    with pytest.raises(CorruptStoreError, match="written by a newer turnkeep"):
        SqliteStore(newer)


def test_a_failed_start_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are made whole or not at all."""
    path = tmp_path / "chats.db"
    monkeypatch.setattr(
        "turnkeep.stores._sqlite.TABLES", "CREATE TABLE a (b);\nNONSENSE"
    )
    with pytest.raises(CorruptStoreError, match="NONSENSE"):
        SqliteStore(path)
    monkeypatch.undo()
    with SqliteStore(path) as store:
        assert store.conversations() == ()


def test_waiting_for_another_writer_has_an_end(tmp_path: Path) -> None:
    """It is told, and nothing is written."""
    path = tmp_path / "chats.db"
    with started(path) as store, SqliteStore(path, timeout=0.05) as other:
        store._connect().execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match="another writer holds it"):
            other.write("chat", Change(), expected=1)
        assert other.read("chat").version == 1
        store._connect().execute("ROLLBACK")
        assert other.write("chat", Change(), expected=1) == 2


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("AND (pin IS NOT NULL OR kind = 0)", "held"),
        ("AND seq > 1 AND seq = turn", "starts"),
    ],
)
def test_what_a_window_must_hold_is_found_by_an_index(
    tmp_path: Path, condition: str, index: str
) -> None:
    """However long the conversation is: neither walks the messages."""
    with started(tmp_path / "chats.db") as store:
        where = f"FROM messages WHERE conversation = 1 {condition}"
        sql = f"EXPLAIN QUERY PLAN SELECT * {where}"
        [plan] = store._connect().execute(sql).fetchall()
        assert f"USING INDEX {index}" in plan[3]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Closing twice is fine."""
    store = started(tmp_path / "chats.db")
    store.close()
    store.close()
    with pytest.raises(ValueError, match="is closed"):
        store.read("chat")


def test_a_forked_process_opens_its_own_connection(tmp_path: Path) -> None:
    """Two processes on one connection would damage the file."""
    with started(tmp_path / "chats.db") as store:
        child = os.fork()
        if not child:  # pragma: no cover - in another process
            code = 1
            try:
                store.write("chat", Change(), expected=1)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert store.read("chat").version == 2


def test_opening_where_nothing_can_be_made(tmp_path: Path) -> None:
    """The error is Python's own."""
    with pytest.raises(OSError, match="no"):
        SqliteStore(tmp_path / "nowhere" / "chats.db")
    with pytest.raises(OSError, match="cannot be opened"):
        SqliteStore(tmp_path)


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.write("chat", user("x"), expected=2),
        lambda store: store.put_state("chat", {"a": 1}),
    ],
    ids=["append", "other"],
)
def test_a_signal_while_waiting_leaves_nothing_open(
    tmp_path: Path, write: Callable[[SqliteStore], Any]
) -> None:
    """What its handler raises comes out; the store and everybody else go on."""
    path = tmp_path / "chats.db"
    with started(path) as store, closing(another(path)) as other:
        store.write("chat", user("before"), expected=1)
        other.execute("BEGIN IMMEDIATE")
        # A handler is run when the wait is over, at the latest.
        release = Timer(0.3, other.rollback)
        release.start()
        with alarm(0.1), pytest.raises(Alarm):
            write(store)
        release.join()
        assert store.write("chat", user("after"), expected=2) == 3
        with SqliteStore(path, timeout=1) as third:
            assert third.write("chat", user("third"), expected=3) == 4


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.read("chat"),
        lambda store: store.put_state("chat", {"a": 1}),
        lambda store: store.write("chat", user("x"), expected=2),
    ],
    ids=["read", "write", "append"],
)
def test_a_store_inside_its_own_update(
    tmp_path: Path, use: Callable[[SqliteStore], Any]
) -> None:
    """It refuses; what the update makes is written whole all the same."""
    with started(tmp_path / "chats.db") as store:
        store.write("chat", user("before"), expected=1)

        def make(_news: Delta) -> Change:
            with pytest.raises(ValueError, match="inside its own update"):
                use(store)
            return user("made")

        assert store.update("chat", make, since=2).version == 3
        assert store.check() == ()
