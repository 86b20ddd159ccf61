"""An upstream that keeps what it got byte for byte, and answers as it is told."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

import httpx
import pytest

DONE: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
content-length: 2\r\n\r\n{}"


@dataclass
class Got:
    """A request as it came in."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for key, value in self.headers if key.lower() == name]


@dataclass
class Upstream:
    """A server on loopback, from `with` to the end of it.

    `parts` is what it says, piece by piece; a number is a pause in seconds. A
    connection ends after each answer.
    """

    parts: Sequence[bytes | float] | Callable[[Got], Sequence[bytes | float]] = (DONE,)
    got: list[Got] = field(default_factory=list)
    closed_early: threading.Event = field(default_factory=threading.Event)
    """Set when a client hangs up before it has had everything."""
    open: int = 0
    """Connections by now."""

    def __enter__(self) -> Self:
        """Start."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                run = threading.Thread(
                    target=self._serve, args=[connection], daemon=True
                )
                run.start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self.open += 1
        try:
            with connection:
                got = _read(connection)
                if got is None:
                    return
                with self._lock:
                    self.got.append(got)
                self._say(connection, got)
        finally:
            with self._lock:
                self.open -= 1

    def _say(self, connection: socket.socket, got: Got) -> None:
        parts = self.parts(got) if callable(self.parts) else self.parts
        for part in parts:
            if isinstance(part, (int, float)):
                if _has_left(connection, part):
                    self.closed_early.set()
                    return
                continue
            try:
                connection.sendall(part)
            except OSError:
                self.closed_early.set()
                return


def _has_left(connection: socket.socket, seconds: float) -> bool:
    """Whether the client hangs up within some seconds."""
    connection.settimeout(seconds)
    started = time.monotonic()
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(None)
        assert time.monotonic() - started < seconds + 5


def _read(connection: socket.socket) -> Got | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = [(k, v.strip()) for k, _, v in (one.partition(":") for one in rest)]
    size = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
    while len(body) < size:
        more = connection.recv(65_536)
        if not more:
            return None
        body += more
    return Got(line, headers, body)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


def await_server(url: str) -> None:
    """Return once *url* is answered, ten seconds from now at the latest."""
    for _ in range(200):
        try:
            httpx.get(url)
        except httpx.ConnectError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"{url} does not listen")


def event_stream(*events: bytes) -> list[bytes]:
    """The parts of an answer in chunks, one an event."""
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    chunks = [b"%x\r\n%s\r\n" % (len(event), event) for event in events]
    return [head, *chunks, b"0\r\n\r\n"]


def raw_answer(url: str, request: bytes, *, wait: float = 5.0) -> bytes:
    """What a server says to some bytes, until it hangs up or nothing more comes."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=wait) as connection:
        connection.sendall(request)
        data = b""
        with suppress(TimeoutError, ConnectionResetError):
            while more := connection.recv(65_536):
                data += more
                if _is_whole(data):
                    break
    return data


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return bool(found) and len(body) >= int(line.partition(b":")[2])
    return data.endswith(b"0\r\n\r\n")
