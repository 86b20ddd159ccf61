from __future__ import annotations

import gzip
import os
import stat
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import attrs

from turnkeep.errors import FormatError, TurnkeepError

from ._json import dumps, indent_of, looks_like_lines, parse, parse_lines

STDIO = "-"
"""The name that means stdin or stdout."""

_GZIP = b"\x1f\x8b"


@attrs.define
class UsageError(TurnkeepError):
    """Something on the command line cannot be done; nothing was changed."""

    reason: str
    """What, with the offending value and the way out."""

    where: str
    """The option or file concerned."""

    def __str__(self) -> str:
        """Say what and where."""
        return f"{self.reason} @ {self.where}"


@attrs.frozen
class Source:
    """A JSON document as it was read, and how it was written there."""

    name: str
    """For people: the file's name, or `stdin`."""

    value: Any = attrs.field(repr=False)
    """The JSON value; of JSON Lines the list of their values."""

    size: int
    """Bytes of JSON, unpacked."""

    indent: int | None = None
    lines: bool = False
    """Whether it was JSON Lines, one value a line."""


def read(path: str) -> Source:
    """Read one JSON or JSON Lines document, packed by gzip or not; `-` is stdin.

    Raises:
        UsageError: The file cannot be read.
        FormatError: It is no JSON, with the path of the offending value.
    """
    name = "stdin" if path == STDIO else Path(path).name
    try:
        data = sys.stdin.buffer.read() if path == STDIO else Path(path).read_bytes()
    except OSError as error:
        reason = f"cannot read: {error.strerror}"
        raise UsageError(reason, path) from None
    try:
        text = _unpack(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text (byte {error.start} of {name})"
        raise FormatError(reason) from None
    if looks_like_lines(text):
        return Source(name, parse_lines(text), len(text), lines=True)
    return Source(name, parse(text), len(text), indent=indent_of(text))


def _unpack(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        reason = f"the gzip file is damaged: {error}"
        raise FormatError(reason) from None


def encode(source: Source, value: Any) -> bytes:
    """*value* as JSON, spelled the way *source* was."""
    if source.lines and isinstance(value, list):
        return b"".join(dumps(item) for item in value)
    return dumps(value, source.indent)


def write(path: str, data: bytes) -> None:
    """Write *data* to *path* so that it is there whole or not at all.

    The mode of a file that exists is kept; a new one is for its owner alone, because
    chats are private. A name that ends in `.gz` is packed; `-` is stdout.

    Raises:
        UsageError: It cannot be written; what stood there still does.
    """
    if path == STDIO:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if path.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe cannot be renamed over
            return
        _replace(target, data)
    except OSError as error:
        reason = f"cannot write: {error.strerror}"
        raise UsageError(reason, path) from None


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
