from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import attrs

from turnkeep.errors import FormatError

from ._json_text import parse_json
from ._salvage import salvage

Shape: TypeAlias = Literal["json", "messages", "conversations"]

MAGIC = b"SQLite format 3\0"
"""How the file of a SQLite database begins."""

_GZIP = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_LISTS = ("messages", "contents", "input", "body", "custom_id")
"""Keys of an object that is a conversation, not a message."""

_RECORDS = ("request", "modelInput", "modelOutput", "choices", "candidates")
"""The same of an object that has no role or type: lines of batches, and answers."""

_EXPORTS = ("mapping", "chat_messages")
"""Keys of a conversation in the lists of them that chat services export."""


@attrs.frozen
class Line:
    """One line of a JSON Lines file."""

    number: int
    """Counted from 1."""
    value: Any

    @property
    def is_conversation(self) -> bool:
        """Whether it holds a whole list or body, rather than one message."""
        if not isinstance(self.value, dict):
            return isinstance(self.value, list)
        is_entry = not self.value.keys().isdisjoint(("role", "type"))
        keys = _LISTS if is_entry else (*_LISTS, *_RECORDS)
        return any(key in self.value for key in keys)


@attrs.frozen
class Reading:
    """What a file held."""

    value: Any
    """The JSON value; of JSON Lines, the list of its lines' values."""

    shape: Shape
    """`json`; or JSON Lines with a message, or a conversation, on each line. Exports
    and databases with several conversations are `conversations` too."""

    notes: tuple[str, ...] = ()
    """What could not be read of a damaged session file, in words."""


def read(source: str | Path | BinaryIO) -> Reading:
    """Read a file of JSON or JSON Lines, gzip or not, whole.

    JSON Lines are told by the file's name (`.jsonl`, `.ndjson`), or because the first
    line is a value by itself and more follow. In the log of a program's session what is
    whole is read where lines are damaged; the notes say so. The databases of opencode,
    goose, ADK and the OpenAI Agents SDK are read too, by their path: their sessions,
    newest first.

    Args:
        source:
            A path, or a binary stream, which is read to its end and not closed.

    Raises:
        FormatError: It is none of these, with the line and the path of what is wrong.
        OSError: The file cannot be read.
    """
    with _opened(source) as (stream, name):
        data = _all(stream, name)
    if data.startswith(MAGIC):
        return _of_database(source, name)
    try:
        if name.endswith(_LINES):
            return _of_lines(list(_lines(io.BytesIO(data), name)))
        return _of_text(data, name)
    except FormatError:
        saved = salvage(data)
        if saved is None:
            raise
        return Reading(saved.values, "messages", saved.notes)


def _of_text(data: bytes, name: str) -> Reading:
    """A value, or lines of them under any name."""
    text = _text(data, name, 1)
    try:
        value = parse_json(text)
    except FormatError as error:
        if not _starts_with_value(text):
            reason = f"{name}: {error.reason}"
            raise FormatError(reason, error.path) from None
        return _of_lines(list(_lines(io.BytesIO(data), name)))
    if isinstance(value, list) and value and all(map(_is_export, value)):
        return Reading(value, "conversations")
    return Reading(value, "json")


def _is_export(value: Any) -> bool:
    return isinstance(value, dict) and any(key in value for key in _EXPORTS)


def _of_database(source: str | Path | BinaryIO, name: str) -> Reading:
    if not isinstance(source, (str, Path)):
        reason = f"{name}: a database is read by its path, not from a stream"
        raise FormatError(reason, "$")
    # Few read databases, and everybody reads files.
    from ._databases import read_stored, stored_sessions  # noqa: PLC0415

    path = Path(source)
    found = [read_stored(path, stored.id) for stored in stored_sessions(path)]
    return Reading(found, "conversations")


def read_entries(source: str | Path | BinaryIO) -> Iterator[Line]:
    """The values of a JSON Lines file, one after the other.

    Holds one line at a time, so that a file may be larger than the memory.

    Args:
        source:
            A path, or a binary stream, which is read to its end and not closed.

    Raises:
        FormatError: At the damaged line, with its number.
        OSError: The file cannot be read.
    """
    with _opened(source) as (stream, name):
        yield from _lines(stream, name)


@contextmanager
def _opened(source: str | Path | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    """The unpacked stream, and what to call it."""
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield _unpacked(file), Path(source).name
        return
    yield _unpacked(source), str(getattr(source, "name", "input"))


def _unpacked(stream: BinaryIO) -> BinaryIO:
    # A pipe cannot go back, so that the first bytes are looked at in a buffer.
    buffered = stream if isinstance(stream, io.BufferedReader) else _buffered(stream)
    if buffered.peek(2)[:2] != _GZIP:
        return buffered
    return gzip.GzipFile(fileobj=buffered)  # type: ignore[return-value] # it reads bytes


def _buffered(stream: BinaryIO) -> io.BufferedReader:
    if isinstance(stream, io.RawIOBase):
        return io.BufferedReader(stream)
    return io.BufferedReader(_Raw(stream))


class _Raw(io.RawIOBase):
    """Any object with `read`, for a buffer."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _all(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"{name}: the gzip file is damaged: {error}"
        raise FormatError(reason, "$") from None


def _lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    number = 0
    nth = 0
    while True:
        try:
            data = stream.readline()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"{name}: the gzip file is damaged after line {number}: {error}"
            raise FormatError(reason, "$") from None
        if not data:
            return
        number += 1
        text = _text(data, name, number)
        if not text.strip():
            continue
        try:
            value = parse_json(text, f"$[{nth}]")
        except FormatError as error:
            reason = f"{name}, line {number}: {error.reason}"
            raise FormatError(reason, error.path) from None
        yield Line(number, value)
        nth += 1


def _text(data: bytes, name: str, number: int) -> str:
    try:
        return data.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = number + data.count(b"\n", 0, error.start)
        reason = f"{name}, line {line}: not UTF-8 text (byte {error.start})"
        raise FormatError(reason, "$") from None


def _starts_with_value(text: str) -> bool:
    """Whether the first line is an array or object by itself, and more follows."""
    first, newline, rest = text.lstrip().partition("\n")
    if not newline or not rest.strip() or first[:1] not in ("{", "["):
        return False
    return first.rstrip().endswith(("}", "]")) and _parses(first)


def _parses(text: str) -> bool:
    try:
        # Tolerantly, so that a line with NaN in it is refused as what it is: a line.
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _of_lines(lines: list[Line]) -> Reading:
    values = [line.value for line in lines]
    if not lines or not all(line.is_conversation for line in lines):
        return Reading(values, "messages")
    return Reading(_by_request(values), "conversations")


def _by_request(values: list[Any]) -> list[Any]:
    """Lines of a batch that share an id, request and answer, as one conversation."""
    groups: dict[Any, list[Any]] = {}
    for nth, value in enumerate(values):
        named = value.get("custom_id") if isinstance(value, dict) else None
        groups.setdefault(named if isinstance(named, str) else nth, []).append(value)
    return [group[0] if len(group) == 1 else group for group in groups.values()]
