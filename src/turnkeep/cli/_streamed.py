"""Counting JSON Lines that are too large to hold: line by line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.formats import Format, Line, read_entries
from turnkeep.report._survey import measured, survey
from turnkeep.tokens import RequestCounter

from ._counted import Streamed
from ._files import STDIO, Source, UsageError
from ._request import load, progress
from ._sums import Sums

LARGE = 64_000_000
"""Bytes of JSON Lines from which a file is counted line by line."""

_PACKED = 8
"""How much smaller gzip makes chats, at least: most are packed better."""

_LINES = (".jsonl", ".ndjson")
_SAMPLE = 250
"""Lines looked at to tell the format, as in a list."""

_SAMPLE_BYTES = 4_000_000
"""How much of a file is looked at for that."""

_STEP = 256
"""Lines between two movements of the progress bar."""


class _Stream(io.BufferedReader):
    """A file with the name that errors go by."""

    name = ""


def is_large(path: str) -> bool:
    """Whether *path* is a file of JSON Lines too large to be held."""
    bare = path.removesuffix(".gz")
    if path == STDIO or not bare.endswith(_LINES):
        return False
    try:
        size = Path(path).stat().st_size
    except OSError:
        # Whoever reads it says why it cannot be read.
        return False
    return size * (1 if bare == path else _PACKED) >= LARGE


def count_lines(
    path: str, format_name: str | None, model: str | None
) -> Streamed | None:
    """Count *path* line by line; none where its format needs the whole file.

    Holds one line at a time, and the first ones to tell the format. Ids that stand
    twice are not looked for: that would need all of them.

    Raises:
        UsageError: The file cannot be read, or a line is no conversation as others are.
        FormatError: A line is not what its format demands, with its path.
    """
    name = Path(path).name
    try:
        size = Path(path).stat().st_size
        with _Stream(io.FileIO(path)) as stream:
            stream.name = name
            lines = read_entries(stream)
            first = list(_sample(lines, stream))
            source = Source(name, None, size)
            with progress(source, size, in_bytes=True) as advance:
                every = _moving(chain(first, lines), stream, advance)
                if first and all(line.is_conversation for line in first):
                    return _conversations(name, every, format_name, model)
                return _messages(name, first, every, format_name, model)
    except FormatError:
        # A session's log is read even where it is damaged, but not line by line; in
        # any other file whoever reads it whole says what is wrong.
        return None
    except OSError as error:
        reason = f"cannot read: {error.strerror}"
        raise UsageError(reason, path) from None


def _sample(lines: Iterator[Line], stream: _Stream) -> Iterator[Line]:
    for nth, line in enumerate(lines, 1):
        yield line
        if nth == _SAMPLE or stream.tell() > _SAMPLE_BYTES:
            return


def _moving(lines: Iterator[Line], stream: _Stream, advance: Any) -> Iterator[Line]:
    for nth, line in enumerate(lines):
        yield line
        if not nth % _STEP:
            advance(stream.tell())


def _messages(
    name: str,
    first: list[Line],
    lines: Iterator[Line],
    format_name: str | None,
    model: str | None,
) -> Streamed | None:
    request = load(Source(name, [line.value for line in first], 0), format_name, model)
    fmt, counter = request.format, request.counter
    if fmt.name == "claude-code" or request.envelope.session is not None:
        # What a session's program would send is known when its last line is read.
        return None
    sums = Sums()
    sums.add(measured((line.value for line in lines), fmt, counter))
    sums.request = counter.request(has_tools=False) if sums.messages else 0
    return Streamed(name, fmt.name, request.model, counter, sums, None)


def _conversations(
    name: str, lines: Iterator[Line], format_name: str | None, model: str | None
) -> Streamed:
    sums = Sums()
    counters: dict[tuple[str, str | None], tuple[Format, RequestCounter]] = {}
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.is_conversation:
            reason = "the lines before it hold a conversation each, this one does not"
            raise UsageError(reason, f"{name}, line {line.number}")
        request = load(Source(f"{name}:{number}", line.value, 0), format_name, model)
        key = request.format.name, request.model
        if key not in counters:
            counters[key] = request.format, request.counter
        found = survey(request.envelope, *counters[key])
        sums.add(found.entries)
        sums.definitions += found.tools
        sums.request += found.request
    used = [counter for _, counter in counters.values()]
    formats = ", ".join(sorted({fmt.name for fmt, _ in counters.values()}))
    models = {made for _, made in counters}
    widest = max(used, key=lambda counter: (not counter.exact, counter.margin))
    only = next(iter(models)) if len(models) == 1 else None
    return Streamed(name, formats, only, widest, sums, number)
