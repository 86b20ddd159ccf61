"""Programs behind a proxy of their own, and the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.strict.provider import StrictProvider
from turnkeep.proxy import Settings, run_program

from .upstream import await_server, free_port
from .worlds import Program

SCRIPT = """
import json, os, sys, urllib.request
url = os.environ[sys.argv[1]] + sys.argv[2]
body = json.load(sys.stdin)
for n in range(3):
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        answer.read()
print("heard", os.environ["ENABLE_TOOL_SEARCH"])
sys.exit(int(sys.argv[3]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that asks three times."""
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    """Where it asks in the end."""
    with StrictProvider() as started:
        yield started


def behind(
    *arguments: str, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """`turnkeep proxy` as users run it."""
    command = [sys.executable, "-m", "turnkeep.cli", "proxy", *arguments]
    return subprocess.run(  # noqa: S603 - our own command
        command,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, **env},
    )


@pytest.mark.parametrize(
    ("variable", "api", "path", "tail"),
    [
        ("ANTHROPIC_BASE_URL", "anthropic", "/v1/messages", ""),
        ("OPENAI_BASE_URL", "chat", "/chat/completions", "/v1"),
        ("OPENAI_BASE_URL", "responses", "/responses", "/v1"),
        (
            "GOOGLE_GEMINI_BASE_URL",
            "gemini",
            "/v1beta/models/gemini-2.5-pro:generateContent",
            "",
        ),
    ],
)
def test_a_program_runs_behind_it(
    provider: StrictProvider,
    script: Path,
    variable: str,
    api: str,
    path: str,
    tail: str,
) -> None:
    """It has its input, its output and its exit code; one line is said at the end."""
    body = json.dumps(Program(api).first("hello")).encode()
    done = behind(
        "run",
        "--budget",
        "60k",
        "--",
        sys.executable,
        str(script),
        variable,
        path,
        "7",
        stdin=body,
        **{variable: provider.url + tail},
    )

    assert done.returncode == 7, done.stderr
    assert done.stdout == b"heard true\n"
    line = done.stderr.decode().splitlines()
    assert line[-1].startswith("turnkeep: 3 requests, 0 tokens left out")
    assert len(provider.requests) == 3


def test_codex_is_told_by_its_options(tmp_path: Path) -> None:
    """It reads no variable."""
    codex = tmp_path / "codex"
    codex.write_text(
        f"#!{sys.executable}\nimport sys, json\nprint(json.dumps(sys.argv[1:]))\n"
    )
    codex.chmod(0o755)

    done = behind("run", "--", str(codex), "exec", "--json", "do it")

    given = json.loads(done.stdout)
    assert given[-3:] == ["exec", "--json", "do it"]
    assert given[0:2] == ["-c", "model_provider=turnkeep"]
    assert 'base_url="http://127.0.0.1:' in given[3]
    assert "/openai/v1" in given[3]


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    """In a sentence, with the exit code of a wrong command line."""
    done = behind("run", "--", str(tmp_path / "nothing"))

    assert done.returncode == 2
    assert b"cannot be run" in done.stderr
    with pytest.raises(OSError, match="nothing"):
        run_program([str(tmp_path / "nothing")], Settings())


def test_it_serves_until_it_is_told_to_stop(
    provider: StrictProvider, tmp_path: Path
) -> None:
    """And says what it did; a second one goes on with the same sessions."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "turnkeep.cli", "proxy", "--port", str(port)),
        *("--upstream", provider.url, "--budget", "6k", "--store", "cuts.db"),
        *("--secret-file", "secret", "--log", "plans.jsonl"),
    ]
    program = Program("anthropic", words=60)
    for nth in range(2):
        with subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=tmp_path, stderr=subprocess.PIPE
        ) as running:
            assert running.stderr is not None
            first = running.stderr.readline().decode()
            assert first.startswith(f"turnkeep: http://127.0.0.1:{port}/turnkeep/?key=")
            await_server(f"http://127.0.0.1:{port}/turnkeep/")
            program.run(f"http://127.0.0.1:{port}", requests=30, asked=not program.idle)
            running.send_signal(signal.SIGTERM if nth else signal.SIGINT)
            rest = running.stderr.read().decode()
            assert "30 requests" in rest, rest

    assert not provider.refused
    assert program.changed(provider.requests) <= 8
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert len((tmp_path / "plans.jsonl").read_text().splitlines()) == 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "many"], "number of tokens"),
        (["--budget", "claude-*=0"], "number of tokens"),
        (["--upstream", "ftp://a.test"], "http or https"),
        (["--strategy", "agnt"], "did you mean"),
        (["--host", "0.0.0.0"], "give a token"),  # noqa: S104 - refused
        (["--on-overflow", "raise"], "shorten"),
        (["--target", "3"], "less than or equal to 1"),
        (["--config", "nothing.toml"], "cannot be read"),
        (["run"], "Missing argument"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(arguments: list[str], words: str) -> None:
    """With the exit code of a wrong command line."""
    done = run("proxy", *arguments)

    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_a_file_has_the_same_settings(tmp_path: Path) -> None:
    """What the command line says comes before it."""
    config = tmp_path / "proxy.toml"
    config.write_text(
        """
target = 0.5
strategy = "oldest-turns"
pins = ["(?i)never deploy"]
exclude = ["*-embedding-*"]

[budgets]
"claude-*" = "150k"
"*" = 60000

[upstreams]
"/anthropic" = "https://anthropic.test"
"""
    )
    from turnkeep.cli.proxy import _settings

    made = _settings(config, target=0.7, strategy=None)

    assert made.target == 0.7
    assert made.strategy == "oldest-turns"
    assert list(made.budgets) == [("claude-*", 150_000), ("*", 60_000)]
    assert made.upstreams == {"/anthropic": "https://anthropic.test"}
    assert made.passes("text-embedding-3")
    config.write_text("bugdets = 3\n")
    assert run("proxy", "--config", config).exit_code == 2
