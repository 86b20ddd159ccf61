"""`turnkeep fit --each`: a file with a conversation on each line."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import attrs
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from turnkeep.api import fit
from turnkeep.api._batches import Fitted, OnError, spread
from turnkeep.errors import FormatError, TurnkeepError
from turnkeep.formats import Line, parse_json

from ._draw import stderr_console
from ._files import STDIO, UsageError
from ._json import dumps

_FLUSH = 256
"""Conversations between two notes of how far the output is."""

_MESSAGE = frozenset({"role", "type", "message"})
"""Keys that messages have, in one format or another."""

_GZIP = b"\x1f\x8b"


@attrs.frozen
class EachJob:
    """Fits the conversation on one line; runs in the worker processes."""

    options: dict[str, Any]

    def __call__(self, index: int, line: bytes) -> Fitted:
        """The fitted line."""
        try:
            value = parse_json(line.decode("utf-8"), f"$[{index}]")
            try:
                return Fitted(index, dumps(self._fit(value)))
            except FormatError:
                if Line(index + 1, value).is_conversation or not _is_message(value):
                    raise
                reason = "a single message; without --each the file is one conversation"
                raise FormatError(reason, f"$[{index}]") from None
        except UnicodeDecodeError as error:
            reason = f"line {index + 1}: not UTF-8 text (byte {error.start})"
            return Fitted(index, None, ValueError(reason))
        except (TurnkeepError, ValueError) as error:
            return Fitted(index, None, error.with_traceback(None))

    def _fit(self, value: Any) -> Any:
        for key in ("body", "params"):
            if isinstance(value, dict) and key in value and "messages" not in value:
                # A record around a conversation: what stands beside it stays.
                return {**value, key: fit(value[key], **self.options)}
        return fit(value, **self.options)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(_MESSAGE)


@attrs.define
class EachReport:
    """What came of a file."""

    done: int = 0
    """Conversations written."""
    skipped: list[tuple[int, str]] = attrs.Factory(list)
    """Lines left out, counted from 1, and why."""


class Output:
    """The output in the making: noted every few lines, renamed at the end.

    After an interruption the same command goes on behind the last note.
    """

    def __init__(self, path: str, key: str) -> None:
        """Open what there is of *path* for the job called *key*."""
        self.target = Path(os.path.realpath(path))
        self.packed = path.endswith(".gz")
        self._part = self.target.with_name(f".{self.target.name}.part")
        self._note = self.target.with_name(f".{self.target.name}.progress")
        self._key = key
        self.start, size = self._resume()
        mode = os.O_RDWR | os.O_CREAT | (0 if size else os.O_TRUNC)
        self._file: BinaryIO = os.fdopen(os.open(self._part, mode, 0o600), "r+b")
        self._file.truncate(size)
        self._file.seek(size)
        self._waiting: list[bytes] = []

    def _resume(self) -> tuple[int, int]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(self._note.read_text())
            if note["key"] == self._key and self._part.stat().st_size >= note["bytes"]:
                return int(note["lines"]), int(note["bytes"])
        return 0, 0

    def add(self, data: bytes | None, lines: int) -> None:
        """Take a fitted line (none where it was skipped); *lines* are read by now."""
        if data is not None:
            self._waiting.append(data)
        if not lines % _FLUSH:
            self.flush(lines)

    def flush(self, lines: int) -> None:
        """Write what waits, and note how far that is."""
        data = b"".join(self._waiting)
        self._waiting.clear()
        if data:
            self._file.write(gzip.compress(data, mtime=0) if self.packed else data)
        self._file.flush()
        os.fsync(self._file.fileno())
        note = {"key": self._key, "lines": lines, "bytes": self._file.tell()}
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps(note))
        fresh.replace(self._note)

    def finish(self, lines: int) -> None:
        """Put the whole output in its place."""
        self.flush(lines)
        self._file.close()
        self._part.replace(self.target)
        self._note.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave what there is for the next run."""
        self._file.close()


def fit_each(
    file: str,
    output: str,
    options: dict[str, Any],
    *,
    workers: int | None = None,
    on_error: OnError = "raise",
) -> EachReport:
    """Fit every line of *file* into *output*, in order and in constant memory.

    Raises:
        UsageError: A file cannot be read or written.
        TurnkeepError: The first line that fails, with `on_error="raise"`; what was done
            by then is kept for the next run.
    """
    if STDIO in (output, file):
        reason = "--each needs a FILE and --output FILE, so that it can go on later"
        raise UsageError(reason, "--each")
    try:
        size = Path(file).stat()
        key = repr((os.path.realpath(file), size.st_size, size.st_mtime_ns, options))
        sink = Output(output, hashlib.sha256(key.encode()).hexdigest())
    except OSError as error:
        reason = f"cannot open: {error.strerror}"
        raise UsageError(reason, str(error.filename or file)) from None
    report = EachReport(done=sink.start)
    lines = sink.start
    try:
        with _progress(file, size.st_size) as advance:
            job = EachJob(options)
            source = _lines(file, sink.start, advance)
            for fitted in spread(
                _Shifted(job, sink.start), source, workers or _cores()
            ):
                lines = fitted.index + 1
                if fitted.error is not None:
                    if on_error == "raise":
                        sink.flush(lines - 1)
                        raise _named(fitted.error, lines)
                    report.skipped.append((lines, str(fitted.error)))
                else:
                    report.done += 1
                sink.add(fitted.value, lines)
        sink.finish(lines)
    except OSError as error:
        reason = f"cannot write: {error.strerror}"
        raise UsageError(reason, output) from None
    finally:
        sink.close()
    return report


@attrs.frozen
class _Shifted:
    """A job whose lines are counted from the beginning of the file."""

    job: EachJob
    start: int

    def __call__(self, index: int, line: bytes) -> Fitted:
        return self.job(index + self.start, line)


def _cores() -> int:
    return os.cpu_count() or 1


def _named(error: Exception, line: int) -> Exception:
    error.add_note(f"line {line}")
    if isinstance(error, TurnkeepError):
        return error
    return UsageError(str(error), f"line {line}")


def _lines(path: str, skip: int, advance: Any) -> Iterator[bytes]:
    with Path(path).open("rb") as raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        nth = 0
        for line in _whole_lines(stream, path):
            if line.strip():
                nth += 1
                if nth > skip:
                    yield line
            advance(raw.tell())


def _whole_lines(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """The lines of *stream*, which may turn out to be a damaged gzip file.

    Raises:
        UsageError: It is; what was read by then has been given.
    """
    number = 0
    while True:
        try:
            line = stream.readline()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the gzip file is damaged after line {number}: {error}"
            raise UsageError(reason, path) from None
        if not line:
            return
        number += 1
        yield line


@contextlib.contextmanager
def _progress(path: str, size: int) -> Iterator[Any]:
    if not sys.stderr.isatty():
        # rich 13 ends a bar that it does not show with a line break.
        yield lambda _done: None
        return
    bar = Progress(
        TextColumn(f"fitting {Path(path).name}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=stderr_console(),
        transient=True,
    )
    task = bar.add_task("", total=size)
    with bar:
        yield lambda done: bar.update(task, completed=done)
