"""Prints what the run found out: growth of each operation, and every promise."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks._tools import PROMISES, exponent

RECORD = Path(__file__).parents[1] / "build" / "promises.json"
"""Where the promises of the last run stand, for the documentation."""


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> bool:
    """Whether times count; else sizes are small and only results are checked."""
    return not request.config.getoption("benchmark_disable")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the tables."""
    write = terminalreporter.write_line
    session = getattr(config, "_benchmarksession", None)
    grown: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for bench in session.benchmarks if session is not None else ():
        params = dict(bench.params or {})
        sizes = [k for k in ("length", "turns", "count", "size") if k in params]
        if sizes and isinstance(params[sizes[0]], int) and bench.stats.min > 0:
            size = params.pop(sizes[0])
            name = bench.fullname.split("/")[-1].split("[")[0]
            rest = " ".join(map(str, params.values()))
            grown[f"{name} {rest}"].append((size, bench.stats.min))
    rows = {name: points for name, points in grown.items() if len(points) > 1}
    if rows:
        terminalreporter.section("growth: time ~ size ** exponent")
    for name, points in rows.items():
        points.sort()
        first, last = points[0], points[-1]
        ends = ", ".join(f"{size:,}: {t * 1e3:.3g} ms" for size, t in (first, last))
        write(f"{name:<72} {exponent(points):5.2f}   {ends}")
    # Small histories say nothing about times.
    if PROMISES and not config.getoption("benchmark_disable"):
        terminalreporter.section("promises: bound and this run")
        for row in PROMISES:
            write(str(row))
        RECORD.parent.mkdir(exist_ok=True)
        found = [{**attrs.asdict(row), "kept": row.kept} for row in PROMISES]
        RECORD.write_text(json.dumps(found, indent=1))
