from __future__ import annotations

import attrs

from ._blocks import Block, Text, ToolResult
from ._markers import INTERIM, PENDING, mark
from ._message import Message


def as_sent(message: Message) -> Message:
    """*message* with the marker lines that formats add to results that are not final.

    What is counted must be what is sent. Returns *message* itself where nothing is
    added; costs its number of blocks.
    """
    content = message.content
    for block in content:
        if type(block) is ToolResult and not block.final:
            break
    else:
        return message
    return attrs.evolve(message, content=tuple(map(_as_sent, content)))


def _as_sent(block: Block) -> Block:
    if not isinstance(block, ToolResult) or block.final:
        return block
    marker = PENDING if block.pending else INTERIM
    first, rest = block.content[:1], block.content[1:]
    if first and isinstance(first[0], Text):
        head = attrs.evolve(first[0], text=mark(marker, first[0].text))
        return attrs.evolve(block, content=(head, *rest), pending=False, interim=False)
    return attrs.evolve(
        block,
        content=(Text(mark(marker, "").rstrip()), *block.content),
        pending=False,
        interim=False,
    )
