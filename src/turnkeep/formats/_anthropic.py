from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import (
    DISPLAY_KINDS,
    EMPTY,
    Block,
    Message,
    Role,
    Text,
    thaw,
    trusted_message,
    trusted_text,
)
from turnkeep.model._layout import NO_LAYOUT, Layout

from ._base import Envelope, is_own
from ._body import open_body
from ._claude._decode import NAME, decode_text, is_plain, plain_texts
from ._claude._judge import judge_message
from ._claude._messages import (
    ROLES,
    MessageWriter,
    block_ids,
    block_losses,
    decode_message,
    wire_role,
)
from ._claude._outline import ClaudeReader
from ._ids import lacks_id, with_call_ids
from ._joins import change_sides, shares_entry
from ._marks import Marks
from ._outline import Outline
from ._shape import MARKS, as_array, as_object, real_id
from ._wire import need, rest, weave

_LISTED: Final = f"{NAME}:[]"
"""The layout of a message whose content is a list that has one spelling only."""

_KNOWN: Final = frozenset({"role", "content"})
_NO_FIELDS: Final[dict[str, Any]] = {}


class Anthropic:
    """Anthropic Messages: alternating `user` and `assistant`, content in blocks.

    Tool results stand in user messages; those that hold text as well are two logical
    messages. Server tool blocks are opaque: the same assistant message answers them.
    """

    name = NAME
    list_key = "messages"
    marks = Marks(judge_message, body={"system": 2})

    def open(self, value: Any) -> Envelope:
        """A list of messages, or a request body with `messages` and `system`."""
        return open_body(value, "messages", system=("system",))

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if type(entry) is dict and len(entry) == 2:
            # Most messages of most chats: a role and a text.
            name, content = entry.get("role"), entry.get("content")
            if type(name) is str and name in ROLES:
                if type(content) is str and not content.startswith(MARKS):
                    text = (trusted_text(content),)
                    return (trusted_message(ROLES[name], text, layout=NAME),)
                if type(content) is list and (texts := plain_texts(content)):
                    return (trusted_message(ROLES[name], texts, layout=_LISTED),)
        as_object(entry, "a message", path)
        if len(entry) == 2:
            return decode_message(entry, path, NAME, _NO_FIELDS)
        fields: dict[str, Any] = {"extra": rest(entry, _KNOWN, path)}
        if identity := real_id(entry.get("id")):
            fields["id"] = identity
        return decode_message(entry, path, NAME, fields)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return ClaudeReader(entries, self.decode, path).read()

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`.

        Results of other origin that follow each other become one user message, as the
        documents on parallel tool use ask for.
        """
        messages = with_call_ids(messages, _everywhere)
        writer = MessageWriter(messages)
        entries: list[Any] = []
        before: Message | None = None
        joinable = False
        for message in messages:
            if message.kind is None and not message.extra:
                # The common cases, as in decoding: a text, and a list of blocks.
                blocks = message.content
                said: Any = None
                if message.layout == _LISTED:
                    said = writer.exact(blocks)
                elif message.layout == NAME and is_plain(blocks):
                    said = blocks[0].text  # type: ignore[union-attr]
                if said is not None:
                    entries.append({"role": wire_role(message), "content": said})
                    joinable = False
                    before = message
                    continue
            if message.kind in DISPLAY_KINDS:
                continue
            layout = Layout.of(message.layout, NAME)
            foreign = layout is NO_LAYOUT
            content = writer.content(message, layout)
            if content is None:
                continue
            extra = message.extra if is_own(message, NAME) else EMPTY
            is_results = message.role is Role.TOOL_RESULT and bool(content)
            if layout.joined and shares_entry(before, extra):
                last = entries[-1]
                last["content"] = weave(last["content"], content, layout.positions)
                joinable = False
            elif joinable and foreign and is_results:
                entries[-1]["content"] += content
            else:
                entry = {"role": wire_role(message), "content": content}
                if extra:
                    entry |= thaw(extra)
                entries.append(entry)
                joinable = foreign and is_results
            before = message
        return entries

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        return change_sides(before, after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`; only the leading ones do."""
        del message
        return False

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none where ids are missing or renamed."""
        del earlier
        if any(map(lacks_id, messages)) or block_ids(messages).renames:
            return None
        return self.encode(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """Text, or a list of text blocks, as one system message."""
        if isinstance(system, str):
            return (Message(Role.SYSTEM, (Text(system),), layout=NAME),)
        blocks = as_array(system, "system", path)
        made: list[Block] = []
        for nth, block in enumerate(blocks):
            where = f"{path}[{nth}]"
            as_object(block, "a system block", where)
            if need(block, "type", str, "a string", where) != "text":
                reason = f"system text has only text blocks, not {block['type']!r}"
                raise FormatError(reason, f"{where}.type")
            made.append(decode_text(block, where))
        return (Message(Role.SYSTEM, tuple(made), layout=_LISTED),)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """A body; the leading system messages become `system`.

        Later ones stay in their place, which the newest models take (AN-03).
        """
        entries = self.encode(messages)
        leading = 0
        while leading < len(entries) and _is_system(entries[leading]):
            leading += 1
        body: dict[str, Any] = {}
        if leading:
            body["system"] = join_system([e["content"] for e in entries[:leading]])
        body["messages"] = entries[leading:]
        if tools is not None:
            body["tools"] = tools
        return body

    def losses(self, message: Message) -> list[str]:
        """Others' reasoning and opaque blocks, arguments that are no object."""
        return block_losses(message, NAME)


def _is_system(entry: dict[str, Any]) -> bool:
    """Whether it is system text and nothing more: directives stay in the list."""
    content = entry["content"]
    return (
        entry["role"] == "system"
        and len(entry) == 2
        and (isinstance(content, str) or all(b["type"] == "text" for b in content))
    )


def _everywhere(_message: Message) -> bool:
    return True


def join_system(parts: Sequence[Any]) -> Any:
    """The `system` of a request: one text as it is, else a list of text blocks."""
    if len(parts) == 1:
        return parts[0]
    return [
        block
        for part in parts
        for block in (
            [{"type": "text", "text": part}] if isinstance(part, str) else part
        )
    ]
