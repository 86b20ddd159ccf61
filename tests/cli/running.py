"""Running the command line in tests: inside this process, or as a real one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from turnkeep.cli._app import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "build-engineer.json"
"""The example session: 45 messages, one rule, one open call."""

PENDING = "call_08"
"""The open call of the example session."""


def run(
    *args: object,
    stdin: str | bytes | None = None,
    env: Mapping[str, str | None] | None = None,
) -> Result:
    """Run a command inside this process; code, stdout and stderr are in the result."""
    runner = CliRunner()
    settings: dict[str, str | None] = {"COLUMNS": "100", **(env or {})}
    return runner.invoke(app, [str(arg) for arg in args], input=stdin, env=settings)


def process(
    *args: object, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as users do."""
    command = [sys.executable, "-m", "turnkeep.cli", *map(str, args)]
    return subprocess.run(  # noqa: S603 - our own command
        command,
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "100", **env},
    )


def chat(turns: int = 6, size: int = 40) -> list[dict[str, Any]]:
    """A plain chat: a system message and *turns* questions with answers."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be short."}]
    for nth in range(turns):
        messages += [
            {"role": "user", "content": f"Question {nth}: " + "why " * size},
            {"role": "assistant", "content": f"Answer {nth}: " + "because " * size},
        ]
    messages.append({"role": "user", "content": "And now?"})
    return messages


def save(path: Path, value: Any) -> Path:
    """Write *value* as JSON; returns the path."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
