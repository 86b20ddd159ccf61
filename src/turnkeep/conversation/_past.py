from __future__ import annotations

from typing import Any

from turnkeep.model import Message, as_sent

from ._ledger import Ledger


class Past:
    """The messages as they were when a plan was made: what the plan goes on saying.

    Costs nothing while the history only grows: lists are shared, and a message that is
    replaced later is kept here by whoever replaces it (`Ledger.replace`). Removing
    messages makes new lists and leaves these alone.
    """

    __slots__ = ("__weakref__", "_counts", "_ledger", "_messages", "_old")

    def __init__(self, ledger: Ledger) -> None:
        """As *ledger* is now."""
        self._ledger = ledger
        self._messages = ledger.messages
        self._counts = ledger.counts
        self._old: dict[int, tuple[Message, int]] = {}
        ledger.pasts.add(self)

    def keep(self, index: int) -> None:
        """Remember a message that is about to be replaced."""
        if self._messages is self._ledger.messages:
            counts = self._counts
            self._old.setdefault(index, (self._messages[index], counts[index]))

    def message(self, index: int) -> Message:
        """One message."""
        known = self._old.get(index)
        return self._messages[index] if known is None else known[0]

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        tokens = self.known(index)
        if tokens >= 0:
            return tokens
        ledger = self._ledger
        if index not in self._old and self._counts is ledger.counts:
            return ledger.count(index)
        return ledger.counter.message(as_sent(self.message(index)))

    def ledger(self, total: int) -> Ledger:
        """The first *total* messages, grouped and summed up again; costs them."""
        earlier = Ledger(self._ledger.counter)
        messages = [self.message(index) for index in range(total)]
        earlier.load(messages, [self.known(index) for index in range(total)])
        return earlier

    def known(self, index: int) -> int:
        """Tokens of a message; -1 where nobody has counted yet."""
        old = self._old.get(index)
        return self._counts[index] if old is None else old[1]

    def cost(self, message: Message) -> int:
        """Tokens of a message of ours."""
        return self._ledger.cost(message)

    def id(self, index: int) -> str:
        """Id of a message."""
        return self.message(index).id or str(index)

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        return self._ledger.revision

    def apply(self, plan: Any, messages: Any) -> Any:
        """The window that *plan* leaves; *messages* is the conversation."""
        return self._ledger.apply(plan, messages)
