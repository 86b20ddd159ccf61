"""What is said about requests: figures, and never a text or a key."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.strict.provider import StrictProvider
from turnkeep.proxy import Running, Settings
from turnkeep.stores import SqliteStore

from .worlds import Program

SECRETS = ("sk-live-0123456789", "goog-key-987", "PASSWORD-xyzzy", "cookie-c00kie")


@contextmanager
def opened(proxy: Running) -> Iterator[httpx.Client]:
    """A browser that has opened the printed address."""
    with httpx.Client(base_url=proxy.url, follow_redirects=True) as client:
        assert client.get(proxy.page).status_code == 200
        yield client


def test_no_key_and_no_text_is_stored_logged_or_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not in the log, the store, the figures, the page, the headers or the output."""
    log, stored = tmp_path / "plans.jsonl", tmp_path / "state.db"
    with StrictProvider() as provider, SqliteStore(stored) as store:
        settings = Settings(
            upstreams={"": provider.url, "/broken": "http://127.0.0.1:9"},
            budgets=[("*", 3_000)],
            log=str(log),
            store=store,
            secret=b"0123456789abcdef",
        )
        with Running(settings) as proxy:
            headers = {
                "authorization": f"Bearer {SECRETS[0]}",
                "x-api-key": SECRETS[0],
                "x-goog-api-key": SECRETS[1],
                "cookie": SECRETS[3],
            }
            said: list[Any] = []
            body = Program("chat").first(f"{SECRETS[2]} one")
            for n in range(60):
                text = f"{SECRETS[2]} number {n} " + "word " * 100
                body["messages"] += [
                    {"role": "assistant", "content": text},
                    {"role": "user", "content": text},
                ]
                for path in ("/v1/chat/completions", "/broken/v1/chat/completions"):
                    url = f"{proxy.url}{path}?key={SECRETS[1]}"
                    answer = httpx.post(url, json=body, headers=headers)
                    said.append(dict(answer.headers))
            assert provider.requests[-1].tokens < 5_000
            with opened(proxy) as browser:
                pages = [browser.get("/turnkeep/").text]
                for name in re.findall(r"href='(/turnkeep/\w+)'", pages[0]):
                    pages.append(browser.get(name).text)  # noqa: PERF401 - requests
                pages.append(browser.get("/turnkeep/metrics").text)
            said.append(proxy.line())
        assert len(pages) > 2

    data = [file.read_bytes() for file in tmp_path.iterdir()]
    texts = [*map(repr, data), json.dumps(said), *pages, *capfd.readouterr()]
    texts.append(repr(settings))
    for secret in SECRETS:
        assert not any(secret in text for text in texts), secret
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 120
    fitted = [line for line in lines if line.get("dropped")]
    assert fitted
    assert all(line["tokens"] <= 3_000 for line in fitted)
    assert {run["cause"] for line in fitted for run in line["runs"]} > {"room"}


def test_the_figures_are_in_the_format_of_prometheus() -> None:
    """Read by its own parser."""
    with StrictProvider() as provider:
        settings = Settings(upstreams={"": provider.url}, budgets=[("*", 2_000)])
        with Running(settings) as proxy:
            Program("chat", words=60).run(proxy.url, requests=20)
            httpx.get(f"{proxy.url}/v1/models")
            answer = httpx.get(f"{proxy.url}/turnkeep/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    same = found["turnkeep_requests_total", "openai", "same"]
    assert same + found["turnkeep_requests_total", "openai", "fitted"] == 20
    assert found["turnkeep_requests_total", "none", "passed"] == 1
    assert found[("turnkeep_sessions",)] == 1
    assert found["turnkeep_tokens_total", "left_out"] > 0
    assert found["turnkeep_tokens_total", "read"] == sum(
        r.tokens for r in provider.requests
    )


def test_the_page_stands_behind_a_key_that_works_once() -> None:
    """Also on loopback: other programs and open browser tabs are there too."""
    with Running(Settings()) as proxy:
        assert httpx.get(f"{proxy.url}/turnkeep/").status_code == 403
        wrong = httpx.get(f"{proxy.url}/turnkeep/?key=wrong")
        assert wrong.status_code == 403
        address = proxy.page
        first = httpx.get(address)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert httpx.get(address).status_code == 403
        name = first.headers["set-cookie"].partition(";")[0]
        page = httpx.get(f"{proxy.url}/turnkeep/", headers={"cookie": name})
        assert page.status_code == 200
        for method in ("POST", "PUT", "DELETE"):
            answer = httpx.request(method, f"{proxy.url}/turnkeep/")
            assert answer.status_code == 405
        other = {"cookie": name, "host": "rebound.test"}
        assert httpx.get(f"{proxy.url}/turnkeep/", headers=other).status_code == 421


def test_the_page_is_inert_with_hostile_names() -> None:
    """A model's name is what a request says."""
    with StrictProvider() as provider:
        settings = Settings(upstreams={"": provider.url}, budgets=[("*", 2_000)])
        with Running(settings) as proxy:
            body = Program("chat").first("hello")
            body["model"] = "<script>alert(1)</script>"
            httpx.post(f"{proxy.url}/v1/chat/completions", json=body)
            with opened(proxy) as browser:
                page = browser.get("/turnkeep/")
                name = re.findall(r"href='(/turnkeep/\w+)'", page.text)[0]
                details = browser.get(name)
                nobody = browser.get("/turnkeep/%3Cscript%3E")

    for answer in (page, details, nobody):
        assert "<script" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
    assert "&lt;script&gt;" in details.text


def test_the_page_shows_what_was_dropped_and_why() -> None:
    """And how often the beginning changed, and what the cache saved."""
    with StrictProvider() as provider:
        settings = Settings(upstreams={"": provider.url}, budgets=[("*", 2_000)])
        with Running(settings) as proxy:
            Program("anthropic", words=60).run(proxy.url, requests=30)
            session = proxy.app.state.proxy.fitter.sessions.all()[0]
            with opened(proxy) as browser:
                page = browser.get("/turnkeep/").text
                details = browser.get(f"/turnkeep/{session.id}").text

    assert "30 requests" in page
    assert "claude-sonnet-4-5" in page
    assert "drop" in details
    assert f"{session.plan.tokens:,}" in details
    assert details.count("<tr>") > 30
    assert "of the last 30 requests began with all that was sent before" in details
    assert "tokens without a cache" in details


def test_headers_say_what_was_done() -> None:
    """As numbers that a program can read."""
    with StrictProvider() as provider:
        settings = Settings(upstreams={"": provider.url}, budgets=[("*", 400)])
        body = Program("chat").first("word " * 100)
        body["messages"] += [
            {"role": "assistant", "content": "word " * 300},
            {"role": "user", "content": "And?"},
        ]
        with Running(settings) as proxy:
            answer = httpx.post(f"{proxy.url}/v1/chat/completions", json=body)

    told = {k: v for k, v in answer.headers.items() if k.startswith("x-turnkeep")}
    assert {*told} == {
        f"x-turnkeep-{name}"
        for name in ("session", "tokens", "dropped", "edited", "added", "exact", "ms")
    }
    assert 0 < int(told["x-turnkeep-tokens"]) <= 400
    assert int(told["x-turnkeep-dropped"]) >= 1
    assert told["x-turnkeep-exact"] in {"true", "false"}
    assert float(told["x-turnkeep-ms"]) > 0


@pytest.mark.skipif(os.name == "nt", reason="modes of files are POSIX's")
def test_a_log_that_is_there_is_gone_on_with(tmp_path: Path) -> None:
    """Nothing of it is lost."""
    log = tmp_path / "plans.jsonl"
    log.write_text("{}\n")
    with StrictProvider() as provider:
        settings = Settings(
            upstreams={"": provider.url}, budgets=[("*", 400)], log=str(log)
        )
        with Running(settings) as proxy:
            Program("chat").post(proxy.url, Program("chat").first("hello"))

    assert len(log.read_text().splitlines()) == 2
