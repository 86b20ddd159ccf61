"""Reading and writing formats, against `json` alone on the same bytes.

``pytest benchmarks`` times it; ``--benchmark-disable`` only checks that it works. As a
script (``python -m benchmarks.bench_formats``) it prints the ratios of one run, by
processor time, both sides by turns. Promised: decoding plus encoding costs at most
twice `json.loads` plus `json.dumps` on recorded histories, four times on 100,000 short
chat messages.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks._tools import alternate
from tests.paths import CORPUS, needs_corpus, read_corpus
from turnkeep.formats import Format, get_format, paused_gc

COUNT = 100_000
WRITTEN = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "deepseek",
    "ollama",
    "claude-code",
    "orion",
    "molo",
    "multi-llm",
    "lellm",
    "mermaid",
    "turnkeep",
)
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


def in_format(name: str, chat: list[dict[str, Any]]) -> list[Any]:
    """The same chat as entries of format *name*."""
    openai = get_format("openai")
    said = [message for entry in chat for message in openai.decode(entry)]
    return get_format(name).encode(said)


def ratio(fmt: Format, lists: Sequence[Sequence[Any]], rounds: int) -> float:
    """Decoding plus encoding, in units of `json.loads` plus `json.dumps`."""
    texts = [json.dumps(entries) for entries in lists]
    plain, ours = alternate(
        lambda: [json.dumps(json.loads(text)) for text in texts],
        lambda: through(fmt, lists),
        rounds=rounds,
    )
    return ours / plain


@pytest.mark.benchmark(group="decode and encode 100,000 short messages")
@pytest.mark.parametrize("name", WRITTEN)
def bench_short_messages(benchmark: BenchmarkFixture, name: str) -> None:
    """At most four times `json` alone."""
    chat = in_format(name, short_chat())

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
    for each in WRITTEN:
        found = ratio(get_format(each), [in_format(each, short_chat())], rounds=3)
        print(f"{each:18} short chat  {found:.2f} x json")
    for each in RECORDED if CORPUS.is_dir() else ():
        found = ratio(get_format(each), lists_of(each), rounds=15)
        print(f"{each:18} recorded    {found:.2f} x json")
