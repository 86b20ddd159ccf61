"""Requests that do not fit: what is sent instead, session by session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.strict.provider import StrictProvider
from turnkeep.proxy import Running, Settings

from .upstream import Upstream
from .worlds import APIS, Program


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    """A provider that refuses what the real ones refuse."""
    with StrictProvider() as started:
        yield started


def settings(upstream: Any, tokens: int, **more: Any) -> Settings:
    """Everything to one upstream, with a budget of some tokens."""
    return Settings(upstreams={"": upstream.url}, budgets=[("*", tokens)], **more)


@pytest.mark.parametrize("api", APIS)
def test_a_session_of_200_requests_at_a_fifth_of_its_size(
    provider: StrictProvider, api: str
) -> None:
    """None is refused, the rule stays, and the beginning rarely changes."""
    program = Program(api, words=60)
    whole = 40_000
    with Running(settings(provider, whole // 5)) as proxy:
        requests = program.run(proxy.url, requests=200)
        line = proxy.line()

    assert not provider.refused, provider.refused[0].faults
    assert requests == len(provider.requests) == 200
    assert program.tokens() > whole * 3 // 4
    assert all(program.RULE in json.dumps(r.body) for r in provider.requests)
    assert all(r.tokens < whole // 5 * 2 for r in provider.requests)
    assert program.changed(provider.requests) <= 30
    assert "200 requests" in line


@pytest.mark.parametrize("api", APIS)
def test_streamed_answers_are_the_same(provider: StrictProvider, api: str) -> None:
    """To the program, and to what is learned from them."""
    with Running(settings(provider, 3_000)) as proxy:
        Program(api, stream=True, words=60).run(proxy.url, requests=40)
        told = proxy.app.state.proxy.told
        assert told.read == sum(r.tokens for r in provider.requests)

    assert not provider.refused


@pytest.mark.parametrize("api", APIS)
def test_the_same_run_without_us_dies(provider: StrictProvider, api: str) -> None:
    """So that the test before can fail."""
    provider.limit = 8_000
    program = Program(api, words=60)

    with pytest.raises(httpx.HTTPStatusError, match="400"):
        program.run(provider.url, requests=200)


@pytest.mark.parametrize("api", APIS)
def test_a_model_whose_window_is_smaller_than_thought(
    provider: StrictProvider, api: str
) -> None:
    """Its answer is learned from, and the request sent once more, smaller."""
    provider.limit = 6_000
    program = Program(api, words=60)
    with Running(settings(provider, 100_000)) as proxy:
        program.run(proxy.url, requests=60)

    assert len(provider.refused) <= 4
    assert all(
        "too" in f.message or "max" in f.message or "exceed" in f.message
        for r in provider.refused
        for f in r.faults
    )


def test_what_is_stored_is_never_sent_twice(provider: StrictProvider) -> None:
    """An answer in the background, or kept by the provider, may have been begun."""
    provider.limit = 900
    said = {"role": "user", "content": "word " * 300}
    answer = {"role": "assistant", "content": "word " * 300}
    body = {"model": "gpt-4o", "input": [said, answer, said, answer, said]}
    with Running(settings(provider, 100_000)) as proxy:
        for more in ({"store": True}, {"background": True}, {}):
            got = httpx.post(f"{proxy.url}/v1/responses", json={**body, **more})
            sent = len(provider.requests)
            provider.clear()
            assert (got.status_code, sent) == ((400, 1) if more else (200, 2))


@pytest.mark.parametrize("api", APIS)
def test_what_cannot_fit_is_refused_in_the_providers_words(
    provider: StrictProvider, api: str
) -> None:
    """So that the program compacts by itself; with the smallest budget that works."""
    program = Program(api)
    with Running(settings(provider, 150, on_overflow="refuse")) as proxy:
        answer = program.post(proxy.url, program.first("word " * 900))

    assert answer.status_code == 400
    assert not provider.requests
    text = json.dumps(answer.json())
    assert program.TOO_LONG in text
    assert "tokens would do" in text


def test_it_is_sent_where_that_is_asked_for() -> None:
    """The provider is to judge it."""
    program = Program("chat")
    with (
        Upstream() as upstream,
        Running(settings(upstream, 150, on_overflow="send")) as proxy,
    ):
        body = program.first("word " * 900)
        assert program.post(proxy.url, body).status_code == 200

    assert json.loads(upstream.got[0].body) == body


def test_counts_are_of_what_would_be_sent(provider: StrictProvider) -> None:
    """A program sizes its own compaction by them; asking changes no later window."""
    program = Program("anthropic", words=60)
    with Running(settings(provider, 4_000)) as proxy:
        program.run(proxy.url, requests=60)
        changed = program.changed(provider.requests)
        body = {k: v for k, v in program.body().items() if k != "max_tokens"}
        counted = httpx.post(f"{proxy.url}/v1/messages/count_tokens", json=body)
        program.run(proxy.url, requests=4)
        after = program.changed(provider.requests)

    assert counted.json()["input_tokens"] < 8_000
    assert int(counted.headers["x-turnkeep-dropped"]) > 0
    assert after <= changed + 1


def test_sessions_are_kept_apart(provider: StrictProvider) -> None:
    """By key, by the id that the program names, and by how the list begins."""
    body = Program("anthropic").first("hello")
    ids = set()
    with Running(settings(provider, 4_000)) as proxy:
        other = Program("anthropic").first("something else")
        for key, session, sent in [
            ("a", "1", body),
            ("b", "1", body),
            ("a", "2", body),
            ("a", "1", other),
            ("a", "1", {**body, "model": "claude-haiku-4-5"}),
        ]:
            headers = {"x-api-key": key, "x-claude-code-session-id": session}
            answer = httpx.post(f"{proxy.url}/v1/messages", json=sent, headers=headers)
            ids.add(answer.headers["x-turnkeep-session"])
        headers = {"x-api-key": "a", "x-claude-code-session-id": "1"}
        marked = json.loads(json.dumps(body))
        marked["messages"][0]["content"] = [
            {
                "type": "text",
                "text": body["messages"][0]["content"],
                "cache_control": {"type": "ephemeral"},
            }
        ]
        again = httpx.post(f"{proxy.url}/v1/messages", json=marked, headers=headers)

    assert len(ids) == 5
    assert again.status_code == 200


def test_a_key_in_the_url_tells_users_apart(provider: StrictProvider) -> None:
    """As Google's clients may send it."""
    program = Program("gemini")
    body = program.first("hello")
    with Running(settings(provider, 4_000)) as proxy:
        names = [
            httpx.post(f"{proxy.url}{program.path}?key={key}", json=body).headers[
                "x-turnkeep-session"
            ]
            for key in ("one", "two", "one")
        ]

    assert names[0] != names[1]
    assert names[0] == names[2]


@pytest.mark.parametrize("pinned", [True, False])
def test_what_programs_say_before_the_first_question_stays(
    provider: StrictProvider, pinned: bool
) -> None:
    """Rules of the project, notes on the environment."""
    program = Program("anthropic", words=60)
    program.messages.append(
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "<system-reminder>Use tabs.</system-reminder>",
                },
                {"type": "text", "text": "Tidy the parser."},
            ],
        }
    )
    kept_settings = settings(
        provider, 3_000, pin_leading=pinned, strategy="oldest-turns"
    )
    with Running(kept_settings) as proxy:
        program.run(proxy.url, requests=80, asked=True)

    kept = "Use tabs." in json.dumps(provider.requests[-1].body)
    assert kept is pinned
    assert not provider.refused


def test_pins_of_the_settings_stay(provider: StrictProvider) -> None:
    """Whatever they are found in, wherever it stands."""
    program = Program("chat", words=60)
    with Running(settings(provider, 3_000, pins=[r"(?i)never\s+deploy"])) as proxy:
        program.run(proxy.url, requests=20)
        program.ask("Never  deploy on Fridays. Remember it.")
        program.run(proxy.url, requests=80, asked=True)

    assert "Never  deploy" in json.dumps(provider.requests[-1].body)


def test_models_can_be_left_alone() -> None:
    """By a pattern; and a model that nobody knows is left alone without a budget."""
    program = Program("chat")
    body = program.first("word " * 900)
    with Upstream() as upstream:
        kept = settings(upstream, 150, exclude=["gpt-*"], on_overflow="refuse")
        with Running(kept) as proxy:
            first = program.post(proxy.url, body)
        with Running(Settings(upstreams={"": upstream.url})) as proxy:
            second = program.post(proxy.url, {**body, "model": "nobodys-model"})

    for answer in (first, second):
        assert answer.status_code == 200
        assert "x-turnkeep-session" not in answer.headers


@pytest.mark.parametrize("mends", [True, False])
def test_what_a_program_sends_broken_is_mended(
    provider: StrictProvider, mends: bool
) -> None:
    """One real program repeats function responses after a resume."""
    program = Program("gemini")
    body = program.first("Look it up.")
    call = {"functionCall": {"name": "lookup", "args": {"round": 1}}}
    result = {"functionResponse": {"name": "lookup", "response": {"found": 1}}}
    body["contents"] += [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
        {"role": "user", "parts": [result]},
        {"role": "user", "parts": [result]},
    ]
    with Running(settings(provider, 9_000, repair=mends)) as proxy:
        for _ in range(3):
            answer = program.post(proxy.url, body)
            assert answer.status_code == (200 if mends else 400)
            body["contents"].append({"role": "model", "parts": [{"text": "There."}]})
            body["contents"].append({"role": "user", "parts": [{"text": "And?"}]})


def test_a_signed_request_passes_as_it_is() -> None:
    """A signature of AWS covers the body; a key of Bedrock's own does not."""
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "word " * 50}]},
            {"role": "assistant", "content": [{"text": "word " * 50}]},
        ]
        * 20
        + [{"role": "user", "content": [{"text": "And now?"}]}]
    }
    path = "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
    with Upstream() as upstream, Running(settings(upstream, 500)) as proxy:
        for value in ("AWS4-HMAC-SHA256 Credential=a", "Bearer abc"):
            httpx.post(
                f"{proxy.url}{path}", json=body, headers={"authorization": value}
            )

    signed, free = upstream.got
    assert json.loads(signed.body) == body
    assert len(json.loads(free.body)["messages"]) < len(body["messages"])
    assert free.line.split()[1] == path


def test_cache_marks_are_placed_where_that_is_asked_for(
    provider: StrictProvider,
) -> None:
    """Only marks differ then."""
    program = Program("anthropic", words=200)
    with Running(settings(provider, 90_000, cache_marks="place")) as proxy:
        program.run(proxy.url, requests=12)

    assert not provider.refused
    body = provider.requests[-1].body
    assert "cache_control" in json.dumps(body)
    assert program.without_marks(body) == program.without_marks(program.last)


def test_a_side_question_has_a_session_of_its_own(provider: StrictProvider) -> None:
    """Programs ask for a title with the same question, and without tools."""
    body = Program("chat").first("hello")
    with Running(settings(provider, 4_000)) as proxy:
        first = httpx.post(f"{proxy.url}/v1/chat/completions", json=body)
        side = {**body, "tools": []}
        second = httpx.post(f"{proxy.url}/v1/chat/completions", json=side)

    names = {a.headers["x-turnkeep-session"] for a in (first, second)}
    assert len(names) == 2
