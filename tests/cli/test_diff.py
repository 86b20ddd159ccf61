"""Tests for `turnkeep diff`."""

import json
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, run, save


@pytest.fixture
def window(tmp_path: Path) -> Path:
    """A window of the example session."""
    path = tmp_path / "window.json"
    strategy = "clear-tool-results:keep=3 | oldest-turns"
    options = ("-n", "2500", "--pin", "1", "--strategy", strategy)
    assert run("fit", EXAMPLE, *options, "-o", path).exit_code == 0
    return path


def test_shows_what_went_with_tokens(window: Path) -> None:
    """Lost, changed and new messages one by one, the rest summed up."""
    result = run("diff", EXAMPLE, window)

    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "build-engineer.json → window.json"
    assert "7,069 → " in lines[1]
    assert any(line.startswith("- ") for line in lines)
    assert any(line.startswith("~ ") and "→" in line for line in lines)
    assert any(line.startswith("+ ") for line in lines)
    assert any("unchanged" in line for line in lines)
    assert "lost" in lines[-1]
    assert "changed" in lines[-1]


def test_text_shows_the_words(window: Path) -> None:
    """What a changed result said, and what it says now."""
    result = run("diff", EXAMPLE, window, "--text")

    assert "    +[turnkeep:cleared " in result.stdout
    assert "    -" in result.stdout


def test_all_lists_the_unchanged_too(window: Path) -> None:
    """One line a message, none summed up."""
    result = run("diff", EXAMPLE, window, "--all")

    assert "unchanged" not in result.stdout
    assert any(line.startswith("= ") for line in result.stdout.splitlines())


def test_the_same_twice(window: Path) -> None:
    """Says so."""
    result = run("diff", window, window)

    assert "Both say the same." in result.stdout


def test_moved_messages_are_named(tmp_path: Path) -> None:
    """Without their words, which nobody lost."""
    words = [{"role": "user", "content": letter * 3} for letter in "abc"]
    one = save(tmp_path / "one.json", words)
    two = save(tmp_path / "two.json", words[2:] + words[:2])

    result = run("diff", one, two, "-f", "openai", "--text")

    assert "1 moved" in result.stdout
    assert "> " in result.stdout


def test_json(window: Path) -> None:
    """Every message in one change, with both places and both figures."""
    result = run("diff", EXAMPLE, window, "--json")

    told = json.loads(result.stdout)
    assert sum(told["counts"].values()) == len(told["changes"])
    lost = [change for change in told["changes"] if change["kind"] == "lost"]
    assert len(lost) == told["counts"]["lost"]
    assert all(change["after"] is None for change in lost)


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """Neither from words nor from ids."""
    evil = "\x1b[31mred\x07"
    one = save(tmp_path / "one.json", [{"id": evil, "role": "user", "content": evil}])
    two = save(tmp_path / "two.json", [])

    result = run("diff", one, two, "-f", "openai", "--text")

    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    """Code 2, and nothing else."""
    result = run("diff", EXAMPLE, tmp_path / "none.json")

    assert result.exit_code == 2
    assert "none.json" in result.stderr
