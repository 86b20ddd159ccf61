"""Tests for `turnkeep replay`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import EXAMPLE, chat, run, save
from turnkeep import Budget
from turnkeep.replay import FULL, SLIDING, replay, total
from turnkeep.strategies import DEFAULT


def strategies(*args: object) -> dict[str, dict[str, Any]]:
    """The outcomes of a replay, by name."""
    report = json.loads(run("replay", *args, "--json").stdout)
    return {outcome["name"]: outcome for outcome in report["strategies"]}


def test_the_figures_are_the_librarys() -> None:
    """The command is the function, on files."""
    found = strategies(EXAMPLE, "-n", "1000", "-s", "chat")
    report = replay(json.loads(EXAMPLE.read_text()), {"chat": DEFAULT}, Budget(1_000))

    assert list(found) == [FULL, SLIDING, "chat"]
    assert found["chat"]["cost"] == report.outcome("chat").cost
    assert found["chat"]["whole"] == report.outcome("chat").whole


def test_without_a_strategy_three_are_compared() -> None:
    found = strategies(EXAMPLE, "-n", "1k")

    assert len(found) == 5
    assert "least-recently-referenced" in found


def test_the_table_and_the_chart_are_for_people() -> None:
    shown = run("replay", EXAMPLE, "-n", "1000").stdout

    assert re.search(r"chat +0?\.?\d+\.\d\d", shown)
    assert "whole" in shown
    assert re.search("[▁▂▃▄▅▆▇█]{5}", shown)


def test_plain_terminals_get_plain_marks() -> None:
    shown = run(
        "replay", EXAMPLE, "-n", "1000", env={"PYTHONIOENCODING": "ascii"}
    ).stdout

    assert "chat" in shown


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", chat())

    assert "did not fit under chat" in run("replay", file, "-n", "10").stdout


def test_several_sessions_are_added_up(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", chat())
    report = json.loads(run("replay", file, EXAMPLE, "-n", "500", "--json").stdout)

    assert len(report["files"]) == 2
    assert report["calls"] == sum(one["calls"] for one in report["files"])
    assert "2 sessions" in run("replay", file, EXAMPLE, "-n", "500").stdout


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    run(
        "replay",
        EXAMPLE,
        "-n",
        "1000",
        "-s",
        "oldest-turns & oldest-steps",
        "--html",
        page,
    )

    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "oldest-turns &amp; oldest-steps" in text
    assert text.count("<svg") == 2
    assert "http" not in text
    assert "<script" not in text


def test_prices_by_name_or_number() -> None:
    named = strategies(EXAMPLE, "-n", "1000", "--prices", "anthropic")
    numbers = strategies(EXAMPLE, "-n", "1000", "--prices", "0.1,1.25")
    other = strategies(EXAMPLE, "-n", "1000", "--prices", "openai-4o", "--when-it-pays")

    assert named == numbers
    assert named[FULL]["cost"] != other[FULL]["cost"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--prices", "free"], "--prices"),
        (["--prices", "0,1"], "--prices"),
        (["--target", "2"], "--target"),
        (["-s", "nothing"], "not known"),
        (["-n", "0"], "--max-tokens"),
    ],
)
def test_bad_options_end_with_code_2(args: list[str], why: str) -> None:
    result = run("replay", EXAMPLE, "-n", "1000", *args)

    assert result.exit_code == 2
    assert why in result.stderr


def test_an_empty_session_is_no_fault(tmp_path: Path) -> None:
    file = save(tmp_path / "chat.json", [{"role": "user", "content": "hi"}])

    assert run("replay", file, "-n", "10").exit_code == 0
    assert run("replay", file, "-n", "10", "--html", tmp_path / "x.html").exit_code == 0


def test_reports_add_up_only_under_the_same_terms() -> None:
    one = replay(chat(), {"a": DEFAULT}, Budget(100))

    assert total([one, one]).outcome("a").cost == pytest.approx(
        2 * one.outcome("a").cost
    )
    with pytest.raises(ValueError, match="different terms"):
        total([one, replay(chat(), {"a": DEFAULT}, Budget(200))])
    with pytest.raises(ValueError, match="no report"):
        total([])


def test_a_chat_without_tools_has_nothing_to_keep(tmp_path: Path) -> None:
    """A share of nothing is a dash, for people; programs see that it is of none."""
    file, html = save(tmp_path / "chat.json", chat(12)), tmp_path / "x.html"

    shown = run("replay", file, "-n", "400", "-s", "chat", "--html", html)
    told = json.loads(run("replay", file, "-n", "400", "--json").stdout)

    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("chat ")]
    assert row.split()[-2:] == ["-", "-"]
    assert "no call took an id, path or value" in shown.stdout
    assert "whole: of" not in shown.stdout
    assert html.read_text().count("<td>-</td><td>-</td></tr>") == 3
    assert {(o["referents"], o["steps"]) for o in told["strategies"]} == {(0, 0)}
