"""Writers that are killed, disks that are full or read-only."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest
from psycopg.conninfo import make_conninfo

from tests.stores.keeping import (
    DSN,
    KINDS,
    demand_postgres,
    open_at,
    place,
    quick_folder,
    schema,
)
from tests.stores.working import (
    CHAT,
    context,
    size_of,
    together,
    write_until_killed,
    write_until_refused,
)
from turnkeep.model import Message
from turnkeep.stores import Change, PostgresStore, Store

CRASHES = int(os.environ.get("TURNKEEP_CRASHES", "50"))
"""How many writers are killed for each store; 500 in the nightly run."""

NOBODY = 65_534


def crash(address: str, trial: int) -> tuple[list[str], list[str], list[str]]:
    """Kill a writer at a random moment.

    Returns:
        Ids that were acknowledged, those begun but not acknowledged, those pinned.
    """
    random = Random(trial)
    here, there = context().Pipe(duplex=False)
    writer = context().Process(target=write_until_killed, args=(address, trial, there))
    writer.start()
    there.close()
    told = [here.recv() for _ in range(random.randint(1, 8))]
    time.sleep(random.random() * 0.003)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    while True:
        try:
            told.append(here.recv())
        except EOFError:
            break
    here.close()
    done = [name for what, names in told if what == "done" for name in names]
    begun = [name for what, names in told if what == "begin" for name in names]
    pinned = [name for what, names in told if what == "pinned" for name in names]
    return done, [name for name in begun if name not in done], pinned


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_writer_loses_nothing_it_was_told_of(kind: str) -> None:
    """Every acknowledged append is there, every write whole, and the store opens."""
    # Fifty to a store: each crash is followed by a look at everything before it.
    for start in range(0, CRASHES, 50):
        trials = range(start, min(start + 50, CRASHES))
        with quick_folder() as folder, place(kind, folder) as address:
            assert_survives(address, trials)


def assert_survives(address: str, trials: range) -> None:
    """Kill one writer after the other."""
    expected: list[str] = []
    with open_at(address) as store:
        store.create(CHAT)
    for trial in trials:
        done, begun, pinned = crash(address, trial)
        with open_at(address) as store:
            found = [row.message for row in store.read(CHAT).rows]
            fresh = [m.id for m in found[len(expected) :]]
            assert fresh in (done, [*done, *begun])
            expected += [name for name in fresh if name is not None]
            pins = {message.id for message in found if message.pinned}
            assert pins >= set(pinned)
    with open_at(address) as store:
        damage = store.check()
        assert all(item.recovered for item in damage)
        assert [row.message.id for row in store.read(CHAT).rows] == expected
        assert len(expected) == len(set(expected))


def prepare(store: Store) -> None:
    """A conversation with something in it."""
    store.create(CHAT, Change.of_messages([Message.user("first", id="first")]))


def assert_intact(address: str, done: list[str]) -> None:
    """What was acknowledged is there, nothing else is, and writing goes on."""
    with open_at(address) as store:
        found = store.read(CHAT)
        assert [row.message.id for row in found.rows] == ["first", *done]
        assert store.check() == ()
        message = Message.user("after", id="after")
        store.write(CHAT, Change.of_messages([message]), expected=found.version)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_full_disk_is_a_clear_error(kind: str) -> None:
    """The old state is intact, and writing goes on when there is room again."""
    with quick_folder() as folder, place(kind, folder) as address:
        with open_at(address) as store:
            prepare(store)
        limit = size_of(address) + 60_000

        [(done, reason)] = together(write_until_refused, [(address, limit, 0)])

        assert "nothing was written" in reason
        assert len(done) >= 3
        assert_intact(address, done)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_read_only_disk_is_a_clear_error(kind: str) -> None:
    """Nothing is written, and the error names the file."""
    with quick_folder() as folder, place(kind, folder) as address:
        with open_at(address) as store:
            prepare(store)
        where = Path(address.partition(":")[2])
        inside = list(where.iterdir()) if where.is_dir() else []
        things = [*inside, *folder.iterdir()]
        for thing in things:
            thing.chmod(0o555 if thing.is_dir() else 0o444)
        folder.chmod(0o555)

        # Root may write anything, so another user tries.
        uid = NOBODY if os.geteuid() == 0 else 0
        [(done, reason)] = together(write_until_refused, [(address, 0, uid)])

        for thing in (folder, *things):
            thing.chmod(0o700)
        assert done == []
        assert where.name in reason
        assert_intact(address, [])


@pytest.mark.postgres
def test_a_read_only_server_is_a_clear_error() -> None:
    """Nothing is written; reading goes on."""
    demand_postgres()
    name = schema()
    with PostgresStore(DSN, schema=name) as store:
        prepare(store)
    options = "-c default_transaction_read_only=on"
    with pytest.raises(OSError, match="read-only"):
        PostgresStore(make_conninfo(DSN, options=options), schema=f"{name}_other")
    assert_intact(f"postgres:{name}", [])
