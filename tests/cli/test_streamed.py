"""Tests for `turnkeep count` on files that are counted line by line."""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import chat, run
from turnkeep.cli import _streamed

PROSE = (
    "order ticket build result error path file line total user please fetch the status "
    "of number value and report what changed since the last release in main module"
)

MEMORY = """
import resource, sys
from turnkeep.cli._app import app

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

app(["count", sys.argv[1], "--json"], standalone_mode=False)
before = peak()
app(["count", sys.argv[2], "--json"], standalone_mode=False)
print(peak() - before, file=sys.stderr)
"""
"""Counts a small file, then a large one; prints how many KiB the peak rose."""


def agent(turns: int = 5) -> list[dict[str, Any]]:
    """A session with two tools."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Work."}]
    for nth in range(turns):
        name = "read" if nth % 2 else "write"
        function = {"name": name, "arguments": f'{{"at": {nth}}}'}
        call = {"id": f"c{nth}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Do {nth}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{nth}", "content": "done " * nth},
            {"role": "assistant", "content": "It is done."},
        ]
    return messages


def made_lines(
    rng: random.Random, pool: list[str], shape: str, size: int
) -> Iterator[str]:
    """Lines of *size* bytes in all, no text twice: a message each, or a hundred."""
    each = 1 if shape == "messages" else 100
    numbers = count()
    while size > 0:
        said = [
            {
                "role": "assistant" if nth % 2 else "user",
                "content": f"{nth}: {' '.join(rng.choices(pool, k=20))}",
            }
            for nth in islice(numbers, each)
        ]
        line = json.dumps(said if each > 1 else said[0]) + "\n"
        size -= len(line)
        yield line


def lines(path: Path, values: Iterable[Any]) -> Path:
    """A file with a value a line, packed if its name says so."""
    data = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and every file is large."""
    return lambda: monkeypatch.setattr(_streamed, "LARGE", 0)


def counted(path: Path, *args: str) -> dict[str, Any]:
    """The report of one file, with a total over all its parts."""
    found: dict[str, Any] = json.loads(run("count", path, "--json", *args).stdout)
    return found


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.ndjson.gz"])
def test_messages_count_the_same_line_by_line(
    tmp_path: Path, streaming: Callable[[], None], name: str
) -> None:
    """The total, and what roles and tools spend, are those of the whole."""
    path = lines(tmp_path / name, agent(300))
    (whole,) = counted(path)["files"]
    streaming()

    (found,) = counted(path)["files"]

    assert found["messages"] == 1201
    assert found["by_message"] is found["by_turn"] is None
    for key in whole.keys() - {"by_message", "by_turn"}:
        assert found[key] == whole[key], key


def test_conversations_are_summed_up(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """One table for all of them, with as many tokens as they have one by one."""
    bodies = [{"model": "gpt-4o", "messages": agent(3), "tools": []}, chat(2), chat(3)]
    path = lines(tmp_path / "a.jsonl", bodies)
    total = counted(path, "-f", "openai")["total"]
    streaming()

    (found,) = counted(path, "-f", "openai")["files"]
    shown = run("count", path, "-f", "openai", "--by", "tool").stdout

    assert found["total"] == total == sum(s["tokens"] for s in found["by_role"])
    assert found["conversations"] == 3
    assert found["model"] is None
    assert "3 conversations" in shown
    assert "write" in shown


def test_the_table_of_messages_is_the_same(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """People see no difference."""
    path = lines(tmp_path / "a.jsonl", agent())
    whole = [run("count", path, "--by", by).stdout for by in ("role", "tool")]
    streaming()

    assert [run("count", path, "--by", by).stdout for by in ("role", "tool")] == whole


@pytest.mark.parametrize("by", ["message", "turn"])
def test_what_needs_every_message_reads_the_whole(
    tmp_path: Path, streaming: Callable[[], None], by: str
) -> None:
    """Asked for, it is given."""
    path = lines(tmp_path / "a.jsonl", agent())
    whole = run("count", path, "--by", by).stdout
    streaming()

    assert run("count", path, "--by", by).stdout == whole


def test_a_session_of_claude_code_is_read_whole(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """Its main line can only be told from its end."""
    said = {"role": "user", "content": "Hello"}
    link = {"uuid": "u1", "parentUuid": None, "sessionId": "s"}
    line = {"type": "user", "message": said, **link}
    path = lines(tmp_path / "a.jsonl", [line])
    whole = counted(path)
    streaming()

    assert counted(path) == whole


def test_a_damaged_line_is_named(tmp_path: Path, streaming: Callable[[], None]) -> None:
    """The line or the path, and nothing on stdout."""
    streaming()
    path = lines(tmp_path / "a.jsonl", [*chat(200), {"role": 7}])
    wrong = run("count", path, "-f", "openai")
    path.write_text('{"role": "user", "content": "a"}\n{"role"\n')
    damaged = run("count", path, "-f", "openai")

    assert wrong.exit_code == damaged.exit_code == 2
    assert "$[402].role" in wrong.stderr
    assert "a.jsonl, line 2" in damaged.stderr
    assert not wrong.stdout
    assert not damaged.stdout


def test_a_message_among_conversations_is_refused(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """A file holds one or the other."""
    streaming()
    path = lines(tmp_path / "a.jsonl", [*[chat(1)] * 300, chat(1)[0]])

    found = run("count", path, "-f", "openai")

    assert found.exit_code == 2
    assert "a.jsonl, line 301" in " ".join(found.stderr.split())


def test_an_empty_file_has_no_tokens(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """No line, no request."""
    streaming()
    path = lines(tmp_path / "a.jsonl", [])

    assert counted(path, "-f", "openai")["total"] == 0


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, streaming: Callable[[], None]
) -> None:
    """Missing, or no file at all."""
    streaming()
    (tmp_path / "b.jsonl").mkdir()

    for name in ("a.jsonl", "b.jsonl"):
        found = run("count", tmp_path / name, "-f", "openai")
        assert found.exit_code == 2
        assert "cannot read" in found.stderr


def test_small_files_and_other_names_are_held(tmp_path: Path) -> None:
    """Only JSON Lines above the limit are counted line by line."""
    small = lines(tmp_path / "a.jsonl", chat())
    large = tmp_path / "a.json"
    with large.open("wb") as file:
        file.truncate(_streamed.LARGE)
    sparse = tmp_path / "b.jsonl"
    with sparse.open("wb") as file:
        file.truncate(_streamed.LARGE)
    packed = tmp_path / "b.jsonl.gz"
    with packed.open("wb") as file:
        file.truncate(_streamed.LARGE // 8)

    assert not _streamed.is_large(str(small))
    assert not _streamed.is_large(str(large))
    assert not _streamed.is_large("-")
    assert _streamed.is_large(str(sparse))
    assert _streamed.is_large(str(packed))


def test_calls_are_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose results come much later count as those of an unknown tool."""
    from turnkeep.formats import get_format
    from turnkeep.report import _survey
    from turnkeep.tokens import request_counter

    monkeypatch.setattr(_survey, "_OPEN", 1)
    fmt = get_format("openai")
    calls = [m for m in agent(2) if m.get("tool_calls")]
    results = [m for m in agent(2) if m["role"] == "tool"]

    found = _survey.measured([*calls, *results], fmt, request_counter(format="openai"))

    names = [share.name for entry in found for share in entry.tools]
    assert names == ["write", "read", "unknown tool", "read"]


@pytest.mark.parametrize("shape", ["messages", "conversations"])
def test_memory_stays_flat(tmp_path: Path, shape: str) -> None:
    """150 MB are counted with less than 60 MB more than a few messages need."""
    rng = random.Random(1)
    pool = [" ".join(rng.choices(PROSE.split(), k=20)) for _ in range(2_000)]
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    with small.open("w") as file:
        file.writelines(made_lines(rng, pool, shape, 1_000_000))
    with large.open("w") as file:
        file.writelines(made_lines(rng, pool, shape, 150_000_000))

    ran = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", MEMORY, str(small), str(large)],
        capture_output=True,
        check=True,
        text=True,
    )

    assert int(ran.stderr.split()[-1]) < 60_000
    assert json.loads(ran.stdout[ran.stdout.index("}\n{") + 2 :])["total"] > 10**7
