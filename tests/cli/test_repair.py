"""Tests for `turnkeep repair`."""

import json
from pathlib import Path
from typing import Any

from tests.cli.running import chat, run, save
from tests.cli.test_check import BROKEN

ORPHAN: list[dict[str, Any]] = [
    {"role": "tool", "tool_call_id": "gone", "content": "42"},
    {"role": "user", "content": "hi"},
]


def test_writes_the_mended_history(tmp_path: Path) -> None:
    """The list to the file, the report to stderr."""
    output = tmp_path / "out.json"

    result = run("repair", save(tmp_path / "chat.json", ORPHAN), "-o", output)

    assert result.exit_code == 0, result.stderr
    assert json.loads(output.read_text()) == ORPHAN[1:]
    assert "chat.json: 1 change\n" in result.stderr
    assert "message 0 dropped: the call 'gone' is not in the history" in result.stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """Only the report."""
    output = tmp_path / "out.json"
    file = save(tmp_path / "chat.json", ORPHAN)

    result = run("repair", file, "--dry-run", "-o", output)

    assert not output.exists()
    assert result.stdout == ""
    assert "1 change" in result.stderr
    report = json.loads(run("repair", file, "--dry-run", "--json").stdout)
    assert report["changes"][0]["action"] == "dropped"
    assert "value" not in report


def test_what_is_valid_comes_back_as_it_was(tmp_path: Path) -> None:
    """Nothing to mend."""
    result = run("repair", save(tmp_path / "chat.json", chat()))

    assert json.loads(result.stdout) == chat()
    assert "nothing to mend" in result.stderr


def test_open_calls_are_closed_when_asked(tmp_path: Path) -> None:
    """By id, or all; else they stay open."""
    file = save(tmp_path / "chat.json", BROKEN)

    assert json.loads(run("repair", file).stdout) == BROKEN
    for which in ("call_1", "all"):
        mended = json.loads(run("repair", file, "--close", which).stdout)
        assert [m["role"] for m in mended] == ["user", "assistant", "tool", "user"]
        assert run("check", "-", stdin=json.dumps(mended)).exit_code == 0


def test_an_unknown_call_is_named(tmp_path: Path) -> None:
    """With the option that named it."""
    result = run("repair", save(tmp_path / "chat.json", BROKEN), "--close", "call_9")

    assert result.exit_code == 2
    assert "call_9" in result.stderr
    assert "--close" in result.stderr


def test_json_holds_the_history_or_writes_it(tmp_path: Path) -> None:
    """The value is in the report, unless a file is named."""
    file = save(tmp_path / "chat.json", ORPHAN)
    output = tmp_path / "out.json"

    assert json.loads(run("repair", file, "--json").stdout)["value"] == ORPHAN[1:]
    report = json.loads(run("repair", file, "--json", "-o", output).stdout)
    assert report["changed"]
    assert "value" not in report
    assert json.loads(output.read_text()) == ORPHAN[1:]


def test_a_long_report_is_cut_short(tmp_path: Path) -> None:
    """Twenty changes are listed, the rest is counted."""
    many = [{**ORPHAN[0], "tool_call_id": f"gone{n}"} for n in range(25)]

    result = run("repair", save(tmp_path / "chat.json", [*many, ORPHAN[1]]))

    assert "25 changes" in result.stderr
    assert "... and 5 more" in result.stderr
