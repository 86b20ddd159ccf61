"""A recorded session as the engine sees it, growing call by call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from turnkeep.errors import FormatError, TurnkeepError
from turnkeep.formats import decode_entries, open_messages
from turnkeep.model import Message, Opaque, Role, ToolResult, as_sent
from turnkeep.plans import Inserted, Plan
from turnkeep.strategies._referents import referents_of
from turnkeep.strategies._words import terms_of, terms_said
from turnkeep.tokens import RequestCounter, request_counter
from turnkeep.turns import ASSISTANT, HIDDEN, USER, Entry, entry_of, reasoning_in

RARE = 3
"""Messages that may hold a rare term, at most; and a tenth of those before."""


def read_session(
    messages: Any,
    format_name: str | None,
    model: str | None,
    counter: RequestCounter | None,
) -> tuple[list[Message], RequestCounter]:
    """The messages of a session, and what counts them.

    Raises:
        FormatError: The input is malformed, or its blocks are another format's: what
            its calls take from its results would be overlooked.
    """
    fmt, envelope = open_messages(messages, format_name, model)
    parts = list(decode_entries(envelope, fmt))
    if format_name is not None and (strange := list(_strange(parts))):
        other = _read_better(messages, model, len(strange))
        if other is not None:
            reason = (
                f"read as {fmt.name}, {len(strange)} blocks are unknown "
                f"({strange[0]!r} is the first); it is {other}"
            )
            raise FormatError(reason)
    model = model or envelope.model
    return parts, counter or request_counter(format=fmt.name, model=model)


def _strange(messages: Sequence[Message]) -> Iterator[str]:
    """The types of the blocks that no format of ours knows."""
    for message in messages:
        for block in message.content:
            if isinstance(block, Opaque):
                yield str(block.value.get("type", "a block"))
            elif isinstance(block, ToolResult):
                inner = (one for one in block.content if isinstance(one, Opaque))
                yield from (str(one.value.get("type", "a block")) for one in inner)


def _read_better(messages: Any, model: str | None, strange: int) -> str | None:
    """The format that the input is found to be in, if it knows more of the blocks."""
    try:
        fmt, envelope = open_messages(messages, None, model)
        parts = list(decode_entries(envelope, fmt))
    except TurnkeepError:
        return None
    return fmt.name if sum(1 for _ in _strange(parts)) < strange else None


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
        self.holders: dict[str, list[int]] = {}
        """For each name the messages that name it."""
        self.needs: list[frozenset[str]] = self._needs()
        """For each call, what it takes from earlier results."""
        self.spoken: dict[str, list[int]] = {}
        """For each term the messages it stands in."""
        self.asked: list[frozenset[str]] = self._asked()
        """For each call, the rare terms of its question that were said before."""

    def _needs(self) -> list[frozenset[str]]:
        needs: list[frozenset[str]] = []
        shown: set[str] = set()
        at = 0
        for nth, index in enumerate(self.calls):
            while at < index:
                referents = referents_of(self.messages[at])
                shown |= referents.shown
                for name in referents.named:
                    self.holders.setdefault(name, []).append(at)
                at += 1
            stop = self.calls[nth + 1] if nth + 1 < len(self.calls) else len(self)
            used: set[str] = set()
            for i in range(index, stop):
                if self.entries[i].kind != ASSISTANT:
                    break
                used |= referents_of(self.messages[i]).used
            needs.append(frozenset(used & shown))
        return needs

    def _asked(self) -> list[frozenset[str]]:
        asked: list[frozenset[str]] = []
        at = 0
        for index in self.calls:
            question = index - 1
            while at < question:
                for term in terms_of(self.messages[at]):
                    self.spoken.setdefault(term, []).append(at)
                at += 1
            terms: set[str] = set()
            if self.entries[question].kind == USER:
                most = min(RARE, question // 10)
                terms.update(
                    term
                    for term in terms_said(self.messages[question])
                    if 0 < len(self.spoken.get(term, ())) <= most
                )
            asked.append(frozenset(terms))
        return asked

    def with_question(self, text: str) -> Log:
        """The same session, with one more user message at its end."""
        made = copy(self)
        made.messages = [*self.messages, Message.user(text)]
        made.entries = [*self.entries, entry_of(made.messages[-1])]
        made._counts = dict(self._counts)  # noqa: SLF001 - its own
        return made

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
