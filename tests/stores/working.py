"""What other processes do in the tests of crashes and concurrency."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random
from typing import Any

from tests.stores.keeping import open_at
from turnkeep import AlreadyResolvedError, ConflictError, Conversation
from turnkeep.model import Message
from turnkeep.stores import Change, Pin

CHAT = "chat"


def context() -> ForkServerContext:
    """Processes that start fast: forked from one that has loaded everything."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(
        ["tests.stores.working", "turnkeep.stores._jsonl", "turnkeep.tokens"]
    )
    return made


def write_until_killed(address: str, trial: int, out: Connection) -> None:
    """Append, now one and now three at once, pin, and tell what was acknowledged."""
    random = Random(trial)
    with open_at(address) as store:
        version = store.read_tail(CHAT, messages=0).version
        for nth in range(10_000):
            name = f"t{trial}-{nth}"
            names = [f"{name}.{part}" for part in range(random.choice([1, 1, 3]))]
            text = "x" * random.choice([10, 1_000, 30_000])
            change = Change.of_messages(
                [Message.user(text, id=one) for one in names], tokens=[7] * len(names)
            )
            out.send(("begin", names))
            version = store.write(CHAT, change, expected=version)
            out.send(("done", names))
            if random.random() < 0.2:
                pins = [Pin(names[0], "step")]
                version = store.write(CHAT, Change(pins=pins), expected=version)
                out.send(("pinned", names[:1]))


def write_until_refused(address: str, limit: int, uid: int, out: Connection) -> None:
    """Append until the operating system refuses; tell what was acknowledged, and why.

    Args:
        address:
            Of the store.
        limit:
            Bytes that a file may have; 0 for no limit.
        uid:
            Whom to become first; 0 for nobody else.
        out:
            Where to tell.
    """
    if uid:
        os.setuid(uid)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done: list[str] = []
    try:
        with contextlib.closing(open_at(address)) as store:
            version = store.read_tail(CHAT, messages=0).version
            for nth in range(10_000):
                message = Message.user("x" * 5_000, id=f"full-{nth}")
                change = Change.of_messages([message])
                version = store.write(CHAT, change, expected=version)
                done.append(f"full-{nth}")
    except OSError as error:
        out.send((done, str(error)))


def append_many(address: str, worker: int, count: int, out: Connection) -> None:
    """Append *count* messages next to others; tell how many conflicts there were.

    Even workers go behind whatever is there; odd ones are told of each conflict.
    """
    conflicts = 0
    with open_at(address) as store:
        chat = Conversation.open(store, CHAT)
        for nth in range(count):
            message = Message.user(f"w{worker}-{nth}")
            while True:
                try:
                    chat.append(message, rebase=worker % 2 == 0)
                    break
                except ConflictError:
                    conflicts += 1
        out.send(conflicts)


def resolve_all(
    address: str, worker: int, calls: list[str], start: Barrier, out: Connection
) -> None:
    """Try to resolve each call; tell which ones this worker was the first to."""
    won: list[str] = []
    with open_at(address) as store:
        chat = Conversation.open(store, CHAT)
        for call in calls:
            start.wait(30)
            with contextlib.suppress(AlreadyResolvedError):
                chat.resolve(call, f"by {worker}")
                won.append(call)
    out.send(won)


def together(target: Callable[..., None], jobs: list[tuple[Any, ...]]) -> list[Any]:
    """Run *target* once for each job, all at the same time; what each of them tells."""
    running = []
    for job in jobs:
        here, there = context().Pipe(duplex=False)
        process = context().Process(target=target, args=(*job, there))
        process.start()
        there.close()
        running.append((process, here))
    told = []
    for process, here in running:
        told.append(here.recv())
        process.join(60)
        assert process.exitcode == 0
    return told


def size_of(address: str) -> int:
    """Bytes of the largest file of a store."""
    place = Path(address.partition(":")[2])
    files = place.iterdir() if place.is_dir() else [place, Path(f"{place}-wal")]
    return max(file.stat().st_size for file in files if file.exists())
