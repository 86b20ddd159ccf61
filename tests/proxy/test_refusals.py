"""What the proxy itself refuses: raw bytes, as no client library would send them."""

from __future__ import annotations

import gzip
import json
import socket
import time
from typing import Any

import httpx
import pytest

from turnkeep.errors import StrategyError
from turnkeep.proxy import Running, Settings, serve

from .upstream import Upstream, raw_answer

BODY = b'{"model": "m", "messages": []}'


def status_of(answer: bytes) -> int:
    """The status code of an answer; 0 where there is none."""
    return int(answer.split(b" ", 2)[1]) if answer else 0


def post(
    path: str, *headers: str, body: bytes = BODY, host: str = "localhost"
) -> bytes:
    """A request as bytes."""
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post("http://elsewhere.test/v1/messages"), 400),
        (post("//elsewhere.test/v1/messages"), 400),
        (b"CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (post("/v1/messages", host="elsewhere.test"), 421),
        (post("/v1/messages", host="localhost.elsewhere.test"), 421),
        (post("/v1/messages", host="elsewhere.test:8787"), 421),
        (post("/v1/messages", "Host: localhost"), 400),
        (post("/v1/messages", "Transfer-Encoding: chunked"), 400),
        (post("/v1/messages", "Content-Length: 3"), 400),
        (post("/v1/messages", "Upgrade: websocket", "Connection: Upgrade"), 400),
        (post("/v1/messages", "Upgrade: h2c"), 400),
        (post("/v1/messages", f"X-Long: {'x' * 70_000}"), (400, 431)),
        (b"nonsense\r\n\r\n", 400),
    ],
    ids=[
        "absolute target",
        "two slashes",
        "connect",
        "foreign host",
        "foreign host that begins like ours",
        "foreign host with our port",
        "two hosts",
        "length and chunks",
        "two lengths",
        "websocket",
        "h2c",
        "long header",
        "no request",
    ],
)
def test_odd_requests_are_refused(request_: bytes, status: Any) -> None:
    """And never reach the upstream."""
    with (
        Upstream() as upstream,
        Running(Settings(upstreams={"": upstream.url})) as proxy,
    ):
        answer = raw_answer(proxy.url, request_)
        time.sleep(0.05)

    expected = status if isinstance(status, tuple) else (status,)
    assert status_of(answer) in expected, answer
    assert not upstream.got


def test_nothing_in_a_request_names_another_upstream() -> None:
    """Not by headers that other proxies heed, nor by dots and escapes in the path."""
    headers = {
        "x-forwarded-host": "elsewhere.test",
        "forwarded": "host=elsewhere.test",
        "x-original-url": "/elsewhere",
        "x-upstream": "http://elsewhere.test",
    }
    with (
        Upstream() as upstream,
        Running(Settings(upstreams={"/a": upstream.url})) as proxy,
    ):
        own = upstream.url.removeprefix("http://")
        answer = httpx.get(f"{proxy.url}/a/v1/x", headers=headers)
        raw_answer(proxy.url, post("/a/@elsewhere.test/v1/messages"))
        raw_answer(proxy.url, post("/a/%2F%2Felsewhere.test/v1"))

    assert answer.status_code == 200
    assert [got.line.split()[1] for got in upstream.got] == [
        "/v1/x",
        "/@elsewhere.test/v1/messages",
        "/%2F%2Felsewhere.test/v1",
    ]
    assert all(got.header("host") == [own] for got in upstream.got)


def test_bodies_have_a_limit_packed_and_unpacked() -> None:
    """A small file that unpacks to a large one is refused as a large one is."""
    bomb = gzip.compress(b'{"messages": [' + b" " * 10_000_000 + b"]}")
    assert len(bomb) < 100_000
    with (
        Upstream() as upstream,
        Running(Settings(upstreams={"": upstream.url}, max_body=100_000)) as proxy,
    ):
        url = f"{proxy.url}/v1/messages"
        large = httpx.post(url, content=b" " * 100_001)
        packed = httpx.post(url, content=bomb, headers={"content-encoding": "gzip"})
        allowed = httpx.post(url, content=b" " * 100_000)

    assert (large.status_code, packed.status_code) == (413, 413)
    assert allowed.status_code == 200
    assert len(upstream.got) == 1


@pytest.mark.parametrize(
    ("begun", "status"),
    [
        (b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n", 0),
        (b"", 0),
        (post("/v1/messages", body=BODY)[:-5], 408),
    ],
    ids=["headers", "nothing", "body"],
)
def test_slow_clients_are_given_up(begun: bytes, status: int) -> None:
    """After the seconds that the settings allow."""
    with (
        Upstream() as upstream,
        Running(Settings(upstreams={"": upstream.url}, slow=1.0)) as proxy,
    ):
        started = time.monotonic()
        answer = raw_answer(proxy.url, begun, wait=8)
        waited = time.monotonic() - started

    assert status_of(answer) == status
    assert waited < 6
    assert not upstream.got


def test_a_client_that_does_not_read_is_given_up() -> None:
    """So that it holds no connection of the upstream for ever."""
    many = [
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
        *[b"x" * 65_536] * 900,
    ]
    with (
        Upstream(many) as upstream,
        Running(Settings(upstreams={"": upstream.url}, slow=0.5)) as proxy,
    ):
        host, _, port = proxy.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(post("/v1/messages"))
            assert upstream.closed_early.wait(8)


def test_the_token_is_asked_for() -> None:
    """In a header, or in the path for programs that have only a URL."""
    with Upstream() as upstream:
        settings = Settings(upstreams={"": upstream.url}, token="s3cret-token")
        with Running(settings) as proxy:
            none = httpx.post(f"{proxy.url}/v1/messages", content=BODY)
            wrong = httpx.post(f"{proxy.url}/~wrong/v1/messages", content=BODY)
            page = httpx.get(f"{proxy.url}/turnkeep/metrics")
            header = httpx.post(
                f"{proxy.url}/v1/messages",
                content=BODY,
                headers={"x-turnkeep-token": "s3cret-token"},
            )
            path = httpx.post(
                f"{proxy.url}/~s3cret-token/v1/messages?a=1", content=BODY
            )

    assert [a.status_code for a in (none, wrong, page)] == [401, 401, 401]
    assert [a.status_code for a in (header, path)] == [200, 200]
    assert [g.line.split()[1] for g in upstream.got] == [
        "/v1/messages",
        "/v1/messages?a=1",
    ]
    assert "s3cret" not in json.dumps([g.headers for g in upstream.got])


def test_other_addresses_need_a_token() -> None:
    """Nobody else's requests are answered with the owner's network."""
    with pytest.raises(ValueError, match="give a token"):
        serve(Settings(), host="0.0.0.0")  # noqa: S104 - refused
    with pytest.raises(ValueError, match="give a token"):
        Running(Settings(), host="::")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"upstreams": {"": "ftp://a.test"}}, "http or https"),
        ({"upstreams": {"": "https://user:word@a.test"}}, "no user"),
        ({"upstreams": {"a": "https://a.test"}}, "starts with '/'"),
        ({"upstreams": {"/turnkeep": "https://a.test"}}, "own page"),
        ({"budgets": [("*", 0)]}, "max_tokens"),
        ({"on_overflow": "raise"}, "shorten"),
        ({"cache_marks": "yes"}, "cache_marks"),
        ({"pins": ["("]}, "regular expression"),
        ({"strategy": "agnt"}, "agent"),
        ({"secret": b"short"}, "16 bytes"),
        ({"target": 1.5}, "target"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_start(
    wrong: dict[str, Any], words: str
) -> None:
    """In a sentence that says what can be."""
    given = {"budgets": [("*", 1_000)], **wrong}
    with pytest.raises((ValueError, StrategyError), match=words):
        Settings(**given)
