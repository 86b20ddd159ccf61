"""Bad input: one line with a path, code 2, and nothing is written."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import chat, run

_USER = {"role": "user", "content": "hi"}
_DEEP = "[" * 10_000 + "]" * 10_000


def _messages(*messages: Any) -> str:
    return json.dumps([_USER, *messages])


BAD_FILES: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "empty", "$"),
    "not JSON": ("role: user", "not JSON", "$"),
    "truncated": ('[{"role": "user", "content": "h', "Unterminated", "$"),
    "not UTF-8": (b'["\xff"]', "not UTF-8", "$"),
    "no role": (_messages({"content": "x"}), "role", "$[1]"),
    "unknown role": (_messages({"role": "wizard", "content": "x"}), "wizard", "$[1]"),
    "role of a wrong type": (
        _messages({"role": 7, "content": "x"}),
        "string",
        "$[1].role",
    ),
    "content of a wrong type": (
        _messages({"role": "user", "content": 42}),
        "content",
        "$[1].content",
    ),
    "a message that is no object": (_messages("hi"), "object", "$[1]"),
    "duplicate ids": (
        json.dumps([{**_USER, "id": "a"}, {**_USER, "id": "a"}]),
        "'a' is used twice",
        "$[1]",
    ),
    "deep nesting": (_DEEP, "nested too deeply", "$"),
    "deep nesting in a message": (
        '[{"role": "user", "content": ' + _DEEP + "}]",
        "nested too deeply",
        "$",
    ),
    "NaN": ('[{"role": "user", "content": "hi", "x": NaN}]', "not JSON", "$[0].x"),
    "a number": ("42", "list", "$"),
    "text": ('"hello"', "list", "$"),
    "a body without messages": ('{"model": "gpt-4o"}', "", "$"),
}
"""A name, the file, words of the error and its path."""


@pytest.mark.parametrize("command", ["fit", "show", "count"])
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(name: str, command: str, tmp_path: Path) -> None:
    """Whatever is wrong with it: one line that says what and where."""
    content, words, path = BAD_FILES[name]
    file, output = tmp_path / "bad.json", tmp_path / "out.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    output.write_text("before")
    more = ["-n", "8000", "-f", "openai"] if command != "count" else ["-f", "openai"]
    target = ["-o", str(output)] if command == "fit" else []

    result = run(command, file, *more, *target)

    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("turnkeep: error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert f"@ {path}" in result.stderr
    assert output.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.json", "out.json"]


def test_naive_time_stamp(tmp_path: Path) -> None:
    """A time without a zone means nothing on another machine."""
    message = {
        "id": "m1",
        "role": "user",
        "timestamp": "2026-11-30T12:00:00",
        "content": [{"type": "text", "text": "hi"}],
    }
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"turnkeep": 1, "messages": [message]}))

    result = run("fit", file, "-n", "8000")

    assert result.exit_code == 2, result.output
    assert "time zone" in result.stderr
    assert "messages[0]" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words", "where"),
    [
        (["-n", "0"], "must be positive, not 0", "--max-tokens"),
        (["-n", "-5"], "must be positive, not -5", "--max-tokens"),
        (["-n", "100", "--reserve", "100"], "less than --max-tokens", "--reserve"),
        (["-n", "100", "--target", "1.5"], "at most 1, not 1.5", "--target"),
        (["--reserve", "100"], "need --max-tokens", "--max-tokens"),
        (["-n", "8k", "--pin", "nobody"], "no message 'nobody'", "--pin"),
        (["-n", "8k", "--pin", "99"], "no message '99'", "--pin"),
        (["-n", "8k", "--pin", "-99"], "no message '-99'", "--pin"),
        (["-n", "8k", "--pending", "call_x"], "no tool call 'call_x'", "--pending"),
        (["-n", "8k", "--pending", "a", "--no-pending"], "exclude", "--no-pending"),
        (["-n", "8k", "--format", "morse"], "no format 'morse'", "--format"),
        (["-n", "8k", "--strategy", "best"], "best: not known", "@ --strategy"),
        (["-n", "8k", "--strategy", "keep-ends:x=1"], "keep-ends", "@ --strategy"),
        (["-m", "no-such-model-9"], "-9'; pass --max-tokens", "--max-tokens"),
        ([], "--max-tokens", ""),
    ],
)
def test_bad_arguments(arguments: list[str], words: str, where: str) -> None:
    """What cannot be done is said with the option concerned; code 2."""
    result = run("fit", "-", *arguments, stdin=json.dumps(chat()))

    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert words in result.stderr
    assert where in result.stderr


@pytest.mark.parametrize(
    "arguments", [["-n", "many"], ["--nonsense"], ["-n", "8k", "--open-calls", "maybe"]]
)
def test_bad_usage(arguments: list[str]) -> None:
    """What the option parser refuses is code 2 as well."""
    assert run("fit", "-", *arguments, stdin="[]").exit_code == 2


def test_a_missing_file(tmp_path: Path) -> None:
    """The path is named."""
    result = run("count", tmp_path / "none.json")

    assert result.exit_code == 2
    assert "cannot read: No such file" in result.stderr
    assert "none.json" in result.stderr


def test_an_output_folder_that_is_not_there(tmp_path: Path) -> None:
    """The path is named."""
    output = tmp_path / "none" / "out.json"

    result = run("fit", "-", "-n", "8k", "-o", output, stdin=json.dumps(chat()))

    assert result.exit_code == 2
    assert "cannot write" in result.stderr


def test_the_machine_form_of_an_error() -> None:
    """With `--json` a program can read what went wrong."""
    result = run("fit", "-", "-n", "8k", "--json", stdin='[{"role": "wizard"}]')

    error = json.loads(result.stdout)["error"]
    assert result.exit_code == 2
    assert error["message"] in result.stderr
    assert {"type", "message"} <= set(error)


def test_a_hostile_file_cannot_write_to_the_terminal() -> None:
    """Control characters of the input are shown, not sent."""
    bad = json.dumps([{"role": "\x1b[31mwizard\r\n\x07", "content": "x"}])

    result = run("fit", "-", "-n", "8k", "-f", "openai", stdin=bad)

    assert result.exit_code == 2
    assert not {"\x1b", "\x07", "\r"} & set(result.stderr)
    assert result.stderr.count("\n") == 1


WRITERS = {
    "fit": ["fit", "FILE", "-n", "8k", "-o", "OUT"],
    "fit --each": ["fit", "FILE", "-n", "8k", "--each", "-o", "OUT"],
    "convert": ["convert", "FILE", "--to", "anthropic", "-o", "OUT"],
    "repair": ["repair", "FILE", "-o", "OUT"],
    "report": ["report", "FILE", "-o", "OUT"],
    "replay": ["replay", "FILE", "-n", "8k", "--html", "OUT"],
}
"""Every command that reads one file and writes another."""


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("chat.json", "is the input"),
        ("linked.json", "is the input"),
        ("chat.json/", "is a directory; name a file in it"),
        ("folder", "is a directory; name a file in it"),
    ],
)
def test_an_input_is_never_overwritten(
    command: str, output: str, words: str, tmp_path: Path
) -> None:
    """However it is spelled; nor is a folder taken for a file. Nothing is written."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat()))
    (tmp_path / "linked.json").symlink_to(file)
    (tmp_path / "folder").mkdir()
    names = {"FILE": str(file), "OUT": f"{tmp_path}/{output}"}

    result = run(*(names.get(word, word) for word in WRITERS[command]))

    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.rstrip().endswith(
        "@ --html" if command == "replay" else "@ --output"
    )
    assert file.read_text() == json.dumps(chat())
    assert len(list(tmp_path.iterdir())) == 3


def test_an_export_never_overwrites_its_store(tmp_path: Path) -> None:
    """A store is an input too."""
    saved, store = tmp_path / "saved.json", tmp_path / "chats.db"
    saved.write_text(json.dumps({"turnkeep": 1, "messages": [{**_USER, "id": "a"}]}))
    run("store", "import", store, saved, "--as", "42")
    before = store.read_bytes()

    result = run("store", "export", store, "42", "-o", store)

    assert result.exit_code == 2, result.output
    assert "is the input" in result.stderr
    assert store.read_bytes() == before


def test_a_window_that_only_an_extra_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways out are named: installing it, and saying the figure."""
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)

    result = run("fit", "-", "-m", "gpt-4o", stdin=json.dumps(chat()))

    assert result.exit_code == 2
    assert "pip install 'turnkeep[models]'" in result.stderr
    assert "pass --max-tokens @ --max-tokens" in result.stderr
