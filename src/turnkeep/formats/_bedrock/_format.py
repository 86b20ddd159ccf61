from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import (
    DISPLAY_KINDS,
    EMPTY,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    thaw,
)
from turnkeep.model._layout import NO_LAYOUT, Layout, layout_text
from turnkeep.turns import is_system_text

from .._base import Envelope, is_own, origin_of
from .._blocks import BlockFormat, write_texts
from .._body import open_body
from .._ids import lacks_id, with_call_ids
from .._joins import change_sides, joins_foreign, shares_entry
from .._losses import flat_blocks, host_losses, key_losses, opaque_losses
from .._marks import Marks
from .._wire import CallIds, argument_losses, need, results_first, weave
from ._decode import NAME, decode_block
from ._encode import BlockWriter, is_sendable
from ._judge import judge_message
from ._outline import BedrockReader

_ROLES: Final = {
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
_SIGNED: Final = frozenset({NAME, "anthropic", "claude-code", "mermaid", None})
"""Origins whose signatures can be those of a model on Bedrock."""

_LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
"""Rule BR-09."""


class Bedrock(BlockFormat):
    """AWS Bedrock Converse: blocks with one member each, strict alternation.

    Images and documents hold base64 text (as the HTTP API has it) or Python bytes (as
    boto3 has it); both are written back as they came. What comes from other formats is
    written as base64 text.
    """

    name = NAME
    list_key = "messages"
    marks = Marks(judge_message)
    roles = _ROLES
    usual_roles = frozenset(_ROLES)
    content_key = "content"
    entry_name = "a message"
    reader = BedrockReader

    def open(self, value: Any) -> Envelope:
        """A list of messages, or a request body with `system` and `toolConfig`."""
        return open_body(
            value,
            "messages",
            system=("system",),
            tools=("toolConfig",),
            model=("modelId",),
        )

    def read_role(self, entry: dict[str, Any], path: str) -> tuple[str, str]:
        """See `BlockFormat.read_role`."""
        role: str = need(entry, "role", str, "a string", path)
        if role not in _ROLES:
            reason = f"unknown role {role!r} (expected user or assistant)"
            raise FormatError(reason, f"{path}.role")
        return role, ""

    def read_content(self, entry: dict[str, Any], path: str) -> tuple[Any, str]:
        """See `BlockFormat.read_content`."""
        return need(entry, "content", object, "an array", path), ""

    def is_theirs(self, block: Opaque) -> bool:
        """See `BlockFormat.is_theirs`: all but marks for the cache."""
        return "cachePoint" not in block.value

    def read_block(self, block: Any, path: str, role: str) -> tuple[Block, str]:
        """See `BlockFormat.read_block`."""
        return decode_block(block, path, role)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`.

        Neighbours of one side become one message (BR-03, BR-06), unless all of them
        came from the wire.
        """
        messages = with_call_ids(messages, _everywhere)
        ids = _ids_of(messages)
        exact = BlockWriter(ids, own=True, exact=True, signed=True)
        entries: list[Any] = []
        before: Message | None = None
        unjoined = True
        for message in messages:
            if (
                unjoined
                and message.layout == NAME
                and not message.extra
                and message.kind is None
                and (texts := write_texts(message.content))
            ):
                # The common case, as in decoding, behind nothing of another origin.
                entries.append({"role": _wire_role(message), "content": texts})
                before = message
                continue
            if message.kind in DISPLAY_KINDS:
                continue
            layout = Layout.of(message.layout, NAME)
            if layout is NO_LAYOUT:
                content = _foreign(message, ids)
                if content is None:
                    continue
            else:
                content = exact.write(message.content, layout.codes)
            extra = message.extra if is_own(message, NAME) else EMPTY
            if layout.joined and shares_entry(before, extra):
                last = entries[-1]
                last["content"] = weave(last["content"], content, layout.positions)
            elif joins_foreign(before, message, NAME, users=True):
                entries[-1]["content"] += content
            else:
                entry = {"role": _wire_role(message), "content": content}
                if extra:
                    entry |= thaw(extra)
                entries.append(entry)
            before = message
            unjoined = layout is not NO_LAYOUT
        return entries

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        return change_sides(before, after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        return _is_foreign_system(message)

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none where ids are missing or renamed."""
        del earlier
        if any(map(lacks_id, messages)) or _ids_of(messages).renames:
            return None
        return self.encode(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """A list of system blocks, or plain text, as one system message."""
        if isinstance(system, str):
            return (Message(Role.SYSTEM, (Text(system),)),)
        blocks, codes = self.read_blocks(system, path, "system")
        layout = layout_text(NAME, codes)
        return (Message(Role.SYSTEM, tuple(blocks), layout=layout),)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """A body; system messages become `system`, wherever they stood, save own ones.

        Few models take the role inside the list (BR-s4).
        """
        sent = [m for m in messages if m.kind not in DISPLAY_KINDS]
        leading = 0
        while leading < len(sent) and is_system_text(sent[leading]):
            leading += 1
        later = sent[leading:]
        system = [*sent[:leading], *(m for m in later if _is_foreign_system(m))]
        body: dict[str, Any] = {}
        if system:
            parts = self.encode(system)
            body["system"] = [block for part in parts for block in part["content"]]
        body["messages"] = self.encode([m for m in later if not _is_foreign_system(m)])
        if tools is not None:
            body["toolConfig"] = tools if isinstance(tools, dict) else {"tools": tools}
        return body

    def losses(self, message: Message) -> list[str]:
        """Others' reasoning, opaque blocks and addresses that Bedrock cannot open."""
        origin = origin_of(message)
        lost = [
            *host_losses(message),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *argument_losses(message),
        ]
        for block in flat_blocks(message.content):
            if isinstance(block, Opaque):
                if block.format is None and not is_sendable(block):
                    lost.append("a block that is none of Bedrock")
            elif isinstance(block, Thinking):
                sealed = block.signature is not None or block.data is not None
                if origin not in _SIGNED or not (sealed or origin == NAME):
                    lost.append("reasoning that no model on Bedrock signed")
            elif isinstance(block, (Image, Document)) and origin != NAME:
                url = block.url or ""
                text = block.text if isinstance(block, Document) else None
                inline = block.data is not None or text is not None
                if not inline and not url.startswith(("s3://", "data:")):
                    lost.append("an image or file that is not inline and not in S3")
        return lost


def _ids_of(messages: Sequence[Message]) -> CallIds:
    return CallIds(messages, frozenset({NAME}), _LEGAL_ID)


def _is_foreign_system(message: Message) -> bool:
    return message.role is Role.SYSTEM and origin_of(message) != NAME


def _everywhere(_message: Message) -> bool:
    return True


def _foreign(message: Message, ids: CallIds) -> list[Any] | None:
    """The wire content of a message of other origin; none if nothing of it can be said.

    A message that was empty from the start stays an empty text.
    """
    writer = BlockWriter(
        ids,
        own=is_own(message, NAME),
        exact=False,
        signed=origin_of(message) in _SIGNED,
    )
    content = writer.write(results_first(message))
    if not content and message.content:
        return None
    return content or [{"text": ""}]


def _wire_role(message: Message) -> str:
    return _WIRE_ROLES[message.role]
