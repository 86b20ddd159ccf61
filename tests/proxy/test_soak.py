"""Many sessions at once while the upstream delays, cuts, resets and half answers.

Five seconds here, as many as TURNKEEP_SOAK says elsewhere (`.ci/run soak`: a minute).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from .upstream import Got, Upstream, await_server, free_port

SECONDS = float(os.environ.get("TURNKEEP_SOAK", "5"))
SESSIONS = 64
_PLAIN = ssl.create_default_context()
"""Made once: it is slow, and nothing here speaks TLS."""
KINDS = ("fine", "fine", "fine", "stream", "slow", "cut", "half", "reset", "busy")
BROKEN = (httpx.RemoteProtocolError, httpx.ReadError)


def said(got: Got) -> Sequence[bytes | float]:
    """What the upstream does is what the newest question asks for."""
    text = got.body.decode()
    kind = re.findall(r"kind-(\w+)", text)[-1]
    mark = re.findall(r"mark-[\w-]+", text)[-1]
    owners = {*re.findall(r"owner-(\d+)-", text)}
    answer = json.dumps({"mark": mark, "owners": len(owners)}).encode()
    head = b"HTTP/1.1 %d Said\r\ncontent-length: %d\r\n\r\n"
    if kind == "stream":
        chunks = [b"%x\r\n%s\r\n" % (1, answer[n : n + 1]) for n in range(len(answer))]
        start = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        return [start, *chunks[:9], 0.05, *chunks[9:], b"0\r\n\r\n"]
    if kind == "slow":
        return [0.4, head % (200, len(answer)), 0.2, answer]
    if kind == "cut":
        return [head % (200, len(answer) + 9), answer]
    if kind == "half":
        return [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"]
    if kind == "reset":
        return []
    return [head % (429 if kind == "busy" else 200, len(answer)), answer]


class Client:
    """One program with a session of its own."""

    def __init__(self, nth: int, url: str) -> None:
        """Its requests go to *url*."""
        self.nth, self.url = nth, url
        self.chosen = random.Random(nth)
        self.messages: list[Any] = []
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def run(self, until: float) -> None:
        """Ask until it is time to stop; what is wrong is noted."""
        async with httpx.AsyncClient(timeout=30, verify=_PLAIN) as client:
            step = 0
            while time.monotonic() < until:
                step += 1
                await self._ask(client, step)

    async def _ask(self, client: httpx.AsyncClient, step: int) -> None:
        kind = self.chosen.choice(KINDS)
        mark = f"mark-{self.nth}-{step}"
        text = f"owner-{self.nth}- {'word ' * 80} kind-{kind} {mark}"
        self.messages.append({"role": "user", "content": text})
        body = {"model": "gpt-4o", "messages": self.messages}
        headers = {"authorization": f"Bearer {self.nth}"}
        outcome = await self._outcome(client, body, headers)
        expected = {
            "busy": (429, mark),
            "cut": "broken",
            "half": "broken",
            "reset": 502,
        }.get(kind, (200, mark))
        if outcome != expected:
            self.wrong.append(f"{kind}: {outcome}")
        self.seen[kind] += 1
        answer = {"role": "assistant", "content": f"owner-{self.nth}- heard"}
        self.messages.append(answer)

    async def _outcome(
        self, client: httpx.AsyncClient, body: Any, headers: dict[str, str]
    ) -> Any:
        url = f"{self.url}/v1/chat/completions"
        try:
            answer = await client.post(url, json=body, headers=headers)
        except BROKEN:
            return "broken"
        if answer.status_code == 502:
            return 502
        told = answer.json()
        if told["owners"] != 1:
            return "mixed up"
        return answer.status_code, told["mark"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, int, Upstream]]:
    """A proxy in a process of its own: its address, its process, its upstream."""
    port = free_port()
    with Upstream(said) as upstream:
        command = [
            *(sys.executable, "-m", "turnkeep.cli", "proxy", "--port", str(port)),
            *("--upstream", upstream.url, "--budget", "1500"),
        ]
        with subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=tmp_path, stderr=subprocess.PIPE
        ) as running:
            assert running.stderr is not None
            running.stderr.readline()
            await_server(f"http://127.0.0.1:{port}/turnkeep/")
            try:
                yield f"http://127.0.0.1:{port}", running.pid, upstream
            finally:
                running.terminate()
                rest = running.stderr.read().decode()
                assert "Traceback" not in rest, rest[-3_000:]


def used(process: int) -> tuple[int, int]:
    """Kilobytes of memory, and open files."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]), len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_is_mixed_up_and_nothing_leaks(
    served: tuple[str, int, Upstream],
) -> None:
    """Every client sees what the upstream did, and its own session alone."""
    url, process, upstream = served
    clients = [Client(nth, url) for nth in range(SESSIONS)]

    async def all_of_them(until: float) -> None:
        await asyncio.gather(*(client.run(until) for client in clients))

    asyncio.run(all_of_them(time.monotonic() + SECONDS / 2))
    memory, _ = used(process)
    asyncio.run(all_of_them(time.monotonic() + SECONDS / 2))
    time.sleep(1.0)
    later, files = used(process)
    requests = sum(sum(client.seen.values()) for client in clients)
    kept = sum(len(json.dumps(client.messages)) for client in clients) / 1_024

    wrong = [line for client in clients for line in client.wrong]
    assert not wrong, wrong[:5]
    assert requests > SESSIONS
    assert {*KINDS} == {kind for client in clients for kind in client.seen}
    assert upstream.open == 0
    assert files < 40
    # What the sessions themselves hold, in Python's objects, and a little.
    assert later - memory < 12 * kept + 20_000, (memory, later, kept)
    told = f"{requests} requests, {memory} then {later} kB, {files} open files"
    sys.stderr.write(f"\n{told}\n")
