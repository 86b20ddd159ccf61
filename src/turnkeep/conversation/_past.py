from __future__ import annotations

from typing import Any

from turnkeep.model import Message, as_sent

from ._ledger import Ledger


class Past:
    """The messages as they were when a plan was made: what the plan goes on saying.

    Costs nothing while the history only grows: lists are shared, and what is replaced
    later is found in the ledger's chain (`Replaced`). Removing messages makes new lists
    and leaves these alone.
    """

    __slots__ = ("_chain", "_counts", "_ledger", "_messages", "_old")

    def __init__(self, ledger: Ledger) -> None:
        """As *ledger* is now."""
        self._ledger = ledger
        self._messages = ledger.messages
        self._counts = ledger.counts
        self._chain = ledger.replaced
        self._old: dict[int, tuple[Message, int | None]] | None = None

    def _replaced(self, index: int) -> tuple[Message, int | None] | None:
        """What stood at *index* and how many tokens it had, if it was replaced since.

        No tokens where the counts of then are still the ones to ask.
        """
        if self._chain.later is not None:
            self._catch_up()
        return None if self._old is None else self._old.get(index)

    def _catch_up(self) -> None:
        """Read what was replaced since the last look. Twice at once does no harm."""
        old = {} if self._old is None else self._old
        link = self._chain
        while link.later is not None:
            tokens = link.tokens if link.counts is self._counts else None
            old.setdefault(link.index, (link.message, tokens))
            link = link.later
        self._old, self._chain = old, link

    def message(self, index: int) -> Message:
        """One message."""
        old = self._replaced(index)
        return self._messages[index] if old is None else old[0]

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        tokens = self.known(index)
        if tokens >= 0:
            return tokens
        ledger = self._ledger
        if self._replaced(index) is None and self._counts is ledger.counts:
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
        old = self._replaced(index)
        if old is None or old[1] is None:
            return self._counts[index]
        return old[1]

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
