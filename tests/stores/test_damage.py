"""Damage of any kind: noticed or harmless, never a raw error of a driver."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.stores.keeping import QUICK, demand_postgres, quick_folder, schema
from turnkeep import Message, ToolCall
from turnkeep.errors import (
    CorruptStoreError,
    TurnkeepError,
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


def shown(store: Store) -> dict[str, Any]:
    """Everything that a store tells."""
    told: dict[str, Any] = {"all": store.conversations()}
    for name in ("one", "two", "drei ü"):
        told[name] = store.read(name)
        told["tail", name] = store.read_tail(name, messages=2, held=True)
        told["since", name] = store.read_since(name, 1)
        told["some", name] = store.read_messages(name, ["msg-1", "n3"])
    for word in WORDS:
        told["search", word] = store.search(word, limit=99)
    return told


def judge(open_it: Callable[[], Store], before: dict[str, Any]) -> str:
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
            found[trial] = judge(lambda: JsonlStore(where), before)
        if damage is overwrite:  # garbage up to the very end is what crashes leave
            found.pop(62)
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
