"""Tests for `turnkeep.cli._guard`: exit codes of what goes wrong."""

import io
import json
import sys

import pytest
import typer

from tests.cli.running import EXAMPLE, run
from turnkeep import api
from turnkeep.cli import _request
from turnkeep.cli._files import Source
from turnkeep.cli._guard import guarded
from turnkeep.errors import ConflictError


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours, wherever it may be."""

    def fail(*_args: object, **_kwargs: object) -> None:
        msg = "an index\nwent astray"
        raise IndexError(msg)

    monkeypatch.setattr(api, "plan", fail)


@pytest.mark.usefixtures("broken")
def test_a_fault_of_ours_is_code_70() -> None:
    """One line that says what to report, and no traceback."""
    result = run("fit", EXAMPLE, "-n", "8k")

    assert result.exit_code == 70
    assert result.stderr.count("\n") == 1
    assert "unexpected IndexError: an index went astray" in result.stderr
    assert "--debug" in result.stderr


@pytest.mark.usefixtures("broken")
def test_debug_shows_the_traceback() -> None:
    """For the report."""
    result = run("fit", EXAMPLE, "-n", "8k", "--debug")

    assert result.exit_code == 70
    assert "Traceback" in result.stderr


@pytest.mark.usefixtures("broken")
def test_a_fault_of_ours_in_json() -> None:
    """Programs see it too."""
    result = run("fit", EXAMPLE, "-n", "8k", "--json")

    assert result.exit_code == 70
    assert json.loads(result.stdout)["error"]["type"] == "IndexError"


@pytest.mark.parametrize("end", [typer.Exit(1), typer.Abort(), typer.BadParameter("x")])
def test_a_commands_own_end_is_left_alone(end: Exception) -> None:
    """A command may choose its code, and refuse a parameter."""

    @guarded
    def command() -> None:
        raise end

    with pytest.raises(type(end)) as caught:
        command()

    assert caught.value is end


class Terminal(io.StringIO):
    """Text that a terminal would have shown."""

    def isatty(self) -> bool:
        """Claim to be one."""
        return True


def test_long_counts_show_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, for large inputs; nowhere else."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    with _request.progress(Source("short.json", [], size=100), 10) as advance:
        advance(10)
    assert terminal.getvalue() == ""

    with _request.progress(Source("long.json", [], size=10**9), 300) as advance:
        for done in range(1, 301):
            advance(done)
    assert "counting long.json" in terminal.getvalue()
    assert "300/300" in terminal.getvalue()


def test_a_write_that_came_second_is_run_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Python would reload and append; on the command line it is the same command."""

    @guarded
    def command() -> None:
        raise ConflictError(conversation_id="42", expected=3, actual=4)

    with pytest.raises(typer.Exit) as caught:
        command()

    assert caught.value.exit_code == 2
    said = capsys.readouterr().err
    assert "conversation '42' is at version 4, not 3" in said
    assert said.endswith("Run this again\n")
