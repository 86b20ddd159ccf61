"""The commonest write in a database: one message, behind an end that is known.

A store knows how it left the conversations that it wrote last. As long as nobody else
has written, the next message needs neither the conversation's row nor a look for its
id: the statement that moves the conversation on does so only where every value that
matters is as it was left, and a unique index finds an id that is taken. Where one of
them objects, nothing is written, and the ordinary way finds out what happened.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from turnkeep.errors import FormatError
from turnkeep.turns import ANSWERS, entry_of

from ._checks import check_row
from ._codec import dump_body, now, scope_of, stamp
from ._sql import Append, Head, sealed
from ._tail import RawRow
from ._values import Change, Row, is_id, serial_of

KNOWN: Final = 64
"""Conversations whose ends a store remembers."""


class Heads:
    """How a store left the conversations that it wrote last; a few, the newest.

    Hints: others may have written since, so whoever uses one must compare.
    """

    def __init__(self) -> None:
        """None yet."""
        self._lock = Lock()
        self._heads: OrderedDict[str, Head] = OrderedDict()

    def keep(self, left: Head) -> int:
        """Remember how a conversation was left; returns its version."""
        with self._lock:
            self._heads[left.id] = left
            self._heads.move_to_end(left.id)
            if len(self._heads) > KNOWN:
                self._heads.popitem(last=False)
        return left.version

    def append(
        self, conversation_id: str, change: Change, expected: int
    ) -> Append | None:
        """*change* as one message behind a known end; `None` where it is not that."""
        before = self._heads.get(conversation_id)
        if before is None or before.version != expected or len(change.append) != 1:
            return None
        if change.replace or change.pins or change.remove:
            return None
        if change.calls or change.state:
            return None
        return _append(before, change.append[0])


def _append(before: Head, row: Row) -> Append | None:
    message = row.message
    if message.id is None or not is_id(message.id):
        return None
    try:
        check_row(row)
        body = dump_body(message)
    except FormatError:
        return None
    if ANSWERS in message.metadata:  # whose call it answers must be looked up
        return None
    seq = before.next_seq
    place, progress = before.progress.follow(seq, entry_of(message))
    if place.links:
        return None
    tokens = max(row.tokens, 0)
    left = Head(
        before.id,
        before.n,
        before.version + 1,
        before.floor,
        max(before.serial, serial_of(message.id)),
        seq + 1,
        before.messages + 1,
        before.tokens + tokens,
        before.created,
        stamp(now()),
        progress,
        progress.text(),
    )
    return Append(
        left,
        (
            left.serial,
            tokens,
            left.updated,
            left.kept,
            left.seal(),
            before.n,
            before.id,
            before.version,
            seq,
            before.serial,
            before.kept,
            before.seal(),
        ),
        sealed(
            before.n,
            RawRow(
                seq,
                message.id,
                place.kind,
                place.step,
                place.turn,
                scope_of(message),
                row.tokens,
                row.counter,
                body,
                left.version,
            ),
        ),
    )
