"""What is in the search index, and what is not in it yet.

Putting a message into an index costs about as much as keeping it; many together cost a
fraction of that each. So what comes alone waits: the table `waiting` says from which
message on a conversation's are not in the index. That is written with the first of them
and costs the others nothing. Whoever searches looks through those few himself; whoever
removes or changes messages puts what waits into the index first.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from turnkeep.errors import CorruptStoreError

from ._sql import HEAD, SEARCH_ROW, Dialect, Query, Rows, batched, decoded
from ._sql_seals import demand_numbers
from ._tail import RawRow
from ._words import words_of

WAITING: Final = 64
"""How many messages a store lets wait before it puts them into the index."""

_NOWHERE: Final = 2**62

_MESSAGE: Final = len(HEAD.split(", "))
# Where the message's columns begin.

_ROWS = (
    f"SELECT {SEARCH_ROW} FROM waiting w"  # noqa: S608
    " JOIN messages m ON m.conversation = w.conversation AND m.seq >= w.seq"
    " JOIN conversations v ON v.n = m.conversation"
)


def waiting(n: int | None) -> Generator[Query, Rows, Rows]:
    """What waits, of one conversation or of all: `SEARCH_ROW`, in any order."""
    if n is None:
        return (yield Query(_ROWS))
    return (yield Query(f"{_ROWS} WHERE w.conversation = ?", (n,)))


def settle(dialect: Dialect) -> Generator[Query, Rows, set[int]]:
    """Put what waits into the index, save where somebody else is writing.

    A conversation with a message that is damaged goes on waiting: whoever searches is
    told of it.

    Returns:
        Those that do so.
    """
    damaged: set[int] = set()
    free = yield Query(
        "SELECT v.n FROM waiting w JOIN conversations v"  # noqa: S608
        f" ON v.n = w.conversation ORDER BY v.n{dialect.free}"
    )
    for marks, part in batched(n for (n,) in free):
        found = yield Query(f"{_ROWS} WHERE w.conversation IN ({marks})", part)
        made: list[tuple[int, int, str]] = []
        for row in found:
            name, n = row[:2]
            raw = RawRow(*row[_MESSAGE:])
            try:
                message = decoded(raw, n, name).message
            except CorruptStoreError:
                damaged.add(n)
            else:
                made.append((n, raw.seq, words_of(message)))
        yield from dialect.index(row for row in made if row[0] not in damaged)
        done = [(n,) for n in part if n not in damaged]
        yield Query("DELETE FROM waiting WHERE conversation = ?", done, many=True)
    return damaged


def indexed(dialect: Dialect, n: int) -> Generator[Query, Rows, int]:
    """Settle what waits; the number below which all of a conversation's rows are in.

    To be asked before rows are added, changed or removed: those from there on are no
    part of the index, and need no place in it.
    """
    damaged = yield from settle(dialect)
    if n not in damaged:
        return _NOWHERE
    found = yield Query("SELECT seq FROM waiting WHERE conversation = ?", (n,))
    demand_numbers(found[0], "waiting")
    border: int = found[0][0]
    return border
