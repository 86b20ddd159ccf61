"""What finding the format costs, and counting a growing list with a low target.

``pytest benchmarks/bench_detect.py`` prints each as a ratio of two things timed in
turns; ``--benchmark-disable`` only checks the results. Promised:

- `fit` without *format* costs at most 1.5 times what it costs with it, and at most 2.5
  times where the list is the first of its kind in the process;
- a plain list whose texts were counted before is cut at a target of 0.6 in at most
  twice the time that it takes at 1.0.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeep
from benchmarks._tools import alternate, openai_chat, promise
from turnkeep import Budget
from turnkeep.formats import _detect, detect

LENGTHS = [11, 241, 2_001, 20_001]
FORMATS = ["openai", "anthropic", "gemini", "openai-responses"]
GROWING = 16_001


def chat_in(name: str, length: int) -> list[Any]:
    """A chat with tools as that format has it."""
    chat: list[Any] = openai_chat(length)
    if name == "openai":
        return chat
    value = turnkeep.convert(chat, to=name, format="openai").value
    listed: list[Any] = (
        value
        if isinstance(value, list)
        else next(
            value[key] for key in ("messages", "contents", "input") if key in value
        )
    )
    return listed


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("length", LENGTHS)
def bench_without_format(name: str, length: int, timed: bool) -> None:
    """One walk, and a verdict that is remembered."""
    value = chat_in(name, length if timed else min(length, 241))
    model = "gpt-4o" if name.startswith("openai") else None

    def given() -> None:
        turnkeep.fit(value, 8_000, model=model, format=name)

    def found() -> None:
        turnkeep.fit(value, 8_000, model=model)

    def first() -> None:
        _detect._VERDICTS.clear()  # noqa: SLF001 - as in a new process
        turnkeep.fit(value, 8_000, model=model)

    assert detect(value, model=model).format == name
    rounds = (30 if length < 1_000 else 7) if timed else 1
    with_format, without, cold = alternate(given, found, first, rounds=rounds)
    what = f"fit, {length:,} messages of {name}, over format="
    promise(f"{what}: format found", 1.5, without / with_format)
    promise(f"{what}: first of its kind", 2.5, cold / with_format)


@pytest.mark.parametrize("fresh", [False, True], ids=["same", "fresh"])
def bench_growing_list(fresh: bool, timed: bool) -> None:
    """Each text is counted once, also where the list is read anew from JSON."""
    chat = openai_chat(GROWING if timed else 241)
    low = Budget(8_000, target=0.6)
    turnkeep.fit(chat, budget=low, model="gpt-4o")
    text = json.dumps(chat)
    lists = [json.loads(text) if fresh else chat for _ in range(14)]

    def at_once() -> None:
        turnkeep.fit(lists.pop(), 8_000, model="gpt-4o")

    def deep() -> None:
        window = turnkeep.fit(lists.pop(), budget=low, model="gpt-4o")
        assert len(window) < len(chat) or not timed

    whole, cut = alternate(at_once, deep, rounds=7 if timed else 1)
    kind = "read anew" if fresh else "the same"
    promise(f"fit, {GROWING:,} messages {kind}, target 0.6 over 1.0", 2, cut / whole)
