"""What the command line loads before it is known what is asked for: nothing of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import EXAMPLE, run
from turnkeep.cli._app import COMMANDS, load
from turnkeep.cli._help import (
    complete_formats,
    complete_models,
    complete_strategies,
)


@pytest.mark.parametrize("asked", ["--version", "--help", "-h", ""])
def test_help_and_version_load_no_command(asked: str) -> None:
    """Nor rich, nor a part of the library: they answer at once."""
    code = (
        "import sys\n"
        "from turnkeep.cli._app import app\n"
        "try:\n"
        f"    app({asked.split()!r}, prog_name='turnkeep')\n"
        "except SystemExit:\n"
        "    pass\n"
        "ours = {m for m in sys.modules if m.startswith('turnkeep.')}\n"
        "assert ours <= {'turnkeep.cli', 'turnkeep.cli._app'}, ours\n"
        "heavy = {'rich', 'attrs', 'tiktoken', 'jinja2', 'asyncio'} & {*sys.modules}\n"
        "assert not heavy, heavy\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False, text=True
    )

    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).strip()


def test_help_lists_every_command_on_a_line_of_its_own() -> None:
    """In 80 columns, none of them cut off."""
    done = run("--help", env={"COLUMNS": "80"})

    assert done.exit_code == 0
    assert "..." not in done.stdout.partition("Commands:")[2]
    for name, about in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert about in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    """With help of its own, which names an example."""
    command = load(name)

    assert command.name == name
    done = run(name, "--help")
    assert done.exit_code == 0
    assert f"turnkeep {name}" in done.stdout


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    """As everywhere."""
    done = run("sho")

    assert done.exit_code == 2
    assert "show" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_is_typed(name: str) -> None:
    """No type behind a switch, no braces around a file; groups' commands as well."""
    inner = getattr(load(name), "commands", {})
    for asked in [(name,), *((name, command) for command in inner)]:
        shown = run(*asked, "--help", env={"COLUMNS": "100"}).stdout
        if len(asked) == 1 and inner:
            continue  # a group's own switches are typer's
        usage = next(line for line in shown.splitlines() if "Usage:" in line)

        assert "<bool>" not in shown
        assert "{" not in usage


def test_what_is_completed() -> None:
    """Strategies behind each other, formats, and the models that are known."""
    assert complete_strategies("oldest-") == ["oldest-steps", "oldest-turns"]
    assert complete_strategies("digest | oldest-t") == ["digest | oldest-turns"]
    assert complete_formats("openai") == ["openai", "openai-responses"]
    assert "gpt-4o" in complete_models("gpt-4")


@pytest.mark.parametrize(
    ("option", "typed", "meant"),
    [("--strategy", "oldest-turn", "oldest-turns"), ("--format", "opena", "openai")],
)
def test_what_was_meant_comes_before_what_there_is(
    option: str, typed: str, meant: str
) -> None:
    """The hint is read first, the long list last."""
    done = run("fit", EXAMPLE, "-n", "8k", option, typed)

    assert done.exit_code == 2
    hint = done.stderr.index(f"did you mean {meant!r}?")
    assert hint < done.stderr.index("there are ")
