"""Anthropic's messages, in whatever they are wrapped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import Document, FrozenDict, Image, Message, Role, Text

from ._anthropic_blocks import NAME, BlockWriter, decode_blocks, is_plain
from ._base import origin_of
from ._shape import json_type
from ._split import split_results
from ._wire import NO_LAYOUT, CallIds, Layout, kind_of, need, results_first

ROLES: Final = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
}
_ASSISTANT_SIDE: Final = frozenset({Role.ASSISTANT, Role.TOOL_CALL})

OWN: Final = frozenset({NAME, "claude-code"})
"""Formats that hold Anthropic's own blocks."""

SIGNED: Final = frozenset({NAME, "claude-code", "bedrock", None})
"""Origins whose signatures can be Anthropic's (Bedrock serves the same models)."""

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
            Further fields of the messages. Of an id the second gets `/text` behind it.

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
        text = (Text(content),)
        return (Message(role, text, kind=kind_of(text), layout=name, **fields),)
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
        return split_results(blocks, codes, Layout(name, listed=True), fields)
    layout = f"{name}:[]"
    kind = kind_of(blocks)
    return (Message(role, tuple(blocks), kind=kind, layout=layout, **fields),)


class MessageWriter:
    """Writes the content of messages of any origin; see `BlockWriter`.

    Args:
        messages:
            All of them; their ids are looked at once.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        """See the class."""
        ids = CallIds(messages, frozenset({*OWN, "bedrock"}), LEGAL_ID)
        self._exact = BlockWriter(ids, own=True, exact=True, signed=True)
        self._writers = {
            origin: BlockWriter(
                ids,
                own=origin in {*OWN, None},
                exact=False,
                signed=origin in SIGNED,
            )
            for origin in (*SIGNED, "")
        }

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
        writer = self._writers.get(origin, self._writers[""])
        content = writer.write(results_first(message))
        if len(content) == 1 and content[0].keys() == {"type", "text"}:
            return content[0]["text"]
        if content:
            return content
        return None if message.content else ""


def shares_entry(before: Message | None, extra: FrozenDict) -> bool:
    """Whether a joined message with *extra* finds the results it stood behind."""
    return (
        before is not None
        and before.role is Role.TOOL_RESULT
        and bool(before.content)
        and before.extra == extra
    )


def wire_role(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return "system"
    return "assistant" if message.role in _ASSISTANT_SIDE else "user"


def has_no_source(block: Image | Document) -> bool:
    """Whether nothing but a provider's file id says what the picture or file is."""
    text = block.text if isinstance(block, Document) else None
    return block.data is None and block.url is None and text is None
