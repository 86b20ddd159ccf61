"""One contract for all hosts: what holds in each of them, with its real client.

Runs where a host is installed: `.ci/run hosts` makes an environment for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from tests.hosts.scenario import (
    DEPLOY,
    LIMIT,
    PARALLEL,
    QUESTIONS,
    ROUNDS,
    RULE,
    Chat,
    Host,
    Mode,
    Setup,
    host_of,
    installed,
    script,
)
from tests.strict.provider import Recorded, StrictProvider
from turnkeep import Budget

MODES: tuple[Mode, ...] = ("sync", "async")
HERE = installed()
pytestmark = pytest.mark.skipif(not HERE, reason="no host is installed here")


@pytest.fixture(params=HERE or ["none"])
def host(request: pytest.FixtureRequest) -> Host:
    """Each host that is here."""
    return host_of(request.param)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, host: Host) -> Mode:
    """Each way in which it is called."""
    if request.param not in host.modes:
        pytest.skip(f"{host.name} has no {request.param} way")
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    """A strict provider of its own for each test."""
    with StrictProvider(script, LIMIT) as started:
        yield started


def said(request: Recorded) -> str:
    """Everything that the model read."""
    assert request.seen is not None, request.faults
    return request.seen.text


def play(chat: Chat) -> list[str]:
    """The rule, then the three questions."""
    return [chat.ask(RULE, pinned=True), *map(chat.ask, QUESTIONS)]


def test_dies_without_us(host: Host, provider: StrictProvider) -> None:
    """The same run ends in a refusal, so that the others say something."""
    chat = host.start(Setup(provider, kept=False, mode=host.modes[0]))

    with pytest.raises(Exception, match=r"(?i)context|too long|exceed"):
        play(chat)

    assert provider.refused


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_goes_on(
    host: Host, mode: Mode, streamed: bool, provider: StrictProvider
) -> None:
    """Nothing is refused, and the rule stands in every request."""
    chat = host.start(Setup(provider, streamed=streamed, mode=mode))

    answers = play(chat)

    assert not provider.refused, provider.refused[0].faults
    assert len(provider.requests) >= 3 * (ROUNDS + 1)
    assert all(RULE in said(request) for request in provider.requests)
    assert "Orion" in answers[1]
    assert "Cygnus" in answers[3]


def test_the_history_stays_whole(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """What the host holds has everything, each result once, and nothing of ours."""
    chat = host.start(Setup(provider, mode=mode))

    play(chat)

    history = chat.history()
    for question in ("Orion", "Lyra", "Cygnus"):
        for number in range(1, ROUNDS + 1):
            for part in range(1, PARALLEL + 1):
                mark = f"What of {question} round {number} part {part}]"
                assert history.count(mark) == 1
    assert "turnkeep" not in history


def test_each_result_is_read(host: Host, mode: Mode, provider: StrictProvider) -> None:
    """The model reads every result whole in the request that follows it."""
    chat = host.start(Setup(provider, mode=mode))

    play(chat)

    read = [said(request) for request in provider.requests]
    for question in ("Orion", "Lyra", "Cygnus"):
        for number in range(1, ROUNDS + 1):
            mark = f"What of {question} round {number} part 1]"
            assert any(mark in text for text in read)


def test_nothing_changes_where_it_fits(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """Under the budget the requests are those that the host sends without us."""
    provider.limit = None
    bodies: list[list[Any]] = []
    for kept in (False, True):
        provider.clear()
        budget = Budget(1_000_000, target=0.6)
        chat = host.start(Setup(provider, kept=kept, budget=budget, mode=mode))
        chat.ask(RULE)
        chat.ask(QUESTIONS[0])
        bodies.append([_anonymous(request) for request in provider.requests])

    assert bodies[0] == bodies[1]


def _anonymous(request: Recorded) -> Any:
    """A body without the ids, which differ from run to run."""
    names: dict[str, str] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            k: names.setdefault(v, f"id-{len(names)}")
            if k in ("id", "call_id", "tool_call_id", "tool_use_id")
            else plain(v)
            for k, v in value.items()
            if k not in ("user", "prompt_cache_key", "metadata")
        }

    return plain(request.body)


def test_the_prefix_stays(host: Host, mode: Mode, provider: StrictProvider) -> None:
    """A few deep cuts: most requests begin with the whole request before them."""
    chat = host.start(Setup(provider, mode=mode))

    play(chat)

    texts = [said(request) for request in provider.requests]
    kept = sum(b.startswith(a) for a, b in pairwise(texts))
    assert kept >= len(texts) // 2


def test_goes_on_in_another_process(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """From what the host keeps, the next request has the same prefix."""
    chat = host.start(Setup(provider, mode=mode))
    play(chat)

    provider.clear()
    other = chat.resumed()
    chat.ask("And Vega?")
    mine = said(provider.requests[0])
    provider.clear()
    other.ask("And Vega?")

    assert said(provider.requests[0]) == mine
    assert not provider.refused


def test_two_chats_at_once(host: Host, mode: Mode, provider: StrictProvider) -> None:
    """Chats that run in two threads never see each other."""
    if mode not in host.modes:
        pytest.skip("one way is enough")
    names = ("Ada", "Bob")

    def run(name: str) -> None:
        chat = host.start(Setup(provider, mode=mode, key=name))
        chat.ask(f"{RULE} I am {name}.", pinned=True)
        for question in QUESTIONS[:2]:
            chat.ask(f"{question[:-1]} {name}?")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, names))

    assert not provider.refused, provider.refused[0].faults
    for request in provider.requests:
        text = said(request)
        assert ("Ada" in text) != ("Bob" in text)
        assert RULE in text


def test_an_approval_stays_open(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """The chat goes on for two questions; then the answer comes, and is read."""
    if not host.leaves_open:
        pytest.skip(f"{host.name} leaves no call open in its requests")
    chat = host.start(Setup(provider, mode=mode))

    chat.ask(RULE, pinned=True)
    chat.ask(DEPLOY)
    chat.ask(QUESTIONS[0])
    chat.ask(QUESTIONS[1])
    waited = len(provider.requests)
    chat.resolve("APPROVED by Kim.")
    chat.ask(QUESTIONS[2])

    assert not provider.refused, provider.refused[0].faults
    assert waited >= 2 * ROUNDS
    if host.shows_open:
        assert all("approve(" in said(r) for r in provider.requests[2:waited])
    assert "approve(" in said(provider.requests[waited])
    assert "APPROVED by Kim." in said(provider.requests[waited])


def test_usage_is_learned(host: Host, mode: Mode, provider: StrictProvider) -> None:
    """What the provider counted reaches the conversation."""
    chat = host.start(Setup(provider, mode=mode))

    play(chat)

    assert chat.usage() == sum(request.tokens for request in provider.requests)


def test_a_refusal_for_length_is_survived(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """A budget that is too large costs one refusal, or two; the chat goes on."""
    budget = Budget(100_000, reserve=500, target=0.6)
    chat = host.start(Setup(provider, mode=mode, budget=budget))

    answers = play(chat)

    assert 1 <= len(provider.refused) <= 3
    assert {f.rule for r in provider.refused for f in r.faults} == {"context"}
    assert "Cygnus" in answers[3]


def test_system_text_and_tools_are_counted(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """A system text of half of the context leaves half for the rest."""
    system = "Mind every star and planet in the catalog. " * 550
    budget = Budget(12_000, reserve=500, target=0.8)
    chat = host.start(Setup(provider, mode=mode, system=system, budget=budget))

    play(chat)

    assert not provider.refused, provider.refused[0].faults
    assert all(system.strip() in said(request) for request in provider.requests)


def test_a_summary_takes_the_place_of_what_went(
    host: Host, mode: Mode, provider: StrictProvider
) -> None:
    """A summariser is asked few times, and what it says is read."""
    asked: list[Any] = []

    def summarize(passage: Any) -> str:
        asked.append(passage)
        return "In short: the summary of S-99."

    setup = Setup(provider, mode=mode, options={"summarizer": summarize})
    chat = host.start(setup)

    play(chat)

    assert not provider.refused, provider.refused[0].faults
    assert 1 <= len(asked) <= len(provider.requests) // 2
    assert "S-99" in said(provider.requests[-1])
    assert "S-99" not in chat.history()
