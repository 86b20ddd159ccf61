"""What the last window was made of, so that the next one costs what is new in it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from turnkeep.formats import get_format
from turnkeep.formats._chat_encode import PIECEWISE, stands_apart
from turnkeep.formats._ids import lacks_id
from turnkeep.model import Message

from ._ledger import Ledger
from ._quick import Cut, indexes_from


class Shelf:
    """The messages and the entries of the newest window, for windows of the same cut.

    Between two cuts a window only gets longer, so its list is the last one and what was
    appended, and only that is encoded. Whoever asks gets copies: a list, or the entries
    themselves, may be changed freely (nested values are shared). Windows are read
    outside the conversation's lock, so this has its own.
    """

    __slots__ = (
        "_cut",
        "_done",
        "_encoded",
        "_entries",
        "_format",
        "_lock",
        "_made",
        "_seam",
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
        self._encoded: tuple[Cut | None, int] = (None, -1)
        self._entries: list[Any] = []
        self._seam = (0, 0)  # messages and entries that no later message changes
        self._done = 0  # messages that the entries say

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

        Args:
            name:
                The format.
            messages:
                A window's.
            key:
                The same for windows of which one is the other's beginning.
        """
        if name not in PIECEWISE:
            return None
        with self._lock:
            start, kept = self._seam
            done = self._done
            if self._format != name or self._encoded != key or start > len(messages):
                start, kept, self._entries = 0, 0, []
            elif 0 < done < len(messages) and stands_apart(
                messages[done - 1], messages[done]
            ):
                start, kept = done, len(self._entries)
            new = messages[start:]
            if any(map(lacks_id, new)):
                self._encoded = (None, -1)
                return None
            seam = len(new) - 1
            while seam > 0 and not stands_apart(new[seam - 1], new[seam]):
                seam -= 1
            seam = max(seam, 0)
            encode = get_format(name).encode
            del self._entries[kept:]
            if seam:
                self._entries += encode(new[:seam])
            self._format, self._encoded = name, key
            self._seam, self._done = (start + seam, len(self._entries)), len(messages)
            self._entries += encode(new[seam:])
            return list(map(dict.copy, self._entries))
