"""What the command line loads before it is known what is asked for: nothing of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import run
from turnkeep.cli._app import COMMANDS, load


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
