"""A stored conversation as a document of our JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import thaw
from turnkeep.serial import dump_messages, load_messages, structure, unstructure

from ._values import (
    CallRecord,
    Change,
    Row,
    Snapshot,
    serial_of,
)


def document_of(snapshot: Snapshot) -> dict[str, Any]:
    """What `Conversation.to_json` would give: one file holds all of it.

    `Conversation.from_json` and `changes_of` read it. Costs the history.
    """
    fields: dict[str, Any] = dict(snapshot.state)
    calls = sorted(snapshot.calls, key=lambda call: (call.message, call.position))
    if calls:
        fields["calls"] = unstructure(calls)
    counter = fields.get("counter")
    counts = [row.tokens if row.counter == counter else -1 for row in snapshot.rows]
    if counter is not None and any(count >= 0 for count in counts):
        fields["counts"] = counts
    fields["next_id"] = max(snapshot.serial + 1, fields.get("next_id", 1))
    ordered = {key: thaw(fields[key]) for key in sorted(fields)}
    return dump_messages((row.message for row in snapshot.rows), **ordered)


def changes_of(document: Any) -> Change:
    """The change that makes a new conversation like *document*: an import.

    Messages without an id get one, `msg-N`. Costs the document.

    Raises:
        FormatError: It is no document of ours; its path says where.
        DuplicateIdError: Two messages have the same id.
    """
    messages, rest = load_messages(document)
    last = max((serial_of(m.id) for m in messages if m.id is not None), default=0)
    last = max(last, _next_id(rest) - 1)
    rows: list[Row] = []
    counts = _counts(rest, len(messages))
    counter = rest.get("counter")
    for nth, given in enumerate(messages):
        message = given
        if message.id is None:
            last += 1
            message = message.evolve(id=f"msg-{last}")
        count = counts[nth] if isinstance(counter, str) else -1
        rows.append(Row(message, count, counter if count >= 0 else None))
    calls = structure(rest.get("calls", []), tuple[CallRecord, ...], "$.calls")
    known = {row.message.id for row in rows}
    for nth, call in enumerate(calls):
        if call.message not in known:
            reason = f"no message {call.message!r}"
            raise FormatError(reason, f"$.calls[{nth}].message")
    state = {k: v for k, v in rest.items() if k not in ("calls", "counts")}
    return Change(append=tuple(rows), calls=calls, state=state)


def _next_id(rest: Mapping[str, Any]) -> int:
    value = rest.get("next_id", 1)
    if type(value) is not int:
        reason = f"a whole number expected, got {value!r}"
        raise FormatError(reason, "$.next_id")
    return value


def _counts(rest: Mapping[str, Any], length: int) -> list[int]:
    counts = rest.get("counts")
    if counts is None:
        return [-1] * length
    if not isinstance(counts, list) or len(counts) != length:
        reason = f"one count for each of the {length} messages expected"
        raise FormatError(reason, "$.counts")
    for nth, count in enumerate(counts):
        if type(count) is not int or abs(count) >= 2**62:
            reason = f"a whole number expected, got {count!r}"
            raise FormatError(reason, f"$.counts[{nth}]")
    return counts


def after(state: Mapping[str, Any]) -> int:
    """The serial that settings ask for: `next_id` continues behind it."""
    value = state.get("next_id", 1)
    return value - 1 if type(value) is int else 0
