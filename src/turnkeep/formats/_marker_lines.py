"""Writes the fixed first lines that say what a result is, the same in every format.

A placeholder and an interim answer have one in all formats; a failed tool's result
only where the format has no flag for it. They are read by `ResultText` and
`take_marker`.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnkeep.model import INTERIM, PENDING, Block, Json, Text, ToolResult, mark

from ._shape import ResultText, json_text


def lined_text(result: ToolResult, text: str) -> str:
    r"""*text*, that of *result*, behind all lines that say what it is.

    >>> lined_text(ToolResult("c1", "started", pending=True), "started")
    '[turnkeep:pending 02a2e08b]\nstarted'
    """
    return ResultText(text, result.pending, result.interim, result.is_error).write()


def lined_blocks(result: ToolResult, blocks: Sequence[Block]) -> list[Block]:
    """*blocks*, those of *result*, the first one with the lines of `lined_text`."""
    first = blocks[0] if blocks else Text("")
    rest = blocks[1:]
    if isinstance(first, Json):
        first = Text(json_text(first.value))
    elif not isinstance(first, Text):
        first, rest = Text(""), blocks
    return [Text(lined_text(result, first.text), extra=first.extra), *rest]


def lined_content(result: ToolResult) -> Sequence[Block]:
    """The content of *result* with its line, in formats that have a flag for errors.

    What is no text gets a text of its own in front.
    """
    if result.final:
        return result.content
    marker = PENDING if result.pending else INTERIM
    if result.content and isinstance(first := result.content[0], Text):
        said = attrs.evolve(first, text=mark(marker, first.text))
        return (said, *result.content[1:])
    return (Text(mark(marker, "").rstrip()), *result.content)
