"""What a summariser gets to read, within a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Message, Text, ToolResult

from ._shorten import shorten


def bounded(
    history: HistoryView, messages: Sequence[Message], room: int, first: str
) -> list[Message]:
    """*messages* within *room* tokens: the longest cut, then the oldest left out.

    Those of the kind *first* go last of all.
    """
    sizes = [history.cost(message) for message in messages]
    if sum(sizes) <= room:
        return list(messages)
    limit = level(sizes, room)
    made = [
        message if size <= limit else _shorter(history, message, size, limit)
        for message, size in zip(messages, sizes, strict=True)
    ]
    order = sorted(range(len(made)), key=lambda nth: (made[nth].kind != first, -nth))
    kept: list[int] = []
    for nth in order:
        size = history.cost(made[nth])
        if size <= room:
            room -= size
            kept.append(nth)
    return [made[nth] for nth in sorted(kept)]


def level(sizes: Sequence[int], room: int) -> int:
    """The limit to which cutting all that is longer makes the sum fit *room*."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(left // count, 1)
        left -= size
        count -= 1
    return room


def _shorter(history: HistoryView, message: Message, size: int, limit: int) -> Message:
    """*message* with its texts cut in their middle, in proportion."""

    def measure(text: str) -> int:
        return history.cost(Message.user(text))

    blocks = []
    for block in message.content:
        text = block.text if isinstance(block, (Text, ToolResult)) else ""
        tokens = measure(text) if text else 0
        allowed = tokens * limit // size
        short = shorten(text, tokens, allowed, 0.5, measure) if tokens > 20 else None
        if short is None or not text:
            blocks.append(block)
        elif isinstance(block, ToolResult):
            blocks.append(attrs.evolve(block, content=short))
        else:
            blocks.append(Text(short))
    return message.evolve(content=tuple(blocks))
