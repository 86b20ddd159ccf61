"""A store, and a conversation that was saved, are histories for every command."""

import json
from pathlib import Path

import pytest

from tests.cli.running import process, run
from turnkeep import Budget, Conversation
from turnkeep.stores import JsonlStore, SqliteStore, Store


def fill(store: Store, *names: str, turns: int = 12) -> None:
    """Conversations with a budget that their history exceeds."""
    for name in names:
        chat = Conversation.open(store, name, model="gpt-4o", budget=Budget(200))
        for nth in range(turns):
            chat.user(f"Question {nth}: " + "why " * 20)
            chat.assistant(f"Answer {nth}: " + "because " * 20)
        chat.user("And now?")


@pytest.fixture(params=["chats.db", "logs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store with one conversation."""
    path = tmp_path / str(request.param)
    with SqliteStore(path) if path.suffix else JsonlStore(path) as store:
        fill(store, "first")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("show", "HERE"),
        ("count", "HERE"),
        ("check", "HERE"),
        ("repair", "HERE"),
        ("convert", "HERE", "--to", "anthropic"),
        ("fit", "HERE"),
        ("replay", "HERE", "-n", "300"),
        ("diff", "HERE", "HERE"),
        ("report", "HERE", "--json"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_reads_a_store(place: Path, command: tuple[str, ...]) -> None:
    """A store that holds one conversation needs no more than its name."""
    result = run(*(place if word == "HERE" else word for word in command))

    assert result.exit_code == 0, result.stderr


def test_a_saved_budget_is_the_budget(place: Path, tmp_path: Path) -> None:
    """What a conversation was made with holds on the command line."""
    saved = tmp_path / "saved.json"
    assert run("store", "export", place, "first", "-o", saved).exit_code == 0

    for path in (place, saved):
        result = run("fit", path, "--json")
        report = json.loads(result.stdout)
        assert report["tokens"] <= 200
        assert "tokens from here" in run("show", path).stdout


def test_one_of_several_is_named(tmp_path: Path) -> None:
    """Several conversations: the error lists them, and says how to pick one."""
    path = tmp_path / "chats.db"
    with SqliteStore(path) as store:
        fill(store, "first", "second", turns=1)

    result = run("show", path)
    assert result.exit_code == 2
    assert "holds 2 conversations: pick one with --conversation ID" in result.stderr
    assert run("show", path, "-c", "second").exit_code == 0
    missed = run("show", path, "-c", "secnd")
    assert missed.exit_code == 2
    assert "did you mean 'second'?" in missed.stderr
    assert len(json.loads(run("count", path, "--json").stdout)["files"]) == 2


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    """Nothing to read is bad input."""
    SqliteStore(tmp_path / "chats.db").close()

    result = run("show", tmp_path / "chats.db")

    assert result.exit_code == 2
    assert "holds no conversation" in result.stderr


def test_a_file_has_no_conversations_by_id(tmp_path: Path) -> None:
    """`--conversation` is about stores."""
    path = tmp_path / "a.json"
    path.write_text('[{"role": "user", "content": "hi"}]')

    for command in ("count", "show"):
        result = run(command, path, "-c", "x")
        assert result.exit_code == 2
        assert "is no store" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-n", "9" * 400),
        ("-n", "1" + "0" * 30 + "k"),
        ("-n", "8k", "--reserve", "9" * 400),
        ("-n", "8k", "--strategy", "older-than:age=99999999999999999d"),
        ("-n", "8k", "--strategy", "keep-recent:rest=relevance"),
        ("-n", "8k", "--strategy", "keep-recent:rest=5"),
        ("-n", "8k", "--target", "nan"),
        ("-n", "8k", "--target", "1e400"),
    ],
    ids=lambda arguments: f"{len(arguments)} {arguments[-1][:20]}",
)
def test_what_is_out_of_range_is_bad_usage(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Never a traceback, never a fault of ours."""
    path = tmp_path / "a.json"
    path.write_text('[{"role": "user", "content": "hi"}]')

    result = run("fit", path, *arguments)

    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 1_500


@pytest.mark.parametrize("length", [2, 5, 9, 10, 14, 30])
def test_a_gzip_file_that_ends_early_is_bad_input(tmp_path: Path, length: int) -> None:
    """Wherever it ends, in its header too, alone and with `--each`."""
    import gzip

    path = tmp_path / "a.jsonl.gz"
    data = gzip.compress(b'[{"role": "user", "content": "hi"}]\n' * 50)
    path.write_bytes(data[:length])

    assert run("count", path).exit_code == 2
    each = process(
        "fit", "--each", path, "-n", "90", "-o", tmp_path / "o.jsonl", "--workers", "1"
    )
    assert each.returncode == 2, each.stderr
    assert b"gzip file is damaged" in each.stderr
