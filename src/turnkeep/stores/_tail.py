"""Which messages to read for a window, without reading the rest.

A generator that asks for rows and is sent them, so that every store, waiting or not,
answers in its own way: `rows = select(...)`, then `ask = rows.send(answer)`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple, TypeAlias

import attrs

from turnkeep.turns import RESULT, SYSTEM

from ._progress import Progress

CHUNK = 64
"""Rows that are asked for at a time: at most that many too many are read."""


class RawRow(NamedTuple):
    """A message's row, not yet decoded."""

    seq: int
    id: str
    kind: int
    step: int
    turn: int
    pin: str | None
    tokens: int
    counter: str | None
    body: str
    version: int = 0
    """The version that brought it."""
    crc: int = 0

    @property
    def size(self) -> int:
        """Its tokens; about, where nobody has counted."""
        # Four bytes a token is the usual rule of thumb, and only decides how much
        # is read.
        return self.tokens if self.tokens >= 0 else len(self.body) // 4 + 4


@attrs.frozen
class Newest:
    """The newest rows before a number (or of all), the newest first."""

    before: int | None
    limit: int


@attrs.frozen
class Forward:
    """Rows from a number on, in order."""

    start: int
    limit: int


@attrs.frozen
class Numbered:
    """The rows of these numbers."""

    seqs: tuple[int, ...]


@attrs.frozen
class Fixed:
    """System messages and pinned ones."""


@attrs.frozen
class NextTurn:
    """The first row of the next turn after a number, alone in the answer, if any."""

    after: int


@attrs.frozen
class LinksOf:
    """Links of these steps: pairs of step and row, as rows of two numbers."""

    steps: tuple[int, ...]


@attrs.frozen
class LinksFrom:
    """Links of the rows from a number on, or of these rows."""

    start: int | None = None
    seqs: tuple[int, ...] = ()


Ask: TypeAlias = Newest | Forward | Numbered | Fixed | NextTurn | LinksOf | LinksFrom
Selecting: TypeAlias = Generator[Ask, list[RawRow] | list[tuple[int, int]], "Selected"]


@attrs.frozen
class Selected:
    """What was chosen."""

    rows: tuple[RawRow, ...]
    """In order."""
    whole: bool
    """Whether that is everything."""
    read: int
    """How many rows were read for it."""
    border: int
    """Place among them from which on none is left out."""


def select(
    progress: Progress,
    total: int,
    *,
    messages: int | None = None,
    tokens: int | None = None,
    held: bool = False,
) -> Selecting:
    """Choose rows; costs about what is chosen.

    Raises:
        ValueError: Neither *messages* nor *tokens* is given, or both, or less than 0.
    """
    if (messages is None) == (tokens is None):
        msg = "say how much to read: messages= or tokens="
        raise ValueError(msg)
    wanted = messages if messages is not None else tokens
    if wanted is None or wanted < 0:
        msg = f"cannot read {wanted} messages or tokens"
        raise ValueError(msg)
    return _Selection(progress, total, wanted, by_count=messages is not None).run(held)


class _Selection:
    """Rows chosen so far, and what is still to be looked up."""

    def __init__(
        self, progress: Progress, total: int, wanted: int, *, by_count: bool
    ) -> None:
        self.progress = progress
        self.total = total
        self.wanted = wanted
        self.by_count = by_count
        self.rows: dict[int, RawRow] = {}
        self.read = 0
        self.border = 0
        """Every row from this number on is chosen."""

    def run(self, held: bool) -> Selecting:
        yield from self._newest(None, -1, self.wanted, by_count=self.by_count)
        reach = self.progress.reach
        if held and 0 <= reach < min(self.rows, default=0):
            yield from self._newest(min(self.rows), reach - 1, 2**31, by_count=True)
        self.border = min(self.rows, default=2**62)
        if held and len(self.rows) < self.total:
            fixed = yield Fixed()
            fixed = self._take(fixed)
            yield from self._turns(fixed)
            yield from self._close()
        rows = tuple(self.rows[seq] for seq in sorted(self.rows))
        border = sum(row.seq < self.border for row in rows)
        return Selected(rows, len(rows) == self.total, self.read, border)

    def _take(self, rows: Iterable[RawRow | tuple[int, int]]) -> list[RawRow]:
        taken = [row for row in rows if isinstance(row, RawRow)]
        self.read += len(taken)
        self.rows.update((row.seq, row) for row in taken)
        return taken

    def _newest(
        self, before: int | None, stop: int, wanted: int, *, by_count: bool
    ) -> Generator[Ask, list[RawRow] | list[tuple[int, int]], None]:
        """Take rows backwards until there are enough, or *stop* is reached."""
        have = taken = 0
        while have < wanted:
            limit = wanted - have
            if not by_count:
                # As many as the rest would take if all were like those so far.
                each = max(have // taken, 1) if taken else wanted // 8 + 1
                limit = limit // each + 1
            limit = min(limit, CHUNK)
            found = yield Newest(before, limit)
            for nth, row in enumerate(found):
                if not isinstance(row, RawRow) or row.seq <= stop or have >= wanted:
                    self.read += len(found) - nth
                    return
                self._take([row])
                if by_count:
                    have += 1
                elif row.kind != RESULT or row.step != row.seq:
                    # A result that answers nothing stands in no window.
                    have += row.size
                taken += 1
                before = row.seq
            if len(found) < limit:
                return

    def _turns(
        self, fixed: list[RawRow]
    ) -> Generator[Ask, list[RawRow] | list[tuple[int, int]], None]:
        """The rest of the turns whose pin holds them, the newest part of large ones."""
        for turn in sorted({row.turn for row in fixed if row.pin == "turn"}):
            if turn >= self.border:
                continue
            after = yield NextTurn(turn)
            end = after[0][0] if after else None
            if end is None or end > self.border:
                end = self.border
            wanted = self.wanted
            yield from self._newest(end, turn, wanted, by_count=self.by_count)

    def _close(
        self,
    ) -> Generator[Ask, list[RawRow] | list[tuple[int, int]], None]:
        """Every chosen step whole, with the user message of its turn."""
        done: set[int] = set()
        linked: set[int] = set()
        steps = {place.step for place in self.progress.open}
        steps |= {row.step for row in self.rows.values()}
        yield from self._numbered(self._questions())
        links = yield LinksFrom(self.border)
        steps |= {int(link[0]) for link in links}
        while True:
            steps = {step for step in steps if step < self.border} - done
            if not steps:
                break
            for step in sorted(steps):
                yield from self._forward(step)
            done |= steps
            more = yield LinksOf(tuple(sorted(steps)))
            seqs = {int(link[1]) for link in more}
            yield from self._numbered(seqs)
            mine = {s for s in self.rows if s < self.border} - linked
            linked |= mine
            ties = yield LinksFrom(seqs=tuple(sorted(mine)))
            yield from self._numbered(self._questions())
            steps = {row.step for row in self.rows.values()}
            steps |= {int(link[0]) for link in ties}

    def _questions(self) -> set[int]:
        """The first messages of the turns that rows stand in."""
        return {
            row.turn
            for row in self.rows.values()
            if row.kind != SYSTEM or row.pin is not None
        }

    def _forward(
        self, step: int
    ) -> Generator[Ask, list[RawRow] | list[tuple[int, int]], None]:
        start = step
        limit = 2  # most steps are one message, and the next one ends them
        while True:
            found = yield Forward(start, limit)
            for nth, row in enumerate(found):
                if not isinstance(row, RawRow) or row.step > step:
                    self.read += len(found) - nth
                    return
                if row.step == step:
                    self._take([row])
                else:
                    self.read += 1
                start = row.seq + 1
            if len(found) < limit:
                return
            limit = min(4 * limit, CHUNK)

    def _numbered(
        self, seqs: set[int]
    ) -> Generator[Ask, list[RawRow] | list[tuple[int, int]], None]:
        missing = sorted(seqs - set(self.rows))
        if missing:
            found = yield Numbered(tuple(missing))
            self._take(found)
