"""Counting tokens, against the tokenizer alone on the same texts.

``pytest benchmarks/bench_count.py`` times it and prints a table of ratios;
``--benchmark-disable`` only checks the results. Promised, in processor time of one run:

- a message costs at most 1.1 times the tokenizer calls that it needs;
- 10,000 mixed messages cold are at least as fast as `len(encoding.encode(text))`, and
  at least 1.5 times as fast with the extra `fast`;
- a warm recount of 100,000 messages takes under a hundredth of the cold one.
"""

import random
import time
from collections.abc import Callable, Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.tokens import strings
from turnkeep.model import Message, Text, ToolCall, ToolResult
from turnkeep.tokens import (
    ApproximateCounter,
    FastCounter,
    Memo,
    RequestCounter,
    TextCounter,
    TiktokenCounter,
    count_many,
    request_counter,
    text_counter,
)
from turnkeep.tokens._tiktoken import encoding

COUNT = 10_000
ENCODING = "o200k_base"
COUNTERS: dict[str, Callable[[], TextCounter]] = {
    "tiktoken": TiktokenCounter,
    "estimate": ApproximateCounter,
}
if FastCounter.supports(ENCODING):
    COUNTERS["bpe-openai"] = FastCounter


def make(count: int) -> list[Message]:
    """Mixed messages as in a chat with tools: about 600 characters on average."""
    rng = random.Random(1)
    prose, code = "".join(strings.PROSE[:4]) * 8, "".join(strings.CODE) * 20
    messages = []
    for nth in range(count):
        text = prose[: rng.randint(1, 900)] + str(nth)
        if nth % 4 == 1:
            call = ToolCall(f"call_{nth}", "read_file", f'{{"path": "src/{nth}.py"}}')
            messages.append(Message.assistant(text[:80], tool_calls=[call]))
        elif nth % 4 == 2:
            result = code[: rng.randint(1, 2_000)]
            messages.append(Message.tool_result(f"call_{nth - 1}", result))
        else:
            messages.append(Message.user(text))
    return messages


def texts(message: Message) -> Iterator[str]:
    """What the tokenizer must see of a message."""
    for block in message.content:
        match block:
            case Text():
                yield block.text
            case ToolCall():
                yield from (block.name, block.text, block.id or "")
            case ToolResult():
                yield block.text
                yield block.tool_call_id or ""
            case _:
                raise AssertionError(block)


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    """The messages that are counted."""
    return make(COUNT)


@pytest.fixture(scope="module")
def needed(messages: list[Message]) -> list[str]:
    """Every text in them."""
    return [text for message in messages for text in texts(message)]


def spent(function: Callable[[], object], rounds: int = 5) -> float:
    """Least processor time of some rounds, which a busy machine disturbs least."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("kind", COUNTERS)
@pytest.mark.benchmark(group=f"{COUNT:,} messages")
def bench_messages(
    benchmark: BenchmarkFixture, messages: list[Message], kind: str
) -> None:
    """Whole messages, overhead included."""
    counter = request_counter(text=COUNTERS[kind]())
    counter.message(messages[0])

    counted = benchmark(lambda: [counter.message(m) for m in messages])

    assert counted == [counter.parts(m).total for m in messages]


@pytest.mark.benchmark(group=f"{COUNT:,} messages")
def bench_threads(benchmark: BenchmarkFixture, messages: list[Message]) -> None:
    """The same by two threads."""
    counter = request_counter(text=TiktokenCounter().load())

    counted = benchmark(lambda: count_many(messages, counter, threads=2))

    assert counted == [counter.message(m) for m in messages]


@pytest.mark.benchmark(group=f"{COUNT:,} messages")
def bench_encode(benchmark: BenchmarkFixture, needed: list[str]) -> None:
    """What people write: the length of the encoded text."""
    encode = encoding(ENCODING).encode

    total = benchmark(
        lambda: sum(len(encode(t, disallowed_special=())) for t in needed)
    )

    assert total == sum(map(TiktokenCounter().count, needed))


@pytest.mark.benchmark(group="first count")
@pytest.mark.parametrize("kind", COUNTERS)
def bench_start(benchmark: BenchmarkFixture, kind: str) -> None:
    """From nothing to the first count, vocabulary included."""
    from turnkeep.tokens import _fast, _tiktoken  # noqa: PLC0415 - to empty its caches

    def start() -> int:
        _tiktoken._BUILT.clear()  # noqa: SLF001
        _fast._load.cache_clear()  # noqa: SLF001
        return COUNTERS[kind]().count("hello world")

    tokens = benchmark.pedantic(start, rounds=3)  # type: ignore[no-untyped-call]

    assert tokens == 2


def bench_ratios(messages: list[Message], needed: list[str]) -> None:
    """The promises above, printed; asserted with room for a noisy machine."""
    plain = encoding(ENCODING)
    tiktoken = request_counter(text=TiktokenCounter().load())
    best = request_counter(text=text_counter())
    best.message(messages[0])
    raw = spent(lambda: [len(plain.encode_ordinary(t)) for t in needed])
    usual = spent(lambda: [len(plain.encode(t, disallowed_special=())) for t in needed])
    with_tiktoken = spent(lambda: count(tiktoken, messages))
    with_best = spent(lambda: count(best, messages))
    many = make(100_000)
    memo = Memo(best)
    cold = spent(lambda: [memo.message(m) for m in many], rounds=1)
    warm = spent(lambda: [memo.message(m) for m in many])

    rows = (
        ("messages / tokenizer calls they need", with_tiktoken / raw, 1.1),
        ("messages / len(encode(text))", with_tiktoken / usual, 1.0),
        (f"messages with {best!r} / len(encode(text))", with_best / usual, 1 / 1.5),
        ("warm / cold, 100,000 messages", warm / cold, 0.01),
    )
    print()
    for what, ratio, promised in rows:
        print(f"{what:75} {ratio:8.4f}   promised {promised:.2f}")
    assert count(tiktoken, messages) == count(best, messages)
    assert all(ratio < 2 * promised for _, ratio, promised in rows)


def count(counter: RequestCounter, messages: list[Message]) -> int:
    """Tokens of all of them."""
    return sum(map(counter.message, messages))
