"""Tests for reading files: JSON, JSON Lines, gzip, and what is wrong with them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generators import json_values
from turnkeep.errors import FormatError
from turnkeep.formats import parse_json, read, read_entries
from turnkeep.model import same

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho 🙂"}]
LINES = "".join(json.dumps(entry) + "\n" for entry in CHAT)


def file(folder: Path, name: str, data: str | bytes) -> Path:
    """A file with *data*."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@given(value=json_values)
def test_parses_what_json_wrote(value: Any) -> None:
    """Every JSON value comes back equal, in value and type."""
    assert same(parse_json(json.dumps(value)), value)


def test_skips_a_byte_order_mark() -> None:
    """Editors on Windows put one there."""
    assert parse_json("\ufeff[]") == []


BAD = [
    pytest.param("", "not JSON: the text is empty", "$", id="empty"),
    pytest.param("  \n", "not JSON: the text is empty", "$", id="blank"),
    pytest.param("hello", "line 1, column 1", "$", id="prose"),
    pytest.param('[{"a": 1}', "it ends too early, at line 1, column 10", "$", id="cut"),
    pytest.param('[\n{"a": 1,}\n]', "line 2, column", "$", id="comma"),
    pytest.param("{'a': 1}", "line 1, column 2", "$", id="single quotes"),
    pytest.param('[{"a": NaN}]', "nan is not JSON", "$[0].a", id="NaN"),
    pytest.param("[1, -Infinity]", "-inf is not JSON", "$[1]", id="infinity"),
    pytest.param('{"a": [1e999]}', "too large", "$.a[0]", id="overflow"),
    pytest.param(f"[{'9' * 5000}]", "too many digits", "$", id="digits"),
    pytest.param("[" * 10_000 + "]" * 10_000, "nested too deeply", "$", id="nesting"),
    pytest.param(
        '[{"role": "user", "content": "a", "role": "system"}]',
        "key 'role' stands twice",
        "$[0].role",
        id="twice",
    ),
    pytest.param("[NaN] [2]", "Extra data at line 1", "$", id="NaN and two values"),
    pytest.param("[NaN," + "[" * 10_000, "too large", "$", id="NaN and nesting"),
    pytest.param("[1] [2]", "Extra data at line 1, column 5", "$", id="two values"),
]


@pytest.mark.parametrize(("text", "reason", "path"), BAD)
def test_refuses_what_is_no_json(text: str, reason: str, path: str) -> None:
    """One error, with line and column or the path."""
    with pytest.raises(FormatError) as caught:
        parse_json(text)

    assert reason in caught.value.reason
    assert caught.value.path == path


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["chat", "chat.json", "chat.jsonl", "chat.ndjson"])
def test_reads_json_lines_under_any_name(tmp_path: Path, name: str, pack: Any) -> None:
    """One message a line; the name helps, but the content decides."""
    found = read(file(tmp_path, name, pack(LINES.encode())))

    assert found.value == CHAT
    assert found.shape == "messages"


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_reads_json(tmp_path: Path, pack: Any) -> None:
    """A list or a body, on one line or many."""
    values: list[Any] = [CHAT, {"messages": CHAT, "model": "m"}]
    for value in values:
        for indent in (None, 2):
            data = json.dumps(value, indent=indent).encode()
            assert read(file(tmp_path, "chat.json", pack(data))).value == value


def test_tells_conversations_from_messages(tmp_path: Path) -> None:
    """A line may hold a message, or a whole list or body."""
    values: list[Any] = [CHAT, {"messages": CHAT}, {"input": "hi"}, {"body": {}}]
    for value in values:
        line = json.dumps(value) + "\n"
        found = read(file(tmp_path, "many.jsonl", line * 3))
        assert found.shape == "conversations"
        assert found.value == [value] * 3
    assert read(file(tmp_path, "one.jsonl", LINES[:-1])).shape == "messages"
    assert read(file(tmp_path, "none.jsonl", "")).value == []


def test_one_line_of_a_lines_file_is_a_list(tmp_path: Path) -> None:
    """The name says so, even where the content could be plain JSON."""
    one = json.dumps(CHAT[0])

    assert read(file(tmp_path, "chat.jsonl", one)).value == [CHAT[0]]
    assert read(file(tmp_path, "chat.json", one)).value == CHAT[0]


def test_reads_streams() -> None:
    """Pipes and files in memory, packed or not; they are left open."""
    for data in (LINES.encode(), gzip.compress(LINES.encode())):
        stream = io.BytesIO(data)
        assert read(stream).value == CHAT
        assert not stream.closed
        raw = io.BufferedReader(io.BytesIO(data))
        assert [line.value for line in read_entries(raw)] == CHAT


def test_blank_lines_count_but_say_nothing(tmp_path: Path) -> None:
    """Line numbers are those of the file."""
    path = file(tmp_path, "chat.jsonl", "\n\n" + LINES)

    assert [line.number for line in read_entries(path)] == [3, 4]


def test_names_the_damaged_line(tmp_path: Path) -> None:
    """The lines before it are fine, and were given."""
    path = file(tmp_path, "chat.jsonl", LINES + '{"role": "user", "cont')
    lines = read_entries(path)

    assert [next(lines).value, next(lines).value] == CHAT
    with pytest.raises(
        FormatError, match=r"chat.jsonl, line 3: not JSON: it ends"
    ) as e:
        next(lines)
    assert e.value.path == "$[2]"
    with pytest.raises(FormatError, match=r"chat, line 3: not JSON"):
        read(file(tmp_path, "chat", LINES + '{"role": "user", "cont'))


def test_names_the_file_of_damaged_json(tmp_path: Path) -> None:
    """A file that never was JSON Lines is judged as JSON."""
    with pytest.raises(FormatError, match=r"chat.json: not JSON: .* line 2, column"):
        read(file(tmp_path, "chat.json", '[{"a": 1},\n{"b"}]'))
    with pytest.raises(FormatError, match=r"x, line 1: nan is not JSON .* @ \$\[0\].a"):
        read(file(tmp_path, "x", '{"a": NaN}\n{"a": 1}\n'))


def test_names_the_byte_that_is_no_utf8(tmp_path: Path) -> None:
    """With the line it stands in."""
    bad = b'[\n{"a": "\xff"}]'
    with pytest.raises(FormatError, match=r"line 2: not UTF-8 text \(byte 9\)"):
        read(file(tmp_path, "chat.json", bad))
    with pytest.raises(FormatError, match=r"line 2: not UTF-8 text"):
        list(read_entries(file(tmp_path, "chat.jsonl", b'{}\n{"a": "\xff"}')))


@pytest.mark.parametrize("cut", [5, 20, 40])
def test_names_a_damaged_gzip_file(tmp_path: Path, cut: int) -> None:
    """Cut off in its head or in its data."""
    path = file(tmp_path, "chat.gz", gzip.compress(LINES.encode())[:cut])

    with pytest.raises(FormatError, match="gzip file is damaged"):
        read(path)
    with pytest.raises(FormatError, match="gzip file is damaged after line"):
        list(read_entries(path))


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    """Not a format's fault."""
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent.json")


def test_never_holds_more_than_a_line() -> None:
    """A file larger than the memory can be read: the reader runs just ahead."""

    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            line = LINES.encode()[:40].ljust(39)[:39].replace(b"\n", b" ")
            data = (b"[" + b" " * (len(line) - 2) + b"]\n")[: len(buffer)]
            buffer[: len(data)] = data
            self.given += len(data)
            return len(data)

    endless = Endless()
    lines = read_entries(endless)  # type: ignore[arg-type]

    for _ in range(1_000):
        next(lines)

    assert endless.given < 1_000 * 40 + 100_000


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing but `FormatError`."""
    with contextlib.suppress(FormatError):
        assert read(io.BytesIO(data)).shape in {"json", "messages", "conversations"}


def test_a_first_line_that_only_looks_like_a_value(tmp_path: Path) -> None:
    """Braces at both ends do not make JSON Lines."""
    with pytest.raises(FormatError, match=r"chat: not JSON: .* at line 1"):
        read(file(tmp_path, "chat", '{"a"}\n{"b": 1}\n'))
