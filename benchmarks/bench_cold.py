"""A first `fit` of a long list in every wire format, against OpenAI's and a bare pass.

``pytest benchmarks`` times it; ``--benchmark-disable`` only checks that it works. As a
script (``python -m benchmarks.bench_cold``) it prints one table. The lists are fresh
JSON: texts differ in length and lie scattered in memory, as a host's do. Promised:
every format at most twice OpenAI's time, and OpenAI's at most four times a pass over
roles and pairs.
"""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import turnkeep
from benchmarks._tools import alternate, openai_chat, promise
from benchmarks.bench_promises import roles_and_pairs

WIRE = (
    "openai",
    "mistral",
    "deepseek",
    "openai-responses",
    "anthropic",
    "bedrock",
    "gemini",
    "ollama",
)
TOKENS = 8_000


def fresh(value: Any) -> Any:
    """*value* as a host reads it."""
    return json.loads(json.dumps(value))


def lists(length: int) -> dict[str, list[Any]]:
    """One chat with calls and results in every format, read from JSON."""
    chat = openai_chat(length)
    made = {"openai": fresh(chat)}
    for name in WIRE[1:]:
        made[name] = fresh(
            _entries(turnkeep.convert(chat, to=name, format="openai").value)
        )
    return made


def _entries(value: Any) -> list[Any]:
    """The list of a body, or the list itself."""
    if isinstance(value, list):
        return value
    return next(value[key] for key in ("messages", "contents", "input") if key in value)


def scattered(length: int) -> list[Any]:
    """An OpenAI chat with texts of up to 3,000 characters, all different."""
    rng = random.Random(length)
    chat = openai_chat(length)
    for nth, entry in enumerate(chat):
        if entry["content"]:
            entry["content"] += f" {nth} {'x' * rng.randint(0, 3_000)}"
    found: list[Any] = fresh(chat)
    return found


def fit(name: str, entries: list[Any]) -> list[Any]:
    """A first `fit`, for whoever knows the format."""
    window: list[Any] = turnkeep.fit(
        entries, max_tokens=TOKENS, model="gpt-4o", format=name
    )
    return window


def peak(name: str, entries: list[Any]) -> int:
    """The most bytes that a first `fit` holds at once."""
    fit(name, entries)
    tracemalloc.start()
    fit(name, entries)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def by_format(
    made: dict[str, list[Any]], rounds: int
) -> dict[str, tuple[float, float]]:
    """Seconds for each format, and how often it takes OpenAI's time.

    Each takes turns with OpenAI's, so that whatever slows one slows both.
    """
    base = made["openai"]
    found: dict[str, tuple[float, float]] = {}
    for name, entries in made.items():
        assert fit(name, entries)[-1] is entries[-1]
        mine, theirs = alternate(
            lambda name=name, entries=entries: fit(name, entries),  # type: ignore[misc]
            lambda: fit("openai", base),
            rounds=rounds,
        )
        found[name] = mine, mine / theirs
    return found


def by_pass(length: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Seconds for OpenAI's chats of three kinds, and how often a bare pass's time."""
    chat = openai_chat(length)
    kinds = {"generated": chat, "json": fresh(chat), "scattered": scattered(length)}
    found: dict[str, tuple[float, float]] = {}
    for kind, entries in kinds.items():
        mine, bare = alternate(
            lambda entries=entries: fit("openai", entries),  # type: ignore[misc]
            lambda entries=entries: roles_and_pairs(entries),  # type: ignore[misc]
            rounds=rounds,
        )
        found[kind] = mine, mine / bare
    return found


def bench_cold_formats(timed: bool) -> None:
    """Every wire format beside OpenAI's."""
    for length in (20_001, 100_001) if timed else (201,):
        for name, (_, ratio) in by_format(lists(length), 5 if timed else 1).items():
            promise(f"cold fit of {length:,}: {name} / openai", 2, ratio)


def bench_cold_pass(timed: bool) -> None:
    """OpenAI's beside the least anybody has to read."""
    length = 100_001 if timed else 201
    for kind, (_, ratio) in by_pass(length, 5 if timed else 1).items():
        promise(f"cold fit of {length:,} ({kind}) / a pass", 4, ratio)


def main() -> None:
    """Print the table."""
    for length in (20_001, 100_001):
        made = lists(length)
        print(f"{length:,} entries{'':<18} ms   / openai   peak MB")
        for name, (seconds, ratio) in by_format(made, 5).items():
            most = peak(name, made[name]) / 1e6
            print(f"  {name:<20} {seconds * 1e3:9.1f} {ratio:8.2f} {most:9.1f}")
        print(f"{length:,} chat messages{'':<12} ms   / pass")
        for kind, (seconds, ratio) in by_pass(length, 5).items():
            print(f"  {kind:<20} {seconds * 1e3:9.1f} {ratio:8.2f}")


if __name__ == "__main__":
    main()
