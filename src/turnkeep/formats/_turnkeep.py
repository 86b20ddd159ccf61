from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import Message, Role, same, thaw
from turnkeep.serial import (
    BLOCK_FIELDS,
    MESSAGE_FIELDS,
    SCHEMA,
    dump_message,
    load_message,
    migrate,
)

from ._base import Envelope, layout_of, origin_of
from ._body import open_body
from ._chat._open import system_messages
from ._marks import COMMON, NEVER, Judgement, Marks
from ._outline import Outline, outline_decoded
from ._shape import compact
from ._spelling import change, difference

_NAME = "turnkeep"
_ROLES = frozenset(role.value for role in Role)
_TEXTS = frozenset({str})
_OWN_ROLES = frozenset({"tool_call", "tool_result"})
_BLOCK_MARKS = frozenset({"tool_call", "tool_result", "opaque", "json"})


def _judge(entry: dict[str, Any]) -> Judgement:
    role = entry.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"no role of ours: {role!r}"
    if not isinstance(entry.get("timestamp", ""), str):
        return NEVER, "a time stamp that is not text"
    mark = "pin_scope" if "pin_scope" in entry else None
    if isinstance(entry.get("layout"), str):
        mark = "layout"
    if mark is None and not MESSAGE_FIELDS.issuperset(entry):
        return NEVER, "keys that our messages do not have"
    content = entry.get("content", "")
    if not isinstance(content, (str, list, tuple)):
        return NEVER, "content is neither text nor a list"
    kinds = [] if isinstance(content, str) else [_known_tag(block) for block in content]
    if None in kinds:
        return NEVER, "a block that is not ours"
    if found := _BLOCK_MARKS.intersection(kinds):
        return 3, f"a block of type {min(found, key=str)!r}"
    # Hosts have pins, priorities and metadata of their own.
    if mark is not None:
        return 2, f"the key {mark!r}"
    if role in _OWN_ROLES:
        return 2, f"role {role!r}"
    return COMMON, ""


def _known_tag(block: Any) -> str | None:
    """The tag of a block that has no other keys than ours."""
    tag = block.get("type") if isinstance(block, dict) else None
    fields = BLOCK_FIELDS.get(tag) if isinstance(tag, str) else None
    return tag if fields is not None and fields.issuperset(block) else None


class Turnkeep:
    """Our own JSON: a document `{"turnkeep": 1, "messages": [...]}`, or its list.

    Carries everything there is, and keeps where each message came from: the layout of
    a message that was read from another format is that format's.
    """

    name = _NAME
    list_key = "messages"
    marks = Marks(_judge, key="turnkeep")

    def open(self, value: Any) -> Envelope:
        """A list of our messages, or a document of any schema version.

        The document comes back in today's version.
        """
        return open_body(
            migrate(value) if isinstance(value, dict) else value, "messages"
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        message = load_message(entry, path)
        written = dump_message(message)
        # Among texts alone, what is equal is the same JSON.
        plain = _TEXTS.issuperset(map(type, entry.values())) and written == entry
        patch = None if plain else difference(written, entry)
        if patch is None and origin_of(message) != _NAME:
            return (message,)
        # Fields written at their default, say. The saved layout stays inside of ours.
        details = compact([message.layout, patch])
        return (attrs.evolve(message, layout=f"{_NAME}:{details}"),)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return [_encode(message) for message in messages]

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        del before, after
        return True

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        del message
        return False

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`."""
        del earlier
        return self.encode(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """A document; what is only shown to people stays: nobody is sent it."""
        body = {"turnkeep": SCHEMA, "messages": self.encode(messages)}
        return body | {"tools": tools} if tools else body

    def losses(self, message: Message) -> list[str]:  # noqa: ARG002 - as in Format
        """Nothing, ever."""
        return []


def _encode(message: Message) -> Any:
    details = layout_of(message, _NAME)
    if not details and message.layout != _NAME:
        return thaw(dump_message(message))
    try:
        saved, patch = json.loads(details) if details else (None, None)
        written = dump_message(attrs.evolve(message, layout=saved))
        entry = change(written, patch)
        if same(written, dump_message(load_message(entry))):
            written = entry
    except (FormatError, ValueError, LookupError, TypeError, AttributeError):
        written = dump_message(attrs.evolve(message, layout=None))
    return thaw(written)
