"""A real program, three questions, behind the proxy, without a network.

Run in a network namespace of its own, with an empty environment, as
`python -m tests.programs.session NAME PATH FOLDER BUDGET`; writes what happened as
JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.strict.provider import Recorded, StrictProvider
from tests.strict.scripts import Answer, Call, Seen
from turnkeep.proxy import Running, Settings
from turnkeep.proxy._run import command_of, environment_of

ROUNDS: Final = 4
QUESTIONS: Final = (
    "Question-1: read notes.txt, then answer.",
    "Question-2: read notes.txt again, then answer.",
    "Question-3: read notes.txt once more, then answer.",
)
_SECONDS: Final = 60
_NOTES: Final = " ".join(f"note-{n:05}" for n in range(2_000))


@dataclass(frozen=True)
class Program:
    """How a program is asked without a terminal."""

    first: Sequence[str]
    more: Sequence[str]
    """The arguments of a later question, which goes on with the session."""
    tools: Mapping[str, str]
    """Its tools that run a command, and the argument that takes it."""
    environment: Mapping[str, str]


_CLAUDE: Final = ("--model", "claude-opus-4-8", "--dangerously-skip-permissions")
_CODEX: Final = ("--skip-git-repo-check", "--yolo")
_GEMINI: Final = ("--yolo", "--model", "gemini-2.5-pro")
PROGRAMS: Final = {
    "claude": Program(
        ("-p", *_CLAUDE),
        ("-p", "--continue", *_CLAUDE),
        {"Bash": "command"},
        {
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        },
    ),
    "codex": Program(
        ("exec", "--model", "gpt-5.1", *_CODEX),
        ("exec", "resume", "--last", "--model", "gpt-5.1", *_CODEX),
        {"exec_command": "cmd", "shell_command": "command"},
        {"OPENAI_API_KEY": "sk-made-up", "RUST_LOG": "off"},
    ),
    "opencode": Program(
        ("run", "--model", "made/gpt-4o"),
        ("run", "--continue", "--model", "made/gpt-4o"),
        {"bash": "command"},
        {
            "OPENAI_API_KEY": "sk-made-up",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
    ),
    "gemini": Program(
        (*_GEMINI, "-p"),
        (*_GEMINI, "--resume", "latest", "-p"),
        {"run_shell_command": "command"},
        {
            "GEMINI_API_KEY": "made-up",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    ),
}


def script(program: Program) -> Any:
    """A model that reads a part of the file in some rounds for each question."""

    def answer(seen: Seen) -> Answer:
        tool = next((name for name in program.tools if name in seen.tools), None)
        asked, done = _so_far(seen)
        if tool is None or done >= ROUNDS:
            return Answer(f"Final answer to {asked}.")
        first = 30 * done + 1
        command = (
            f"sed -n {first},{first + 40}p notes.txt # round {done + 1} of {asked}"
        )
        given = {program.tools[tool]: command, "description": "Read a part"}
        return Answer(calls=(Call(tool, given),))

    return answer


def _so_far(seen: Seen) -> tuple[str, int]:
    """The question, and how many rounds it has had: the newest call says both."""
    calls = " ".join(str(dict(call.arguments)) for call in seen.newest_calls)
    found = re.search(r"round (\d+) of (Question-\d)", calls)
    if seen.newest_results and found is not None:
        return found[2], int(found[1])
    asked = re.findall(r"Question-\d", seen.text)
    return (asked[-1] if asked else "nothing"), 0


def main(name: str, path: str, home: str, budget: int) -> dict[str, Any]:
    """Ask the three questions; what happened."""
    folder = Path(home) / "work"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.txt").write_text(
        "\n".join(_NOTES[n : n + 200] for n in range(0, 24_000, 200))
    )
    program = PROGRAMS[name]
    said: list[dict[str, Any]] = []
    with StrictProvider(script=script(program)) as provider:
        settings = Settings(
            upstreams={
                "/anthropic": provider.url,
                "/openai": provider.url,
                "/gemini": provider.url,
            },
            budgets=[("*", budget)],
            log=str(Path(home) / "plans.jsonl"),
        )
        with Running(settings) as proxy:
            given = {
                "HOME": home,
                "PATH": os.environ["PATH"],
                "TERM": "dumb",
                **program.environment,
            }
            environment = environment_of([path], proxy.url, settings, given)
            if name == "opencode":
                _configure(folder, proxy.url)
            for nth, question in enumerate(QUESTIONS):
                arguments = program.more if nth else program.first
                command = [path, *arguments, question]
                command = command_of(command, proxy.url, settings)
                said.append(_asked(command, folder, environment))
            line = proxy.line()
        return {
            "said": said,
            "line": line,
            "requests": [_told(request) for request in provider.requests],
            "changed": _changed(provider.requests),
        }


def _asked(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> dict[str, Any]:
    """What a program says to one question."""
    try:
        done = subprocess.run(  # noqa: S603 - what is tested
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        code, out, err = -1, late.stdout or b"", late.stderr or b""
    else:
        code, out, err = done.returncode, done.stdout, done.stderr
    texts = (text.decode(errors="replace")[-3_000:] for text in (out, err))
    return {"code": code, **dict(zip(("out", "err"), texts, strict=True))}


def _configure(folder: Path, url: str) -> None:
    """A provider of opencode that asks the proxy."""
    made = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "made",
        "options": {"baseURL": f"{url}/openai/v1", "apiKey": "sk-made-up"},
        "models": {"gpt-4o": {"name": "gpt-4o", "tool_call": True}},
    }
    config = {"provider": {"made": made}, "autoupdate": False, "share": "disabled"}
    (folder / "opencode.json").write_text(json.dumps(config))


def _told(request: Recorded) -> dict[str, Any]:
    return {
        "api": request.api,
        "path": request.path,
        "model": request.model,
        "tokens": request.tokens,
        "status": request.status,
        "tools": list(request.seen.tools)[:60] if request.seen else [],
        "faults": [f"{fault.rule}: {fault.message}" for fault in request.faults],
    }


def _changed(requests: list[Recorded]) -> int:
    """How often a request with tools did not begin as the one before."""
    lists = [
        next(r.body[k] for k in ("messages", "input", "contents") if k in r.body)
        for r in requests
        if r.body.get("tools")
    ]
    bare = [[_bare(entry) for entry in listed] for listed in lists]
    return sum(new[: len(old)] != old for old, new in pairwise(bare))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k != "cache_control"}
    return [_bare(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    _, asked, where, folder, most = sys.argv
    json.dump(main(asked, where, folder, int(most)), sys.stdout)
