"""What messages cost that are not in the history."""

from __future__ import annotations

from typing import Final

from turnkeep.model import Message, as_sent
from turnkeep.tokens import RequestCounter

MADE: Final = 1_000
"""Messages of ours (stand-ins, edits, summaries) whose tokens are remembered."""


class Costs:
    """Tokens of messages of ours, each counted once while it is remembered."""

    __slots__ = ("_known", "counter")

    def __init__(self, counter: RequestCounter) -> None:
        """Count with *counter*."""
        self.counter = counter
        self._known: dict[Message, int] = {}

    def __call__(self, message: Message) -> int:
        """Tokens of a message."""
        known = self._known.get(message)
        if known is None:
            if len(self._known) >= MADE:
                self._known.clear()
            known = self._known[message] = self.counter.message(as_sent(message))
        return known
