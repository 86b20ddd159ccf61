"""A proxy that is started again, and several of them, go on with the same prefix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.strict.provider import StrictProvider
from turnkeep.proxy import Running, Settings
from turnkeep.proxy._fitting import Fitter
from turnkeep.proxy._routes import route_of
from turnkeep.stores import JsonlStore, SqliteStore, Store

from .worlds import APIS, Program

SECRET = b"the same for all of them"


def settings(provider: StrictProvider, store: Store, **more: Any) -> Settings:
    """With a store."""
    given = {"budgets": [("*", 3_000)], "secret": SECRET, **more}
    return Settings(upstreams={"": provider.url}, store=store, **given)


@pytest.fixture(scope="module", params=APIS)
def bodies(request: pytest.FixtureRequest) -> tuple[str, list[dict[str, Any]]]:
    """What a program sends, one request after the other."""
    program = Program(request.param, words=60)
    with StrictProvider() as provider:
        program.run(provider.url, requests=45)
    return program.path, [recorded.body for recorded in provider.requests]


@pytest.mark.parametrize(
    "strategy", ["agent", "oldest-turns", "clear-tool-results | oldest-steps"]
)
@pytest.mark.parametrize("every", [1, 5])
def test_restarts_do_not_change_the_beginning(
    bodies: tuple[str, list[dict[str, Any]]], strategy: str, every: int, tmp_path: Path
) -> None:
    """After each of them the windows are those of a proxy that never stopped."""
    path, asked = bodies
    route = route_of("POST", path)
    assert route is not None
    budgets = [("*", 2_000)]
    never = Fitter(Settings(budgets=budgets, strategy=strategy))
    cuts = 0
    with SqliteStore(tmp_path / "s.db") as store:
        given = Settings(budgets=budgets, strategy=strategy, store=store, secret=SECRET)
        for nth, body in enumerate(asked):
            if nth % every == 0:
                again = Fitter(given)
            raw = json.dumps(body).encode()
            expected = never.fit(route, "", {}, raw, body)
            made = again.fit(route, "", {}, raw, body)
            assert expected is not None
            assert made is not None
            assert made.body == expected.body, nth
            cuts += expected.window.plan.pruned

    assert cuts >= 3


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
def test_several_workers_share_a_store(kind: str, tmp_path: Path) -> None:
    """One after the other answers the same session; its beginning rarely changes."""
    stores: list[Store] = (
        [SqliteStore(tmp_path / "state.db") for _ in range(2)]
        if kind == "sqlite"
        else [JsonlStore(tmp_path / "state") for _ in range(2)]
    )
    program = Program("anthropic", words=60)
    with StrictProvider() as provider:
        with (
            Running(settings(provider, stores[0])) as one,
            Running(settings(provider, stores[1])) as two,
        ):
            asked = False
            for nth in range(60):
                url = (one, two)[nth % 2].url
                program.run(url, requests=1, asked=asked)
                asked = not program.idle
        for store in stores:
            store.close()

    assert not provider.refused
    assert program.changed(provider.requests) <= 12


def test_the_secret_tells_sessions_apart(tmp_path: Path) -> None:
    """Whoever has another one finds nothing, and cannot guess what was hashed."""
    with StrictProvider() as provider, SqliteStore(tmp_path / "s.db") as store:
        for secret in (SECRET, b"quite another secret"):
            program = Program("chat", words=60)
            with Running(settings(provider, store, secret=secret)) as proxy:
                program.run(proxy.url, requests=30)
        names = {info.id for info in store.conversations()}

    assert len(names) == 2


def test_a_store_needs_a_secret(tmp_path: Path) -> None:
    """Sessions would not be found again."""
    with (
        SqliteStore(tmp_path / "s.db") as store,
        pytest.raises(ValueError, match="secret"),
    ):
        Settings(store=store)


def test_damage_in_the_store_costs_a_prefix_and_no_request(tmp_path: Path) -> None:
    """What cannot be read is as if it were not there."""
    program = Program("chat", words=60)
    with StrictProvider() as provider, SqliteStore(tmp_path / "s.db") as store:
        with Running(settings(provider, store)) as proxy:
            program.run(proxy.url, requests=30)
        for info in store.conversations():
            store.put_state(info.id, {"track": [{"entries": "many"}]})
        with Running(settings(provider, store)) as proxy:
            answer = program.post(proxy.url, program.body())

    assert answer.status_code == 200
    assert not provider.refused


def test_sessions_are_put_out_by_number_and_by_age() -> None:
    """So that memory does not grow with users."""
    with StrictProvider() as provider:
        kept = Settings(
            upstreams={"": provider.url}, budgets=[("*", 3_000)], sessions=5, idle=0.5
        )
        with Running(kept) as proxy:
            for n in range(12):
                body = Program("chat").first(f"hello {n}")
                httpx.post(f"{proxy.url}/v1/chat/completions", json=body)
            assert len(proxy.app.state.proxy.fitter.sessions) <= 5
