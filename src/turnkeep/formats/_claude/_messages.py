"""Anthropic's messages, in whatever they are wrapped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import (
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Thinking,
    trusted_message,
    trusted_text,
)
from turnkeep.model._layout import NO_LAYOUT, Layout

from .._base import origin_of
from .._losses import flat_blocks, host_losses, key_losses, opaque_losses
from .._shape import json_type
from .._split import split_results
from .._wire import (
    CallIds,
    argument_losses,
    has_no_source,
    kind_of,
    need,
    results_first,
)
from ._decode import NAME, decode_blocks, is_plain
from ._encode import BlockWriter

ROLES: Final = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
}
_WIRE_ROLES: Final = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
    Role.TOOL_RESULT: "user",
}

OWN: Final = frozenset({NAME, "claude-code"})
"""Formats that hold Anthropic's own blocks."""

_LISTED: Final = {name: Layout(name, listed=True) for name in OWN}

SIGNED: Final = frozenset({NAME, "claude-code", "bedrock", "mermaid", None})
"""Origins whose signatures can be Anthropic's (Bedrock serves the same models)."""

_ID_OWNERS: Final = frozenset({*OWN, "bedrock"})

LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
"""Rule AN-15."""


def decode_message(
    entry: dict[str, Any], path: str, name: str, fields: dict[str, Any]
) -> tuple[Message, ...]:
    """The logical messages of an object with Anthropic's `role` and `content`.

    Args:
        entry:
            The object; other keys are not looked at.
        path:
            Its JSON path.
        name:
            The format that the layouts name.
        fields:
            Further fields of the messages, frozen and checked. Of an id the second
            gets `/text` behind it.

    Raises:
        FormatError: With the path of the offending value.
    """
    role_name = need(entry, "role", str, "a string", path)
    role = ROLES.get(role_name)
    if role is None:
        reason = f"unknown role {role_name!r} (expected user, assistant or system)"
        raise FormatError(reason, f"{path}.role")
    content = entry.get("content")
    if isinstance(content, str):
        text = (trusted_text(content),)
        kind = kind_of(text)
        return (trusted_message(role, text, kind=kind, layout=name, **fields),)
    where = f"{path}.content"
    if "content" not in entry:
        reason = "'content' is missing (it must be a string or an array)"
        raise FormatError(reason, path)
    if not isinstance(content, (list, tuple)):
        reason = f"content must be a string or an array, got {json_type(content)}"
        raise FormatError(reason, where)
    codes: list[str] | None = [] if role is Role.USER else None
    blocks = decode_blocks(content, where, role_name, codes)
    if codes and any(codes):
        listed = _LISTED[name]
        return split_results(blocks, codes, listed, fields, is_theirs=_says_something)
    content = tuple(blocks)
    layout = f"{name}:[]"
    kind = kind_of(content)
    return (trusted_message(role, content, kind=kind, layout=layout, **fields),)


def _says_something(block: Opaque) -> bool:
    """All that may stand beside results is somebody's: search results, uploads, ..."""
    del block
    return True


def block_ids(messages: Sequence[Message]) -> CallIds:
    """The ids to write for the calls in *messages*."""
    return CallIds(messages, _ID_OWNERS, LEGAL_ID)


class MessageWriter:
    """Writes the content of messages of any origin; see `BlockWriter`.

    Args:
        messages:
            All of them; their ids are looked at once.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        """See the class."""
        self._ids = block_ids(messages)
        exact = self._exact = BlockWriter(self._ids, own=True, exact=True, signed=True)
        self.exact = exact.write
        """Writes the blocks of an unedited message whose blocks have one spelling."""
        self._writers: dict[str | None, BlockWriter] = {}

    def content(self, message: Message, layout: Layout) -> Any:
        """The wire content, text or a list; none if nothing of it can be said.

        A message that was empty from the start stays an empty text.
        """
        if layout is not NO_LAYOUT:
            blocks = message.content
            if not layout.listed and is_plain(blocks):
                return blocks[0].text  # type: ignore[union-attr]
            return self._exact.write(blocks, iter(layout.codes))
        origin = origin_of(message)
        writer = self._writers.get(origin)
        if writer is None:
            writer = self._writers[origin] = BlockWriter(
                self._ids,
                own=origin in OWN or origin is None,
                exact=False,
                signed=origin in SIGNED,
            )
        content = writer.write(results_first(message))
        if len(content) == 1 and content[0].keys() == {"type", "text"}:
            return content[0]["text"]
        if content:
            return content
        return None if message.content else ""


def wire_role(message: Message) -> str:
    return _WIRE_ROLES[message.role]


def block_losses(
    message: Message, name: str, carries: frozenset[str] = frozenset()
) -> list[str]:
    """What of *message* Anthropic's blocks cannot carry, in words.

    Args:
        message:
            Any message.
        name:
            The format that wraps the blocks.
        carries:
            The host's fields that it has a place for.
    """
    origin = origin_of(message)
    lost = [
        *host_losses(message, carries),
        *opaque_losses(message, NAME),
        *argument_losses(message),
    ]
    if origin not in OWN:
        lost += key_losses(message, name)
    for block in flat_blocks(message.content):
        if isinstance(block, Thinking):
            sealed = block.signature is not None or block.data is not None
            if origin not in SIGNED or not (sealed or origin == name):
                lost.append("reasoning that Anthropic did not sign")
        elif (
            isinstance(block, (Image, Document))
            and origin not in {*OWN, None}
            and has_no_source(block)
        ):
            lost.append("a file id of another provider")
    return lost
