"""Tests for `turnkeep check`."""

import json
from pathlib import Path
from typing import Any

from tests.cli.running import EXAMPLE, chat, run, save

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}
BROKEN: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "user", "content": "well?"},
]


def test_a_good_request_is_accepted(tmp_path: Path) -> None:
    """One line, code 0."""
    result = run("check", save(tmp_path / "chat.json", chat()))

    assert result.exit_code == 0, result.stderr
    assert result.stdout == "chat.json: OpenAI Chat Completions: would be accepted\n"


def test_a_violation_is_explained(tmp_path: Path) -> None:
    """The rule, the place, the way out and the provider's own words; code 1."""
    result = run("check", save(tmp_path / "chat.json", BROKEN), "--model", "gpt-4o")

    assert result.exit_code == 1
    assert "chat.json: OpenAI Chat Completions, gpt-4o: 1 violation\n" in result.stdout
    assert "OC-12 at $[1].tool_calls[0]" in result.stdout
    assert "'call_1'" in result.stdout
    assert "The provider says: An assistant message with 'tool_calls'" in result.stdout


def test_json_has_every_field(tmp_path: Path) -> None:
    """For programs: files, rules, places, words."""
    file = save(tmp_path / "chat.json", BROKEN)

    result = run("check", file, "--json")

    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["violations"] == 1
    (found,) = report["files"][0]["violations"]
    assert (found["rule"], found["where"], found["hard"]) == (
        "OC-12",
        "$[1].tool_calls[0]",
        True,
    )
    assert report["files"][0]["profile"] == "openai"


def test_the_example_session_has_an_open_call() -> None:
    """As it stands it would be refused; its window would not."""
    assert run("check", EXAMPLE).exit_code == 1
    fitted = run("fit", EXAMPLE, "-q")
    assert run("check", "-", stdin=fitted.stdout).exit_code == 0


def test_soft_rules_with_strict(tmp_path: Path) -> None:
    """An id of more than 40 characters is refused by some."""
    long = {**CALL, "id": "c" * 41}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [long]},
        {"role": "tool", "tool_call_id": "c" * 41, "content": "done"},
    ]
    file = save(tmp_path / "chat.json", messages)

    assert run("check", file).exit_code == 0
    result = run("check", file, "--strict")
    assert result.exit_code == 1
    assert "OC-s2 (soft) at" in result.stdout


def test_edit_rules_with_original(tmp_path: Path) -> None:
    """What only the comparison shows."""
    reasoned: dict[str, Any] = {
        "role": "assistant",
        "content": "",
        "reasoning_content": "because",
    }
    before: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {**reasoned, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    ]
    after = [before[0], {**before[1], "reasoning_content": "else"}, before[2]]
    file = save(tmp_path / "after.json", after)
    options = ("--format", "deepseek", "--model", "deepseek-v4")

    assert run("check", file, *options).exit_code == 0
    original = save(tmp_path / "before.json", before)
    result = run("check", file, *options, "--original", original)
    assert result.exit_code == 1
    assert "DX-01" in result.stdout


def test_another_providers_rules(tmp_path: Path) -> None:
    """A local template without a system role."""
    file = save(tmp_path / "chat.json", chat())

    result = run("check", file, "--profile", "alternating/gemma2")

    assert result.exit_code == 1
    assert "AL-02" in result.stdout
    unknown = run("check", file, "--profile", "nobody")
    assert unknown.exit_code == 2
    assert "no profile 'nobody'" in unknown.stderr
