"""What a provider put in place of earlier messages: what it holds and has replaced.

Anthropic's memory replaces what stands before it: the model sees nothing of that, so it
counts nothing and goes first, and what is pinned there is said once more behind it.
OpenAI's is read with what stands before it; of that the model's own goes first. What a
compaction by request returned (messages of the user's, then the memory) is one unit,
and stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from turnkeep.model import PINNED, Message, Role, ToolCall, mark, unmark
from turnkeep.plans import Cause, Inserted
from turnkeep.turns import ASSISTANT, SYSTEM, USER, Grouping, Memory, entry_of


class Forgotten:
    """The messages that a provider's memory has replaced: a range, and a few more."""

    __slots__ = ("_late", "_range")

    def __init__(self, span: range = range(0), late: Collection[int] = ()) -> None:
        """Those of *span*, and late answers to calls in it."""
        self._range = span
        self._late = frozenset(late)

    def __contains__(self, index: object) -> bool:
        """Whether the model sees nothing of a message."""
        return index in self._range or index in self._late

    def __iter__(self) -> Iterator[int]:
        """Their indexes."""
        yield from self._range
        yield from self._late

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._range)


NOTHING: Final = Forgotten()

PIN_COPY: Final = "pin_copy"
"""The kind of the message in which we say what is pinned once more."""


def forgotten_in(grouping: Grouping) -> Forgotten:
    """What the newest memory has replaced; costs the results that came late.

    System messages that lead stand beside the list, so that they are never replaced.
    """
    memory = grouping.memory
    if memory is None or not memory[1].replaces:
        return NOTHING
    index, kinds = memory[0], grouping.kinds
    lead = 0
    while lead < index and kinds[lead] == SYSTEM:
        lead += 1
    span = range(lead, index)
    late = [i for i, call in grouping.displaced.items() if i > index and call in span]
    return Forgotten(span, late)


def forgotten_among(messages: Sequence[Message]) -> range:
    """The same of a window, in which nothing stands late; costs what is behind it."""
    for index in range(len(messages) - 1, -1, -1):
        hosted = entry_of(messages[index]).hosted
        if hosted is not None and hosted.memory is not None:
            lead = 0
            while lead < index and messages[lead].role is Role.SYSTEM:
                lead += 1
            return range(lead, index if hosted.memory.replaces else lead)
    return range(0)


def put_away(grouping: Grouping) -> Forgotten:
    """The messages that no window may hold: nothing stands before a signed memory."""
    memory = grouping.memory
    if memory is None or memory[1] is not Memory.SIGNED:
        return NOTHING
    return forgotten_in(grouping)


def is_unit(grouping: Grouping) -> bool:
    """Whether the list begins with what a compaction by request returned. In C."""
    memory = grouping.memory
    if memory is None or memory[1] is not Memory.ITEM:
        return False
    kinds, index = grouping.kinds, memory[0]
    return kinds.find(USER, 0, index) >= 0 > kinds.find(ASSISTANT, 0, index)


def memory_steps(grouping: Grouping) -> Sequence[int]:
    """The steps that the newest memory holds: its own, or all of its unit."""
    if grouping.memory is None:
        return ()
    step = grouping.step_at(grouping.memory[0])
    return range(step + 1) if is_unit(grouping) else (step,)


def first_to_go(grouping: Grouping) -> Sequence[int]:
    """The steps that go before all others where something has to, oldest first.

    What was replaced; of what stands before OpenAI's memory, the model's own.
    """
    if grouping.memory is None or is_unit(grouping):
        return ()
    index, form = grouping.memory
    last = grouping.step_at(index)
    if form.replaces:
        return range(last)
    kinds, first = grouping.kinds, grouping.first
    own = (ASSISTANT, kinds[index])
    return [step for step in range(last) if kinds[first[step]] in own]


def needs_look(grouping: Grouping, pins: Collection[int]) -> bool:
    """Whether a window holds more of a provider's own doing than sums of tokens say."""
    memory = grouping.memory
    if grouping.lost:
        return True  # answers of the provider's own to calls that are not there
    if memory is None:
        return False
    if not memory[1].replaces:
        return bool(first_to_go(grouping))
    forgotten = forgotten_in(grouping)
    return any(pin in forgotten for pin in pins) or any(
        call.message in forgotten for call in grouping.open_calls
    )


def needs_all(grouping: Grouping) -> bool:
    """Whether the newest part of a history alone does not tell what a window holds.

    Answers of long ago may be those of calls that the provider keeps; and only the
    beginning says whether a memory's messages are one unit.
    """
    memory = grouping.memory
    is_item = memory is not None and not memory[1].replaces
    return grouping.stateful or is_item


def behind_memory(grouping: Grouping) -> int:
    """The last message of the newest memory's step; -1 where there is no memory.

    What we add in front of others stands behind it, and behind what leaves with it: no
    words may part a call of the provider's own from its answer.
    """
    if grouping.memory is None:
        return -1
    moved = grouping.displaced
    return max(
        index
        for step in grouping.together(grouping.step_at(grouping.memory[0]))
        for index in grouping.members(step)
        if index not in moved
    )


def is_open(grouping: Grouping) -> bool:
    """Whether nothing may follow the newest memory's step yet: a call of it waits."""
    if grouping.memory is None:
        return False
    steps = grouping.together(grouping.step_at(grouping.memory[0]))
    waiting = (*grouping.open_calls, *grouping.waiting.values())
    return grouping.steps - 1 in steps and any(
        grouping.step_at(call.message) in steps for call in waiting
    )


def said_again(
    grouping: Grouping,
    pinned: Sequence[Message],
    message: Callable[[int], Message],
    cost: Callable[[Message], int],
) -> Inserted | None:
    """What is pinned before a memory, as a text of ours behind it.

    None where it says so already, as in a window that was fed back.

    Args:
        grouping:
            The history's.
        pinned:
            The pinned messages that the memory has replaced, in order.
        message:
            Gives a message of the history.
        cost:
            Tokens of a message of ours.
    """
    text = mark(PINNED, "\n\n".join(filter(None, map(_words, pinned))))
    after = behind_memory(grouping)
    step = grouping.step_at(after)
    for index in grouping.members(step):
        known = message(index)
        if known.kind == PIN_COPY and known.text == text:
            return None
    if not unmark(text):
        return None
    said = Message.user(text, kind=PIN_COPY)
    return Inserted(after, said, cost(said), Cause.PINNED)


def _words(message: Message) -> str:
    """What a message says, in words; its calls too."""
    calls = (
        f"{block.name}({block.text})"
        for block in message.content
        if isinstance(block, ToolCall)
    )
    return "\n".join(filter(None, (message.text, *calls)))
