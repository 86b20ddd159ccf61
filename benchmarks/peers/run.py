"""Times the same work side by side with other libraries, and writes the table.

``make bench-peers`` installs them into an environment of their own and runs this. All
take turns in one run; the best round counts; an independent judge looks at each result.
Slow ones get smaller histories, which the table says.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks._tools import agent_log, openai_chat  # noqa: E402
from benchmarks.peers._adapters import (  # noqa: E402
    ADAPTERS,
    Chat,
    count_entry,
    encoder,
    faults,
)

PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
PROMISES = ROOT / "build" / "promises.json"
SIZES = (1_000, 10_000, 100_000)
WEIGHTS = {40: (5, 60), 250: (100, 560)}
"""Tokens of a message on average, and the words of a text that make them."""
BLOCK = 20
"""Steps of ours in a row: a step among seconds of others' work finds cold caches."""
TURN = 25
"""Steps of an agent between two messages of the user."""
KEPT = ROOT / "build" / "peers.json"
"""What the last run measured."""
PATIENCE = float(os.environ.get("PATIENCE", "6"))
"""Seconds of processor time; who needs longer gets no larger history."""
LIMIT, COLD_LIMIT = 32_000, 8_000
LARGEST = {"agent-framework": 1_000, "litellm": 1_000}
"""Messages that a cold fit is given at most: 10,000 took minutes of a test run."""


def use_local_vocabularies() -> None:
    """Let tiktoken find the files that litellm carries, instead of downloading them."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nor a list of prices
    spec = find_spec("litellm")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0])
        os.environ["TIKTOKEN_CACHE_DIR"] = str(
            folder / "litellm_core_utils" / "tokenizers"
        )


def once(
    name: str,
    chat: Chat,
    limit: int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, Chat]:
    """Seconds of one fit by *clock*, and what it gave."""
    fit = ADAPTERS[name][1](chat, limit)
    start = clock()
    window = fit()
    return clock() - start, window


def names() -> Iterator[tuple[str, str]]:
    """Everybody, and which version, or why not."""
    for name, (distribution, _) in ADAPTERS.items():
        if distribution is None:
            yield name, version("turnkeep") if name == "turnkeep" else ""
            continue
        try:
            yield name, version(distribution)
        except PackageNotFoundError:
            yield name, "not installed"


def cold(found: dict[str, str]) -> Iterator[str]:
    """Rows of a one-shot fit to 8,000 tokens."""
    for weight in WEIGHTS:
        out: set[str] = {name for name, v in found.items() if v == "not installed"}
        for size in SIZES:
            yield from cold_rows(found, size, weight, out)


def cold_rows(
    found: dict[str, str], size: int, weight: int, out: set[str]
) -> Iterator[str]:
    """The rows of one history; who gives up, or is too slow, is added to *out*."""
    # Whole turns and a question, so that nobody has anything to mend.
    chat = openai_chat(size - 3, WEIGHTS[weight])
    assert chat[-1]["role"] == "assistant"
    chat.append({"role": "user", "content": "And now?"})
    best: dict[str, float] = {}
    result: dict[str, str] = {}
    for _ in range(3):
        for name in ADAPTERS:
            slow = best.get(name, 0) > 1 or size > LARGEST.get(name, size)
            if name in out or slow:
                continue
            try:
                seconds, window = once(name, chat, COLD_LIMIT)
            except Exception as error:  # noqa: BLE001 - theirs, and the table says so
                result[name] = f"raises {type(error).__name__}"
                out.add(name)
                continue
            best[name] = min(seconds, best.get(name, seconds))
            wrong = faults(window, chat, COLD_LIMIT)
            result[name] = ", ".join(wrong) or "valid"
            if seconds > PATIENCE:
                out.add(name)
    ours = best["turnkeep"]
    for name in ADAPTERS:
        row = f"| {size:,} x {weight} | {name} | "
        if name in best:
            yield (
                f"{row}{best[name] * 1_000:,.1f} | {best[name] / ours:,.1f} | "
                f"{result[name]} |"
            )
        elif name in result:
            yield f"{row}| | {result[name]} |"
        elif found[name] != "not installed":
            why = "too slow at the size before"
            if size > LARGEST.get(name, size):
                why = f"not run above {LARGEST[name]:,}: quadratic"
            yield f"{row}| | {why} |"


def log_of(steps: int) -> list[Chat]:
    """An agent's log as OpenAI messages, what is appended in a step at a time."""
    log: list[Chat] = []
    for nth, (said, answer) in enumerate(agent_log(steps)):
        call = said.tool_calls[0]
        made = {"name": call.name, "arguments": call.text}
        entries: Chat = [
            {
                "role": "assistant",
                "content": said.text,
                "tool_calls": [{"id": call.id, "type": "function", "function": made}],
            },
            {"role": "tool", "tool_call_id": call.id, "content": answer.text},
        ]
        if nth % TURN == 0:
            asked = {"role": "user", "content": f"Do what is asked, part {nth}."}
            entries.insert(0, asked)
        log.append(entries)
    return log


class OurLoop:
    """Append, fit, list, encode: a `Conversation`."""

    def __init__(self, first: Chat) -> None:
        from turnkeep import Budget, Conversation
        from turnkeep.formats import get_format
        from turnkeep.tokens import TiktokenCounter

        self.decode = get_format("openai").decode
        self.chat = Conversation(
            budget=Budget(LIMIT),
            model="gpt-4o",
            token_counter=TiktokenCounter("o200k_base"),
        )
        for entry in first:
            self.chat.append(*self.decode(entry))
        self.window = self.chat.fit().encode()["messages"]

    def step(self, entries: Chat) -> float:
        """Seconds of one step."""
        messages = [self.decode(entry)[0] for entry in entries]
        start = time.perf_counter()
        for message in messages:
            self.chat.append(message)
        self.window = self.chat.fit().encode()["messages"]
        return time.perf_counter() - start


class ByHand:
    """The same by sums and bisection, without a look at pairs."""

    def __init__(self, first: Chat) -> None:
        self.encode = encoder()
        self.log: Chat = []
        self.sums = [0]
        self.step(first)

    def step(self, entries: Chat) -> float:
        """Seconds of one step."""
        start = time.perf_counter()
        self.log += entries
        for entry in entries:
            self.sums.append(self.sums[-1] + count_entry(self.encode, entry))
        self.window = self.log[bisect_left(self.sums, self.sums[-1] - LIMIT) :]
        return time.perf_counter() - start


def loop(found: dict[str, str]) -> Iterator[str]:
    """Rows of the agent loop at 32k: one step at the median, the log growing."""
    out: set[str] = {name for name, v in found.items() if v == "not installed"}
    for steps in (200, 2_000):
        made = log_of(steps + 4 * BLOCK)
        log: Chat = [{"role": "system", "content": "You are an agent."}]
        log += (entry for entries in made[:steps] for entry in entries)
        own: dict[str, OurLoop | ByHand] = {"turnkeep": OurLoop(log)}
        own["by hand (no pairs)"] = ByHand(log)
        times: dict[str, list[float]] = {}
        result: dict[str, str] = {}
        for at in range(steps, len(made), BLOCK):
            block = made[at : at + BLOCK]
            log += (entry for entries in block for entry in entries)
            for name, looping in own.items():
                times.setdefault(name, []).extend(map(looping.step, block))
                wrong = faults(looping.window, log, LIMIT)
                result[name] = ", ".join(wrong) or "valid"
            for name in ADAPTERS.keys() - own.keys() - out:
                peer_step(name, log, times, result, out)
        our = median(times["turnkeep"])
        for name in ADAPTERS:
            taken = times.get(name)
            row = f"| {steps:,} | {name} | "
            if taken:
                one = median(taken)
                yield f"{row}{one * 1e6:,.0f} | {one / our:,.1f} | {result[name]} |"
            elif name in result:
                yield f"{row}| | {result[name]} |"
            elif found[name] != "not installed":
                yield f"{row}| | too slow at the size before |"


def peer_step(
    name: str,
    log: Chat,
    times: dict[str, list[float]],
    result: dict[str, str],
    out: set[str],
) -> None:
    """One step of somebody who keeps no state: the log is fitted anew."""
    if sum(times.get(name, ())) > PATIENCE:
        return
    if name == "litellm" and len(log) > LARGEST[name]:
        out.add(name)
        return
    try:
        # Asking for processor time costs as much as a step of ours.
        seconds, window = once(name, log, LIMIT, time.perf_counter)
    except Exception as error:  # noqa: BLE001 - theirs, and the table says so
        result[name] = f"raises {type(error).__name__}"
        out.add(name)
        return
    times.setdefault(name, []).append(seconds)
    result[name] = ", ".join(faults(window, log, LIMIT)) or "valid"
    if seconds > PATIENCE:
        out.add(name)


def promises() -> Iterator[str]:
    """Rows of the promises of the last `make bench`, if there was one."""
    rows: list[dict[str, Any]] = (
        json.loads(PROMISES.read_text()) if PROMISES.exists() else []
    )
    for row in rows:
        bound = "at least" if row["at_least"] else "at most"
        yield (
            f"| {row['name']} | {bound} {row['promised']:g} {row['unit']} | "
            f"{row['measured']:.2f} {row['unit']} | {'yes' if row['kept'] else 'no'} |"
        )


def machine() -> str:
    """What it ran on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = os.getloadavg()[0]
    return (
        f"{model}, {os.cpu_count()} cores (load {load:.1f}), "
        f"Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"
    )


def measure() -> None:
    """Run all and keep what came out for the page."""
    use_local_vocabularies()
    found = dict(names())
    for name, installed in found.items():
        if installed != "not installed":
            chat = openai_chat(40)
            try:
                once(name, chat, 100_000)  # imports and vocabularies
            except Exception as error:  # noqa: BLE001 - theirs; the tables say so
                print(f"{name}: {error!r}", file=sys.stderr)
    made = {
        "machine": machine(),
        "versions": ", ".join(f"{n} {v}".strip() for n, v in found.items()),
        "cold": list(cold(found)),
        "loop": list(loop(found)),
    }
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(made, indent=1), encoding="utf-8")


def write_page() -> None:
    """Put what the last runs measured into the documentation."""
    made = json.loads(KEPT.read_text(encoding="utf-8"))
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` and `make bench-peers`: run them yourself. Times are",
        "processor time of the best round, everybody taking turns in one run; ratios",
        "say more than times, because machines differ and this one was shared.",
        "",
        f"Machine: {made['machine']}.",
        "",
        f"Versions: {made['versions']}.",
        "",
        "## One fit of a plain list to 8,000 tokens",
        "",
        "Chats with tools, messages of 40 and of 250 tokens on average, exact counts",
        "with o200k_base. A judge that shares no code with any of them looks at pairs,",
        "the question, the system message, and the tokens. The ratio is to turnkeep,",
        "whose cost hardly depends on how long the messages are that it leaves out.",
        "",
        "| messages x tokens | library | ms | ratio | result |",
        "| ---: | --- | ---: | ---: | --- |",
        *made["cold"],
        "",
        "## One step of an agent at 32,000 tokens",
        "",
        "Append a call and its result (320 tokens) to a log of so many steps, and make",
        f"the next request, encoded; at the median, {BLOCK} in a row. The user speaks",
        f"every {TURN} steps. Peers keep no state: they fit the log anew.",
        "",
        "| steps | library | us | ratio | result |",
        "| ---: | --- | ---: | ---: | --- |",
        *made["loop"],
        "",
    ]
    rows = list(promises())
    if rows:
        lines += [
            "## What is promised, and what the last `make bench` measured",
            "",
            "| promise | bound | measured | kept |",
            "| --- | ---: | ---: | --- |",
            *rows,
            "",
        ]
    print("\n".join(lines))
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if "--page" not in sys.argv:
        measure()
    write_page()
