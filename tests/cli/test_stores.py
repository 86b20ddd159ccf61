"""Tests for `turnkeep pending`, `turnkeep resolve` and `turnkeep store`."""

import json
import shlex
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import EXAMPLE, PENDING, run
from tests.stores.keeping import DSN, demand_postgres, schema
from turnkeep import Conversation, ToolCall, stores
from turnkeep.stores import JsonlStore, PostgresStore, SqliteStore

LATER = datetime.now(UTC) + timedelta(hours=30)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A conversation of ours with two calls that are waited for."""
    chat = Conversation(model="gpt-4o")
    chat.user("Approve both.", pinned=True)
    chat.assistant(tool_calls=[ToolCall("call_1", "approve"), ToolCall("call_2", "b")])
    chat.defer("call_1", expires_at=LATER, waits_for={"who": "eve"})
    path = tmp_path / "session.json"
    chat.save(path)
    return path


@pytest.fixture(params=["chats.db", "logs"])
def store(request: pytest.FixtureRequest, tmp_path: Path, saved: Path) -> Path:
    """The same in a store."""
    path: Path = tmp_path / request.param
    result = run("store", "import", path, saved, "--as", "42")
    assert result.exit_code == 0
    assert "42: 3 messages imported" in result.stdout
    return path


def waiting(*args: object) -> list[dict[str, Any]]:
    """What `pending --json` lists."""
    found: list[dict[str, Any]] = json.loads(run("pending", *args, "--json").stdout)[
        "pending"
    ]
    return found


def test_pending_of_a_file(saved: Path) -> None:
    """With age, deadline and whom it waits for."""
    text = run("pending", saved).stdout

    assert "call_1" in text
    assert "expires in 1 d 5 h" in text
    assert "waits for who: eve" in text
    first, second = waiting(saved)
    assert (first["state"], second["state"]) == ("pending", "open")
    assert first["expires_at"] == LATER.isoformat()
    assert first["waits_for"] == {"who": "eve"}


def test_pending_of_any_format() -> None:
    """Also of plain message lists, where nobody wrote down since when."""
    assert [call["id"] for call in waiting(EXAMPLE)] == [PENDING]
    assert "open for ?" in run("pending", EXAMPLE).stdout


def test_nothing_pending(tmp_path: Path) -> None:
    """It says so."""
    path = tmp_path / "empty.json"
    Conversation().save(path)
    assert run("pending", path).stdout.strip() == "No call is waited for."


def test_an_expired_call_says_so(tmp_path: Path) -> None:
    """Until somebody closes it, it is waited for."""
    chat = Conversation()
    chat.assistant(tool_calls=[ToolCall("c", "f")])
    chat.defer("c", expires_at=datetime.now(UTC) - timedelta(hours=3))
    path = tmp_path / "late.json"
    chat.save(path)
    assert "expired 3 h" in run("pending", path).stdout


def test_pending_of_a_store(store: Path) -> None:
    """Of all conversations, or of one."""
    assert [call["conversation"] for call in waiting(store)] == ["42", "42"]
    assert len(waiting(store, "--conversation", "42")) == 2
    assert "of 42" in run("pending", store).stdout
    unknown = run("pending", store, "-c", "43")
    assert unknown.exit_code == 2
    assert "no conversation '43'" in unknown.stderr


def test_resolve_in_a_file(saved: Path) -> None:
    """The file is written back, with everything else as it was."""
    result = run("resolve", saved, "call_1", "yes")

    assert result.stdout == "call_1 is resolved: message msg-4\n"
    chat = Conversation.load(saved)
    assert chat["msg-4"].text == "yes"
    assert [call.id for call in chat.pending] == ["call_2"]
    again = run("resolve", saved, "call_1", "no")
    assert again.exit_code == 2
    assert "is resolved already; nothing changed" in again.stderr


def test_resolve_in_a_store(store: Path) -> None:
    """From stdin, as an error, or without a result."""
    first = run("resolve", store, "call_1", "-", "-c", "42", "--error", stdin="denied")
    second = run("resolve", store, "call_2", "-c", "42", "--cancel", "no", "--json")

    assert first.exit_code == 0
    assert json.loads(second.stdout)["state"] == "cancelled"
    assert waiting(store) == []
    shown = run("store", "show", store, "42", "--json")
    [denied, cancelled] = json.loads(shown.stdout)["messages"][-2:]
    assert denied["content"][0]["is_error"] is True
    assert cancelled["content"][0]["content"] == "tool error: cancelled: no"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["call_1"], "say the result, or why there is none"),
        (["call_1", "x", "--cancel", "y"], "say the result, or why there is none"),
        (["nobody", "x"], "no tool call 'nobody'"),
    ],
)
def test_bad_usage_of_resolve(saved: Path, args: list[str], reason: str) -> None:
    """One line, exit code 2, nothing changed."""
    before = saved.read_bytes()
    result = run("resolve", saved, *args)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert saved.read_bytes() == before


def test_resolve_needs_to_know_where(store: Path) -> None:
    """A store holds many conversations, and a foreign file holds no states."""
    assert "say which conversation" in run("resolve", store, "call_1", "x").stderr
    foreign = run("resolve", EXAMPLE, PENDING, "x")
    assert "only a conversation that turnkeep saved" in foreign.stderr
    assert "only a conversation" in run("resolve", "-", PENDING, "x", stdin="[]").stderr


def test_resolve_where_nothing_may_be_written(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the file."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("turnkeep.conversation._conversation.write_atomic", refuse)
    result = run("resolve", saved, "call_1", "yes")
    assert result.exit_code == 2
    assert f"cannot write: Read-only file system @ {saved}" in result.stderr


def test_store_ls(store: Path) -> None:
    """Figures, open calls, the last change."""
    text = run("store", "ls", store).stdout
    [info] = json.loads(run("store", "ls", store, "--json").stdout)

    figures = f"42  3 messages, {info['tokens']} tokens, 2 open  changed "
    assert text.startswith(figures)
    assert (info["id"], info["messages"], info["open_calls"]) == ("42", 3, 2)
    assert run("store", "ls", store, "--contains", "x").stdout == "No conversations.\n"


def test_store_show(store: Path) -> None:
    """The newest messages, a line each."""
    lines = run("store", "show", store, "42").stdout.splitlines()

    assert lines[0].startswith("msg-1 user pinned")
    assert "calls approve, calls b" in lines[1]
    assert len(run("store", "show", store, "42", "-n", "1").stdout.splitlines()) == 1


def test_export_is_what_was_imported(store: Path, saved: Path, tmp_path: Path) -> None:
    """To stdout or to a file that `Conversation.load` reads."""
    output = tmp_path / "out.json"

    printed = run("store", "export", store, "42").stdout
    run("store", "export", store, "42", "-o", output)

    assert json.loads(printed) == json.loads(output.read_text())
    assert Conversation.load(output).to_json() == Conversation.load(saved).to_json()


def test_import_is_never_an_overwrite(store: Path, saved: Path) -> None:
    """An id that is taken is refused, with the way out."""
    result = run("store", "import", store, saved, "--as", "42")
    assert result.exit_code == 2
    assert "there is a conversation '42' already; choose another" in result.stderr
    assert result.stderr.endswith("@ --as\n")
    more = run("store", "import", store, saved, "--as", "43", "--json")
    assert json.loads(more.stdout) == {"id": "43", "version": 1, "messages": 3}


def test_import_takes_one_conversation(tmp_path: Path) -> None:
    """Of ours, from one file."""
    several = tmp_path / "several.jsonl"
    line = json.dumps([{"role": "user", "content": "x"}])
    several.write_text(f"{line}\n{line}\n")

    result = run("store", "import", tmp_path / "x.db", several, "--as", "1")

    assert "2 conversations, one a line" in result.stderr
    assert "2 conversations, one a line" in run("pending", several).stderr
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize(
    "command", [["store", "import", "x.db", "FILE", "--as", "1"], ["resolve", "FILE"]]
)
def test_what_was_not_saved_is_converted_first(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error holds the command that does it, ready to run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my chat.json").write_bytes(EXAMPLE.read_bytes())
    more = [PENDING, "done"] if command[0] == "resolve" else []

    def started(name: str) -> Any:
        return run(*(name if word == "FILE" else word for word in command), *more)

    refused = started("my chat.json")
    words = shlex.split(refused.stderr.partition("first: turnkeep ")[2])
    converted = run(*words[:-3])
    taken = started("saved.json")

    assert refused.exit_code == 2
    assert words[-2:] == ["my", "chat.json"]
    assert converted.exit_code == 0, converted.stderr
    assert taken.exit_code == 0, taken.stderr


def test_check_of_a_sound_store(store: Path) -> None:
    """It says so."""
    assert run("store", "check", store).stdout == "No damage.\n"
    report = json.loads(run("store", "check", store, "-c", "42", "--json").stdout)
    assert report == {"damaged": False, "found": []}


def test_check_finds_damage(tmp_path: Path, saved: Path) -> None:
    """Where it is and what is wrong; exit code 1."""
    path = tmp_path / "chats.db"
    run("store", "import", path, saved, "--as", "42")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE messages SET body = '{}' WHERE seq = 1")
    connection.close()

    result = run("store", "check", path)

    assert result.exit_code == 1
    assert (
        "damaged 42: conversation '42', row 1: a message needs a 'role'"
        in result.stdout
    )


def test_check_names_what_a_crash_left(tmp_path: Path, saved: Path) -> None:
    """But that is no damage."""
    run("store", "import", tmp_path / "logs", saved, "--as", "42")
    [log] = (tmp_path / "logs").glob("*.jsonl")
    with log.open("ab") as file:
        file.write(b'{"v":2,"app')

    result = run("store", "check", tmp_path / "logs")

    assert result.exit_code == 0
    assert "left over 42: 11 bytes of an unfinished write" in result.stdout
    assert "No damage." in result.stdout


@pytest.mark.parametrize("name", ["nothing", "file.json"])
def test_no_store_there(tmp_path: Path, name: str) -> None:
    """And none is made by looking."""
    (tmp_path / "file.json").write_text("[]")
    result = run("store", "ls", tmp_path / name)
    assert result.exit_code == 2
    assert "no store there" in result.stderr
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_store_is_an_error(tmp_path: Path) -> None:
    """Of its first bytes only the name is right."""
    path = tmp_path / "chats.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
    result = run("store", "ls", path)
    assert result.exit_code == 2
    assert str(path) in result.stderr


def test_a_password_is_never_shown() -> None:
    """Not even when the server is not there."""
    result = run("store", "ls", "postgresql://me:secret@127.0.0.1:1/x")
    assert result.exit_code == 2
    assert "postgresql://me@127.0.0.1:1/x" in result.stderr
    assert "secret" not in result.stderr


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way out is named."""
    monkeypatch.delattr(stores, "PostgresStore", raising=False)
    monkeypatch.setitem(sys.modules, "turnkeep.stores._postgres", None)
    result = run("store", "ls", "postgresql://127.0.0.1/x")
    assert "pip install 'turnkeep[postgres]'" in result.stderr


@pytest.mark.postgres
def test_a_server_is_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its address."""
    demand_postgres()
    monkeypatch.setattr(
        "turnkeep.stores.PostgresStore", partial(PostgresStore, schema=schema())
    )
    result = run("store", "ls", DSN)
    assert result.stdout == "No conversations.\n"


def test_stores_read_what_the_commands_wrote(tmp_path: Path, saved: Path) -> None:
    """The commands and the library share one state."""
    run("store", "import", tmp_path / "a.db", saved, "--as", "42")
    run("store", "import", tmp_path / "b", saved, "--as", "42")
    with SqliteStore(tmp_path / "a.db") as one, JsonlStore(tmp_path / "b") as other:
        assert one.read("42").rows == other.read("42").rows
