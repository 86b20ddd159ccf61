"""An input opened: its format, its counter, and what the library does with it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any

import attrs
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
)

from turnkeep import api
from turnkeep.api._job import rule_counter
from turnkeep.errors import UnknownMessageError
from turnkeep.formats import FORMATS, Envelope, Format, open_messages
from turnkeep.formats._registry import PYTHON_ONLY
from turnkeep.plans import Plan
from turnkeep.report._survey import Survey, id_of, survey
from turnkeep.tokens import RequestCounter

from ._draw import stderr_console
from ._files import Source, UsageError, tell_notes

_LONG = 2_000_000
"""Bytes of JSON from which counting takes long enough to show its progress."""


@attrs.frozen
class Request:
    """A message list or request body, opened but not counted."""

    source: Source
    format: Format
    envelope: Envelope = attrs.field(repr=False)
    model: str | None
    """The model asked for, else the one that the body names."""

    @property
    def read_as(self) -> str:
        """The format that it was read in: a session's, or that of its messages."""
        return self.envelope.session or self.format.name

    @property
    def counter(self) -> RequestCounter:
        """Whose count holds for it."""
        return rule_counter(self.format, self.model, None)

    def plan(self, **asked: Any) -> Plan:
        """The plan for it; *asked* as for `turnkeep.plan()`."""
        return api.plan(
            self.source.value, format=self.read_as, model=self.model, **asked
        )

    def survey(self, pins: Sequence[str] = ()) -> Survey:
        """Measure it, with a progress bar where that takes long.

        Raises:
            UnknownMessageError: A pin names no message.
            DuplicateIdError: Two messages have the same id.
        """
        with progress(self.source, len(self.envelope.entries)) as advance:
            return survey(
                self.envelope,
                self.format,
                self.counter,
                pins=frozenset(map(self._place_of, pins)),
                advance=advance,
            )

    def _place_of(self, pin: str) -> int:
        entries = self.envelope.entries
        for nth, entry in enumerate(entries):
            if id_of(entry) == pin:
                return nth
        # A number that is nobody's id is an index, as in the library.
        nth = int(pin) if re.fullmatch(r"-?\d{1,9}", pin) else len(entries)
        nth = nth + len(entries) if nth < 0 else nth
        if not 0 <= nth < len(entries):
            raise UnknownMessageError(pin)
        return nth


def check_format(name: str | None, option: str, unfit: Collection[str] = ()) -> None:
    """Refuse a format that *option* cannot take; `None` is taken.

    Args:
        name:
            The format, as it was typed.
        option:
            Where it was typed.
        unfit:
            Formats that can stand in a file, but not here.

    Raises:
        UsageError: There is no such format, it exists in Python only, or is unfit.
    """
    taken = [known for known in FORMATS if known not in (*PYTHON_ONLY, *unfit)]
    if name is None or name in taken:
        return
    why = f"no format {name!r}"
    if name in PYTHON_ONLY:
        why = f"{name!r} exists in Python only"
    elif name in unfit:
        why = f"{name!r} is only read, never written"
    # What was meant comes first: the list is long.
    meant = get_close_matches(name, taken, 1)
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    there = ", ".join(taken)
    reason = f"{why}{hint} (there are {there})" if hint else f"{why}; there are {there}"
    raise UsageError(reason, option)


def load(source: Source, format_name: str | None, model: str | None) -> Request:
    """Open what was read, and say on stderr what is left out of it.

    Every message is checked when it is decoded.

    Raises:
        UsageError: There is no such format.
        AmbiguousFormatError: Several formats could be meant.
    """
    check_format(format_name, "--format")
    request = opened(source, format_name, model)
    tell_notes(source.name, (*source.notes, *request.envelope.notes))
    return request


def opened(source: Source, format_name: str | None, model: str | None) -> Request:
    """The same without a word; the format is a name that there is, or none."""
    fmt, envelope = open_messages(source.value, format_name, model)
    return Request(source, fmt, envelope, model or envelope.model)


class progress:  # noqa: N801 - used like a function
    """Shows on a terminal how far a long count is: `with progress(...) as advance`."""

    def __init__(self, source: Source, entries: int, *, in_bytes: bool = False) -> None:
        """Nothing is shown for short inputs, or where nobody looks."""
        self._every = 1 if in_bytes else 100
        self._shown = source.size >= _LONG and sys.stderr.isatty()
        self._bar = Progress(
            TextColumn(f"counting {source.name}"),
            BarColumn(),
            DownloadColumn() if in_bytes else MofNCompleteColumn(),
            console=stderr_console(),
            transient=True,
            disable=not self._shown,
        )
        self._task = self._bar.add_task("", total=entries)

    def __enter__(self) -> Callable[[int], None]:
        """Start; returns what to call with the number of entries done."""
        if self._shown:
            # rich 13 ends a bar that it does not show with a line break.
            self._bar.start()
        return self._advance

    def __exit__(self, *_error: object) -> None:
        """Take the bar away."""
        if self._shown:
            self._bar.stop()

    def _advance(self, done: int) -> None:
        if self._shown and not done % self._every:
            self._bar.update(self._task, completed=done)
