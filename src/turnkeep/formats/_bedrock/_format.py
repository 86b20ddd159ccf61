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
    ToolResult,
    thaw,
    trusted_message,
    trusted_text,
)

from .._base import Envelope, is_own, origin_of
from .._body import open_body
from .._ids import with_call_ids
from .._joins import joins_foreign, shares_entry
from .._losses import flat_blocks, host_losses, key_losses, opaque_losses
from .._marks import Marks
from .._shape import MARKS, as_array, as_object
from .._split import split_results
from .._wire import (
    NO_LAYOUT,
    CallIds,
    Layout,
    argument_losses,
    kind_of,
    layout_text,
    need,
    rest,
    results_first,
    weave,
)
from ._decode import NAME, decode_block
from ._encode import BlockWriter, is_sendable
from ._judge import judge_message

_KNOWN: Final = frozenset({"role", "content"})
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
_SIGNED: Final = frozenset({NAME, "anthropic", "claude-code", None})
"""Origins whose signatures can be those of a model on Bedrock."""

_LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
"""Rule BR-09."""


class Bedrock:
    """AWS Bedrock Converse: blocks with one member each, strict alternation.

    Images and documents hold base64 text (as the HTTP API has it) or Python bytes (as
    boto3 has it); both are written back as they came. What comes from other formats is
    written as base64 text.
    """

    name = NAME
    marks = Marks(judge_message)

    def open(self, value: Any) -> Envelope:
        """A list of messages, or a request body with `system` and `toolConfig`."""
        return open_body(
            value,
            "messages",
            system=("system",),
            tools=("toolConfig",),
            model=("modelId",),
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if type(entry) is dict and len(entry) == 2 and (quick := _decode_texts(entry)):
            return (quick,)
        as_object(entry, "a message", path)
        role_name = need(entry, "role", str, "a string", path)
        role = _ROLES.get(role_name)
        if role is None:
            reason = f"unknown role {role_name!r} (expected user or assistant)"
            raise FormatError(reason, f"{path}.role")
        content = need(entry, "content", object, "an array", path)
        blocks, codes = _decode_blocks(content, f"{path}.content", role_name)
        fields: dict[str, Any] = {}
        if extra := rest(entry, _KNOWN, path):
            fields["extra"] = extra
            if isinstance(extra.get("id"), str):
                fields["id"] = extra["id"]
        if any(type(block) is ToolResult for block in blocks):
            shared = Layout(NAME, codes="".join(codes))
            return split_results(blocks, codes, shared, fields)
        content, kind = tuple(blocks), kind_of(blocks)
        layout = layout_text(NAME, codes)
        return (trusted_message(role, content, kind=kind, layout=layout, **fields),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`.

        Neighbours of one side become one message (BR-03, BR-06), unless all of them
        came from the wire.
        """
        messages = with_call_ids(messages, _everywhere)
        ids = CallIds(messages, frozenset({NAME}), _LEGAL_ID)
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
                and (texts := _encode_texts(message.content))
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

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """A list of system blocks as one system message."""
        blocks, codes = _decode_blocks(system, path, "system")
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
        while leading < len(sent) and sent[leading].role is Role.SYSTEM:
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


def _is_foreign_system(message: Message) -> bool:
    return message.role is Role.SYSTEM and origin_of(message) != NAME


def _everywhere(_message: Message) -> bool:
    return True


def _decode_texts(entry: dict[str, Any]) -> Message | None:
    """The message of an entry that has nothing but texts; none for any other."""
    name, blocks = entry.get("role"), entry.get("content")
    if type(blocks) is not list or not blocks or type(name) is not str:
        return None
    texts = []
    for block in blocks:
        if type(block) is not dict or len(block) != 1:
            return None
        text = block.get("text")
        if type(text) is not str:
            return None
        texts.append(trusted_text(text))
    if name not in _ROLES or texts[0].text.startswith(MARKS):
        return None
    return trusted_message(_ROLES[name], tuple(texts), layout=NAME)


def _encode_texts(content: Sequence[Block]) -> list[Any] | None:
    """The blocks of content that is nothing but texts; none for any other."""
    blocks = []
    for block in content:
        if type(block) is not Text or block.extra:
            return None
        blocks.append({"text": block.text})
    return blocks


def _decode_blocks(content: Any, path: str, role: str) -> tuple[list[Block], list[str]]:
    blocks: list[Block] = []
    codes: list[str] = []
    for nth, block in enumerate(as_array(content, "'content'", path)):
        if (
            type(block) is dict
            and len(block) == 1
            and type(text := block.get("text")) is str
        ):
            blocks.append(trusted_text(text))
            codes.append("0")
            continue
        made, code = decode_block(block, f"{path}[{nth}]", role)
        blocks.append(made)
        codes.append(code)
    return blocks, codes


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
