from __future__ import annotations

from collections.abc import Container

from turnkeep.model import Document, Image, Message

from ._losses import flat_blocks

_KINDS_IN_TEXT = frozenset({"summary", "digest", "bridge"})
"""Kinds that the first line of the text says in every format."""


def field_losses(message: Message, lost: Container[str]) -> list[str]:
    """What of a message's own fields goes: those of the names in *lost*."""
    found = {
        "id": ("the message id", message.id is not None),
        "token_count": ("the token count", message.token_count is not None),
        "kind": (
            f"the kind {message.kind!r}",
            message.kind is not None and message.kind not in _KINDS_IN_TEXT,
        ),
        "pin_scope": ("the scope of the pin", message.pin_scope != "turn"),
    }
    return [words for name, (words, is_set) in found.items() if is_set and name in lost]


def block_losses(
    message: Message, *, images: bool, results: bool = True, files: bool = False
) -> list[str]:
    """Pictures and files that have no place.

    Args:
        message:
            Any message.
        images:
            Whether inline images have one.
        results:
            Whether those inside tool results have one as well.
        files:
            Whether inline files have one.
    """
    lost = []
    inside = {
        id(block)
        for result in message.tool_results
        for block in result.content
        if not results
    }
    for block in flat_blocks(message.content):
        if isinstance(block, Document):
            if not files or block.data is None:
                lost.append("a file")
        elif isinstance(block, Image):
            if not images or id(block) in inside:
                lost.append("an image")
            elif block.data is None:
                lost.append("an image that is given by its address")
    return lost
