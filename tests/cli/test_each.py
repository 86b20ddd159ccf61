"""Tests for `turnkeep fit --each`."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.chats import say, user
from tests.cli.running import run as command
from turnkeep.cli._each import EachReport, Output, fit_each
from turnkeep.cli._files import UsageError
from turnkeep.errors import BudgetExceededError, FormatError, TurnkeepError

OPTIONS = {"max_tokens": 40, "model": "gpt-4o", "format": "openai"}


def lines(path: Path) -> list[Any]:
    """The values of a file, packed or not."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def batch(path: Path, count: int, bad: dict[int, str] | None = None) -> Path:
    """A file of conversations, some lines of it bad."""
    rows = []
    for nth in range(count):
        row = json.dumps([user("early " * 30), say("fine"), user(f"last {nth}")])
        rows.append((bad or {}).get(nth, row))
    text = "\n".join(rows) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def run(source: Path, target: Path, **options: Any) -> EachReport:
    """Fit a file with one process."""
    return fit_each(str(source), str(target), OPTIONS, workers=1, **options)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_every_line_is_fitted_in_order(tmp_path: Path, ending: str) -> None:
    """Packed as its name says; nothing else is left in the folder."""
    source = batch(tmp_path / f"in{ending}", 600)
    target = tmp_path / f"out{ending}"

    report = run(source, target)

    assert report.done == 600
    assert [chat[-1]["content"] for chat in lines(target)] == [
        f"last {n}" for n in range(600)
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == [source.name, target.name]
    assert target.stat().st_mode & 0o777 == 0o600


def test_several_processes_give_the_same(tmp_path: Path) -> None:
    """Byte for byte."""
    source = batch(tmp_path / "in.jsonl", 50)
    run(source, tmp_path / "one.jsonl")

    fit_each(str(source), str(tmp_path / "two.jsonl"), OPTIONS, workers=2)

    assert (tmp_path / "one.jsonl").read_bytes() == (
        tmp_path / "two.jsonl"
    ).read_bytes()


def test_a_record_around_a_conversation_stays(tmp_path: Path) -> None:
    """Only its body is fitted."""
    record = {"name": "n", "body": [user("early " * 30), say("x"), user("last")]}
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(record) + "\n")

    run(source, tmp_path / "out.jsonl")

    (made,) = lines(tmp_path / "out.jsonl")
    assert made["name"] == "n"
    assert made["body"] == [user("last")]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """After the last note; what was written behind it is written again."""
    source = batch(tmp_path / "in.jsonl", 700, {650: "["})
    target = tmp_path / "out.jsonl"
    with pytest.raises(FormatError) as caught:
        run(source, target)
    assert caught.value.__notes__ == ["line 651"]
    assert not target.exists()
    part = tmp_path / ".out.jsonl.part"
    assert len(part.read_text().splitlines()) == 650
    with part.open("a") as file:
        file.write('[{"torn')

    report = run(source, target, on_error="skip")

    assert report.done == 699
    assert [line for line, _ in report.skipped] == [651]
    assert [chat[-1]["content"] for chat in lines(target)] == [
        f"last {n}" for n in range(700) if n != 650
    ]


def test_another_input_begins_anew(tmp_path: Path) -> None:
    """A note of other work says nothing."""
    source = batch(tmp_path / "in.jsonl", 300, {280: "["})
    target = tmp_path / "out.jsonl"
    with pytest.raises(TurnkeepError):
        run(source, target)
    batch(source, 5)

    run(source, target)

    assert len(lines(target)) == 5


def test_a_damaged_note_begins_anew(tmp_path: Path) -> None:
    """It is only a note."""
    (tmp_path / ".out.progress").write_text("{")

    sink = Output(str(tmp_path / "out"), "key")

    assert sink.start == 0
    sink.close()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1", "Expecting"),
        ("\udcff", "not UTF-8"),
        (json.dumps([user("x " * 99)]), "cannot be dropped"),
        (json.dumps([{"role": "nobody", "content": ""}]), "nobody"),
    ],
)
def test_bad_lines_are_reported_and_skipped(
    tmp_path: Path, line: str, reason: str
) -> None:
    """Each with its number."""
    source = tmp_path / "in.jsonl"
    good = json.dumps([user("hi")])
    data = f"{good}\n{line}\n\n{good}\n".encode("utf-8", "surrogateescape")
    source.write_bytes(data)

    report = run(source, tmp_path / "out.jsonl", on_error="skip")

    assert report.done == 2
    ((number, why),) = report.skipped
    assert number == 2
    assert reason in why


def test_a_line_that_does_not_fit_stops_with_its_number(tmp_path: Path) -> None:
    """As an error of its own kind; other faults name their line."""
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps([user("x " * 99)]) + "\n")
    with pytest.raises(BudgetExceededError) as caught:
        run(source, tmp_path / "out.jsonl")
    assert caught.value.__notes__ == ["line 1"]

    source.write_bytes(b"\xff\n")
    with pytest.raises(UsageError, match="line 1"):
        run(source, tmp_path / "out.jsonl")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    """Say so, and streams are refused: they cannot go on later."""
    with pytest.raises(UsageError, match="cannot open"):
        run(tmp_path / "none.jsonl", tmp_path / "out.jsonl")
    with pytest.raises(UsageError, match="needs a FILE"):
        fit_each("-", "out", OPTIONS)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"role": "user", "parts": [{"text": "hi"}]},
        {"type": "user", "message": {"role": "user", "content": "hi"}},
    ],
)
def test_a_message_a_line_is_one_conversation(
    tmp_path: Path, message: dict[str, Any]
) -> None:
    """Then `--each` is wrong; the error says so, with the line."""
    source = tmp_path / "log.jsonl"
    source.write_text(f"{json.dumps(message)}\n" * 2)

    result = command("fit", source, "--each", "-n", 40, "-o", tmp_path / "out.jsonl")

    assert result.exit_code == 2
    assert result.stderr.endswith(
        "a single message; without --each the file is one conversation @ $[0], line 1\n"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ([user("x " * 99)], "Set --max-tokens to at least 107 @ line 2"),
        (
            {"messages": [{"role": "wizard"}]},
            "with --format to hear why @ $.messages[0], line 2",
        ),
        ({"prompt": "x"}, "with the keys prompt"),
    ],
)
def test_what_fails_is_said_with_its_line(
    tmp_path: Path, line: object, words: str
) -> None:
    """Where it stops, and where it goes on; the ways out are options."""
    source = tmp_path / "in.jsonl"
    source.write_text(f"{json.dumps([user('hi')])}\n{json.dumps(line)}\n")
    asked = ["fit", source, "--each", "-n", 40, "-o", tmp_path / "out.jsonl"]

    stopped = command(*asked)
    skipped = command(*asked, "--skip-errors")
    told = json.loads(command(*asked, "--skip-errors", "--json").stdout)

    assert stopped.exit_code in (2, 3)
    assert words in stopped.stderr
    assert skipped.exit_code == 0
    assert "line 2: " in skipped.stderr
    assert "max_tokens" not in skipped.stderr
    assert [item["line"] for item in told["skipped"]] == [2]
    assert "max_tokens" not in told["skipped"][0]["error"]


@pytest.mark.parametrize("option", [["--workers", "2"], ["--skip-errors"]])
def test_options_of_each_need_it(option: list[str]) -> None:
    """Nothing that was asked for is ignored in silence."""
    result = command("fit", "-", "-n", "8k", *option, stdin=json.dumps([user("hi")]))

    assert result.exit_code == 2
    assert f"{option[0]} needs --each" in result.stderr


def test_a_full_disk_says_so_and_leaves_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half-written takes the name of the output."""
    source = batch(tmp_path / "in.jsonl", 3)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(UsageError, match="cannot write: No space left") as caught:
        run(source, tmp_path / "out.jsonl")

    assert caught.value.where == str(tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
