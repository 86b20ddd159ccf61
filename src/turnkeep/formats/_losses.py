from __future__ import annotations

from collections.abc import Iterator

from turnkeep.model import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Thinking,
    ToolResult,
)

from ._base import is_own, origin_of


def host_losses(message: Message, carries: frozenset[str] = frozenset()) -> list[str]:
    """What the host noted on *message* and a provider's format has no place for.

    Ids and token counts are left out: they can be made again.

    Args:
        message:
            Any message.
        carries:
            Names of the fields that the format does have.
    """
    noted = {
        "pinned": ("the pin", message.pinned),
        "timestamp": ("the time stamp", message.timestamp is not None),
        "priority": ("the priority", message.priority is not None),
        "metadata": ("the metadata", bool(message.metadata)),
    }
    return [
        words
        for field, (words, is_set) in noted.items()
        if is_set and field not in carries
    ]


def key_losses(message: Message, name: str) -> list[str]:
    """Keys of another format on *message* or its blocks, which *name* does not send."""
    if is_own(message, name):
        return []
    keys = sorted(
        {
            key
            for holder in (message, *flat_blocks(message.content))
            for key in getattr(holder, "extra", ())
            if key not in {"role", "type"}
        }
    )
    return [f"keys of {origin_of(message)}: {', '.join(keys)}"] if keys else []


def flat_blocks(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Every block, those inside tool results too."""
    for block in blocks:
        yield block
        if isinstance(block, ToolResult):
            yield from block.content


def opaque_losses(message: Message, name: str) -> list[str]:
    """Blocks that only another format knows."""
    return [
        f"a block of {block.format} ({block.value.get('type', 'without type')})"
        for block in flat_blocks(message.content)
        if isinstance(block, Opaque) and block.format not in {name, None}
    ]


def thinking_losses(message: Message, *, carries_text: bool) -> list[str]:
    """What of its reasoning a format loses that has no seals over it."""
    lost = []
    for block in message.content:
        if isinstance(block, Thinking):
            if block.text and not carries_text:
                lost.append("reasoning")
            if block.signature is not None or block.data is not None:
                lost.append("the seal or ciphertext of reasoning")
    return lost


def picture_losses(message: Message, *, addresses: bool) -> list[str]:
    """Images and files that stand where chat formats cannot show them.

    Args:
        message:
            Any message of other origin.
        addresses:
            Whether the format takes files by their address.
    """
    lost = []
    for block in pictures(message):
        is_file = isinstance(block, Document)
        if block.data is None and block.url is None:
            lost.append("a file id of another provider")
        elif message.role is Role.TOOL_RESULT:
            lost.append("an image or file inside a tool result (it moves behind it)")
        elif message.role is not Role.USER:
            lost.append(f"an image or file of a message with role {message.role}")
        elif is_file and block.data is None and not addresses:
            lost.append("a file given by its address")
    return lost


def pictures(message: Message) -> Iterator[Image | Document]:
    """Images and files of *message* and its results; a file of plain text is text."""
    for block in flat_blocks(message.content):
        if isinstance(block, Image) or (
            isinstance(block, Document) and block.text is None
        ):
            yield block
