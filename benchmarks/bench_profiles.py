"""Checking a request and finishing its window, against the planning.

``pytest benchmarks/bench_profiles.py`` times it and prints a table of ratios;
``--benchmark-disable`` only checks the results. Promised, in processor time of one run:

- finishing adds at most half of the time of planning, for every format;
- so does a check of the whole request;
- both are linear in the history.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import turnkeep
from benchmarks._tools import alternate, exponent, openai_chat, promise
from turnkeep.api._job import Job
from turnkeep.engine import make_plan
from turnkeep.index import History
from turnkeep.policy import NO_DEMANDS
from turnkeep.profiles import check_request

MODELS = {
    "openai": "gpt-4o",
    "anthropic": "claude-opus-5-5",
    "bedrock": "anthropic.claude-opus-5-5",
    "gemini": "gemini-3-pro-preview",
    "mistral": "mistral-large-latest",
}
LENGTH = 8_000
NO_TOOLS = {"AN-23", "BR-10"}
"""These requests define no tools."""


def request(name: str, length: int) -> Any:
    """A chat with tools in format *name*, thinking in it where the format signs it."""
    chat = openai_chat(length)
    if name in ("openai", "mistral"):
        return chat
    made = turnkeep.convert(chat, to=name, format="openai").value
    entries = made if isinstance(made, list) else made.get("contents", made)
    entries = entries if isinstance(entries, list) else entries["messages"]
    for nth, entry in enumerate(entries):
        content = entry.get("content")
        if entry["role"] != "assistant" or nth % 3:
            continue
        if name == "anthropic":
            thought = {"type": "thinking", "thinking": "hm", "signature": f"s{nth}"}
            said = [{"type": "text", "text": content}]
            entry["content"] = [
                thought,
                *(said if isinstance(content, str) else content),
            ]
        elif name == "bedrock":
            text = {"text": "hm", "signature": f"s{nth}"}
            content.insert(0, {"reasoningContent": {"reasoningText": text}})
    return made


class Fit:
    """One fit, with what the profile demands or without."""

    def __init__(self, name: str, value: Any) -> None:
        """Of *value*, to half of its tokens."""
        self.name = name
        self.value = value
        model = MODELS[name]
        self.limit = turnkeep.count(value, format=name, model=model).total // 2
        self.model = model

    def run(self, *, finish: bool) -> Any:
        """Read, plan and encode the window."""
        job = Job(self.value, self.limit, format=self.name, model=self.model)
        history = job.history
        if not finish:
            rules = attrs.evolve(history.rules, demands=NO_DEMANDS)
            history = History(history.grouping, history.source, rules)
        plan = make_plan(history, job.budget, None, job.terms)
        return job.source.apply_to(plan, job.envelope)

    def finish(self) -> Any:
        """With all that the profile demands."""
        return self.run(finish=True)

    def check(self) -> object:
        """The request it starts from."""
        return check_request(self.value, format=self.name, model=self.model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.benchmark(group=f"{LENGTH:,} messages")
def bench_finishing(benchmark: BenchmarkFixture, name: str) -> None:
    """A fit with all that the provider demands, beside one without."""
    fit = Fit(name, request(name, LENGTH))

    window = benchmark(fit.finish)

    found = check_request(window, format=name, model=MODELS[name])
    assert {violation.rule for violation in found} <= NO_TOOLS
    if benchmark.disabled:
        return
    plain, finished, checked = alternate(
        lambda: fit.run(finish=False), fit.finish, fit.check
    )
    promise(f"finishing a window of {name}, of planning", 0.5, finished / plain - 1)
    promise(f"checking a request of {name}, of planning", 0.5, checked / plain)


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
@pytest.mark.benchmark(group="linear")
def bench_growth(benchmark: BenchmarkFixture, name: str) -> None:
    """Four sizes, each twice the one before."""
    points: dict[str, list[tuple[float, float]]] = {"check": [], "fit": []}
    sizes = (500,) if benchmark.disabled else (1_000, 2_000, 4_000, 8_000)
    for size in sizes:
        fit = Fit(name, request(name, size))
        checked, fitted = alternate(fit.check, fit.finish, rounds=3)
        points["check"].append((size, checked))
        points["fit"].append((size, fitted))
    benchmark(fit.check)
    if not benchmark.disabled:
        for what, measured in points.items():
            promise(f"{what} of {name}: exponent", 1.25, exponent(measured), "")
