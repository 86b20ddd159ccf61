"""Lines of a log: sealed with a checksum, read back, and what a crash tore off."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, Final

import attrs

from turnkeep.errors import CorruptStoreError, FormatError
from turnkeep.serial import dumps, loads

RECOVERED: Final = "recovered"
"""Key of the record that names the bytes before it that are to be passed over."""

_SPOILER: Final = b"~\n"

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


@attrs.frozen
class Torn:
    """Bytes that are no records: a write that did not finish."""

    number: int
    start: int
    end: int


def seal(record: dict[str, Any]) -> bytes:
    """A record as a line with its checksum as the last key."""
    body = dumps(record)[:-1]
    return b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def unseal(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or `None` if it is not as it was written."""
    body = line[:-_SEAL]
    if line[-_SEAL:] != b',"crc":"%08x"}' % zlib.crc32(body):
        return None
    try:
        record = loads(body + b"}")
    except FormatError:
        return None
    return record if isinstance(record, dict) else None


def recovery(end: int, size: int) -> bytes:
    """What is written behind torn bytes, before anything else is.

    It spoils the torn line, ends it, and names the bytes to pass over: the file is only
    ever appended to. A line that lacks nothing but its line break must be spoilt, too,
    because nobody was told that it was written.
    """
    return _SPOILER + seal({RECOVERED: [end, size + len(_SPOILER)]})


def scan(
    data: bytes, offset: int, number: int, path: str | os.PathLike[str]
) -> Iterator[Line | Torn]:
    """The records of *data*, which stands at *offset* of the file, line *number* on.

    Bytes that a crash tore are given as `Torn`, whether they have been passed over
    since, or end the file.

    Raises:
        CorruptStoreError: A record is damaged and others follow it.
    """
    torn: Torn | None = None
    position = offset
    for chunk in data.splitlines(keepends=True):
        end = position + len(chunk)
        record = unseal(chunk[:-1]) if chunk.endswith(b"\n") else None
        if torn is not None:
            if record is None:
                torn = attrs.evolve(torn, end=end)
            elif record.get(RECOVERED) == [torn.start, position]:
                yield torn
                torn = None
            else:
                reason = f"{path}: line {torn.number} is damaged; others follow it"
                raise CorruptStoreError(reason, line=torn.number)
        elif record is None:
            torn = Torn(number, position, end)
        else:
            yield Line(number, position, end, record)
        position, number = end, number + 1
    if torn is not None:
        yield torn
