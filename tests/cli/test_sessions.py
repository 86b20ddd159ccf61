"""Tests for `turnkeep sessions`, and for commands that take the number of one."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import process, run
from tests.paths import DATA
from turnkeep.cli._session_files import find_sessions

FILES = DATA / "sessions"

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")


def put(path: Path, name: str, when: int) -> None:
    """An invented session at *path*, last written in second *when*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(FILES / name, path)
    os.utime(path, (when, when))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which every program left something."""
    claude = tmp_path / ".claude" / "projects" / "-home-ana-shop"
    put(claude / "s1.jsonl", "claude-code.jsonl", 4_000)
    put(claude / "s1" / "subagents" / "agent-1.jsonl", "claude-code-subagent.jsonl", 9)
    put(claude / "agent-0.jsonl", "claude-code-subagent.jsonl", 8)
    codex = tmp_path / ".codex"
    day = codex / "sessions" / "2026" / "10" / "03"
    put(day / "rollout-1.jsonl", "codex-0171.jsonl", 3_000)
    old = codex / "archived_sessions" / "rollout-0.jsonl"
    put(old, "codex-2025-subagent-fork.jsonl", 1_000)
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    put(chats / "session-1.jsonl", "gemini-cli-resumed.jsonl", 2_000)
    put(chats / "session-0.json", "gemini-cli-legacy.json", 500)
    put(chats / "s1" / "a.jsonl", "gemini-cli-resumed.jsonl", 7)
    shared = tmp_path / ".local" / "share" / "opencode"
    shared.mkdir(parents=True)
    database = sqlite3.connect(shared / "opencode.db")
    database.executescript((FILES / "opencode.db.sql").read_text())
    database.commit()
    database.close()
    return tmp_path


def env(home: Path, **more: str) -> dict[str, str | None]:
    return {"HOME": str(home), **dict.fromkeys(VARIABLES), **more}


def listed(home: Path, *args: object, **more: str) -> list[dict[str, Any]]:
    result = run("sessions", "--json", *args, env=env(home, **more))
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["sessions"]
    return found


def test_lists_what_there_is_newest_first(home: Path) -> None:
    found = listed(home)

    assert [(one["number"], one["program"]) for one in found] == [
        (1, "opencode"),
        (2, "claude-code"),
        (3, "codex"),
        (4, "gemini-cli"),
        (5, "codex"),
        (6, "gemini-cli"),
    ]
    assert all(one["tokens"] > 0 and one["bytes"] > 0 for one in found)
    assert [one["project"] for one in found[:4]] == [
        "/home/ana/shop",
        "-home-ana-shop",
        "/home/ana/shop",
        "shop",
    ]
    assert found[2]["question"] == "Stopped you. Go on without sleeping."
    assert found[0]["id"] == "ses_0a1"


def test_the_table_has_a_line_for_each(home: Path) -> None:
    result = run("sessions", "--top", 3, env=env(home))

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    assert "@1" in lines[1]
    assert "opencode" in lines[1]
    assert "3 older sessions" in lines[4]


def test_subagents_have_no_number(home: Path) -> None:
    found = listed(home, "--subagents")

    assert [one["number"] for one in found if one["subagent"]] == [None] * 4
    assert [one["number"] for one in found if not one["subagent"]] == [*range(1, 7)]


def test_one_program_keeps_its_numbers(home: Path) -> None:
    found = listed(home, "--program", "codex")

    assert [one["number"] for one in found] == [3, 5]


def test_refuses_a_program_that_it_does_not_know(home: Path) -> None:
    result = run("sessions", "--program", "vim", env=env(home))

    assert result.exit_code == 2
    assert "no program 'vim'" in result.stderr


def test_finds_the_homes_that_the_programs_use(home: Path, tmp_path: Path) -> None:
    """Each has a variable of its own for where it keeps its files."""
    other = tmp_path / "elsewhere"
    moved = {
        "CLAUDE_CONFIG_DIR": (home / ".claude", other / "c"),
        "CODEX_HOME": (home / ".codex", other / "x"),
        "GEMINI_CLI_HOME": (home / ".gemini", other / "g" / ".gemini"),
        "XDG_DATA_HOME": (home / ".local" / "share", other / "d"),
    }
    for source, target in moved.values():
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    named = {name: str(target) for name, (_, target) in moved.items()}
    named["GEMINI_CLI_HOME"] = str(other / "g")

    assert listed(home) == []
    assert len(listed(home, **named)) == 6


def test_an_empty_machine_is_no_error(tmp_path: Path) -> None:
    result = run("sessions", env=env(tmp_path))

    assert result.exit_code == 0
    assert "no sessions" in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("show", "{}"),
        ("count", "{}"),
        ("check", "{}"),
        ("replay", "{}", "-n", "4k"),
        ("report", "{}", "-n", "4k", "--json"),
        ("fit", "{}", "-n", "100k"),
        ("convert", "{}", "--to", "openai"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_commands_take_the_number_of_a_session(
    home: Path, command: tuple[str, ...], number: int
) -> None:
    args = [part.format(f"@{number}") for part in command]
    before = {path: path.stat() for path in home.rglob("*") if path.is_file()}

    result = run(*args, env=env(home))

    allowed = {0, 1} if command[0] == "check" else {0}
    assert result.exit_code in allowed, result.output
    assert result.stdout
    after = {path: path.stat() for path in home.rglob("*") if path.is_file()}
    unchanged = {path: (s.st_mtime_ns, s.st_size) for path, s in before.items()}
    assert {path: (s.st_mtime_ns, s.st_size) for path, s in after.items()} == unchanged


@pytest.mark.parametrize("number", ["@0", "@7", "@999999"])
def test_a_number_that_is_nobodys_is_bad_input(home: Path, number: str) -> None:
    result = run("count", number, env=env(home))

    assert result.exit_code == 2
    assert "there are 6; `turnkeep sessions` lists them" in result.stderr


def test_a_file_of_that_name_comes_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "@1").write_text('[{"role": "user", "content": "mine"}]')
    monkeypatch.chdir(tmp_path)

    result = run("count", "@1", "--json", env=env(home))

    assert json.loads(result.stdout)["files"][0]["file"] == "@1"


def test_says_on_stderr_what_was_left_out(home: Path) -> None:
    result = run("show", "@3", env=env(home))

    assert "left out: 7 items (replaced by a compaction)" in result.stderr
    assert "left out" not in result.stdout


def test_names_the_format_that_was_read(home: Path) -> None:
    result = run("show", "@3", "--json", env=env(home))

    assert json.loads(result.stdout)["format"] == "codex"


def test_one_that_cannot_be_read_is_listed_with_the_reason(home: Path) -> None:
    broken = home / ".codex" / "sessions" / "rollout-9.jsonl"
    broken.write_text("not JSON\n")
    os.utime(broken, (3_500, 3_500))

    (one,) = (one for one in listed(home) if one["error"])

    assert one["tokens"] is None
    assert "not JSON" in one["error"]
    assert run("sessions", env=env(home)).exit_code == 0


def test_nothing_of_a_file_steers_the_terminal(home: Path) -> None:
    """Neither what was said, nor a title, nor the name of a folder."""
    evil = "\x1b]0;owned\x07\x9b31m\u202eabc"
    lines = [
        {
            "timestamp": "2026-01-02T03:04:05Z",
            "type": "session_meta",
            "payload": {"cwd": f"/home/{evil}"},
        },
        {
            "timestamp": "2026-01-02T03:04:05Z",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": evil}],
            },
        },
        {
            "timestamp": "2026-01-02T03:04:05Z",
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "call_id": evil,
                "name": "f",
                "arguments": "{}",
            },
        },
        {
            "timestamp": "2026-01-02T03:04:05Z",
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": "stop"},
        },
    ]
    path = home / ".codex" / "sessions" / "rollout-9.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    for args in (["sessions"], ["sessions", "--json"], ["count", "@1"]):
        done = process(
            *args, HOME=str(home), CODEX_HOME=str(home / ".codex"), COLUMNS="200"
        )
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == 0, said
        assert all(c.isprintable() or c == "\n" for c in said), args


def test_a_database_is_read_by_its_path(home: Path) -> None:
    path = home / ".local" / "share" / "opencode" / "opencode.db"

    result = run("count", path, env=env(home))

    assert result.exit_code == 0
    assert "opencode.db:1" in result.stdout


@pytest.mark.parametrize("command", ["count", "show"])
def test_a_session_of_a_database_is_taken_by_its_id(home: Path, command: str) -> None:
    """As a conversation of a store is; by the wrong id, the nearest one is named."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    every = [one["id"] for one in listed(home) if one["program"] == "opencode"]

    for one in every:
        taken = run(command, path, "-c", one, env=env(home))
        assert taken.exit_code == 0, taken.stderr
        assert f"opencode.db:{one}" in taken.stdout
    wrong = run(command, path, "-c", f"{every[0]}x", env=env(home))
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith(f"{every[0]}'? @ --conversation\n")


def test_a_database_of_nobody_is_not_there(home: Path) -> None:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 500)

    assert {one["program"] for one in listed(home)} == {
        "claude-code",
        "codex",
        "gemini-cli",
    }


def test_empty_files_are_not_there(home: Path) -> None:
    (home / ".codex" / "sessions" / "rollout-9.jsonl").touch()

    assert len(listed(home)) == 6


def test_files_that_go_while_they_are_listed_are_not_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_args: object, **_options: object) -> None:
        raise OSError

    monkeypatch.setenv("HOME", str(home))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "glob", gone)
        assert [one.program for one in find_sessions()] == ["opencode"]
    (home / ".codex" / "sessions" / "rollout-9.jsonl").symlink_to("nowhere")
    assert len(find_sessions()) == 6


def test_a_command_for_one_says_how_to_pick_it(home: Path, tmp_path: Path) -> None:
    database = home / ".local" / "share" / "opencode" / "opencode.db"
    export = tmp_path / "conversations.json"
    one = json.loads((FILES / "chatgpt-conversations.json").read_text())
    export.write_text(json.dumps(one * 2))

    of_database = run("show", database, env=env(home))
    of_export = run("show", export, env=env(home))

    assert (of_database.exit_code, of_export.exit_code) == (2, 2)
    assert "--conversation ID" in of_database.stderr
    assert "`turnkeep sessions` gives it" in of_database.stderr
    assert "jq '.[0]'" in of_export.stderr
