"""When messages share one wire entry."""

from __future__ import annotations

from turnkeep.model import FrozenDict, Message, Role, Text, ToolCall, ToolResult
from turnkeep.model._layout import NO_LAYOUT, Layout

_MODEL = frozenset({Role.ASSISTANT, Role.TOOL_CALL})
_RESULTS = frozenset({Role.TOOL_RESULT})
_USERS = frozenset({Role.TOOL_RESULT, Role.USER})


def shares_entry(before: Message | None, extra: FrozenDict) -> bool:
    """Whether a joined message with *extra* finds the results it stood behind."""
    return (
        before is not None
        and before.role is Role.TOOL_RESULT
        and bool(before.content)
        and before.extra == extra
    )


def joins_foreign(
    before: Message | None, message: Message, name: str, *, users: bool = False
) -> bool:
    """Whether *message* goes into the entry of *before*: same side, one of them new.

    True for results behind results, the user's words with them or not, and for entries
    of the model behind each other, of which at least one did not come from the wire of
    format *name* as it is.

    Args:
        before:
            The message written before, if any.
        message:
            The one to write.
        name:
            The format that writes.
        users:
            Whether everything that is not the model's and no system text is one side.
    """
    if before is None:
        return False
    side = _USERS if users else _RESULTS
    same_side = (
        (before.role in side and message.role in side)
        or (before.role in _MODEL and message.role in _MODEL)
        or (answers(before) and answers(message))
    )
    return same_side and (
        Layout.of(before.layout, name) is NO_LAYOUT
        or Layout.of(message.layout, name) is NO_LAYOUT
    )


def change_sides(before: Message, after: Message) -> bool:
    """Whether the side changes between neighbours: nothing is joined across that.

    Only of messages that surely say something: what is written as nothing lets its own
    neighbours meet.
    """
    return _side(before) != _side(after) and _says(before) and _says(after)


def _side(message: Message) -> str:
    if message.role in _MODEL:
        return "model"
    return "user" if message.role in _USERS else "system"


def _says(message: Message) -> bool:
    return any(
        type(block) in (ToolCall, ToolResult)
        or (type(block) is Text and bool(block.text.strip()))
        for block in message.content
    )


def answers(message: Message) -> bool:
    """Whether results stand in a message of the user's side."""
    return message.role in _USERS and bool(message.tool_results)
