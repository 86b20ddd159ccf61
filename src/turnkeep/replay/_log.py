"""A recorded session as the engine sees it, growing call by call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.formats import decode_entries, open_messages
from turnkeep.model import Message, Role, as_sent
from turnkeep.plans import Inserted, Plan
from turnkeep.strategies._referents import referents_of
from turnkeep.tokens import RequestCounter, request_counter
from turnkeep.turns import ASSISTANT, HIDDEN, Entry, entry_of, reasoning_in


def read_session(
    messages: Any,
    format_name: str | None,
    model: str | None,
    counter: RequestCounter | None,
) -> tuple[list[Message], RequestCounter]:
    fmt, envelope = open_messages(messages, format_name, model)
    parts = list(decode_entries(envelope, fmt))
    model = model or envelope.model
    return parts, counter or request_counter(format=fmt.name, model=model)


class Log:
    """The session as the engine's source, growing call by call."""

    def __init__(self, messages: Sequence[Message], counter: RequestCounter) -> None:
        self.messages = messages
        self.entries: list[Entry] = [entry_of(message) for message in messages]
        self._counter = counter
        self._counts: dict[int, int] = {}
        self._made: dict[Message, int] = {}
        self.calls: list[int] = [
            index
            for index, entry in enumerate(self.entries)
            if entry.kind == ASSISTANT
            and index
            and self.entries[index - 1].kind != ASSISTANT
        ]
        """Where the model was called: the first message of each of its answers."""
        self.needs: list[frozenset[str]] = self._needs()
        """For each call, what it takes from earlier results."""

    def _needs(self) -> list[frozenset[str]]:
        needs: list[frozenset[str]] = []
        shown: set[str] = set()
        at = 0
        for nth, index in enumerate(self.calls):
            while at < index:
                shown |= referents_of(self.messages[at]).shown
                at += 1
            stop = self.calls[nth + 1] if nth + 1 < len(self.calls) else len(self)
            used: set[str] = set()
            for i in range(index, stop):
                if self.entries[i].kind != ASSISTANT:
                    break
                used |= referents_of(self.messages[i]).used
            needs.append(frozenset(used & shown))
        return needs

    def __len__(self) -> int:
        return len(self.messages)

    def count(self, index: int) -> int:
        """Tokens of a message; none for system text and what is only shown."""
        known = self._counts.get(index)
        if known is None:
            message = self.messages[index]
            known = 0
            if message.role != Role.SYSTEM and self.entries[index].kind != HIDDEN:
                known = self._counter.message(as_sent(message))
            self._counts[index] = known
        return known

    def message(self, index: int) -> Message:
        return self.messages[index]

    def reasoning(self) -> list[int]:
        kinds = (entry.kind for entry in self.entries)
        return reasoning_in(kinds, self.message)

    def id(self, index: int) -> str:
        return self.messages[index].id or str(index)

    def cost(self, message: Message) -> int:
        known = self._made.get(message)
        if known is None:
            known = self._made[message] = self._counter.message(as_sent(message))
        return known

    def leaves_out(self, index: int) -> bool:
        """See `Source.leaves_out`: what was counted stays."""
        del index
        return False

    def in_front(self) -> tuple[int, ...]:
        """See `Source.in_front`: a replay sends nothing."""
        return ()

    def fingerprint(self) -> Any:
        return None

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window as messages."""
        del messages
        return [item[0] for item in self.items(plan)]

    def items(self, plan: Plan) -> list[tuple[Message, int]]:
        """The window: each message as sent, and its tokens."""
        made: list[tuple[Message, int]] = []
        for entry in plan.order:
            if isinstance(entry, Inserted):
                made.append((entry.message, entry.tokens))
            elif entry in plan.edits:
                message, _, tokens = plan.edits[entry]
                made.append((message, tokens))
            else:
                made.append((self.messages[entry], self.count(entry)))
        return made
