"""What the last window was made of, so that the next one costs what is new in it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from threading import Lock
from typing import Any

from turnkeep.engine._quick import Cut, indexes_from
from turnkeep.formats import get_format
from turnkeep.formats._chat._dialect import Dialect
from turnkeep.formats._chat._encode import PIECEWISE, encode_linked, stands_apart
from turnkeep.formats._chat._format import ChatFormat
from turnkeep.formats._ids import lacks_id
from turnkeep.index._ledger import Ledger
from turnkeep.model import Message


class Shelf:
    """The messages and the entries of the newest window, for windows of the same cut.

    Between two cuts a window only gets longer, so its list is the last one and what was
    appended, and only that is encoded. Whoever asks gets copies: a list, the entries
    and their content may be changed freely (calls in them are shared). Windows are read
    outside the conversation's lock, so this has its own.
    """

    __slots__ = (
        "_cut",
        "_dialect",
        "_entries",
        "_format",
        "_has_parts",
        "_key",
        "_lock",
        "_made",
        "_said",
        "_seams",
        "_total",
        "_version",
    )

    def __init__(self) -> None:
        """Nothing yet."""
        self._lock = Lock()
        self._cut: Cut | None = None
        self._version = -1
        self._total = 0
        self._made: list[Message] = []
        self._format = ""
        self._dialect: tuple[str, Dialect | None] = ("", None)
        self._key: tuple[Cut | None, int] = (None, -1)
        self._said: list[Message] = []
        self._entries: list[Any] = []
        self._has_parts = False  # whether some entries' content is a list
        # Numbers of messages and of entries in front of which the list can be parted.
        self._seams = [(0, 0)]

    def messages(self, ledger: Ledger, cut: Cut, total: int) -> list[Message]:
        """The messages that *cut* leaves of the first *total*; costs what is new.

        The ledger must have nothing that is moved, left out or shown only.
        """
        with self._lock:
            at = self._total
            if (
                self._cut is cut
                and self._version == ledger.version
                and at <= total
                and not ledger.grouping.late
            ):
                self._made += ledger.messages[at:total]
            else:
                indexes = indexes_from(ledger, cut, total)
                self._made = list(map(ledger.messages.__getitem__, indexes))
                self._cut, self._version = cut, ledger.version
            self._total = total
            return self._made[:]

    def entries(
        self, name: str, messages: Sequence[Message], key: tuple[Cut, int]
    ) -> list[Any] | None:
        """Chat entries that say *messages*; none where they hang together.

        Costs what is new in them, and a copy of each entry.

        Args:
            name:
                The format.
            messages:
                A window's.
            key:
                The same for windows of which one is the other's beginning.
        """
        with self._lock:
            dialect = self._dialect_of(name)
            if dialect is None:
                return None
            if self._format != name or (
                self._key == key and len(self._said) > len(messages)
            ):
                self._forget()
            elif self._key != key:
                self._move(dialect, messages)
            self._format, self._key = name, key
            if not self._write(dialect, messages):
                self._forget()
                return None
            return self._copies()

    def _copies(self) -> list[Any]:
        made = list(map(dict.copy, self._entries))
        if self._has_parts:
            for entry in made:
                # Hosts mark the last part of a message for the prompt cache.
                if type(entry.get("content")) is list:
                    entry["content"] = deepcopy(entry["content"])
        return made

    def _dialect_of(self, name: str) -> Dialect | None:
        """What *name*'s entries are written in, if they can be written one by one."""
        known, dialect = self._dialect
        if known != name:
            fmt: object = get_format(name) if name in PIECEWISE else None
            dialect = fmt.dialect if isinstance(fmt, ChatFormat) else None
            self._dialect = name, dialect
        return dialect

    def _forget(self) -> None:
        self._format, self._key = "", (None, -1)
        self._said, self._entries, self._seams = [], [], [(0, 0)]

    def _write(self, dialect: Dialect, messages: Sequence[Message]) -> bool:
        """Encode what is new; whether its calls and results all have ids."""
        done = len(self._said)
        if done == len(messages):
            return True
        seams = self._seams
        if done and stands_apart(messages[done - 1], messages[done]):
            seams.append((done, len(self._entries)))
        start, kept = seams[-1]
        new = messages[start:]
        if any(map(lacks_id, new)):
            return False
        seam = len(new) - 1
        while seam and not stands_apart(new[seam - 1], new[seam]):
            seam -= 1
        del self._entries[kept:]
        if seam:
            self._entries += encode_linked(new[:seam], dialect)
            seams.append((start + seam, len(self._entries)))
        self._entries += encode_linked(new[seam:], dialect)
        if not self._has_parts:
            written = self._entries[kept:]
            self._has_parts = any(type(e.get("content")) is list for e in written)
        self._said += messages[done:]
        return True

    def _move(self, dialect: Dialect, messages: Sequence[Message]) -> None:
        """Keep the entries of what is still there behind another cut."""
        said, last = self._said, len(self._said) - 1
        at = len(messages) - 1
        while at >= 0 and last >= 0 and messages[at] is not said[last]:
            at -= 1
        by = at - last
        first = last + 1
        while first and first + by > 0 and said[first - 1] is messages[first - 1 + by]:
            first -= 1
        for nth, (seam, kept) in enumerate(self._seams):
            start = seam + by
            if seam < max(first, 1) or (
                start and not stands_apart(messages[start - 1], messages[start])
            ):
                continue
            head = messages[:start]
            if any(map(lacks_id, head)):
                break
            entries = encode_linked(head, dialect)
            more = len(entries) - kept
            later = [(m + by, e + more) for m, e in self._seams[nth:]]
            self._seams = [(0, 0), *later]
            self._entries = entries + self._entries[kept:]
            self._said = list(messages[: at + 1])
            return
        self._forget()
