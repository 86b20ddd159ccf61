"""Messages that are not in the search index yet.

Putting a message into an index costs about as much as keeping it; many together cost a
fraction of that each. So what comes alone waits: its place stands in the table
`waiting`, written with it. Whoever searches looks through those few himself; whoever
removes or changes messages puts all of them into the index first, so that it never has
to be known which are in it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Final

from turnkeep.errors import CorruptStoreError

from ._sql import SEARCH_ROW, Query, Rows, decoded
from ._tail import RawRow
from ._words import words_of

WAITING: Final = 64
"""How many messages wait before they are put into the index."""

_ROWS = (
    f"SELECT {SEARCH_ROW} FROM waiting w"  # noqa: S608
    " JOIN messages m ON m.conversation = w.conversation AND m.seq = w.seq"
    " JOIN conversations v ON v.n = m.conversation"
)


def waiting(n: int | None) -> Generator[Query, Rows, Rows]:
    """What waits, of one conversation or of all: `SEARCH_ROW`, in any order."""
    if n is None:
        return (yield Query(_ROWS))
    return (yield Query(f"{_ROWS} WHERE w.conversation = ?", (n,)))


def ready() -> Generator[Query, Rows, list[tuple[int, int, str]]]:
    """What can be put into the index: conversation, number and words of each message.

    One that is damaged goes on waiting: whoever searches is told of it.
    """
    made: list[tuple[int, int, str]] = []
    for n, conversation_id, *row in (yield Query(_ROWS)):
        raw = RawRow(*row)
        with suppress(CorruptStoreError):
            words = words_of(decoded(raw, conversation_id).message)
            made.append((n, raw.seq, words))
    return made
