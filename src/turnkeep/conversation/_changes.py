"""The one place where a conversation in memory is changed, by itself or by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnkeep.stores import Change, Row

from ._calls import CallNote

if TYPE_CHECKING:
    from ._core import Core


def apply_change(chat: Core, change: Change) -> None:
    """Make a change; what it names and is not here is passed over.

    Costs the change, and the history once where messages go that others stand behind.

    Raises:
        DuplicateIdError: A new message's id is taken; nothing is changed.
    """
    ledger, fitter = chat._ledger, chat._fitter
    if change.remove or change.replace or change.pins or change.calls:
        # Windows made so far stay as they are.
        fitter.settle()
    if change.remove:
        fitter.settle_all()
        gone = {ledger.index[i] for i in change.remove if i in ledger.index}
        length = len(ledger.messages)
        start = min(gone, default=length)
        if len(gone) == length - start:
            ledger.truncate(start)
        else:
            ledger.rebuild(i for i in range(length) if i not in gone)
        chat._desk.after_rebuild()
        fitter.forget()
    for row in change.replace:
        _replace(chat, row)
    for pin in change.pins:
        index = ledger.index[pin.message]
        before = ledger.messages[index]
        if pin.scope is not None:
            ledger.replace(index, before.evolve(pinned=True, pin_scope=pin.scope))
            if before.pinned and pin.scope == "step" != before.pin_scope:
                fitter.forget()
        elif before.pinned:
            # As a store has it: what is not pinned has no scope of its own.
            ledger.replace(index, before.evolve(pinned=False, pin_scope="turn"))
            fitter.forget()
    for row in change.append:
        ledger.append(row.message, count_of(chat, row))
        chat._raise_counter(row.message.id)
    if change.calls:
        ledger.revision += 1  # an abandoned call's step is held no more
    for call in change.calls:
        if call.message in ledger.index:
            chat._desk.book[call.message, call.position] = CallNote.of(call)
            if ledger.sums is not None:
                index = ledger.index[call.message]
                ledger.sums.reconsider(index, call.position)


def _replace(chat: Core, row: Row) -> None:
    ledger, fitter = chat._ledger, chat._fitter
    index = ledger.index.get(row.message.id or "")
    if index is None:
        return
    before = ledger.messages[index]
    ledger.replace(index, row.message)
    pinned = before.evolve(pinned=row.message.pinned, pin_scope=row.message.pin_scope)
    if pinned != row.message or (before.pinned and not row.message.pinned):
        fitter.forget()


def count_of(chat: Core, row: Row) -> int:
    """A row's tokens, if the conversation's own counter took them."""
    return row.tokens if row.counter == chat._ledger.counter.name else -1
