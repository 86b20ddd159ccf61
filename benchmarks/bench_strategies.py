"""What ranking costs: a plan over 1,000 turns with the counts at hand.

``pytest benchmarks`` times it; ``--benchmark-disable`` only checks that it works.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from turnkeep import Budget, Message, ToolCall
from turnkeep.api._lists import CallerCounter, ListSource
from turnkeep.engine import Terms, make_plan
from turnkeep.formats import get_format
from turnkeep.index import History, Rules
from turnkeep.strategies import (
    ClearToolResults,
    KeepEnds,
    KeepRecent,
    LargestFirst,
    LeastRecentlyReferenced,
    LowestPriority,
    OldestSteps,
    OldestTurns,
    Relevance,
    Strategy,
    Superseded,
)
from turnkeep.strategies._referenced import ReferentIndex

STRATEGIES: dict[str, Strategy] = {
    "OldestTurns": OldestTurns(),
    "OldestSteps": OldestSteps(),
    "KeepEnds": KeepEnds(1, 400),
    "LargestFirst": LargestFirst(),
    "LowestPriority": LowestPriority(),
    "LeastRecentlyReferenced": LeastRecentlyReferenced(),
    "Relevance": Relevance(),
    "KeepRecent(Relevance & LeastRecentlyReferenced)": KeepRecent(
        0.3, rest=Relevance() & LeastRecentlyReferenced()
    ),
    "ClearToolResults": ClearToolResults(),
    "Superseded": Superseded(),
}


def chat(turns: int) -> list[Message]:
    """Each turn asks, every second one calls a tool, each one answers."""
    rng = random.Random(turns)
    made: list[Message] = []
    for nth in range(turns):
        thing = f"order_{rng.randrange(turns)}"
        made.append(Message.user(f"please look up {thing} for me", id=f"u{nth}"))
        if nth % 2:
            call = ToolCall(f"c{nth}", "read_order", {"path": thing})
            made.append(Message.assistant(tool_calls=[call]))
            text = f'{{"order": "{thing}", "next": "order_{rng.randrange(turns)}"}} '
            made.append(Message.tool_result(f"c{nth}", text * rng.randint(1, 9)))
        made.append(Message.assistant(f"{thing} is on its way " * rng.randint(1, 9)))
    return made


def counted(message: Message) -> int:
    """A token for four characters."""
    return 4 + len(message.text) // 4


def ready(turns: int) -> History:
    """A history whose counts have been taken."""
    fmt = get_format("messages")
    source = ListSource(fmt.open(chat(turns)), fmt, CallerCounter(counted, fmt))
    history = History(source.grouping, source, Rules())
    for step in range(source.grouping.steps):
        history.tokens(step)
    return history


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("turns", [100, 1_000])
@pytest.mark.benchmark(group="plan: drop half of the tokens")
def bench_drop_half(benchmark: BenchmarkFixture, name: str, turns: int) -> None:
    """1,000 turns: at most 5 ms, and 0.5 ms for `OldestTurns`."""
    history = ready(turns)
    total = sum(map(history.tokens, range(history.grouping.steps)))
    strategy = STRATEGIES[name]
    budget = Budget(total // 2)
    terms = Terms(on_overflow="send")
    make_plan(history, budget, strategy, terms)  # what is read once a message is read

    plan: Any = benchmark(make_plan, history, budget, strategy, terms)

    assert plan.pruned
    benchmark.extra_info["tokens"] = plan.tokens


@pytest.mark.benchmark(group="append: what an index learns from one message")
@pytest.mark.parametrize("turns", [100, 1_000])
def bench_append(benchmark: BenchmarkFixture, turns: int) -> None:
    """The same for a short and a long history."""
    messages = chat(turns)
    index = ReferentIndex()
    for message in messages:
        index.add(message)
    new = [Message.tool_result("c", f"order_{n} and order_{n + 1}") for n in range(100)]

    def append() -> None:
        for message in new:
            index.add(message)

    benchmark(append)
    assert index.size > len(messages)
