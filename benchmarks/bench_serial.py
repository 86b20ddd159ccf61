"""Saving and loading our JSON, against `orjson` alone on the same value.

``pytest benchmarks`` times it; ``--benchmark-disable`` only checks that it works.
Promised: at most four times `orjson.dumps` and `orjson.loads` of the same document.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from turnkeep.model import Message, Role, paused_gc
from turnkeep.serial import dump_messages, dumps, load_messages, loads

COUNT = 100_000
TEXT = "About a kilobyte of text, as a chat has it. " * 22
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    """100,000 messages of about 1 kB."""
    return [
        Message(
            Role.USER if n % 2 == 0 else Role.ASSISTANT,
            TEXT,
            id=f"msg-{n}",
            timestamp=START + timedelta(seconds=n),
        )
        for n in range(COUNT)
    ]


@pytest.fixture(scope="module")
def data(messages: list[Message]) -> bytes:
    """The same, saved."""
    return dumps(dump_messages(messages))


@pytest.mark.benchmark(group="save 100,000 messages")
def bench_save(
    benchmark: BenchmarkFixture, messages: list[Message], data: bytes
) -> None:
    """Messages to bytes."""
    saved = benchmark(lambda: dumps(dump_messages(messages)))

    plain = orjson.loads(data)
    benchmark.extra_info["orjson_seconds"] = _seconds(lambda: orjson.dumps(plain))
    assert saved == data


@pytest.mark.benchmark(group="load 100,000 messages")
def bench_load(
    benchmark: BenchmarkFixture, messages: list[Message], data: bytes
) -> None:
    """Bytes to messages."""
    loaded, rest = benchmark(lambda: load_messages(loads(data)))

    benchmark.extra_info["orjson_seconds"] = _seconds(lambda: orjson.loads(data))
    assert loaded == messages
    assert rest == {}


def bench_save_and_load_ratio(messages: list[Message], data: bytes) -> None:
    """Both together cost at most four times what `orjson` alone costs, in one run."""
    plain = orjson.loads(data)
    bare = min(_seconds(lambda: orjson.loads(orjson.dumps(plain))) for _ in range(3))
    ours = min(
        _seconds(lambda: load_messages(loads(dumps(dump_messages(messages)))))
        for _ in range(3)
    )

    print(f"save and load: {ours:.2f} s, {ours / bare:.1f} times orjson alone")
    assert ours <= 4 * bare


def _seconds(work: Callable[[], object]) -> float:
    with paused_gc():
        start = time.process_time()
        work()
        return time.process_time() - start
