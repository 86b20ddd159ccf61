"""Lines of a log: sealed with a checksum, read back, and what a crash tore off."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from turnkeep.errors import CorruptStoreError, FormatError
from turnkeep.serial import dumps, loads

RECOVERED: Final = "recovered"
"""Key of the record that names the bytes before it that are to be passed over."""

_SPOILER: Final = b"~torn~\n"
# No record ends so, and no small damage makes it of the end of one.

_SEAL: Final = len(b',"crc":"00000000"}')


@attrs.frozen
class Line:
    """One record of a log."""

    number: int
    """Counted from 1."""
    start: int
    """Where it begins, in bytes."""
    end: int
    record: dict[str, Any]
    crc: int
    """The checksum that the next line goes on from."""


@attrs.frozen
class Torn:
    """Bytes that are no records: a write that did not finish."""

    number: int
    start: int
    end: int


def seal(record: dict[str, Any], before: int = 0) -> tuple[bytes, int]:
    """A record as a line with its checksum as the last key; and that checksum.

    Args:
        record:
            The record.
        before:
            The checksum of the line before, which this one goes on from: a line that
            was moved, repeated or taken out is noticed. 0 for the first line, and for
            every line of a log whose lines stand alone.
    """
    body = dumps(record)[:-1]
    crc = zlib.crc32(body, before)
    return b'%s,"crc":"%08x"}\n' % (body, crc), crc


def going_on(before: int, crc: int) -> int:
    """What the line behind one with checksum *crc* goes on from; 0 if it does not."""
    return crc if before else 0


def unseal(line: bytes, before: int = 0) -> tuple[dict[str, Any], int] | None:
    """The record of a line and its checksum, or `None` if it is not as written."""
    body = line[:-_SEAL]
    crc = zlib.crc32(body, before)
    if line[-_SEAL:] != b',"crc":"%08x"}' % crc:
        return None
    try:
        record = loads(body + b"}", max_bytes=None)
    except FormatError:
        return None
    return (record, crc) if isinstance(record, dict) else None


def recovery(end: int, size: int, before: int) -> tuple[bytes, int]:
    """What is written behind torn bytes, before anything else is.

    It spoils the torn line, ends it, and names the bytes to pass over: the file is only
    ever appended to. A line that lacks nothing but its line break must be spoilt, too,
    because nobody was told that it was written.
    """
    line, crc = seal({RECOVERED: [end, size + len(_SPOILER)]}, before)
    return _SPOILER + line, crc


def scan(
    data: bytes,
    offset: int,
    number: int,
    path: str | os.PathLike[str],
    before: int,
    chained: Callable[[dict[str, Any]], bool],
) -> Iterator[Line | Torn]:
    """The records of *data*, which stands at *offset* of the file, line *number* on.

    Bytes that a crash tore are given as `Torn`, whether they have been passed over
    since, or end the file: a line whose line break is missing. A whole line that is
    not as it was written is damage, wherever it stands.

    Args:
        data:
            What to read.
        offset:
            Where it begins, in the file.
        number:
            Of its first line, from 1.
        path:
            The file, for errors.
        before:
            The checksum that the first line goes on from.
        chained:
            Whether lines go on from the one before, by the first line of the file.

    Raises:
        CorruptStoreError: A line is damaged.
    """
    torn: Torn | None = None
    whole = False  # whether a line of what is torn ends as only a record does
    position = offset
    for chunk in data.splitlines(keepends=True):
        end = position + len(chunk)
        found = unseal(chunk[:-1], before)
        if found is not None and not chunk.endswith(b"\n"):
            found, whole = None, True  # nothing but its line break is another
        if torn is not None:
            if found is None:
                torn = attrs.evolve(torn, end=end)
                whole = whole or _is_ended(chunk)
            elif found[0].get(RECOVERED) == [torn.start, position]:
                yield torn
                torn, whole, before = None, False, going_on(before, found[1])
            else:
                raise _damaged(path, torn.number)
        elif found is None:
            torn = Torn(number, position, end)
            whole = whole or _is_ended(chunk)
        else:
            record, crc = found
            if number > 1:
                before = going_on(before, crc)
            else:
                before = crc if chained(record) else 0
            yield Line(number, position, end, record, before)
        position, number = end, number + 1
    if torn is not None:
        if whole:
            raise _damaged(path, torn.number)
        yield torn


def _is_ended(chunk: bytes) -> bool:
    """Whether a line that is no record is a whole one: no crash makes that."""
    return chunk.endswith((b"\n", b"\r")) and not chunk.endswith(_SPOILER)


def _damaged(path: str | os.PathLike[str], number: int) -> CorruptStoreError:
    reason = f"{path}: line {number} is damaged"
    return CorruptStoreError(reason, line=number)
