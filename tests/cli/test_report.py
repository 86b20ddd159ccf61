"""Tests for `turnkeep report`."""

import json
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, run, save


def test_writes_one_private_page(tmp_path: Path) -> None:
    """The page is whole, for its owner alone, and the line says what is in it."""
    page = tmp_path / "report.html"

    result = run("report", EXAMPLE, "-n", "3500", "--pin", "1", "-o", page)

    assert result.exit_code == 0, result.stderr
    assert page.read_text().endswith("</html>")
    assert page.stat().st_mode & 0o777 == 0o600
    assert "dropped" in result.stderr
    assert result.stdout == ""


def test_goes_to_report_html_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And without a budget it only shows what fills the window."""
    monkeypatch.chdir(tmp_path)

    result = run("report", EXAMPLE)

    assert result.exit_code == 0
    assert result.stderr.startswith("report.html: ")
    assert "dropped" not in result.stderr
    assert 'id="plan"' not in (tmp_path / "report.html").read_text()


def test_to_stdout() -> None:
    """`-` is stdout, and nothing else is said."""
    result = run("report", EXAMPLE, "-o", "-")

    assert result.stdout.startswith("<!doctype html>")
    assert result.stderr == ""


def test_json_has_the_figures_and_writes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One JSON document with plan and session, no message text."""
    monkeypatch.chdir(tmp_path)

    result = run("report", EXAMPLE, "-n", "3500", "--json")

    shown = json.loads(result.stdout)
    assert shown["plan"]["tokens"] <= 3_500
    assert shown["session"]["prunes"]
    assert list(tmp_path.iterdir()) == []


def test_strategies_are_compared(tmp_path: Path) -> None:
    """Those named, beside never trimming and the sliding window."""
    page = tmp_path / "report.html"
    options = ("--compare", "largest-first", "--compare", "chat")

    result = run("report", EXAMPLE, "-n", "3500", *options, "-o", page, "--json")

    outcomes = json.loads(result.stdout)["replay"]["outcomes"]
    names = [outcome["name"] for outcome in outcomes]
    assert names == ["no trimming", "sliding window", "largest-first", "chat"]
    assert "Strategies compared" in page.read_text()


def test_what_does_not_fit_is_on_the_page_and_an_error(tmp_path: Path) -> None:
    """The page explains it; scripts see code 3."""
    file = save(tmp_path / "chat.json", [{"role": "user", "content": "why " * 99}])
    page = tmp_path / "report.html"

    result = run("report", file, "-n", "20", "-o", page, "-f", "openai")

    assert result.exit_code == 3
    assert "It does not fit" in page.read_text()
    told = run("report", file, "-n", "20", "-f", "openai", "--json")
    assert told.exit_code == 3
    assert json.loads(told.stdout)["overflow"]["smallest"] > 20


def test_a_strategy_to_compare_with_is_blamed_as_such(tmp_path: Path) -> None:
    """Each option answers for what was given to it; no page is written."""
    page = tmp_path / "page.html"
    asked = ["report", EXAMPLE, "-n", "3500", "-o", page]

    compared = run(*asked, "--compare", "nope")
    chosen = run(*asked, "--strategy", "nope", "--compare", "relevance")

    assert (compared.exit_code, chosen.exit_code) == (2, 2)
    assert compared.stderr.endswith(" @ --compare\n")
    assert chosen.stderr.endswith(" @ --strategy\n")
    assert not page.exists()
