"""Real coding agents behind the proxy: no refusal, the final answer, the budget kept.

They are not installed by the tests: `.ci/run programs` does that, or TURNKEEP_PROGRAMS
names a folder that has them. Each runs in a network namespace with loopback alone, with
an empty environment and a home folder of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .session import PROGRAMS, QUESTIONS

ROOT = Path(__file__).parents[2]
BUDGET = 24_000
INSIDE = ("unshare", "--map-root-user", "--net")


@pytest.fixture(scope="session")
def alone() -> None:
    """Skip where no network namespace can be made."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed
            [*INSIDE, "ip", "link", "set", "lo", "up"], capture_output=True, check=False
        )
    except FileNotFoundError as missing:
        pytest.skip(f"{missing.filename} is not installed")
    if done.returncode:
        pytest.skip(f"no network namespace: {done.stderr.decode().strip()}")


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder that only its owner can write: one program asks for that."""
    with tempfile.TemporaryDirectory(prefix="turnkeep-", dir=Path.home()) as folder:
        yield Path(folder)


def installed(name: str) -> str:
    """The program."""
    folder = os.environ.get("TURNKEEP_PROGRAMS")
    found = shutil.which(name, path=folder) if folder else None
    if found is None:
        pytest.skip(f"{name} is not in TURNKEEP_PROGRAMS: see `.ci/run programs`")
    return found


def session(name: str, home: Path) -> dict[str, Any]:
    """Three questions in a process without a network."""
    run = [sys.executable, "-m", "tests.programs.session", name, installed(name)]
    inside = f"ip link set lo up && exec {' '.join(run)} {home} {BUDGET}"
    done = subprocess.run(  # noqa: S603 - our own command
        [*INSIDE, "sh", "-c", inside],
        cwd=ROOT,
        env={
            "HOME": str(home),
            "PATH": f"{os.environ['TURNKEEP_PROGRAMS']}:{os.environ['PATH']}",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        },
        capture_output=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3_000:]
    made: dict[str, Any] = json.loads(done.stdout)
    return made


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_real_program_stays_in_its_budget(name: str, home: Path) -> None:
    """Three questions of some rounds each, over the budget together."""
    told = session(name, home)

    for nth, said in enumerate(told["said"], 1):
        assert said["code"] == 0, said["err"]
        assert f"Final answer to Question-{nth}." in said["out"]
    requests = told["requests"]
    assert not [r["faults"] for r in requests if r["faults"]]
    assert len(requests) >= 4 * len(QUESTIONS)
    assert all(r["tokens"] <= BUDGET for r in requests)
    assert told["changed"] <= len(requests) // 3
    log = (home / "plans.jsonl").read_text().splitlines()
    plans = [line for line in map(json.loads, log) if "tokens" in line]
    assert max(plan["tokens"] for plan in plans) <= BUDGET
    assert max(plan["tokens_before"] for plan in plans) > BUDGET
    assert any(plan["dropped"] for plan in plans)
