"""What the benchmarks share: quiet clocks, fitted exponents, the table of promises.

The machines that run them are shared and noisy, so a promise is a ratio of two things
timed in turns in one run, by processor time, and the best round of each counts.
"""

from __future__ import annotations

import gc
import random
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from math import log
from statistics import median
from typing import Any

import attrs

from turnkeep import Message, ToolCall

Work = Callable[[], object]


@attrs.frozen
class Promise:
    """One promised cost, and what this run measured."""

    name: str
    promised: float
    measured: float
    unit: str
    at_least: bool = False
    """Whether the promise is a lower bound."""

    @property
    def kept(self) -> bool:
        """Whether this run kept it."""
        if self.at_least:
            return self.measured >= self.promised
        return self.measured <= self.promised

    def __str__(self) -> str:
        """One row of the table."""
        bound = ">=" if self.at_least else "<="
        verdict = "kept" if self.kept else "MISSED"
        return (
            f"{self.name:<69} {bound} {self.promised:>6g} {self.measured:>8.2f} "
            f"{self.unit:<5} {verdict}"
        )


PROMISES: list[Promise] = []
"""Every promise measured in this run, in order; the summary prints them."""


def promise(
    name: str, promised: float, measured: float, unit: str = "x", **kind: bool
) -> None:
    """Note what was measured of a promise."""
    PROMISES.append(Promise(name, promised, measured, unit, **kind))


def spent(work: Work, rounds: int = 5) -> float:
    """Seconds of processor time that *work* takes in its best round."""
    return alternate(work, rounds=rounds)[0]


def alternate(*works: Work, rounds: int = 5) -> list[float]:
    """The same for several, which take turns: whatever slows one slows all."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for nth, work in enumerate(works):
            gc.collect()
            start = time.process_time()
            work()
            best[nth] = min(best[nth], time.process_time() - start)
    return best


def each(operations: Sequence[Work]) -> float:
    """Microseconds that one of *operations* takes at the median."""
    clock = time.perf_counter_ns
    taken: list[int] = []
    for operation in operations:
        start = clock()
        operation()
        taken.append(clock() - start)
    return median(taken) / 1_000


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of log(time) over log(size): 1 is linear, 2 quadratic."""
    xs = [log(size) for size, _ in points]
    ys = [log(seconds) for _, seconds in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - mean_x) ** 2 for x in xs)


_SAID = (
    "order ticket build result error path file line total user please fetch status "
    "number value and report what changed since the last release in main module"
)
WORDS = tuple(_SAID.split())


def prose(rng: random.Random, words: int) -> str:
    """Some words."""
    return " ".join(rng.choices(WORDS, k=words))


def openai_chat(length: int, words: tuple[int, int] = (5, 60)) -> list[dict[str, Any]]:
    """A chat with tools: one message in two belongs to a call.

    Args:
        length:
            Messages.
        words:
            Words of a text, at least and at most: 5 to 60 make messages of 40 tokens on
            average, 100 to 560 make them of 250.
    """
    rng = random.Random(length)
    texts = [prose(rng, rng.randint(*words)) for _ in range(200)]
    chat: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
    while len(chat) < length:
        nth = len(chat)
        call = {
            "id": f"call_{nth}",
            "type": "function",
            "function": {"name": "find", "arguments": f'{{"order": {nth}}}'},
        }
        chat += [
            {"role": "user", "content": texts[nth % 199]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{nth}", "content": texts[nth % 97]},
            {"role": "assistant", "content": texts[nth % 193]},
        ]
    return chat[:length]


def short_chat(length: int) -> list[dict[str, Any]]:
    """User and assistant by turns, a sentence each."""
    return [
        {
            "role": "assistant" if nth % 2 else "user",
            "content": f"message {nth}: please look at the order once more",
        }
        for nth in range(length)
    ]


def agent_log(steps: int, lines: int = 24) -> list[tuple[Message, Message]]:
    """What an agent appends in a step: a call and its result.

    Args:
        steps:
            How many.
        lines:
            Lines of a result on average: 24 make a step of 320 tokens, 48 one of the
            600 that recorded coding sessions have.
    """
    rng = random.Random(steps)
    return [
        (
            Message.assistant(
                prose(rng, 10),
                tool_calls=[ToolCall(f"call_{n}", "run", {"command": prose(rng, 8)})],
            ),
            Message.tool_result(
                f"call_{n}", listing(rng, rng.randint(lines // 3, lines * 5 // 3))
            ),
        )
        for n in range(steps)
    ]


def listing(rng: random.Random, lines: int) -> str:
    """What a tool prints: paths, numbers, a few words a line."""
    return "\n".join(
        f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}.py:{rng.randrange(900)}: "
        f"{prose(rng, 3)}"
        for _ in range(lines)
    )


def weighed(length: int) -> Iterator[Message]:
    """A log whose host has counted: what is left is our own work.

    Made as it is read, as in life: a million messages that are made first and freed
    later leave holes all over the memory, and whatever fills them is slow.
    """
    for n in range(0, length, 4):
        call = ToolCall(f"c{n}", "run", "{}")
        yield Message.user("go on", token_count=20)
        yield Message.assistant("", tool_calls=[call], token_count=30)
        yield Message.tool_result(f"c{n}", "done", token_count=40)
        yield Message.assistant("fine", token_count=25)


class Floor:
    """The fastest thing that can be written by hand: running sums and bisection.

    Knows no pairs, pins or pending calls.
    """

    def __init__(self, count: Callable[[Any], int], limit: int) -> None:
        """An empty log that *count* counts, for windows of *limit* tokens."""
        self.count = count
        self.limit = limit
        self.log: list[Any] = []
        self.sums = [0]

    def append(self, message: Any) -> None:
        """Count a message once."""
        self.log.append(message)
        self.sums.append(self.sums[-1] + self.count(message))

    def window(self) -> list[Any]:
        """The newest messages that fit."""
        return self.log[bisect_left(self.sums, self.sums[-1] - self.limit) :]
