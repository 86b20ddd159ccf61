"""What the proxy costs: a request of a known session, a new one, others meanwhile.

``pytest benchmarks/bench_proxy.py -s`` prints the figures. Everything is measured
against the same relay without fitting (a model that is left alone), in turns, in the
same run. The proxy and its upstream are processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from statistics import median, quantiles
from typing import Any

import attrs
import httpx
import pytest

from benchmarks._tools import PROMISES, Promise
from tests.proxy.upstream import await_server, free_port

UPSTREAM = """
import asyncio, sys, uvicorn
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    stream = scope["path"] == "/ticks"
    kind = b"text/event-stream" if stream else b"application/json"
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", kind)]})
    for _ in range(400 if stream else 0):
        await send({"type": "http.response.body", "body": b"data: 1\\n\\n",
                    "more_body": True})
        await asyncio.sleep(0.005)
    await send({"type": "http.response.body", "body": b"" if stream else b"{}"})
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False)
"""
FITTED, LEFT = "claude-opus-4-8", "claude-left-alone"


@attrs.frozen
class Place:
    """A proxy that runs."""

    url: str
    upstream: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A proxy with a budget of a quarter of the large body, and its upstream."""
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "proxy.toml").write_text(f'exclude = ["{LEFT}"]\n')
    (folder / "upstream.py").write_text(UPSTREAM)
    ports = free_port(), free_port()
    url, upstream = (f"http://127.0.0.1:{port}" for port in ports)
    proxy = [
        *(sys.executable, "-m", "turnkeep.cli", "proxy", "--port", str(ports[0])),
        *("--upstream", upstream, "--budget", "20k", "--config", "proxy.toml"),
    ]
    server = [sys.executable, "upstream.py", str(ports[1])]
    running = [
        subprocess.Popen(one, cwd=folder, stderr=subprocess.DEVNULL)  # noqa: S603
        for one in (server, proxy)
    ]
    try:
        for one in (url, upstream):
            await_server(one)
        yield Place(url, upstream)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)


def messages(kilobytes: int, name: str) -> list[Any]:
    """An agent's list of about that size."""
    made: list[Any] = [{"role": "user", "content": f"Session {name}: do the task."}]
    size = 0
    while size < kilobytes * 1_000:
        step = _step(len(made), name)
        made += step
        size += len(json.dumps(step))
    return made


def _step(nth: int, name: str) -> list[Any]:
    chosen = random.Random(f"{name}{nth}")
    words = " ".join(
        f"src/{name}/file{chosen.randrange(400)}.py" if n % 20 == 0 else _word(chosen)
        for n in range(200)
    )
    call = {"type": "tool_use", "id": f"toolu_{nth}", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{nth}", "content": words}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def _word(chosen: random.Random) -> str:
    """A word of a vocabulary of 3,000, short ones most often, as in texts."""
    return f"w{int(3_000 * chosen.random() ** 3):x}ord"


def body(model: str, listed: Sequence[Any]) -> bytes:
    """A request of Anthropic's."""
    tool = {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
    made = {"model": model, "max_tokens": 999, "tools": [tool], "messages": listed}
    return json.dumps(made).encode()


def asked(client: httpx.Client, url: str, raw: bytes) -> float:
    """Milliseconds of a request."""
    started = time.perf_counter()
    answer = client.post(f"{url}/v1/messages", content=raw)
    taken = time.perf_counter() - started
    assert answer.status_code == 200, answer.text
    return taken * 1e3


def p99(values: Sequence[float]) -> float:
    """All but one of a hundred are below."""
    return quantiles(values, n=100)[98]


def bench_a_session_that_is_known(place: Place, timed: bool) -> None:
    """A request of 220 kB, two messages longer each time."""
    times: dict[str, list[float]] = {FITTED: [], LEFT: []}
    listed = messages(220 if timed else 22, "known")
    rounds = 150 if timed else 3
    with httpx.Client(timeout=60) as client:
        for nth in range(rounds):
            listed += _step(len(listed), "known")
            for model, taken in times.items():
                took = asked(client, place.url, body(model, listed))
                if nth > 2 or not timed:
                    taken.append(took)
    if timed:
        at_half = median(times[FITTED]) - median(times[LEFT])
        at_most = p99(times[FITTED]) - p99(times[LEFT])
        _say("proxy: 220 kB, known session, more than the relay, median", 5, at_half)
        _say("proxy: 220 kB, known session, more than the relay, p99", 15, at_most)


def bench_a_session_that_is_new(place: Place, timed: bool) -> None:
    """The first request of a session, 220 kB."""
    times: dict[str, list[float]] = {FITTED: [], LEFT: []}
    with httpx.Client(timeout=60) as client:
        for nth in range(20 if timed else 2):
            listed = messages(220 if timed else 22, f"new{nth}")
            for model, taken in times.items():
                taken.append(asked(client, place.url, body(model, listed)))
    if timed:
        more = median(times[FITTED]) - median(times[LEFT])
        _say("proxy: 220 kB, new session, more than the relay, median", 60, more)


def bench_other_streams(place: Place, timed: bool) -> None:
    """A stream that ticks, while new sessions of 220 kB are planned, or are not."""
    size = 220 if timed else 22
    pauses = {
        model: asyncio.run(_pauses(place, model, size, 12 if timed else 2))
        for model in (LEFT, FITTED)
    }
    if timed:
        more = p99(pauses[FITTED]) - p99(pauses[LEFT])
        _say("proxy: delay of other streams while sessions are planned, p99", 10, more)


async def _pauses(place: Place, model: str, size: int, count: int) -> list[float]:
    """Milliseconds between the ticks of a stream."""
    found: list[float] = []

    async def listen(client: httpx.AsyncClient) -> None:
        async with client.stream("POST", f"{place.url}/ticks", content=b"{}") as ticks:
            last = time.perf_counter()
            async for _ in ticks.aiter_raw():
                now = time.perf_counter()
                found.append((now - last) * 1e3)
                last = now

    bodies = [body(model, messages(size, f"{model}{nth}")) for nth in range(count)]
    async with httpx.AsyncClient(timeout=60) as client:
        listening = asyncio.ensure_future(listen(client))
        for raw in bodies:
            await client.post(f"{place.url}/v1/messages", content=raw)
        await listening
    return found


def bench_requests_a_second(place: Place, timed: bool) -> None:
    """Small requests by 1, 8 and 64 clients: fitted, only relayed, and straight."""
    for clients in (1, 8, 64):
        rates = {
            name: asyncio.run(_rate(url, model, clients, 600 if timed else 64))
            for name, url, model in (
                ("straight", place.upstream, LEFT),
                ("relayed", place.url, LEFT),
                ("fitted", place.url, FITTED),
            )
        }
        if timed:
            told = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
            print(f"\nproxy: requests a second with {clients} clients: {told}")


async def _rate(url: str, model: str, clients: int, requests: int) -> float:
    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:

        async def work(nth: int) -> None:
            raw = body(model, messages(2, f"rate{nth}"))
            for _ in range(requests // clients):
                answer = await client.post(f"{url}/v1/messages", content=raw)
                assert answer.status_code == 200

        started = time.perf_counter()
        await asyncio.gather(*map(work, range(clients)))
        return requests / (time.perf_counter() - started)


def _say(name: str, promised: float, measured: float) -> None:
    PROMISES.append(Promise(name, promised, round(measured, 2), "ms"))
    print(f"\n{name}: {measured:.2f} ms (promised {promised})")
