"""What a window costs after an append, whatever the provider and the history.

``pytest benchmarks/bench_paths.py`` prints a row for each format and each thing that
may lie in a history. Times never fail a run.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

import pytest

from benchmarks._tools import promise, weighed
from turnkeep import Budget, Conversation, Message, Text, ToolCall, ToolResult
from turnkeep.model import Image, Role, Thinking
from turnkeep.strategies import (
    ClearToolResults,
    Digest,
    LargestFirst,
    LowestPriority,
    OldestSteps,
    OldestTurns,
    Relevance,
)

FORMATS: Final = {
    "openai": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "bedrock": "anthropic.claude-sonnet-4-5-v1:0",
    "openai-responses": "gpt-5",
    "ollama": "llama3",
}
LENGTH: Final = 50_000
LIMIT: Final = 8_000
APPENDS: Final = 200


def nothing(chat: Conversation) -> None:
    """Nothing special."""


def abandoned(chat: Conversation) -> None:
    """A call that nobody waits for any more."""
    chat.assistant("", tool_calls=[ToolCall("gone", "x", "{}")], token_count=9)
    chat.abandon("gone")


def thinking(chat: Conversation) -> None:
    """One block of reasoning."""
    chat.assistant([Thinking("hm", signature="s"), Text("so")], token_count=9)


def answers_two(chat: Conversation) -> None:
    """A message that answers the calls of two steps."""
    for name in ("left", "right"):
        chat.assistant("", tool_calls=[ToolCall(name, "x", "{}")], token_count=9)
        chat.user("and then?", token_count=5)
    results = [ToolResult("left", "1"), ToolResult("right", "2")]
    chat.append(Message(Role.TOOL_RESULT, results, token_count=9))


def pictures(chat: Conversation) -> None:
    """A picture."""
    chat.append(Message(Role.USER, [Text("see"), Image(data="aGk=")], token_count=90))


def pinned(chat: Conversation) -> None:
    """Two hundred pins."""
    for message in chat.messages[:: max(len(chat) // 200, 1)]:
        chat.pin(message.id or "", "step")


def interim(chat: Conversation) -> None:
    """An answer that is not the last one."""
    chat.assistant("", tool_calls=[ToolCall("slow", "x", "{}")], token_count=9)
    chat.interim("slow", "half of it")


def waiting(chat: Conversation) -> None:
    """A thousand calls that are awaited."""
    for nth in range(1_000):
        call = ToolCall(f"late{nth}", "x", "{}")
        chat.assistant("", tool_calls=[call], token_count=1)
        chat.user("go on", token_count=1)


ODD: Final[dict[str, tuple[Callable[[Conversation], None], dict[str, Any]]]] = {
    "nothing special": (nothing, {}),
    "one abandoned call": (abandoned, {}),
    "one thinking block": (thinking, {}),
    "a message that answers two steps": (answers_two, {}),
    "max_images": (pictures, {"max_images": 4}),
    "200 pins": (pinned, {"max_tokens": 60_000}),
    "an interim answer": (interim, {}),
    "1,000 pending calls": (waiting, {"max_tokens": 120_000}),
}


def grown(
    length: int, kind: str, odd: Callable[[Conversation], None], **options: Any
) -> Conversation:
    """A conversation of that length with something odd in the middle."""
    limits = {"max_tokens": LIMIT, "target": 0.6}
    strategy = options.pop("strategy", None)
    chat = Conversation(
        budget=Budget(**{**limits, **options}),
        format=kind,
        model=FORMATS[kind],
        strategy=strategy,
    )
    chat.extend(list(weighed(length // 2)))
    if odd is not pinned:
        odd(chat)
    chat.extend(list(weighed(length - length // 2)))
    if odd is pinned:
        odd(chat)
    return chat


def measured(
    chat: Conversation, odd: Callable[[Conversation], None]
) -> tuple[float, float]:
    """Microseconds of a fit after an append, and of one that prunes, at the median."""
    chat.fit()
    plain: list[int] = []
    prunes: list[int] = []
    for nth, message in enumerate(weighed(APPENDS * 2)):
        chat.append(message)
        if odd is pictures and nth % 4 == 0:
            pictures(chat)
        start = perf_counter_ns()
        window = chat.fit()
        taken = perf_counter_ns() - start
        (prunes if window.pruned else plain).append(taken)
        if len(plain) >= APPENDS:
            break
    plain.sort()
    prunes.sort()
    return (
        plain[len(plain) // 2] / 1_000,
        prunes[len(prunes) // 2] / 1_000 if prunes else 0.0,
    )


def bench_paths(timed: bool) -> None:
    """Every format with everything that may lie in its history."""
    length = LENGTH if timed else 200
    base = 0.0
    for name, (odd, options) in ODD.items():
        for kind in FORMATS:
            chat = grown(length, kind, odd, **options)
            plain, prune = measured(chat, odd)
            base = base or plain
            bound = min(max(3 * base, 60), 100)
            promise(f"fit after an append, {kind}, {name}", bound, plain, "us")
            promise(f"a prune of it, {kind}, {name}", 5, prune / 1_000, "ms")


@pytest.mark.parametrize(
    ("strategy", "due"),
    [
        (Digest(0.05) | OldestTurns() | OldestSteps(), 60),
        (OldestSteps(), 60),
        (ClearToolResults(2) | OldestTurns() | OldestSteps(), 60),
        (LargestFirst(), 10),
        (LowestPriority(), 10),
        (OldestTurns(), 10),
        (Relevance(), 60),
    ],
    ids=["digest", "steps", "clear", "largest", "priority", "turns", "relevance"],
)
def bench_other_strategies(timed: bool, strategy: Any, due: float) -> None:
    """Strategies other than the default."""
    length = LENGTH if timed else 200
    chat = grown(length, "openai", nothing, strategy=strategy)
    plain, prune = measured(chat, nothing)
    name = repr(strategy).replace("strategies.", "")[:30]
    promise(f"fit after an append, {name}", 100, plain, "us")
    promise(f"a prune of it, {name}", due, prune / 1_000, "ms")
