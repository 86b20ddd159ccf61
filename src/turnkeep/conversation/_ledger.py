"""The history of a conversation, with what is known about each message beside it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

from turnkeep.errors import DuplicateIdError
from turnkeep.model import Message, PinScope, as_sent
from turnkeep.tokens import RequestCounter
from turnkeep.turns import Grouping, entry_of


class Ledger:
    """Messages in order, their ids, counts, pins and grouping.

    Appending costs the message; edits in the structure rebuild the grouping, which
    costs the history once.
    """

    def __init__(self, counter: RequestCounter) -> None:
        """An empty history whose messages *counter* counts."""
        self.counter = counter
        self.messages: list[Message] = []
        self.index: dict[str, int] = {}
        """Index of a message by its id."""
        self.counts = array("q")
        """Tokens of each message; -1 where nobody has counted yet."""
        self.pins: dict[int, PinScope] = {}
        self.grouping = Grouping()
        self.revision = 0
        """Changes with every change of the history."""
        self._made: dict[Message, int] = {}

    def append(self, message: Message, count: int = -1) -> int:
        """Add a message that has an id; returns its index.

        Raises:
            DuplicateIdError: The id is taken; nothing is changed.
        """
        identity = message.id or ""
        if identity in self.index:
            raise DuplicateIdError(identity)
        index = len(self.messages)
        self.messages.append(message)
        self.index[identity] = index
        self.counts.append(count)
        if message.pinned:
            self.pins[index] = message.pin_scope
        self.grouping.add(entry_of(message))
        self.revision += 1
        return index

    def replace(self, index: int, message: Message) -> None:
        """Put *message* (of the same id) in a message's place."""
        before = self.messages[index]
        self.messages[index] = message
        if message.content != before.content:
            self.counts[index] = -1
        if message.token_count is not None:
            self.counts[index] = message.token_count
        if message.pinned:
            self.pins[index] = message.pin_scope
        else:
            self.pins.pop(index, None)
        self.revision += 1
        if entry_of(message) != entry_of(before):
            self.regroup()

    def rebuild(self, keep: Iterable[int]) -> None:
        """Keep only these messages, in order; costs the history."""
        kept = list(keep)
        messages = [self.messages[i] for i in kept]
        self.counts = array("q", [self.counts[i] for i in kept])
        self.messages = messages
        self.index = {m.id or "": i for i, m in enumerate(messages)}
        self.pins = {i: m.pin_scope for i, m in enumerate(messages) if m.pinned}
        self.revision += 1
        self.regroup()

    def regroup(self) -> None:
        """Group again from the beginning."""
        self.grouping = Grouping(map(entry_of, self.messages))

    def use(self, counter: RequestCounter) -> None:
        """Count with *counter* from now on; what the host counted stays."""
        if counter.name == self.counter.name:
            return
        self.counter = counter
        self._made.clear()
        self.counts = array("q", [-1]) * len(self.messages)
        self.revision += 1

    def copy(self) -> Ledger:
        """An independent copy; costs the history."""
        other = Ledger(self.counter)
        for index, message in enumerate(self.messages):
            other.append(message, self.counts[index])
        return other

    # -- what the engine asks ---------------------------------------------------------

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        known = self.counts[index]
        if known < 0:
            known = self.counter.message(as_sent(self.messages[index]))
            self.counts[index] = known
        return known

    def cost(self, message: Message) -> int:
        """Tokens of a message of ours, counted once."""
        known = self._made.get(message)
        if known is None:
            known = self._made[message] = self.counter.message(as_sent(message))
        return known

    def message(self, index: int) -> Message:
        """One message."""
        return self.messages[index]

    def id(self, index: int) -> str:
        """Id of a message."""
        return self.messages[index].id or str(index)

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        return self.revision

    def apply(self, plan: Any, messages: Any) -> Any:
        """The window that *plan* leaves; *messages* is this conversation."""
        del messages
        reader: Callable[[int], Message] = self.messages.__getitem__
        edits = plan.edits
        return [
            item.message
            if not isinstance(item, int)
            else (edits[item][0] if item in edits else reader(item))
            for item in plan.order
        ]
