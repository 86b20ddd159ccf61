"""What a signal interrupts in the middle of a change: taken back, or finished.

The handler of a signal (Ctrl-C, an alarm) may raise anywhere. What was being changed is
then neither as before nor as after. In memory it is made as it was before; what a store
keeps decides where there is one. Neither costs anything until it happens; then it costs
the history once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from turnkeep.stores import Change, Snapshot

from ._calls import CallBook, CallNote
from ._changes import apply_change

if TYPE_CHECKING:
    from ._core import Core


class Before:
    """How a conversation was before a change, as far as the change touches it."""

    def __init__(self, chat: Core, change: Change = Change()) -> None:  # noqa: B008
        """Note it; costs the change."""
        ledger = chat._ledger
        self.messages, self.counts = ledger.messages, ledger.counts
        self.length = len(ledger.messages)
        self.next = chat._next
        named = [row.message.id or "" for row in change.replace]
        named += [pin.message for pin in change.pins]
        at = [ledger.index[name] for name in named if name in ledger.index]
        self.changed = [(i, ledger.messages[i], ledger.counts[i]) for i in at]
        self.book: CallBook | None = None
        if change.calls or change.remove:
            self.book = chat._desk.book.copy()

    def is_now(self, chat: Core) -> bool:
        """Whether nothing has been appended since, not even in part."""
        ledger = chat._ledger
        lengths = map(len, (ledger.messages, ledger.index, ledger.counts))
        return set(lengths) == {self.length}

    def restore(self, chat: Core) -> None:
        """Make it so again; costs the history, and forgets the cut."""
        ledger = chat._ledger
        _settle(chat)
        messages, counts = self.messages[: self.length], self.counts[: self.length]
        for index, message, count in self.changed:
            messages[index], counts[index] = message, count
        ledger.messages, ledger.counts = messages, counts
        ledger.rebuild(range(self.length))
        if self.book is not None:
            chat._desk.book = self.book
        chat._next = self.next
        chat._fitter.forget()


def reload(chat: Core, snapshot: Snapshot) -> None:
    """Make a conversation in memory anew from what its store says."""
    _settle(chat)
    ledger, desk = chat._ledger, chat._desk
    ledger.rebuild(())
    desk.book = CallBook()
    apply_change(chat, Change(snapshot.rows))
    for call in snapshot.calls:
        desk.book[call.message, call.position] = CallNote.of(call)
    desk.settle()
    chat._next = max(chat._next, snapshot.serial + 1)
    chat._fitter.forget()


def _settle(chat: Core) -> None:
    """Finish windows that nobody has looked at, where that can still be done."""
    with suppress(LookupError, ValueError, TypeError):
        chat._fitter.settle()
    chat._fitter._windows.clear()
