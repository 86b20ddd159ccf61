"""Passing a request on, and its answer back, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ._bodies import TooLargeError

_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that are meant for the next hop alone (RFC 9110, 7.6.1)."""

_OURS: Final = frozenset({"host", "content-length", "x-turnkeep-token"})


def passed_on(
    headers: Iterable[tuple[bytes, bytes]], *, without: Iterable[str] = ()
) -> list[tuple[bytes, bytes]]:
    """The headers that go to the other side, in their order."""
    listed = list(headers)
    named = {
        name.strip().lower()
        for key, value in listed
        if key.lower() == b"connection"
        for name in value.decode("latin-1").split(",")
    }
    left = _HOP | named | {*without}
    return [(k, v) for k, v in listed if k.decode("latin-1").lower() not in left]


def request_headers(
    headers: Iterable[tuple[bytes, bytes]], *, unpacked: bool
) -> list[tuple[bytes, bytes]]:
    """What the upstream gets; *unpacked*: the body is no longer as it was packed."""
    without = [*_OURS, "content-encoding"] if unpacked else _OURS
    return passed_on(headers, without=without)


def client(patience: float, transport: Any = None) -> httpx.AsyncClient:
    """Connections to upstreams, which keep nothing of one request for another.

    Args:
        patience: Seconds for the next part of an answer.
        transport: Instead of the network.
    """
    made = httpx.AsyncClient(
        timeout=httpx.Timeout(patience, connect=15.0),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        transport=transport,
        follow_redirects=False,
        # A cookie that one program was given is not another's.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )
    # Nothing of its own beside what the program sends.
    made.headers.clear()
    return made


async def body_of(request: Request, most: int, slow: float) -> bytes:
    """The whole body.

    Raises:
        TooLargeError: It is longer than *most* bytes.
        TimeoutError: The next part took more than *slow* seconds.
        ClientDisconnect: The client left.
    """
    parts: list[bytes] = []
    size = 0
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(slow):
                part = await anext(stream)
        except StopAsyncIteration:
            return b"".join(parts)
        size += len(part)
        if size > most:
            raise TooLargeError
        parts.append(part)


async def begun(
    answer: httpx.Response, most: int
) -> tuple[bytes | None, AsyncIterator[bytes]]:
    """An answer that is read before it is passed on; none where it is longer.

    Args:
        answer: Its body is still to come.
        most: Bytes that are read.

    Returns:
        The bytes as they came, and all of the body once more.
    """
    parts: list[bytes] = []
    rest = answer.aiter_raw()
    size = 0
    async for part in rest:
        parts.append(part)
        size += len(part)
        if size > most:
            break

    async def whole() -> AsyncIterator[bytes]:
        for part in parts:
            yield part
        async for part in rest:
            yield part

    return (b"".join(parts) if size <= most else None), whole()


async def gone(request: Request) -> None:
    """Return when the client has left. Its body must have been read."""
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return


class Relayed(Response):
    """An upstream's answer, byte for byte as it arrives.

    The upstream's connection is closed when the client leaves, or takes nothing for
    *slow* seconds; and the client's when the upstream breaks off, so that half an
    answer never looks like a whole one.
    """

    def __init__(
        self,
        answer: httpx.Response,
        parts: AsyncIterator[bytes],
        headers: list[tuple[bytes, bytes]],
        look: Callable[[bytes], None],
        done: Callable[[], Awaitable[None]],
        slow: float,
    ) -> None:
        """Pass *answer* on.

        Args:
            answer: Whose connection is closed at the end.
            parts: Its body.
            headers: What the client gets to see.
            look: Is shown a copy of each part.
            done: Is called at the end of a whole answer.
            slow: Seconds that a client may take for a part.
        """
        super().__init__(None, answer.status_code)
        self.raw_headers = headers
        self._answer, self._parts = answer, parts
        self._look, self._done, self._slow = look, done, slow

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        left = asyncio.ensure_future(gone(Request(scope, receive)))
        passing = asyncio.ensure_future(self._send(send))
        try:
            await asyncio.wait({left, passing}, return_when=asyncio.FIRST_COMPLETED)
            if passing.done():
                passing.result()
        finally:
            for task in (left, passing):
                task.cancel()
            await asyncio.gather(left, passing, return_exceptions=True)
            await self._answer.aclose()

    async def _send(self, send: Any) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }
        await self._within(send(start))
        left = _length(self._answer)
        async for part in self._parts:
            self._look(part)
            left -= len(part)
            if left == 0:
                # What it cost is known before the client can ask again.
                await self._done()
            more = {"type": "http.response.body", "body": part, "more_body": True}
            await self._within(send(more))
        if left:
            await self._done()
        await self._within(send({"type": "http.response.body", "body": b""}))

    async def _within(self, sending: Awaitable[None]) -> None:
        async with asyncio.timeout(self._slow):
            await sending


def _length(answer: httpx.Response) -> int:
    """Bytes of an answer; -1 where it does not say."""
    value = answer.headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdigit() else -1


__all__ = [
    "ClientDisconnect",
    "Relayed",
    "begun",
    "body_of",
    "client",
    "gone",
    "passed_on",
    "request_headers",
]
