from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from turnkeep import formats
from turnkeep.errors import TurnkeepError

from ._json import dumps, indent_of
from ._terminal import warn

STDIO = "-"
"""The name that means stdin or stdout."""

_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"


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
    """Bytes of JSON, as they were read."""

    indent: int | None = None
    lines: bool = False
    """Whether it was JSON Lines, one value a line."""

    notes: tuple[str, ...] = ()
    """What could not be read of it, in words."""


class _Input(io.BytesIO):
    """What was read, with the name that errors and the format go by."""

    name = ""


def read(path: str) -> list[Source]:
    """Read a JSON or JSON Lines file, packed by gzip or not; `-` is stdin.

    A file that holds one conversation a line gives one document for each, and so does a
    database of another program's sessions. `@2` is the second session of those that
    `turnkeep sessions` lists.

    Raises:
        UsageError: The file cannot be read.
        FormatError: It is no JSON, with the path of the offending value.
    """
    if is_listed(path):
        # Everything else reads files, and need not know where programs keep theirs.
        from ._session_files import nth_session  # noqa: PLC0415

        return [nth_session(path)]
    name = "stdin" if path == STDIO else Path(path).name
    try:
        data = sys.stdin.buffer.read() if path == STDIO else Path(path).read_bytes()
    except OSError as error:
        reason = f"cannot read: {error.strerror}"
        raise UsageError(reason, path) from None
    if data.startswith(_SQLITE) and path != STDIO:
        reading = formats.read(path)
    else:
        stream = _Input(data)
        stream.name = name
        reading = formats.read(stream)
    if reading.shape == "conversations":
        return [
            Source(
                f"{name}:{nth}",
                value,
                len(data) // len(reading.value),
                notes=reading.notes,
            )
            for nth, value in enumerate(reading.value, 1)
        ]
    lines = reading.shape == "messages"
    indent = None if lines else indent_of(_head(data))
    return [Source(name, reading.value, len(data), indent, lines, reading.notes)]


def read_text(path: str) -> str:
    """The plain text of a file, in UTF-8 with or without its mark; `-` is stdin.

    Raises:
        UsageError: The file cannot be read, or is no text.
    """
    try:
        data = sys.stdin.buffer.read() if path == STDIO else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        reason = f"cannot read: {error.strerror}"
        raise UsageError(reason, path) from None
    except UnicodeDecodeError as error:
        reason = f"no text in UTF-8: byte {error.start:,} is none of it"
        raise UsageError(reason, path) from None


def is_listed(path: str) -> bool:
    """Whether *path* is the number of a session, such as `@1`, and no file's name."""
    return re.fullmatch(r"@[0-9]{1,6}", path) is not None and not Path(path).exists()


def tell_notes(name: str, notes: Sequence[str]) -> None:
    """Say on stderr what was left out of what was read."""
    for note in notes:
        warn(f"turnkeep: {name}: {note}")


def read_one(path: str) -> Source:
    """The same for commands that take one conversation.

    Raises:
        UsageError: The file holds several.
    """
    sources = read(path)
    if len(sources) == 1:
        return sources[0]
    raise UsageError(_pick(len(sources), path), path)


def _pick(number: int, path: str) -> str:
    """How one of *number* conversations in a file is taken."""
    if is_database(path):
        return (
            f"the database holds {number} sessions; this takes one. Pick it with "
            "--conversation ID, or one of opencode's by the number that `turnkeep "
            "sessions` gives it: turnkeep ... @1"
        )
    if path.endswith(".json"):
        return (
            f"the file holds {number} conversations; this takes one. Pick it, for "
            f"example: jq '.[0]' {path} | turnkeep ... -"
        )
    return (
        f"the file holds {number} conversations, one a line; this takes one. "
        f"Pick a line, for example: sed -n 1p {path} | turnkeep ... -"
    )


def is_database(path: str) -> bool:
    """Whether a file is one of SQLite."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        # Whoever reads it says what is wrong.
        return False


def _head(data: bytes) -> str:
    if data.startswith(_GZIP):
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            data = packed.read(80)
    return data[:80].decode("utf-8-sig", errors="replace")


def encode(source: Source, value: Any) -> bytes:
    """*value* as JSON, spelled the way *source* was."""
    if source.lines and isinstance(value, list):
        return b"".join(dumps(item) for item in value)
    return dumps(value, source.indent)


def check_output(output: str, *inputs: str, option: str = "--output") -> None:
    """Refuse, before any work, an output that is a folder or would eat an input.

    Raises:
        UsageError: It is one, with the way out.
    """
    if output == STDIO:
        return
    if output.endswith(os.sep) or Path(output).is_dir():
        reason = f"{output!r} is a directory; name a file in it"
        raise UsageError(reason, option)
    for path in inputs:
        if path != STDIO and _same_file(output, path):
            reason = (
                f"{output!r} is the input {path!r}, which would be overwritten; name "
                "another file"
            )
            raise UsageError(reason, option)


def _same_file(left: str, right: str) -> bool:
    try:
        there = Path(left).stat()
        # A terminal or a pipe may be read and written: nothing is lost.
        return stat.S_ISREG(there.st_mode) and os.path.samestat(
            there, Path(right).stat()
        )
    except OSError:
        # Whoever opens it says what is wrong.
        return False


def write(path: str, data: bytes) -> None:
    """Write *data* to *path* so that it is there whole or not at all.

    The mode of a file that exists is kept; a new one is for its owner alone, because
    chats are private. A name that ends in `.gz` is packed; `-` is stdout.

    Raises:
        UsageError: It cannot be written; what stood there still does.
    """
    if path == STDIO:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            # What waits in the buffer must not fail once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            reason = f"cannot write: {error.strerror}"
            raise UsageError(reason, "stdout") from None
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
