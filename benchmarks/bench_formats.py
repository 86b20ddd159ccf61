"""Reading and writing formats, against `json` alone on the same bytes.

``pytest benchmarks`` times it; ``--benchmark-disable`` only checks that it works. As a
script it prints the ratios of one run. Promised: decoding plus encoding costs at most
twice `json.loads` plus `json.dumps` on recorded histories, four times on 100,000 short
chat messages.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.paths import CORPUS, needs_corpus, read_corpus
from turnkeep.formats import Format, get_format, paused_gc

COUNT = 100_000
RECORDED = ("openai", "openai-responses", "anthropic", "gemini", "bedrock")


def short_chat(count: int = COUNT) -> list[dict[str, Any]]:
    """Short messages by turns: the worst case, for there is little text per message."""
    return [
        {
            "role": "user" if nth % 2 == 0 else "assistant",
            "content": f"Short message number {nth}, hello there.",
        }
        for nth in range(count)
    ]


def lists_of(name: str) -> list[Sequence[Any]]:
    """The lists of all recorded histories of one format."""
    fmt = get_format(name)
    return [fmt.open(record["body"]).entries for record in read_corpus(name)]


def through(fmt: Format, lists: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Every list decoded, and encoded again."""
    with paused_gc():
        return [
            fmt.encode([m for entry in entries for m in fmt.decode(entry)])
            for entries in lists
        ]


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """The shortest of several runs."""
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


def ratio(fmt: Format, lists: Sequence[Sequence[Any]]) -> float:
    """Decoding plus encoding, in units of `json.loads` plus `json.dumps`."""
    texts = [json.dumps(entries) for entries in lists]
    plain = seconds(lambda: [json.dumps(json.loads(text)) for text in texts])
    return seconds(lambda: through(fmt, lists)) / plain


@pytest.mark.benchmark(group="decode and encode 100,000 short messages")
@pytest.mark.parametrize("name", ["openai", "deepseek", "mistral", "anthropic"])
def bench_short_messages(benchmark: BenchmarkFixture, name: str) -> None:
    """At most four times `json` alone."""
    chat = short_chat()

    (written,) = benchmark(through, get_format(name), [chat])

    assert written == chat


@needs_corpus
@pytest.mark.benchmark(group="decode and encode recorded histories")
@pytest.mark.parametrize("name", RECORDED)
def bench_recorded(benchmark: BenchmarkFixture, name: str) -> None:
    """At most twice `json` alone."""
    lists = lists_of(name)

    written = benchmark(through, get_format(name), lists)

    assert written == [list(entries) for entries in lists]


if __name__ == "__main__":
    for each in ("openai", "deepseek", "mistral", "ollama", "openai-responses"):
        found = ratio(get_format(each), [short_chat()])
        print(f"{each:18} short chat  {found:.2f} x json")
    for each in RECORDED if CORPUS.is_dir() else ():
        found = ratio(get_format(each), lists_of(each))
        print(f"{each:18} recorded    {found:.2f} x json")
