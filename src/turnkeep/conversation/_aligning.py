"""Which of the messages that are here are those of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.model import Message, Role, ToolCall, ToolResult


@attrs.frozen
class Known:
    """A message that is here, and may be one of the list's."""

    message: Message
    loose: bool
    """Whether it was only said here: the list is not known to have held it."""


@attrs.frozen
class Alignment:
    """What becomes of both sides."""

    names: list[str | None]
    """For each message of the list, the known one that says the same, by id."""
    spelled: list[tuple[int, Message]]
    """Messages of the list that say what a known one says, and spell it otherwise."""
    edits: list[tuple[int, Message]]
    """Messages of the list that take a known one's place."""
    removed: list[str]
    """Known messages that the list does not hold."""
    own: list[str]
    """Results that were said here and stay."""


def align(
    known: Sequence[Known], new: Sequence[Message], *, ends_open: bool
) -> Alignment:
    """Find the known messages that *new* says again, or changes.

    Costs both.

    Args:
        known:
            The messages that are here, in order.
        new:
            The messages of the list.
        ends_open:
            Whether the list ends with *new*.
    """
    names: list[str | None] = [None] * len(new)
    spelled: list[tuple[int, Message]] = []
    taken: set[int] = set()

    def bind(at: int, nth: int) -> None:
        message = known[at].message
        taken.add(at)
        names[nth] = message.id
        if message.layout != new[nth].layout:
            spelled.append((nth, message))

    answers = {
        _link(item.message): at for at, item in enumerate(known) if _is_own(item)
    }
    nth = at = 0
    while nth < len(new):
        while at < len(known) and at in taken:
            at += 1
        if at < len(known) and says_same(known[at].message, new[nth]):
            bind(at, nth)
        else:
            late = answers.get(_link(new[nth]), -1)
            if late >= 0 and says_same(known[late].message, new[nth]):
                bind(late, nth)
            elif at < len(known) and _is_own(known[at]):
                at += 1
                continue
            else:
                break
        nth += 1
    stop, end = len(known), len(new)
    while end > nth and stop > at and not ends_open:
        if not says_same(known[stop - 1].message, new[end - 1]):
            break
        stop, end = stop - 1, end - 1
        bind(stop, end)
    left = [k for k in range(at, stop) if k not in taken]
    own = [k for k in range(len(known)) if k not in taken and _is_own(known[k])]
    left = [k for k in left if k not in own]
    edits: list[tuple[int, Message]] = []
    if len(left) == end - nth and all(
        _stands_for(known[k].message, new[n])
        for k, n in zip(left, range(nth, end), strict=True)
    ):
        pairs = zip(left, range(nth, end), strict=True)
        edits = [(n, known[k].message) for k, n in pairs]
        left = []
    return Alignment(
        names,
        spelled,
        edits,
        [known[k].message.id or "" for k in left],
        [known[k].message.id or "" for k in own],
    )


def says_same(known: Message, new: Message) -> bool:
    """Whether a message of the list is the known one: what is decided here aside."""
    return (
        known.role is new.role
        and (known.content == new.content or _answers_same(known, new))
        and known.extra == new.extra
        and known.kind == new.kind
        and known.priority == new.priority
    )


def _answers_same(known: Message, new: Message) -> bool:
    """Whether both give one answer; the name of its tool is not always said."""
    old, now = known.tool_results, new.tool_results
    return len(old) == len(now) == len(known.content) == len(new.content) and all(
        attrs.evolve(one, tool_name=other.tool_name) == other
        and None in (one.tool_name, other.tool_name)
        for one, other in zip(old, now, strict=True)
    )


def _stands_for(known: Message, new: Message) -> bool:
    """Whether *new* may take the place of *known*: it is tied to the same others."""
    return known.role is new.role and _links(known) == _links(new)


def _links(message: Message) -> list[tuple[str, Any]]:
    return [
        ("call", block.id)
        if isinstance(block, ToolCall)
        else ("answer", block.tool_call_id)
        for block in message.content
        if isinstance(block, (ToolCall, ToolResult))
    ]


def _is_own(item: Known) -> bool:
    """Whether it may be a result that was only said here."""
    return item.loose and item.message.role is Role.TOOL_RESULT


def _link(message: Message) -> Any:
    """What call a message of one result answers."""
    results = message.tool_results
    return results[0].tool_call_id if len(results) == 1 else None
