"""Tests for `turnkeep convert`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.chats import call, result, system, user
from turnkeep.cli._app import app

CHAT = [system(), user("go"), call("c1"), result("c1")]


def source(folder: Path, chat: object) -> str:
    """A file with *chat* in it."""
    path = folder / "chat.json"
    path.write_text(json.dumps(chat))
    return str(path)


def test_a_chat_is_written_in_another_format(tmp_path: Path) -> None:
    """To a file, with the report on stderr."""
    target = tmp_path / "out.json"

    done = CliRunner().invoke(
        app, ["convert", source(tmp_path, CHAT), "--to", "anthropic", "-o", str(target)]
    )

    assert done.exit_code == 0, done.output
    body = json.loads(target.read_text())
    assert body["messages"][1]["content"][0]["type"] == "tool_use"
    assert "openai to anthropic" in done.stderr


def test_losses_are_listed_and_fail_when_strict(tmp_path: Path) -> None:
    """Twenty at most for people, all of them as JSON; nothing is written if strict."""
    chat = {
        "turnkeep": 1,
        "messages": [
            {"id": f"m{n}", "role": "user", "content": "hi", "pinned": True}
            for n in range(25)
        ],
    }
    path = source(tmp_path, chat)

    shown = CliRunner().invoke(app, ["convert", path, "--to", "openai"])
    listed = CliRunner().invoke(app, ["convert", path, "--to", "openai", "--json"])
    target = tmp_path / "out.json"
    strict = CliRunner().invoke(
        app, ["convert", path, "--to", "openai", "--strict", "-o", str(target)]
    )

    assert shown.exit_code == 0
    assert "m0: the pin" in shown.stderr
    assert "and 5 more" in shown.stderr
    report = json.loads(listed.stdout)
    assert len(report["losses"]) == 25
    assert len(report["value"]["messages"]) == 25
    assert strict.exit_code == 2
    assert not target.exists()


def test_json_with_an_output_writes_both(tmp_path: Path) -> None:
    """The report to stdout, the history to its file."""
    target = tmp_path / "out.json"

    done = CliRunner().invoke(
        app,
        [
            "convert",
            source(tmp_path, CHAT),
            "--to",
            "gemini",
            "-o",
            str(target),
            "--json",
        ],
    )

    report = json.loads(done.stdout)
    assert (report["from"], report["to"]) == ("openai", "gemini")
    assert "value" not in report
    assert "contents" in json.loads(target.read_text())


def test_an_unknown_format_is_a_usage_error(tmp_path: Path) -> None:
    """With the names there are."""
    done = CliRunner().invoke(app, ["convert", source(tmp_path, CHAT), "--to", "xml"])

    assert done.exit_code == 2
    assert "no format 'xml'" in done.stderr


@pytest.mark.parametrize(
    ("option", "name", "reason"),
    [
        ("--to", "messages", "'messages' exists in Python only"),
        ("--to", "claude-code", "'claude-code' is only read, never written"),
        ("--to", "opnai", "no format 'opnai'"),
        ("--format", "messages", "'messages' exists in Python only"),
        ("--format", "opnai", "no format 'opnai'"),
    ],
)
def test_a_format_no_file_can_have_is_refused(
    tmp_path: Path, option: str, name: str, reason: str
) -> None:
    """And is not among those that are offered instead."""
    words = ["convert", source(tmp_path, CHAT), "--to", "openai", option, name]

    done = CliRunner().invoke(app, words)

    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert reason in done.stderr
    offered = done.stderr.partition("there are ")[2]
    assert {"openai,", "anthropic,"} <= set(offered.split())
    assert "messages" not in offered
    assert ("claude-code" in offered) == (option == "--format")
    assert offered.rstrip().endswith(f"@ {option}")
