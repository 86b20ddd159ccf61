"""Tests for `turnkeep.cli._wording`: Python's arguments said as options."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.running import EXAMPLE, chat, run
from turnkeep.cli._wording import as_options
from turnkeep.cli.fit import fit
from turnkeep.cli.resolve import resolve


@pytest.mark.parametrize(
    ("said", "on_the_command_line"),
    [
        ("Set max_tokens to at least 480.", "Set --max-tokens to at least 480."),
        ("say with pending=() that", "say with --no-pending that"),
        ('or pass open_calls="stand-in".', "or pass --open-calls stand-in."),
        ("pass format= (candidates: x)", "pass --format (candidates: x)"),
        ("set target=0.6, then", "set --target 0.6, then"),
        ("a pending call; the model's format", "a pending call; the model's format"),
        ("Set max_turns to 3 or budget=", "Set max_turns to 3 or budget="),
        ("no key 'max_tokens' @ $.max_tokens", "no key 'max_tokens' @ $.max_tokens"),
        ("cannot read @ /tmp/max_tokens.json", "cannot read @ /tmp/max_tokens.json"),
        ("cannot read @ max_tokens.json", "cannot read @ max_tokens.json"),
        ('got "format=x" here', 'got "format=x" here'),
    ],
)
def test_arguments_are_said_as_options(said: str, on_the_command_line: str) -> None:
    """English words, quoted values, paths and what is no option stay as they are."""
    assert as_options(said, fit) == on_the_command_line


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (resolve, "Pass --message to say which, or max_tokens="),
        (lambda: None, "Pass message_id= to say which, or max_tokens="),
    ],
)
def test_each_command_has_options_of_its_own(
    command: Callable[..., Any], said: str
) -> None:
    """A name that it has no option for stays Python's."""
    assert as_options("Pass message_id= to say which, or max_tokens=", command) == said


@pytest.mark.parametrize("command", ["fit", "show"])
def test_what_does_not_fit_is_said_in_options(command: str) -> None:
    """To people and to programs, whose fields stay what they are."""
    result = run(command, EXAMPLE, "-n", "300", "--json")

    error = json.loads(result.stdout)["error"]
    assert result.exit_code == 3
    assert f"Set --max-tokens to at least {error['smallest']}" in result.stderr
    assert "--no-pending" in result.stderr
    assert "max_tokens" not in result.stderr
    assert "pending=" not in result.stderr
    assert error["message"] in result.stderr


def test_a_strategys_parameters_stay_its_own() -> None:
    """They stand inside of `--strategy`, whatever options are called."""
    spec = "truncate-tool-results:max_tokens=0"

    result = run("fit", "-", "-n", "8k", "--strategy", spec, stdin=json.dumps(chat()))

    assert result.exit_code == 2
    assert "max_tokens must be at least 20" in result.stderr
