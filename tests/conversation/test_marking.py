"""Cache marks of a conversation's windows, replayed against the published rules."""

import json
import pickle
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest

import turnkeep
from tests.prompt_cache import PromptCache
from turnkeep import Budget, Conversation, Message, Prices, ToolCall

MODEL = "claude-sonnet-5"
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TTL = timedelta(minutes=5)
TOOLS = [{"name": "run", "description": "x " * 400, "input_schema": {"type": "object"}}]


def agent(**options: Any) -> Conversation:
    """An agent that has been told what to do."""
    budget = Budget(24_000, target=0.6, prices=Prices(ttl=TTL))
    chat = Conversation(**{"budget": budget, "model": MODEL, "tools": TOOLS, **options})
    chat.append(Message.system("You are an agent. " * 300, timestamp=START))
    chat.append(Message.user("Find it. " * 100, timestamp=START))
    return chat


def work(chat: Conversation, nth: int, at: datetime, rng: Random) -> None:
    """One round: a call and its result, or, three times in ten, over 20 blocks."""
    if nth % 10 < 3:
        for part in range(11):
            one(chat, f"c{nth}-{part}", at, rng, 10)
    else:
        one(chat, f"c{nth}", at, rng, 80)


def one(chat: Conversation, call: str, at: datetime, rng: Random, most: int) -> None:
    """A word, a call and its result."""
    use = ToolCall(call, "run", {"n": call})
    chat.append(Message.assistant(f"next {call}", tool_calls=[use], timestamp=at))
    words = " ".join(
        rng.choices(("file", "line", "error", "ok"), k=rng.randint(5, most))
    )
    chat.append(Message.tool_result(call, words, timestamp=at))


def played(requests: int, **options: Any) -> tuple[PromptCache, int]:
    """A session sent to a cache, and how often it was pruned.

    A request every 20 seconds, and one pause of ten minutes in the middle.
    """
    chat, cache, rng = agent(**options), PromptCache(), Random(7)
    at, prunes = START, 0
    for nth in range(requests):
        window = chat.fit()
        prunes += window.pruned
        body = window.encode()
        assert json.dumps(body).count('"cache_control"') <= 4
        cache.send(body, at)
        work(chat, nth, at + timedelta(seconds=5), rng)
        at += timedelta(seconds=20)
        if nth == requests // 2:
            at += 2 * TTL
    return cache, prunes


def test_a_long_session_reads_nearly_all_of_its_input_from_the_cache() -> None:
    """400 requests, pruned, with long rounds and a pause: at least 85 % is read."""
    cache, prunes = played(400, cache_marks="place")
    unmarked, _ = played(400)

    assert len(cache.requests) == 400
    assert prunes >= 8
    assert cache.share >= 0.85
    assert unmarked.share == 0.0
    assert cache.cost() < unmarked.cost() / 2


@pytest.mark.parametrize("strategy", ["chat", "agent", "clear-tool-results | chat"])
def test_every_strategy_keeps_the_cache_warm(strategy: str) -> None:
    """Between two prunes nothing moves, whatever ranks."""
    cache, prunes = played(80, cache_marks="place", strategy=strategy)

    assert prunes
    assert cache.share > 0.7


def test_the_previous_windows_end_is_marked() -> None:
    """It is what the provider has, however much has come since, restarts included."""
    chat, rng = agent(cache_marks="place"), Random(1)
    ends = []
    for nth in range(6):
        work(chat, nth, START, rng)
        body = chat.fit().encode()
        marked = [
            n
            for n, entry in enumerate(body["messages"])
            if "cache_control" in json.dumps(entry)
        ]
        assert chat.fit().encode() == body  # the same request
        assert turnkeep.check(body, model=MODEL) == []
        assert pickle.loads(pickle.dumps(chat.fit())).encode() == body  # noqa: S301
        ends.append((marked, len(body["messages"]) - 1))
        if nth == 3:
            chat = Conversation.from_json(json.loads(json.dumps(chat.to_json())))
            assert chat.cache_marks == "place"

    for (_, before), (marked, last) in pairwise(ends):
        assert marked[0] == 0  # the question, which is held
        assert marked[-2:] == [before, last]


def test_marks_of_the_history_are_taken_over_or_removed() -> None:
    """A life of an hour that somebody paid for is kept for all; or all go."""
    hour = {"type": "ephemeral", "ttl": "1h"}
    said = [{"type": "text", "text": "word " * 1_500, "cache_control": hour}]
    entry = {"role": "user", "content": said}

    chat = Conversation.from_messages([entry], model=MODEL, cache_marks="place")
    dropped = Conversation.from_messages([entry], model=MODEL, cache_marks="drop")

    assert '"1h"' in json.dumps(chat.fit(20_000).encode())
    assert "cache_control" not in json.dumps(dropped.fit(20_000).encode())
