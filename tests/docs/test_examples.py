"""Every example of the documentation runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from typer.testing import CliRunner

from tests.cli.running import EXAMPLE, chat, save
from tests.paths import DATA
from turnkeep.cli._app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
HOMES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")
"""Variables that say where programs keep their sessions."""
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@attrs.frozen
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    line: int


class Client:
    """A provider's client, as far as examples ask it: they run without a network."""

    @property
    def chat(self) -> Client:
        """As OpenAI's client has it."""
        return self

    @property
    def completions(self) -> Client:
        """As OpenAI's client has it."""
        return self

    def create(
        self, *, model: str, messages: list[Any], stream: bool = False, **_options: Any
    ) -> Any:
        """Answer, in three chunks if it is to be streamed."""
        assert model
        assert messages[-1]["role"] in {"user", "tool"}
        usage = {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}
        if not stream:
            message = {"role": "assistant", "content": "We close at six."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return {"model": model, "choices": [choice], "usage": usage}
        texts = ["We close", " at six.", None]
        return [
            {"choices": [{"index": 0, "delta": {"content": text}}], "usage": usage}
            for text in texts
        ]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def pages_with(language: str) -> list[Path]:
    """The pages that have a block in a language."""
    return [p for p in PAGES if any(b.language == language for b in blocks(p))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    # Programs for frameworks run where those are: tests/hosts/test_pages.py.
    [p for p in pages_with("python") if not p.name.startswith("use-with-")],
    ids=name,
)
def test_python_examples(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page's Python blocks run one after the other, in one namespace.

    A `text` block right behind one is what it prints.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "session.json").write_bytes(EXAMPLE.read_bytes())
    namespace: dict[str, object] = {"__name__": "example", "client": Client()}
    found = blocks(page)
    for nth, block in enumerate(found):
        if block.language != "python":
            continue
        # The padding makes tracebacks name the line of the page.
        source = "\n" * block.line + block.text
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(source, str(page), "exec"), namespace)  # noqa: S102 - ours
        expected = found[nth + 1] if nth + 1 < len(found) else None
        if expected is not None and expected.language == "text":
            assert output.getvalue() == expected.text, f"{page}:{expected.line}"


@pytest.mark.parametrize("page", pages_with("console"), ids=name)
def test_turnkeep_commands(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every `$ turnkeep ...` of a page works, and prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "chat.json", chat(12))
    save(tmp_path / "other.json", chat(2))
    (tmp_path / "session.json").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "build-engineer.json").write_bytes(EXAMPLE.read_bytes())
    found = DATA / "sessions"
    rollout = tmp_path / ".codex" / "sessions" / "rollout-1.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_bytes((found / "codex-0171.jsonl").read_bytes())
    export = found / "chatgpt-conversations.json"
    (tmp_path / "conversations.json").write_bytes(export.read_bytes())
    env: dict[str, str | None] = {"COLUMNS": "100", "HOME": str(tmp_path)}
    env |= dict.fromkeys(HOMES)
    for command, shown in commands(page):
        words = shlex.split(command.partition(" #")[0])[2:]
        result = CliRunner().invoke(app, words, env=env)
        assert result.exit_code == 0, f"{page}: {command}\n{result.output}"
        if shown:
            printed = [line.rstrip() for line in result.output.splitlines()]
            assert printed == shown, f"{page}: {command}"


def commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The `$ turnkeep ...` commands of a page, and what it shows of their output."""
    for block in blocks(page):
        if block.language != "console":
            continue
        for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
            command, *shown = part.rstrip().splitlines() or [""]
            if command.startswith("$ turnkeep "):
                yield command, shown
