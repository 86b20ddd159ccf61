"""Tests for `turnkeep.cli._guard`: exit codes of what goes wrong."""

import json

import pytest

from tests.cli.running import EXAMPLE, run
from turnkeep import api


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
