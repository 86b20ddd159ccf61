"""How each operation grows with the history: the summary fits an exponent to each.

``pytest benchmarks/bench_growth.py`` times it; ``--benchmark-disable`` only checks the
results. A million messages stand among the promises, where one run builds them once.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import turnkeep
from benchmarks._tools import openai_chat, weighed
from turnkeep import Budget, Conversation, Message
from turnkeep.formats import get_format
from turnkeep.turns import Grouping, entry_of

LENGTHS = [100, 1_000, 10_000, 100_000]


@pytest.fixture
def length(request: pytest.FixtureRequest, timed: bool) -> int:
    """Messages; fewer where times do not count."""
    size: int = request.param
    return size if timed else min(size, 1_000)


every_length = pytest.mark.parametrize("length", LENGTHS, indirect=True)


def decoded(length: int) -> list[Message]:
    """A chat as messages."""
    decode = get_format("openai").decode
    return [decode(entry)[0] for entry in openai_chat(length)]


def flat(_entry: Any) -> int:
    """Ten tokens a message."""
    return 10


@every_length
@pytest.mark.benchmark(group="cold fit to 8,000 tokens")
def bench_cold_fit(benchmark: BenchmarkFixture, length: int) -> None:
    """Reads the whole list once, and tokenises what is kept."""
    chat = openai_chat(length)

    window = benchmark(turnkeep.fit, chat, 8_000, model="gpt-4o")

    assert window[-1] is chat[-1]


@every_length
@pytest.mark.benchmark(group="plan: half of the tokens, default strategy")
def bench_plan(benchmark: BenchmarkFixture, length: int) -> None:
    """Linear, whatever is dropped."""
    chat = openai_chat(length)

    def plan() -> turnkeep.Plan:
        made = turnkeep.plan(chat, length * 5, format="openai", token_counter=flat)
        assert made.runs
        return made

    assert benchmark(plan).pruned


@every_length
@pytest.mark.benchmark(group="group into steps and turns")
def bench_group(benchmark: BenchmarkFixture, length: int) -> None:
    """Amortised constant time a message."""
    entries = list(map(entry_of, decoded(length)))

    grouping = benchmark(Grouping, entries)

    assert len(grouping) == length


@every_length
@pytest.mark.benchmark(group="encode")
def bench_encode(benchmark: BenchmarkFixture, length: int) -> None:
    """Linear."""
    messages = decoded(length)

    entries = benchmark(get_format("openai").encode, messages)

    assert entries == openai_chat(length)


def grown(length: int) -> Conversation:
    """A conversation of that length that has made a window."""
    chat = Conversation(budget=Budget(32_000), model="gpt-4o")
    for message in weighed(length):
        chat.append(message)
    assert chat.fit().messages
    return chat


@every_length
@pytest.mark.benchmark(group="conversation: append 100 messages, tokens given")
def bench_append(benchmark: BenchmarkFixture, length: int) -> None:
    """Costs the messages, whatever stands before them: exponent 0."""
    chat, new = grown(length), list(weighed(100))

    def append() -> None:
        for message in new:
            chat.append(message.evolve())

    benchmark.pedantic(append, rounds=20)  # type: ignore[no-untyped-call]
    assert len(chat) >= length + 100


@every_length
@pytest.mark.benchmark(group="conversation: append, fit and list 100 times")
def bench_loop(benchmark: BenchmarkFixture, length: int) -> None:
    """Costs what is new: exponent 0, once there is more than a window holds."""
    chat, new = grown(length), list(weighed(100))

    def loop() -> None:
        for message in new:
            chat.append(message)
            assert chat.fit().messages

    benchmark.pedantic(loop, rounds=10)  # type: ignore[no-untyped-call]
    assert len(chat) >= length + 100
