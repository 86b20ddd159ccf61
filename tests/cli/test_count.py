"""Tests for `turnkeep count`."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import turnkeep
from tests.cli.running import EXAMPLE, chat, run, save


def report() -> dict[str, Any]:
    """The example session, counted."""
    files: list[dict[str, Any]] = json.loads(run("count", EXAMPLE, "--json").stdout)[
        "files"
    ]
    return files[0]


def test_the_total_is_the_librarys() -> None:
    """The command is the function, on files."""
    counted = turnkeep.count(json.loads(EXAMPLE.read_text()))

    assert report()["total"] == counted.total
    assert f"{counted.total:,} tokens" in run("count", EXAMPLE).stdout


@pytest.mark.parametrize("by", ["message", "turn", "tool", "role"])
def test_the_shares_add_up(by: str) -> None:
    """However it is summed up, it is all there, largest first."""
    found = report()
    tokens = [share["tokens"] for share in found[f"by_{by}"]]

    assert sum(tokens) == found["total"]
    assert tokens == sorted(tokens, reverse=True)


def test_by_tool_names_what_eats_the_window() -> None:
    """Calls and results together, with how many calls there were."""
    result = run("count", EXAMPLE, "--by", "tool")

    lines = [line.split() for line in result.stdout.splitlines() if line]
    assert [line[0] for line in lines[2:5]] == ["read_log", "query", "read_file"]
    assert "2 calls" in result.stdout


def test_by_message_says_what_it_is() -> None:
    """The index, the role, the tools and the first words."""
    result = run("count", EXAMPLE, "--by", "message", "--top", "3")

    assert "tool_result query" in result.stdout
    assert "more, " in result.stdout


def test_the_rule_and_exactness_are_shown() -> None:
    """Whose count it is, and how far an estimate may be off."""
    exact = run("count", EXAMPLE).stdout
    estimate = run("count", EXAMPLE, "-m", "claude-sonnet-4-5", "-f", "openai").stdout

    assert "exact)" in exact
    assert "Counted by: " in exact
    assert "estimated: up to" in estimate


def test_several_files(tmp_path: Path) -> None:
    """A table each and a total of all; gzip or not."""
    packed = tmp_path / "chat.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(chat()).encode()))

    result = run("count", EXAMPLE, packed)
    whole = json.loads(run("count", EXAMPLE, packed, "--json").stdout)

    assert whole["total"] == sum(file["total"] for file in whole["files"])
    last = result.stdout.splitlines()[-1].split()
    assert last == ["total", str(45 + len(chat())), f"{whole['total']:,}"]


def test_parallel_results_in_one_message_are_split() -> None:
    """A message with several results gives each tool its own."""
    history = [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "small", "input": {}},
                {"type": "tool_use", "id": "b", "name": "large", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no"},
                {"type": "tool_result", "tool_use_id": "b", "content": "yes " * 300},
            ],
        },
    ]

    result = run("count", "-", "-f", "anthropic", "--json", stdin=json.dumps(history))

    shares = {
        share["name"]: share["tokens"]
        for share in json.loads(result.stdout)["files"][0]["by_tool"]
    }
    assert shares["large"] > 10 * shares["small"] > 0


def test_system_text_beside_the_list_is_counted() -> None:
    """A body's own system text is part of the request."""
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be careful. " * 30,
        "messages": [{"role": "user", "content": "hi"}],
    }

    result = run("count", "-", "--json", stdin=json.dumps(body))

    found = json.loads(result.stdout)["files"][0]
    roles = {share["name"]: share["tokens"] for share in found["by_role"]}
    assert roles["system"] > 60
    assert found["total"] == turnkeep.count(body).total


def test_narrow_terminals_drop_the_bars(tmp_path: Path) -> None:
    """Figures first."""
    path = save(tmp_path / "a-rather-long-name-of-a-file.json", chat())

    result = run("count", path, EXAMPLE, "--by", "turn", env={"COLUMNS": "32"})

    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 32 or "█" not in result.stdout


def test_an_empty_list_costs_nothing() -> None:
    """No messages, no shares, no division by zero."""
    result = run("count", "-", "-f", "openai", "--json", stdin="[]")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["total"] == 0


def test_plain_text_counts_as_it_stands(tmp_path: Path) -> None:
    """No message around it; several are summed up, bytes that are no text refused."""
    text, broken = tmp_path / "a.md", tmp_path / "b.bin"
    text.write_text("hello world")
    broken.write_bytes(b"a\xff")

    assert run("count", "--text", text, "-m", "gpt-4o").stdout == (
        "a.md: 2 tokens (exact)\n"
    )
    told = json.loads(run("count", "--text", text, text, "--json").stdout)
    assert told["total"] == 4
    assert [one["total"] for one in told["files"]] == [2, 2]
    refused = run("count", "--text", broken)
    assert refused.exit_code == 2
    assert "no text in UTF-8: byte 1 " in refused.stderr
