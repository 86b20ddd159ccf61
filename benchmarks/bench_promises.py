"""Every promised speed, as a ratio in one run against what a user would otherwise do.

``pytest benchmarks/bench_promises.py`` prints the table; ``--benchmark-disable`` runs
the same on small histories and checks the results only. Times never fail a run.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import turnkeep
from benchmarks._tools import (
    Floor,
    agent_log,
    alternate,
    each,
    openai_chat,
    promise,
    spent,
    weighed,
)
from turnkeep import Budget, Conversation, Message, Text, ToolCall, ToolResult
from turnkeep.tokens import TiktokenCounter, request_counter, text_counter

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "openai.jsonl.gz"
LIMIT = 32_000


def roles_and_pairs(chat: list[dict[str, Any]]) -> int:
    """The least anybody has to read: roles, and which result answers which call."""
    waiting: dict[str, int] = {}
    pairs = 0
    for nth, entry in enumerate(chat):
        role = entry["role"]
        if role == "assistant":
            for call in entry.get("tool_calls") or ():
                waiting[call["id"]] = nth
        elif role == "tool":
            pairs += waiting.pop(entry["tool_call_id"], None) is not None
    return pairs


def bench_cold_fit(timed: bool) -> None:
    """100,000 raw messages to 8,000 tokens; then ten times as many."""
    small, large = (100_000, 1_000_000) if timed else (200, 2_000)
    chat = openai_chat(small)

    def fit() -> Any:
        return turnkeep.fit(chat, max_tokens=8_000, model="gpt-4o")

    assert fit()[-1] is chat[-1]
    cold, bare = alternate(fit, lambda: roles_and_pairs(chat))
    promise(f"cold fit of {small:,} / a pass over roles and pairs", 4, cold / bare)
    promise(f"cold fit of {small:,} messages", 60, cold * 1_000, "ms")
    huge = openai_chat(large)
    longer = spent(
        lambda: turnkeep.fit(huge, max_tokens=8_000, model="gpt-4o"), rounds=3
    )
    promise(f"cold fit of {large:,} / of {small:,}", 12, longer / cold)


def bench_counted_fit(timed: bool) -> None:
    """A first fit of a Conversation with counts at hand."""
    chat = Conversation(budget=Budget(8_000), model="gpt-4o")
    for message in weighed(100_000 if timed else 400):
        chat.append(message)

    def fit() -> list[Message]:
        chat._fitter.forget()  # noqa: SLF001 - every round is a first one
        return list(chat.fit().messages)

    assert fit()
    promise("first fit of 100,000 counted messages", 1, spent(fit) * 1_000, "ms")


def counted_by_hand(count: Callable[[str], int]) -> Callable[[Message], int]:
    """What somebody writes who counts each message by its parts."""

    def tokens(message: Message) -> int:
        total = 4
        for block in message.content:
            if isinstance(block, Text):
                total += count(block.text)
            elif isinstance(block, ToolCall):
                total += count(block.name) + count(block.text) + count(block.id or "")
            elif isinstance(block, ToolResult):
                total += count(block.text) + count(block.tool_call_id or "")
        return total

    return tokens


@pytest.mark.parametrize(
    ("kind", "lines", "tokens"),
    [("tiktoken", 24, 320), ("tiktoken", 48, 600), ("default", 48, 600)],
)
def bench_agent_loop(timed: bool, kind: str, lines: int, tokens: int) -> None:
    """2,000 steps at 32k on a growing log: append a call and a result, fit, list."""
    counter = TiktokenCounter() if kind == "tiktoken" else text_counter("gpt-4o")
    name = "tiktoken" if kind == "tiktoken" else repr(counter).partition("(")[0]
    name += f", {tokens} tokens a step"
    log = agent_log(2_000 if timed else 50, lines)
    count = counted_by_hand(counter.count)
    count(log[0][0])

    def floor() -> list[Any]:
        hand = Floor(count, LIMIT)
        window: list[Any] = []
        for said, answer in log:
            hand.append(said)
            hand.append(answer)
            window = hand.window()
        return window

    def loop(encode: bool) -> Any:
        chat = Conversation(budget=Budget(LIMIT), model="gpt-4o", token_counter=counter)
        chat.user("Do what is asked.")
        made: Any = None
        for said, answer in log:
            chat.append(said)
            chat.append(answer)
            window = chat.fit()
            made = window.encode()["messages"] if encode else window.messages
        return made

    assert len(loop(encode=False)) == len(loop(encode=True))
    bare, listed, encoded = alternate(
        floor, lambda: loop(encode=False), lambda: loop(encode=True), rounds=3
    )
    promise(f"agent loop / floor by hand ({name})", 1.5, listed / bare)
    promise(f"agent loop with encoding / floor by hand ({name})", 2, encoded / bare)


def grown(length: int, open_calls: int = 0) -> Conversation:
    """A conversation of that length, counted, with a window made.

    Args:
        length:
            Messages.
        open_calls:
            Calls in the middle of it that nobody has answered yet.
    """
    chat = Conversation(budget=Budget(LIMIT), model="gpt-4o")
    for nth, message in enumerate(weighed(length)):
        if nth == length // 2:
            for n in range(open_calls):
                call = ToolCall(f"late{n}", "x", "{}")
                chat.assistant("", tool_calls=[call], token_count=9)
        chat.append(message)
    assert chat.fit().messages
    return chat


def steady(chat: Conversation, rounds: int) -> tuple[float, float, float]:
    """Microseconds of an append, a fit and a list at the median, tokens given."""
    new = list(weighed(rounds))
    times: list[tuple[float, float, float]] = []
    for start in range(0, rounds, rounds // 5):
        adds, fits, lists = [], [], []
        for message in islice(new, start, start + rounds // 5):
            adds.append(each([partial(chat.append, message)]))
            fits.append(each([chat.fit]))
            lists.append(each([partial(list, chat.fit())]))
        adds.sort()
        fits.sort()
        lists.sort()
        middle = len(adds) // 2
        times.append((adds[middle], fits[middle], lists[middle]))
    return min(t[0] for t in times), min(t[1] for t in times), min(t[2] for t in times)


def bench_lengths(timed: bool) -> None:
    """What an operation costs at 1,000 and at 1,000,000 messages."""
    short, long = (1_000, 1_000_000) if timed else (100, 1_000)
    rounds = 2_000 if timed else 20
    small = steady(grown(short), rounds)
    chat = grown(long)
    large = steady(chat, rounds)
    for nth, what in enumerate(("append", "fit")):
        promise(f"{what}, tokens given, at {short:,} messages", 10, small[nth], "us")
        promise(f"{what}, tokens given, at {long:,} messages", 10, large[nth], "us")
        promise(f"{what} at {long:,} / at {short:,}", 1.5, large[nth] / small[nth])
    change_middle(chat, long)
    del chat
    answer_middle(grown(long, open_calls=20), long)


def answer_middle(chat: Conversation, length: int) -> None:
    """Late results in the middle of a long history."""
    late = [
        partial(chat.append, Message.tool_result(f"late{nth}", "here", token_count=12))
        for nth in range(20)
    ]
    promise(f"late result in the middle of {length:,}", 50, each(late), "us")
    assert not chat.pending


def change_middle(chat: Conversation, length: int) -> None:
    """Edits and pins in the middle of a long history."""
    ids = [
        message.id or ""
        for message in chat.messages[length // 2 : length // 2 + 160 : 4]
    ]
    edits = [partial(chat.edit, i, content="changed", token_count=21) for i in ids[:20]]
    promise(f"edit in the middle of {length:,}", 50, each(edits), "us")
    pins = [partial(chat.pin, i) for i in ids[20:40]]
    promise("pin there, in a turn of 3 steps", 56, each(pins), "us")


def corpus() -> Iterator[Message]:
    """Recorded messages, or made ones where there is no corpus beside the checkout."""
    if CORPUS.exists():
        with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from Conversation.from_messages(
                    json.loads(line)["body"], format="openai", model="gpt-4o"
                )
    else:
        for pair in agent_log(2_000):
            yield from pair


def bench_append(timed: bool) -> None:
    """Appending recorded messages against counting them by their parts."""
    messages = [
        message.evolve(id=None) for message in islice(corpus(), 4_000 if timed else 100)
    ]
    counter = request_counter(model="gpt-4o", text=TiktokenCounter())
    counter.message(messages[0])

    def append() -> int:
        chat = Conversation(model="gpt-4o", token_counter=counter)
        for message in messages:
            chat.append(message)
        return len(chat)

    assert append() == len(messages)
    added, counted = alternate(
        append, lambda: [counter.parts(message) for message in messages]
    )
    promise(
        "append / counting it by its parts (recorded messages)", 1.3, added / counted
    )
