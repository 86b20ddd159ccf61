"""Finding damage in a database: what is kept twice must agree."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from turnkeep.errors import CorruptStoreError, UnknownConversationError
from turnkeep.model import Message
from turnkeep.turns import entry_of

from ._progress import Progress
from ._sql import Query, Rows, all_rows, decoded, head, state_of
from ._sql_read import calls_of
from ._tail import RawRow
from ._values import (
    Damage,
)


def check(
    conversation_id: str | None,
) -> Generator[Query, Rows, tuple[Damage, ...]]:
    """Damage in one conversation or in all; costs their length."""
    if conversation_id is not None:
        found = yield from _check_one(conversation_id)
        return tuple(found)
    everything = yield Query("SELECT id FROM conversations ORDER BY id")
    damage: list[Damage] = []
    for (name,) in everything:
        damage += yield from _check_one(name)
    strays = yield Query(
        "SELECT conversation, seq FROM messages m WHERE NOT EXISTS (SELECT 1"
        " FROM conversations v WHERE v.n = m.conversation) ORDER BY conversation, seq"
    )
    reason = "row {} is of conversation number {}, which is not there"
    damage += [Damage(None, "messages", reason.format(seq, n)) for n, seq in strays]
    return tuple(damage)


def _check_one(conversation_id: str) -> Generator[Query, Rows, list[Damage]]:
    try:
        found = yield from head(conversation_id)
    except UnknownConversationError:
        raise
    except CorruptStoreError as error:
        return [Damage(conversation_id, "conversations", error.reason)]
    damage: list[Damage] = []
    rows = yield from all_rows(found.n)
    messages = _messages(conversation_id, rows, damage)
    if len(rows) != found.messages:
        reason = f"{found.messages} messages were written, {len(rows)} are there"
        damage.append(Damage(conversation_id, "messages", reason))
    if rows and rows[-1].seq >= found.next_seq:
        reason = f"message {rows[-1].id!r} stands behind the end of the conversation"
        damage.append(Damage(conversation_id, f"messages, row {rows[-1].seq}", reason))
    if len(messages) == len(rows):
        damage += _places(conversation_id, rows, messages, found.progress)
    try:
        calls = yield from calls_of(found)
        yield from state_of(found.n, conversation_id)
    except CorruptStoreError as error:
        damage.append(Damage(conversation_id, "calls, states", error.reason))
        return damage
    made = {message.id: len(message.tool_calls) for message in messages}
    for call in calls:
        if call.position >= made.get(call.message, 0):
            reason = f"message {call.message!r} makes no call number {call.position}"
            damage.append(Damage(conversation_id, "calls", reason))
    return damage


def _messages(
    conversation_id: str, rows: Sequence[RawRow], damage: list[Damage]
) -> list[Message]:
    messages: list[Message] = []
    for row in rows:
        try:
            messages.append(decoded(row, conversation_id).message)
        except CorruptStoreError as error:
            where = f"messages, row {row.seq}"
            damage.append(Damage(conversation_id, where, str(error)))
    return messages


def _places(
    conversation_id: str,
    rows: Sequence[RawRow],
    messages: Sequence[Message],
    progress: Progress,
) -> list[Damage]:
    """Whether steps, turns and open calls are those that the messages say."""
    entries = [
        (row.seq, entry_of(message))
        for row, message in zip(rows, messages, strict=True)
    ]
    placed, after = Progress().advance(entries)
    damage = [
        Damage(
            conversation_id,
            f"messages, row {row.seq}",
            f"message {row.id!r} is filed under step {row.step}, turn {row.turn}; it "
            f"belongs to step {place.step}, turn {place.turn}",
        )
        for place, row in zip(placed, rows, strict=True)
        if (place.kind, place.step, place.turn) != (row.kind, row.step, row.turn)
    ]
    if after.open != progress.open:
        reason = (
            f"{len(progress.open)} calls are filed as open; the messages leave "
            f"{len(after.open)} open"
        )
        damage.append(Damage(conversation_id, "conversations", reason))
    return damage
