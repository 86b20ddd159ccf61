"""The example scripts run and show what they promise."""

import json
import subprocess
import sys
from pathlib import Path

import turnkeep

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(script: str) -> str:
    """What a script prints; it must end well."""
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(EXAMPLES / script)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_tested() -> None:
    """A new example gets a test here."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "demo.py",
        "fastapi_chat.py",
        "keep_within_budget.py",
        "pending_calls.py",
        "pin_instructions.py",
    }


def test_the_session_is_what_the_docs_say() -> None:
    """45 messages, eight tools, one open call, a rule at index 1."""
    session = json.loads((EXAMPLES / "build-engineer.json").read_text())

    assert len(session["messages"]) == 45
    assert len(session["tools"]) == 8
    assert "standing rule" in session["messages"][1]["content"]
    plan = turnkeep.plan(session, max_tokens=100_000)
    assert [item.call_id for item in plan.inserted] == ["call_08"]


def test_demo() -> None:
    """Rule, question and open call survive at half of the size."""
    shown = output_of("demo.py")

    assert shown.count("True") == 3
    assert "False" not in shown
    assert "dropped (age)" in shown


def test_keep_within_budget() -> None:
    """Every request fits; the deeper cut changes the beginning less often."""
    shallow, deep = output_of("keep_within_budget.py").splitlines()

    def changes(line: str) -> int:
        return int(line.rsplit("changed ", 1)[1].split(maxsplit=1)[0])

    assert changes(deep) < changes(shallow)


def test_pin_instructions() -> None:
    """Only the pin keeps the rule."""
    shown = output_of("pin_instructions.py")

    assert shown.index("in it: False") < shown.index("in it: True")


def test_pending_calls() -> None:
    """The call is open across the restart, then answered."""
    shown = output_of("pending_calls.py")

    assert "after the restart: call_08" in shown
    assert "answered: nightly on fix/clock-free-test: 412 passed" in shown
    assert shown.endswith("open: 0\n")
