from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from turnkeep.model import (
    DISPLAY_KINDS,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from ._hosted import Hosted, hosted_in, is_memory_item, is_setting, kind_of_call

SYSTEM: Final = 0
USER: Final = 1
ASSISTANT: Final = 2
RESULT: Final = 3
HIDDEN: Final = 4
"""Shown to people only: never sent, never counted, belongs to what precedes it."""
NOTE: Final = 5
"""A message of ours in the user's name (a picture that a tool result could not hold, a
bridge, a pin said once more): it opens no turn, and leaves with the step it follows."""
OURS: Final = 6
"""A text of ours in the user's name that stands for others (a summary, a digest): a
step of its own that opens no turn and asks nothing."""
MEMORY: Final = 7
"""A provider's memory as an item of its own: a step in which nobody speaks."""

UNSAID: Final = (SYSTEM, HIDDEN, MEMORY)
"""Kinds of messages in which nobody speaks."""

ANSWERS: Final = "turnkeep:answers"
"""Key of a result's metadata: the id of the message whose call it answers.

Set only where the call's own id is open in several messages."""


class CallKey(NamedTuple):
    """What links a call to its result."""

    id: str | None
    name: str
    kind: str = ""
    """Its type as its format has it, of a call that is none of a function."""


class Answer(NamedTuple):
    """What a result says about the call it answers."""

    id: str | None
    name: str | None
    final: bool


class Entry(NamedTuple):
    """One message as grouping sees it."""

    kind: int
    calls: tuple[CallKey, ...] = ()
    results: tuple[Answer, ...] = ()
    is_summary: bool = False
    """Whether it stands for earlier messages."""
    hosted: Hosted | None = None
    """What it holds of the provider's own doing."""


SUMMARY_KIND: Final = "summary"

_OURS: Final = frozenset({SUMMARY_KIND, "digest"})
_BESIDE: Final = frozenset({"bridge", "pin_copy"})

_PLAIN: Final = {
    Role.SYSTEM: Entry(SYSTEM),
    Role.USER: Entry(USER),
    Role.ASSISTANT: Entry(ASSISTANT),
    Role.TOOL_CALL: Entry(ASSISTANT),
    Role.TOOL_RESULT: Entry(RESULT),
}
"""Messages of one text and nothing else: most of them."""

_KINDS: Final = {
    Role.SYSTEM: SYSTEM,
    Role.USER: USER,
    Role.ASSISTANT: ASSISTANT,
    Role.TOOL_CALL: ASSISTANT,
    Role.TOOL_RESULT: RESULT,
}


_new: Final = tuple.__new__
"""Makes a named tuple of what it is given, without going through its signature."""


def entry_of(message: Message) -> Entry:
    """How grouping sees *message*; costs its number of blocks."""
    content = message.content
    if len(content) == 1 and message.kind is None:
        block = content[0]
        if type(block) is Text:
            return _PLAIN[message.role]
        if type(block) is ToolResult and message.role is Role.TOOL_RESULT:
            return _new(Entry, (RESULT, (), (_answer(block),), False, None))
    if message.kind is not None and message.kind in DISPLAY_KINDS:
        return Entry(HIDDEN)
    kind = _KINDS[message.role]
    hosted = hosted_in(message) if _may_host(message) else None
    if kind == SYSTEM:
        return _PLAIN[Role.SYSTEM] if hosted is None else _with(SYSTEM, hosted)
    if kind == ASSISTANT:
        if hosted is not None and hosted.memory and is_memory_item(message):
            return _with(MEMORY, hosted)
        calls = [_key(b) for b in content if type(b) is ToolCall]
        return _new(Entry, (ASSISTANT, tuple(calls), (), False, hosted))
    results = tuple([_answer(b) for b in content if type(b) is ToolResult])
    if kind == USER and not results:
        if message.kind in _BESIDE:
            return Entry(NOTE)
        if message.kind in _OURS:
            return Entry(OURS, (), (), message.kind == SUMMARY_KIND)
        if hosted is not None and hosted.sets_up and is_setting(message):
            return _with(SYSTEM, hosted)
    if kind == USER and results and len(results) == len(content):
        kind = RESULT
    return Entry(kind, (), results, False, hosted)


def _may_host(message: Message) -> bool:
    """Whether a look at a message's blocks may find something of the provider's."""
    for block in message.content:
        if type(block) is Opaque:
            return True
        if type(block) is ToolCall and (
            block.extra or (message.extra and "caller" in message.extra)
        ):
            return True
    return False


def _with(kind: int, hosted: Hosted) -> Entry:
    return Entry(kind, (), (), False, hosted)


def _key(call: ToolCall) -> CallKey:
    kind = kind_of_call(call) if call.extra else ""
    return _new(CallKey, (call.id, call.name, kind))


def thinks(message: Message) -> bool:
    """Whether it is a message of the assistant's that holds reasoning."""
    return (
        any(type(block) is Thinking for block in message.content)
        and entry_of(message).kind == ASSISTANT
    )


def reasoning_in(kinds: Iterable[int], message: Callable[[int], Message]) -> list[int]:
    """The messages of these kinds, in order, that hold the assistant's reasoning.

    Looks at every message of the assistant's. Linear.
    """
    return [
        index
        for index, kind in enumerate(kinds)
        if kind == ASSISTANT and thinks(message(index))
    ]


def _answer(block: ToolResult) -> Answer:
    final = not (block.pending or block.interim)
    return _new(Answer, (block.tool_call_id, block.tool_name, final))
