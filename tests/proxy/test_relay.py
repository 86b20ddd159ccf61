"""What passes: bytes as they came, answers as they arrive, and nothing of ours."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from typing import Any

import httpx
import pytest

from turnkeep.proxy import Running, Settings

from .upstream import DONE, Got, Upstream, event_stream

QUESTION = {
    "model": "gpt-4o",
    # Keys, blanks and escapes as no writer of ours would set them.
    "messages": [{"content": "\u00e9t\u00e9 \ud83d\ude42", "role": "user"}],
    "temperature": 1e-3,
}
SPELLED = json.dumps(QUESTION, indent=3).encode()


def ask(proxy: Running, raw: bytes = SPELLED, **options: Any) -> httpx.Response:
    """One request of OpenAI's chat, with a client of its own."""
    path = options.pop("path", "/v1/chat/completions")
    headers = {"content-type": "application/json", **options.pop("headers", {})}
    return httpx.post(f"{proxy.url}{path}", content=raw, headers=headers, **options)


def behind(upstream: Upstream, **settings: Any) -> Running:
    """A proxy in front of *upstream*."""
    return Running(Settings(upstreams={"": upstream.url}, **settings))


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        (None, bytes),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", lambda raw: b"\x28\xb5\x2f\xfd" + raw),
        ("gzip", lambda raw: gzip.compress(raw)[:-4]),
    ],
)
def test_what_fits_passes_as_the_very_bytes(encoding: str | None, pack: Any) -> None:
    """Packed or not, and also where the packing cannot be undone."""
    packed = pack(SPELLED)
    headers = {} if encoding is None else {"content-encoding": encoding}
    with Upstream() as upstream, behind(upstream) as proxy:
        answer = ask(proxy, packed, headers=headers)

    assert answer.status_code == 200
    (got,) = upstream.got
    assert got.body == packed
    assert got.header("content-encoding") == [encoding] * bool(encoding)
    assert got.header("content-length") == [str(len(packed))]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1]", b"\xff\xfe", b'{"messages": 3}', b'{"messages": [3]}', b"null"],
)
def test_what_is_not_understood_is_the_providers_to_judge(raw: bytes) -> None:
    """Nothing of it is refused or rewritten here."""
    with Upstream() as upstream, behind(upstream, budgets=[("*", 10)]) as proxy:
        assert ask(proxy, raw).status_code == 200

    assert upstream.got[0].body == raw


def test_headers_pass_both_ways_and_none_is_added() -> None:
    """Those for the next hop apart, in their order, double ones too."""
    said = (
        b"HTTP/1.1 200 OK\r\nX-One: 1\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n"
        b"connection: close, x-hop\r\nx-hop: 1\r\ncontent-length: 2\r\n\r\n{}"
    )
    with Upstream((said,)) as upstream, behind(upstream) as proxy:
        host = proxy.url.removeprefix("http://")
        request = httpx.Request(
            "GET", f"{proxy.url}/v1/models?after=a%20b&x=%2F", headers={"x-odd": "Y z"}
        )
        with httpx.Client() as client:
            client.headers.clear()
            answer = client.send(request)
            again = client.get(f"{proxy.url}/v1/models", headers={"cookie": ""})

    assert [v for k, v in answer.headers.multi_items() if k == "set-cookie"] == [
        "a=1",
        "b=2",
    ]
    assert answer.headers["x-one"] == "1"
    assert "x-hop" not in answer.headers
    got = upstream.got[0]
    assert got.line == "GET /v1/models?after=a%20b&x=%2F HTTP/1.1"
    assert {k.lower() for k, _ in got.headers} <= {"host", "x-odd", "connection"}
    assert got.header("host") != [host]
    assert again.status_code == 200


def test_a_cookie_that_one_program_was_given_is_not_anothers() -> None:
    """The connections to upstreams keep nothing of a request."""
    said = b"HTTP/1.1 200 OK\r\nset-cookie: s=1; Path=/\r\ncontent-length: 0\r\n\r\n"
    with Upstream((said,)) as upstream, behind(upstream) as proxy:
        ask(proxy)
        ask(proxy)

    assert [got.header("cookie") for got in upstream.got] == [[], []]


@pytest.mark.parametrize("status", [301, 307, 401, 404, 429, 500, 529])
def test_what_the_upstream_says_passes(status: int) -> None:
    """Redirects are not followed, errors not retried, `retry-after` is there."""
    said = (
        b"HTTP/1.1 %d Said\r\nlocation: http://elsewhere.test/\r\nretry-after: 7\r\n"
        b"content-length: 9\r\n\r\nin detail" % status
    )
    with Upstream((said,)) as upstream, behind(upstream) as proxy:
        answer = ask(proxy)

    assert (answer.status_code, answer.content) == (status, b"in detail")
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["location"] == "http://elsewhere.test/"
    assert len(upstream.got) == 1


def test_a_stream_arrives_as_it_is_said() -> None:
    """The first event is here while the upstream is silent before the second."""
    head, first, second, end = event_stream(b"data: 1\n\n", b"data: 2\n\n")
    with (
        Upstream((head, first, 1.5, second, end)) as upstream,
        behind(upstream) as proxy,
        httpx.stream(
            "POST", f"{proxy.url}/v1/chat/completions", content=SPELLED
        ) as answer,
    ):
        parts = answer.iter_raw()
        started = time.monotonic()
        assert next(parts) == b"data: 1\n\n"
        assert time.monotonic() - started < 1.4
        assert b"".join(parts) == b"data: 2\n\n"


def test_a_packed_answer_stays_packed() -> None:
    """It is read from a copy; the bytes are the upstream's."""
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    packed = gzip.compress(json.dumps({"usage": usage}).encode())
    said = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
        b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s"
        % (len(packed), packed)
    )
    with Upstream((said,)) as upstream, behind(upstream) as proxy:
        with httpx.stream(
            "POST", f"{proxy.url}/v1/chat/completions", content=SPELLED
        ) as answer:
            assert b"".join(answer.iter_raw()) == packed
        assert proxy.app.state.proxy.told.read == 9


@pytest.mark.parametrize("when", ["before the answer", "in the answer"])
def test_a_client_that_leaves_closes_the_upstreams_request(when: str) -> None:
    """No tokens are paid for that nobody reads."""
    head, first, *_ = event_stream(b"data: 1\n\n")
    parts = (20.0,) if when == "before the answer" else (head, first, 20.0)
    with Upstream(parts) as upstream, behind(upstream) as proxy:
        try:
            with httpx.stream(
                "POST",
                f"{proxy.url}/v1/chat/completions",
                content=SPELLED,
                timeout=0.5,
            ) as answer:
                for _ in answer.iter_raw():
                    break
        except httpx.ReadTimeout:
            pass
        assert upstream.closed_early.wait(5)


def test_half_an_answer_never_looks_like_a_whole_one() -> None:
    """Where the upstream breaks off, so does the proxy."""
    head, first, *_ = event_stream(b"data: 1\n\n")
    with Upstream((head, first)) as upstream, behind(upstream) as proxy:
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream(
                "POST", f"{proxy.url}/v1/chat/completions", content=SPELLED
            ) as answer,
        ):
            b"".join(answer.iter_raw())
        upstream.parts = (DONE,)
        assert ask(proxy).status_code == 200  # it goes on


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_other_requests_pass(method: str) -> None:
    """Byte for byte, to the upstream that their path names."""
    with Upstream() as upstream, Upstream() as other:
        settings = Settings(upstreams={"/a": upstream.url, "/b": f"{other.url}/base"})
        with Running(settings) as proxy:
            answer = httpx.request(method, f"{proxy.url}/b/v1/files")
            nowhere = httpx.request(method, f"{proxy.url}/c/v1/files")

    assert answer.status_code == 200
    assert not upstream.got
    assert other.got[0].line == f"{method} /base/v1/files HTTP/1.1"
    assert nowhere.status_code == 404


def test_an_upstream_that_is_not_there_is_said() -> None:
    """With status 502, not with a traceback."""
    with Upstream() as upstream:
        url = upstream.url
    with Running(Settings(upstreams={"": url})) as proxy:
        answer = ask(proxy)

    assert answer.status_code == 502
    assert "cannot be reached" in answer.json()["error"]["message"]


def test_an_upstream_that_is_silent_is_given_up() -> None:
    """After the seconds that the settings allow."""
    with Upstream((20.0,)) as upstream, behind(upstream, patience=0.3) as proxy:
        assert ask(proxy, timeout=10).status_code == 504


def test_many_at_once_each_get_their_own() -> None:
    """Nothing is mixed up between connections."""

    def echo(got: Got) -> list[bytes | float]:
        return [
            0.05,
            DONE.replace(b"2\r\n\r\n{}", b"%d\r\n\r\n%s" % (len(got.body), got.body)),
        ]

    wrong: list[int] = []

    def one(nth: int, proxy: Running) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": f"chat {nth}"}]}
        raw = json.dumps(body).encode()
        answers = [ask(proxy, raw, timeout=30).json() for _ in range(3)]
        if answers != [body] * 3:
            wrong.append(nth)

    with Upstream(echo) as upstream, behind(upstream, budgets=[("*", 99)]) as proxy:
        threads = [threading.Thread(target=one, args=[n, proxy]) for n in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert not wrong
    assert len(upstream.got) == 96
