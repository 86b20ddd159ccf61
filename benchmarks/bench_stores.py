"""Keeping conversations: appends, files, and opening the newest part.

``pytest benchmarks/bench_stores.py -s`` times it and prints the ratios;
``--benchmark-disable`` only checks the results. Promised:

- a durable append costs at most 1.5 times a bare `INSERT` and commit of the same bytes,
  made in the same way, in the same store. Measured where it is hardest: with logs that
  do not grow any more, on which a commit is cheapest. Where a disk synchronises in 0.1
  ms the medians lie between 1.35 and 1.6; where it takes longer, below. The second
  figure takes in what every 64th append does for all of them, the search index;
- saving and loading 100,000 messages of about 1 kB costs at most four times
  `orjson.dumps` and `orjson.loads` of the same;
- opening a conversation of 100,000 messages for a window of 8,000 tokens reads about
  what the window keeps (asserted here and in the tests, in rows).
"""

import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import psycopg
import pytest
from psycopg import sql

from tests.stores.keeping import DSN, demand_postgres, schema
from turnkeep import Budget, Conversation, Message, ToolCall
from turnkeep.serial import dump_message, dumps
from turnkeep.stores import Change, JsonlStore, PostgresStore, SqliteStore, Store

COUNT = 100_000
BODY = "About a kilobyte of text, as a chat has it. " * 22
ROUNDS = 200
OPTIONS: dict[str, Any] = {"token_counter": "approximate"}


def message(nth: int) -> Message:
    """A message of about 1 kB."""
    make = Message.user if nth % 2 == 0 else Message.assistant
    return make(f"{nth} {BODY}", id=f"m{nth}")


def appending(store: Store) -> Callable[[], None]:
    """Append a message, durably, each time it is called."""
    version = store.create("chat")
    rows = iter(range(10**9))

    def append() -> None:
        nonlocal version
        change = Change.of_messages([message(next(rows))], tokens=[230], counter="x")
        version = store.write("chat", change, expected=version)

    return append


def inserting(execute: Callable[[str], None]) -> Callable[[], None]:
    """Insert the same bytes, made in the same way, and nothing else."""
    rows = iter(range(10**9))
    return lambda: execute(dumps(dump_message(message(next(rows)))).decode())


def bare_sqlite(path: Path) -> Generator[Callable[[], None], None, None]:
    """The same bytes into a plain table of SQLite, as durable."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE messages (n INTEGER PRIMARY KEY, body TEXT)")
        insert = "INSERT INTO messages (body) VALUES (?)"
        yield inserting(lambda body: connection.execute(insert, (body,)).close())


def bare_postgres(name: str) -> Generator[Callable[[], None], None, None]:
    """The same bytes into a plain table of PostgreSQL, as durable."""
    with psycopg.connect(DSN, autocommit=True) as connection:
        table = sql.Identifier(name, "bare")
        make = "CREATE TABLE {} (n BIGSERIAL PRIMARY KEY, body TEXT)"
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        connection.execute(sql.SQL(make).format(table))
        insert = sql.SQL("INSERT INTO {} (body) VALUES (%s)").format(table)
        yield inserting(lambda body: connection.execute(insert, (body,)).close())


def timed(call: Callable[[], object], rounds: int) -> list[float]:
    """The times of calls one after the other, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def best_of(call: Callable[[], object], rounds: int) -> float:
    """The median time of one call, in seconds."""
    return median(timed(call, rounds))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.benchmark(group="durable append of 1 kB")
def bench_durable_append(kind: str, tmp_path: Path, benchmark: Any) -> None:
    """Versions, search index, steps and turns come at little more than the commit."""
    store: Store
    if kind == "sqlite":
        store = SqliteStore(tmp_path / "chats.db")
        bare = bare_sqlite(tmp_path / "bare.db")
    else:
        demand_postgres()
        name = schema()
        store = PostgresStore(DSN, schema=name, connections=1)
        bare = bare_postgres(name)
    with store:
        append, insert = appending(store), next(bare)
        if not benchmark.disabled:
            # A log that still grows costs more at each commit than one that is used
            # again, and the bare one grows for longer: until neither does.
            timed(append, 300)
            timed(insert, 1_200)
            # By turns, so that a busy disk slows both.
            pairs = [(timed(append, 64), timed(insert, 64)) for _ in range(20)]
            each = median(median(ours) / median(theirs) for ours, theirs in pairs)
            whole = median(sum(ours) / sum(theirs) for ours, theirs in pairs)
            print(
                f"\n{kind}: an append costs {each:.2f} bare inserts of"
                f" {1e6 * median(median(theirs) for _, theirs in pairs):.0f} us;"
                f" {whole:.2f} with what is done for 64 together"
            )
        benchmark.pedantic(append, rounds=ROUNDS, iterations=1)
        assert len(store.read_tail("chat", messages=5).rows) in (1, 5)
        bare.close()


@pytest.mark.benchmark(group="append to a log")
def bench_append_to_a_log(tmp_path: Path, benchmark: Any) -> None:
    """One line, synchronised; however long the file is."""
    with JsonlStore(tmp_path / "logs") as store:
        benchmark.pedantic(appending(store), rounds=ROUNDS, iterations=1)
        assert store.check() == ()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 messages of about 1 kB in a file of ours."""
    chat = Conversation(**OPTIONS)
    chat.replace_messages(message(nth) for nth in range(COUNT))
    path = tmp_path_factory.mktemp("saved") / "chat.json"
    chat.save(path)
    return path


@pytest.mark.benchmark(group="save 100,000 messages")
def bench_save(saved: Path, tmp_path: Path, benchmark: Any) -> None:
    """Whole, synchronised and renamed."""
    chat = Conversation.load(saved, **OPTIONS)
    document = chat.to_json()
    path = tmp_path / "again.json"

    benchmark.pedantic(chat.save, args=(path,), rounds=3, iterations=1)

    if not benchmark.disabled:
        base = best_of(lambda: orjson.dumps(document, default=list), 3)
        print(f"\nsave: {benchmark.stats.stats.min / base:.2f} times orjson.dumps")
    assert path.read_bytes() == saved.read_bytes()


@pytest.mark.benchmark(group="load 100,000 messages")
def bench_load(saved: Path, benchmark: Any) -> None:
    """Messages, ids, steps and turns; counting waits."""
    data = saved.read_bytes()

    chat = benchmark.pedantic(Conversation.load, args=(saved,), rounds=3, iterations=1)

    if not benchmark.disabled:
        base = best_of(lambda: orjson.loads(data), 3)
        print(f"\nload: {benchmark.stats.stats.min / base:.2f} times orjson.loads")
    assert len(chat) == COUNT


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """100,000 messages in SQLite, with a pin and an open call far back."""
    messages = [Message.system("Be brief.", id="s")]
    messages += [Message.user("Remember Orion.", id="pin", pinned=True)]
    messages += [Message.user("Build.", id="q")]
    messages += [Message.assistant(tool_calls=[ToolCall("c", "build")], id="open")]
    messages += [message(nth) for nth in range(COUNT - 4)]
    change = Change.of_messages(
        messages, tokens=[230] * COUNT, counter="approximate/openai"
    )
    with SqliteStore(tmp_path_factory.mktemp("large") / "chats.db") as store:
        store.create("chat", change)
        yield store


@pytest.mark.benchmark(group="open the newest part of 100,000 messages")
def bench_open_the_newest_part(large: SqliteStore, benchmark: Any) -> None:
    """Rows read are about those that the window keeps."""
    budget = Budget(8_000)

    def window() -> tuple[int, int]:
        chat = Conversation.open(large, "chat", tail=8_000, budget=budget, **OPTIONS)
        shown = {message.id for message in chat.fit().messages}
        assert {"s", "pin", "q", "open"} <= shown
        assert not chat.is_whole
        return len(shown), len(chat.pending)

    kept, pending = benchmark(window)

    read = large.read_tail("chat", tokens=8_000, held=True).rows_read
    benchmark.extra_info |= {"rows_read": read, "kept": kept}
    print(f"\n{read} rows read for a window of {kept}")
    assert pending == 1
    # What the trigger lets stand before a cut, and at most one chunk too many.
    assert read <= 8_000 // 230 + 64 + 20
