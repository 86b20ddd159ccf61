"""One message behind a known end: the short way that stores in databases take."""

from __future__ import annotations

import asyncio
import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generators import histories, unchecked
from tests.stores.keeping import DSN, QUICK, open_at, place, quick_folder, schema
from turnkeep import Conversation, Message, ToolCall
from turnkeep.errors import (
    ConflictError,
    CorruptStoreError,
    DuplicateIdError,
    FormatError,
)
from turnkeep.stores import (
    AsyncPostgresStore,
    Change,
    Pin,
    PostgresStore,
    Row,
    SqliteStore,
    Store,
)
from turnkeep.stores._progress import Progress
from turnkeep.stores._sql_append import KNOWN
from turnkeep.stores._sql_index import WAITING
from turnkeep.turns import entry_of

SQL = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=SQL)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of an empty store in each database."""
    with quick_folder() as folder, place(request.param, folder) as made:
        yield made


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """A store there; undamaged when the test is over."""
    with open_at(address) as made:
        yield made
        assert made.check() == ()


def one(name: str, text: str = "") -> Change:
    """A change that appends a user's message."""
    return Change.of_messages([Message.user(text or f"text {name}", id=name)])


def fill(store: Store, count: int, start: int = 0, chat: str = "chat") -> int:
    """Append messages one by one; the last version."""
    version = store.read_tail(chat, messages=0).version
    for nth in range(start, start + count):
        version = store.write(chat, one(f"m{nth}"), expected=version)
    return version


def values(store: Any, sql: str) -> list[Any]:
    """What a statement gives, asked behind the store's back."""
    if isinstance(store, SqliteStore):
        return store._connect().execute(sql).fetchall()
    with store._pool.connection() as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def waits(store: Any) -> int:
    """How many messages are not in the search index yet."""
    sql = (
        "SELECT count(*) FROM waiting w JOIN messages m"
        " ON m.conversation = w.conversation AND m.seq >= w.seq"
    )
    count: int = values(store, sql)[0][0]
    return count


def ids(store: Store, chat: str = "chat") -> list[str | None]:
    """Ids of a conversation's messages."""
    return [row.message.id for row in store.read(chat).rows]


# What it costs


def test_an_append_is_five_statements_of_sqlite(tmp_path: Path) -> None:
    """It begins, moves the conversation on, adds the message and its place, commits."""
    said: list[str] = []
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat")
        store._connect().set_trace_callback(said.append)
        version = store.write("chat", one("a"), expected=1)
        store.write("chat", one("b"), expected=version)

    begin = "BEGIN IMMEDIATE"
    assert [said.count(begin), said.count("COMMIT")] == [2, 2]
    assert [text.split()[0] for text in said] == [
        *("BEGIN", "UPDATE", "INSERT", "INSERT", "COMMIT"),
        *("BEGIN", "UPDATE", "INSERT", "INSERT", "COMMIT"),
    ]


@pytest.mark.postgres
def test_an_append_is_one_journey_to_postgres() -> None:
    """Counted on the wire: the server is asked to synchronise once."""
    with PostgresStore(QUICK, schema=schema(), connections=1) as store:
        version = store.create("chat")
        with TemporaryFile("w+") as file:
            with store._pool.connection() as connection:
                connection.pgconn.trace(file.fileno())
            for nth in range(10):
                version = store.write("chat", one(f"m{nth}"), expected=version)
            with store._pool.connection() as connection:
                connection.pgconn.untrace()
            file.seek(0)
            lines = [line.strip().split("\t") for line in file]
            sent = [line[3] for line in lines if line[1] == "F"]

    # Once more for all ten: what is sent for the fifth time, psycopg prepares.
    assert sent.count("Sync") == 10 + 1
    assert "Query" not in sent


def test_what_comes_together_is_written_as_ever(store: Store) -> None:
    """Several messages, pins, notes and settings take the ordinary way."""
    store.create("chat", one("m0"))
    several = Change.of_messages([Message.user("x", id=name) for name in "ab"])
    version = store.write("chat", several, expected=1)
    for change in (
        Change(append=one("c").append, pins=[Pin("a", "step")]),
        Change(append=one("d").append, state={"x": 1}),
        Change(append=one("e").append, remove=["b"]),
        Change(append=one("f").append, replace=[Row(Message.user("y", id="a"))]),
    ):
        version = store.write("chat", change, expected=version)

    assert ids(store) == ["m0", "a", "c", "d", "e", "f"]
    assert waits(store) == 0


def test_the_ends_of_a_few_conversations_are_known(store: Store) -> None:
    """Of the others, they are looked up."""
    names = [f"chat {nth}" for nth in range(KNOWN + 1)]
    for name in names:
        store.create(name)
    for name in names:
        store.write(name, one("m"), expected=1)

    # As each is pushed out by the one before it, just before its turn.
    assert waits(store) == 0
    store.write(names[-1], one("n"), expected=2)
    assert waits(store) == 1


@given(histories(), st.data())
def test_one_by_one_is_placed_as_all_at_once(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    """Whatever is open, and wherever the one by one begins."""
    entries = [(nth, entry_of(message)) for nth, message in enumerate(history)]
    whole, end = Progress().advance(entries)
    start = data.draw(st.integers(0, len(entries)))
    placed, progress = Progress().advance(entries[:start])
    for nth, entry in entries[start:]:
        place, progress = progress.follow(nth, entry)
        placed.append(place)

    assert placed == whole
    assert progress == end
    assert Progress.load(json.loads(progress.text())) == progress


# What others do


def test_a_stale_end_is_noticed(address: str, store: Store) -> None:
    """Two stores write by turns: each is told what the other did, and goes on."""
    store.create("chat")
    with open_at(address) as other:
        mine = fill(store, 2)
        theirs = other.write("chat", one("x"), expected=mine)
        with pytest.raises(ConflictError, match="changed: x") as caught:
            store.write("chat", one("late"), expected=mine)
        assert caught.value.actual == theirs
        mine = store.write("chat", one("y"), expected=theirs)
        with pytest.raises(ConflictError, match="changed: y"):
            other.write("chat", one("late"), expected=theirs)
        mine = store.write("chat", one("z"), expected=mine)

    assert ids(store) == ["m0", "m1", "x", "y", "z"]
    assert store.read("chat").version == mine


def test_a_conversation_of_the_same_name_is_another_one(
    address: str, store: Store
) -> None:
    """Even where its version is the same: the message finds its place in it."""
    store.create("chat")
    version = fill(store, 2)
    call = Message.assistant(tool_calls=[ToolCall("c", "f")], id="a")
    with open_at(address) as other:
        other.delete("chat")
        other.create("chat", one("q"))
        other.write("chat", Change.of_messages([call]), expected=1)
        assert other.write("chat", one("later"), expected=2) == version

    answer = Message.tool_result("c", "done", id="r")
    store.write("chat", Change.of_messages([answer]), expected=version)

    assert ids(store) == ["q", "a", "later", "r"]
    assert store.check("chat") == ()


def test_a_conversation_that_is_gone(address: str, store: Store) -> None:
    """It is not written to."""
    store.create("chat")
    version = fill(store, 1)
    with open_at(address) as other:
        other.delete("chat")

    with pytest.raises(LookupError):
        store.write("chat", one("x"), expected=version)


def test_an_id_that_is_taken(store: Store) -> None:
    """By the unique index, with the error of old; the end stays known."""
    store.create("chat")
    version = fill(store, 2)

    with pytest.raises(DuplicateIdError, match="m0"):
        store.write("chat", one("m0"), expected=version)

    assert ids(store) == ["m0", "m1"]
    waiting = waits(store)
    store.write("chat", one("m2"), expected=version)
    assert waits(store) == waiting + 1


def test_what_cannot_be_stored_is_refused_as_ever(store: Store) -> None:
    """A message without an id, or with one that no database keeps."""
    store.create("chat")
    version = fill(store, 1)
    with pytest.raises(ValueError, match="needs an id"):
        store.write("chat", Change.of_messages([Message.user("x")]), expected=version)
    with pytest.raises(FormatError, match="cannot be stored"):
        store.write("chat", one("a\0b"), expected=version)
    bad = unchecked(Message.user("x", id="bad"), token_count=math.nan)
    with pytest.raises(FormatError, match="whole number, found nan"):
        store.write("chat", Change.of_messages([bad]), expected=version)
    assert ids(store) == ["m0"]


def test_late_results_are_linked(store: Store) -> None:
    """A result that does not follow its call takes the ordinary way, and is found."""
    store.create("chat", one("q"))
    call = Message.assistant(tool_calls=[ToolCall("c", "f")], id="a")
    version = store.write("chat", Change.of_messages([call]), expected=1)
    version = store.write("chat", one("meanwhile"), expected=version)
    late = Message.tool_result("c", "done", id="r")
    store.write("chat", Change.of_messages([late]), expected=version)

    tail = store.read_tail("chat", messages=1, held=True)
    assert [row.message.id for row in tail.rows] == ["q", "a", "r"]


def test_a_forked_process_knows_no_more_than_the_file(tmp_path: Path) -> None:
    """Parent and child go on from the same end: one of them is told."""
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat")
        version = fill(store, 2)
        child = os.fork()
        if not child:  # pragma: no cover - in another process
            code = 1
            try:
                store.write("chat", one("child"), expected=version)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        with pytest.raises(ConflictError, match="changed: child"):
            store.write("chat", one("parent"), expected=version)
        store.write("chat", one("parent"), expected=version + 1)
        assert ids(store) == ["m0", "m1", "child", "parent"]
        assert store.check() == ()


def test_a_full_disk_leaves_the_end_known(tmp_path: Path) -> None:
    """Nothing is written, and the same append succeeds once there is room."""
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat")
        version = fill(store, 2)
        execute = store._connect().execute
        pages = execute("PRAGMA page_count").fetchone()[0]
        execute(f"PRAGMA max_page_count = {pages}")
        large = one("large", "x" * 50_000)
        with pytest.raises(OSError, match="nothing was written") as caught:
            store.write("chat", large, expected=version)
        assert caught.value.errno == errno.ENOSPC
        execute(f"PRAGMA max_page_count = {2**30}")
        version = store.write("chat", large, expected=version)
        store.write("chat", one("next"), expected=version)
        assert ids(store) == ["m0", "m1", "large", "next"]
        assert store.check() == ()


def test_another_writer_of_the_file_is_waited_for(tmp_path: Path) -> None:
    """Not for ever; nothing is written then."""
    path = tmp_path / "chats.db"
    with SqliteStore(path, timeout=0.05) as store, SqliteStore(path) as other:
        store.create("chat")
        version = fill(store, 1)
        other._connect().execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match="another writer holds it"):
            store.write("chat", one("x"), expected=version)
        other._connect().execute("ROLLBACK")
        store.write("chat", one("x"), expected=version)
        assert ids(store) == ["m0", "x"]


@pytest.mark.postgres
def test_another_writer_of_the_conversation_is_waited_for() -> None:
    """Whoever holds its row goes first, and the one who waits is told."""
    name = schema()
    with (
        PostgresStore(QUICK, schema=name) as store,
        PostgresStore(DSN, schema=name) as other,
    ):
        store.create("chat")
        version = fill(store, 2)
        caught: list[ConflictError] = []

        def late() -> None:
            try:
                store.write("chat", one("late"), expected=version)
            except ConflictError as error:
                caught.append(error)

        thread = Thread(target=late)

        def make(_news: object) -> Change:
            thread.start()
            thread.join(0.1)
            assert thread.is_alive()
            return one("first")

        other.update("chat", make, since=version)
        thread.join(30)
        assert [error.changed for error in caught] == [("first",)]
        assert ids(store) == ["m0", "m1", "first"]


@pytest.mark.postgres
def test_a_connection_that_breaks_in_an_append_is_told() -> None:
    """The next one works, and the end is still known."""
    with PostgresStore(QUICK, schema=schema(), connections=1) as store:
        store.create("chat")
        version = fill(store, 2)
        [[mine]] = values(store, "SELECT pg_backend_pid()")
        with psycopg.connect(DSN, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (mine,))
        with pytest.raises(ConnectionError, match="PostgreSQL"):
            store.write("chat", one("x"), expected=version)
        version = store.write("chat", one("y"), expected=version)
        assert ids(store) == ["m0", "m1", "y"]


@pytest.mark.postgres
def test_the_same_for_asyncio() -> None:
    """The same statement, awaited."""
    name = schema()

    async def work() -> None:
        opening = AsyncPostgresStore.open(QUICK, schema=name, connections=1)
        async with await opening as store:
            version = await store.create("chat")
            for nth in range(2 * WAITING):
                version = await store.write("chat", one(f"m{nth}"), expected=version)
            with pytest.raises(DuplicateIdError):
                await store.write("chat", one("m0"), expected=version)
            with PostgresStore(QUICK, schema=name) as other:
                other.write("chat", one("x"), expected=version)
                assert waits(other) < WAITING
            with pytest.raises(ConflictError, match="changed: x"):
                await store.write("chat", one("y"), expected=version)
            assert len(await store.search("text", limit=999)) == 2 * WAITING + 1
            async with store._pool.connection() as connection:
                pid = connection.info.backend_pid
            version = await store.write("chat", one("y"), expected=version + 1)
            with psycopg.connect(DSN, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            with pytest.raises(ConnectionError, match="PostgreSQL"):
                await store.write("chat", one("z"), expected=version)
            assert (await store.read("chat")).version == version
            assert await store.check() == ()

    asyncio.run(work())


# What waits to be indexed


def test_what_waits_is_found(store: Store) -> None:
    """A search's answer never shows what is in the index and what is not."""
    store.create("chat")
    store.create("other", one("m0", "text elsewhere"))
    for nth in range(2 * WAITING + 3):
        fill(store, 1, nth)
        found = store.search("text", conversation_id="chat", limit=999)
        assert [hit.message.id for hit in found] == ids(store)[::-1]
    assert 0 < waits(store) < WAITING

    newest = store.search("text", limit=3)
    assert [hit.conversation for hit in newest].count("other") == 1
    assert len(store.search("text", limit=999)) == 2 * WAITING + 4
    [hit] = store.search("TEXT m7")
    assert hit.message.id == "m7"
    assert store.search("text nobody") == ()
    assert store.search("text", conversation_id="other")[0].conversation == "other"


def test_what_waits_can_be_changed_and_removed(store: Store) -> None:
    """Search follows, as it does with what has been indexed."""
    store.create("chat")
    version = fill(store, 3)
    assert waits(store) == 3
    fresh = Change(replace=[Row(Message.user("fresh words", id="m1"))], remove=["m0"])
    version = store.write("chat", fresh, expected=version)
    assert [hit.message.id for hit in store.search("text")] == ["m2"]
    assert [hit.message.id for hit in store.search("fresh")] == ["m1"]

    version = store.write("chat", one("m9"), expected=version)
    store.compact("chat")
    assert waits(store) == 0
    assert [hit.message.id for hit in store.search("text")] == ["m9", "m2"]

    store.write("chat", one("m10"), expected=version)
    assert waits(store) == 1
    assert store.delete("chat")
    assert waits(store) == 0
    assert store.search("text") == ()


def test_messages_without_words_wait_for_nothing(store: Store) -> None:
    """They are no trouble."""
    store.create("chat")
    version = 1
    for nth in range(WAITING):
        silent = Change.of_messages([Message.user("", id=f"m{nth}")])
        version = store.write("chat", silent, expected=version)
    assert waits(store) < 2
    fill(store, 1, WAITING)
    assert waits(store) < 3
    assert len(store.search("text")) == 1


def test_damage_of_what_waits_stops_nobody(address: str) -> None:
    """Others are indexed; a search, which would pass over it, says so."""
    with open_at(address) as store:
        store.create("chat")
        fill(store, WAITING - 2)
        [[body]] = values(store, "SELECT body FROM messages WHERE id = 'm5'")
        values(store, "UPDATE messages SET body = '{' WHERE id = 'm5'")
        store.create("other")
        fill(store, WAITING, chat="other")

        assert waits(store) < WAITING - 2 + WAITING
        assert len(store.search("text", conversation_id="other", limit=999)) == WAITING
        with pytest.raises(CorruptStoreError, match="row 5"):
            store.search("text", conversation_id="chat")
        assert {damage.where for damage in store.check()} == {"messages, row 5"}

        several = Change.of_messages([Message.user("text", id=name) for name in "ab"])
        version = store.write("chat", several, expected=WAITING - 1)
        mend = f"UPDATE messages SET body = '{body}' WHERE id = 'm5'"  # noqa: S608
        values(store, mend)
        assert len(store.search("text", conversation_id="chat")) == 20
        store.write("chat", Change(remove=["a", "m6"]), expected=version)
        found = store.search("text", conversation_id="chat", limit=999)
        assert [hit.message.id for hit in found] == ids(store)[::-1]
        assert waits(store) == 0
        assert store.check() == ()


def test_messages_of_no_conversation_are_found(address: str) -> None:
    """In PostgreSQL no foreign key keeps them from being left behind."""
    with open_at(address) as store:
        store.create("chat", one("m0"))
        if isinstance(store, SqliteStore):
            values(store, "PRAGMA foreign_keys = OFF")
        values(store, "DELETE FROM conversations")
        found = [
            damage.reason for damage in store.check() if damage.where == "messages"
        ]
        assert len(found) == 1
        assert "row 0 is of conversation number" in found[0]


def test_each_message_is_indexed_once(tmp_path: Path) -> None:
    """However it came, waited and changed: what the index holds is what is there."""
    with SqliteStore(tmp_path / "chats.db") as store:
        store.create("chat", one("first"))
        version = fill(store, WAITING + 5)
        several = Change.of_messages([Message.user("text", id=name) for name in "ab"])
        version = store.write("chat", several, expected=version)
        version = store.write("chat", one("c"), expected=version)
        fresh = Change(replace=[Row(Message.user("fresh", id="c"))], remove=["a", "m1"])
        version = store.write("chat", fresh, expected=version)
        fill(store, 1, 999)
        store.compact("chat")
        values(
            store,
            "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, search_index, row)",
        )
        terms = dict(values(store, "SELECT term, cnt FROM temp.terms"))

    assert terms["text"] == 1 + (WAITING + 5 - 1) + 1 + 1
    assert terms["fresh"] == terms["m0"] == terms["m999"] == 1
    assert {"m1", "c"}.isdisjoint(terms)


@pytest.mark.postgres
def test_what_the_dead_left_waiting_is_indexed_when_a_store_is_opened() -> None:
    """Nobody else would do it."""
    name = schema()
    store = PostgresStore(QUICK, schema=name)
    store.create("chat")
    fill(store, 5)
    assert waits(store) == 5
    with closing(PostgresStore(QUICK, schema=name)) as other:
        assert waits(other) == 0
        assert len(other.search("text")) == 5
    store.close()


def test_a_conversation_appends_the_short_way(store: Store) -> None:
    """Not only whoever writes changes by hand."""
    chat = Conversation.open(store, "chat", token_counter="approximate")
    chat.user("hello")
    before = waits(store)
    chat.assistant("hi")
    chat.user("more")

    assert waits(store) == before + 2
