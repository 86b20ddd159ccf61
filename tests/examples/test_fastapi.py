"""The FastAPI example: two workers, one chat, 24 clients at once."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stores.keeping import DSN, demand_postgres, schema
from tests.strict.provider import StrictProvider
from tests.strict.scripts import Answer, Seen
from turnkeep.stores import PostgresStore

EXAMPLES = Path(__file__).parents[2] / "examples"
CLIENTS = 24
RULE = "Never promise a refund."


def script(seen: Seen) -> Answer:
    """An answer that says what it answers."""
    return Answer(f"You asked: {seen.question} " + "So it is. " * 20)


@contextmanager
def served(provider: StrictProvider, name: str) -> Iterator[str]:
    """The example, in two workers; where it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "DATABASE_URL": DSN,
        "SCHEMA": name,
        "MAX_TOKENS": "1500",
        "OPENAI_API_KEY": "unused",
        "OPENAI_BASE_URL": provider.openai_url,
    }
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES)]
    command += ["--workers", "2", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(  # noqa: S603 - our own example
        [*command, "fastapi_chat:app"], env=environment
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


async def both_answer(url: str) -> dict[str, dict[str, Any]]:
    """What each of the two workers says of the chat."""
    seen: dict[str, dict[str, Any]] = {}
    until = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < until:
        # A connection goes to whichever worker takes it: so many at once.
        async with httpx.AsyncClient(timeout=60) as client:
            gets = [client.get(f"{url}/chats/team") for _ in range(8)]
            for got in await asyncio.gather(*gets, return_exceptions=True):
                if isinstance(got, httpx.Response) and got.status_code == 200:
                    seen[got.json()["worker"]] = got.json()
        await asyncio.sleep(0.1)
    assert len(seen) == 2
    return seen


async def ask_at_once(url: str) -> list[httpx.Response]:
    """24 clients, each on a connection of its own."""

    async def one(nth: int) -> httpx.Response:
        async with httpx.AsyncClient(timeout=60) as client:
            return await client.post(f"{url}/chats/team", json=f"question {nth}")

    return await asyncio.gather(*map(one, range(CLIENTS)))


async def hang_up(url: str, nth: int) -> None:
    """Ask, and leave as soon as the answer begins."""
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", f"{url}/chats/team", json=f"left {nth}") as answer,
    ):
        assert answer.status_code == 200


@pytest.mark.postgres
def test_two_workers_and_one_chat() -> None:
    """Each question and each answer is there once, and no request was refused."""
    pytest.importorskip("fastapi", reason="group tests: fastapi is not installed")
    demand_postgres()
    name = schema()

    async def work(url: str) -> None:
        await both_answer(url)
        answers = await ask_at_once(url)
        assert [a.status_code for a in answers] == [200] * CLIENTS
        left, right = (await both_answer(url)).values()
        assert left["messages"] == right["messages"]
        assert left["version"] == right["version"]
        texts = Counter(m["text"] for m in left["messages"] if m["role"] == "user")
        assert texts == {f"question {nth}": 1 for nth in range(CLIENTS)}
        said = [m["text"] for m in left["messages"] if m["role"] == "assistant"]
        assert sorted(said) == sorted(a.text for a in answers)

        await asyncio.gather(*(hang_up(url, nth) for nth in range(8)))
        answers = await ask_at_once(url)
        assert [a.status_code for a in answers] == [200] * CLIENTS

    with StrictProvider(script) as provider, served(provider, name) as url:
        asyncio.run(work(url))
        assert provider.refused == []
        windows = [r.seen.text for r in provider.requests if r.seen is not None]
        assert all(RULE in text for text in windows)
        # Most of it was left out by then.
        assert max(map(len, windows)) < sum(len(script(Seen(())).text) for _ in windows)

    with PostgresStore(DSN, schema=name) as store:
        assert store.check() == ()
        rows = store.read("team").rows
        roles = Counter(str(row.message.role) for row in rows)
        assert roles["system"] == 1
        assert roles["user"] == 2 * CLIENTS + 8
        assert 2 * CLIENTS <= roles["assistant"] <= 2 * CLIENTS + 8
        for row in rows:
            if row.message.role == "assistant":
                assert row.message.text.endswith("So it is. ")
        left = [row for row in rows if row.message.text.startswith("left")]
        assert len(left) == 8
