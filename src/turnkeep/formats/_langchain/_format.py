from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    DISPLAY_KINDS,
    EMPTY,
    INTERIM,
    PENDING,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    marker_of,
    thaw,
    trusted_message,
    unmark,
)

from .._base import Envelope, is_own, layout_of, origin_of
from .._fields import call_of, checked, optional, required, with_others, with_tool_names
from .._ids import calls_before, lacks_id, with_call_ids
from .._losses import flat_blocks, opaque_losses
from .._marker_lines import lined_content
from .._marks import CARRIED, NEVER, SIGNED, WEAK, Judgement
from .._outline import Outline, outline_decoded
from .._records import RecordFormat
from .._shape import frozen
from .._spelling import recall, remember
from .._wire import has_no_source, rest, take_marker
from .._wire import kind_of as kind_of_blocks
from ._parts import NAME, read_content, write_content
from ._shapes import DATA, KINDS, SHAPES, kind_of, reshape, shape_of, unwrap, wrap

_ROLES: Final = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "tool": Role.TOOL_RESULT,
    "function": Role.TOOL_RESULT,
}
_SPEAKERS: Final = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}
"""Roles of a `ChatMessage`; any other one speaks as a user."""

_KINDS: Final = {
    Role.USER: "human",
    Role.ASSISTANT: "ai",
    Role.TOOL_CALL: "ai",
    Role.SYSTEM: "system",
    Role.TOOL_RESULT: "human",
}
_KNOWN: Final = frozenset({"type", "content"})
_CALLS_KNOWN: Final = _KNOWN | {"tool_calls", "invalid_tool_calls"}
_RESULT_KNOWN: Final = _KNOWN | {"tool_call_id", "status", "name"}
_CALL_KEYS: Final = frozenset({"name", "args", "id", "type"})
_OWN_TYPES: Final = KINDS - {*("system", "tool", "function", "chat", "SystemMessage")}
_LIKE: Final = frozenset({"system", "tool"})
_OWN_KEYS: Final = frozenset({"additional_kwargs", "response_metadata"})
_LISTED: Final = "[]"
"""Behind a shape: the content stood in a list."""

_NOTHING: Final[tuple[Any, ...]] = (None, [], {}, False)
"""Values of fields that say nothing; how they were spelled is kept in the layout."""

_LOOKED_AT: Final = 50
"""Messages at the beginning of a list whose shape is that of the list."""

_ARGUMENTS: Final = ("input", "args", "arguments")
"""Where the parts that say a call have its arguments."""


class LangChain(RecordFormat):
    """LangChain: `messages_to_dict`, `dumpd`, and what its objects say they are.

    Ids are LangChain's own, and stay with its other keys. A call stands under
    `tool_calls`, one whose arguments are no object under
    `invalid_tool_calls`; parts of a provider that say it once more are carried along.
    """

    name = NAME
    lacks = frozenset({"id", "token_count", "kind", "pin_scope"})
    names_tools = True

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        lost = opaque_losses(message, NAME)
        for block in flat_blocks(message.content):
            if (
                isinstance(block, (Image, Document))
                and has_no_source(block)
                and block.file_id is None
            ):
                lost.append("an image or file without content")
        invalid = [not isinstance(c.arguments, dict) for c in message.tool_calls]
        if invalid != sorted(invalid):
            lost.append("the order of calls (those without an object come last)")
        return lost

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
        keys, kind = entry.keys(), entry.get("type")
        if {"lc", "kwargs"} <= keys:
            return SIGNED, "the key 'lc'"
        if not isinstance(kind, str) or kind not in KINDS:
            return NEVER, "no type of LangChain"
        if kind != "chat" and "role" in keys:
            return NEVER, "a role beside the type"
        if keys == {"type", "data"}:
            return SIGNED, f"type {kind!r} with its data"
        if "content" not in keys:
            return NEVER, "no content"
        if kind in _OWN_TYPES or keys & _OWN_KEYS:
            return SIGNED, f"type {kind!r} with LangChain's keys"
        if isinstance(entry["content"], str) and kind in _LIKE:
            return WEAK, f"type {kind!r}"
        return CARRIED, f"type {kind!r}, as others have it"

    def open(self, value: Any) -> Envelope:
        """See `Format.open`; what is new in the list is put into the list's shape."""
        envelope = super().open(value)
        put, entries = envelope.replace, envelope.entries

        def replace(made: list[Any]) -> Any:
            own = set(map(id, entries))
            shape = next((found for e in entries if (found := shape_of(e))), None)
            if shape is not None:
                made = [e if id(e) in own else reshape(e, shape) for e in made]
            return put(made)

        return attrs.evolve(envelope, replace=replace)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        said = self.read(entry, path)
        return (remember(said, entry, said.layout or NAME, self.write),)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`; ids stand inside of what wraps a message."""
        made = outline_decoded(entries, self.decode, path)
        return attrs.evolve(
            made, ids=[made.messages[n].extra.get("id") for n in made.id_at]
        )

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`; new messages in the shape of those beside them."""
        return self._encode(messages, _first_shape(messages) or DATA)

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none where that changes the shape of others."""
        if any(map(lacks_id, messages)) or calls_before(messages, earlier):
            return None
        shape = _first_shape(earlier[:_LOOKED_AT])
        if shape is None and earlier and _first_shape(messages) is not None:
            return None
        return self._encode(messages, shape or _first_shape(messages) or DATA)

    def _encode(self, messages: Sequence[Message], shape: str) -> list[Any]:
        messages = [m for m in messages if m.kind not in DISPLAY_KINDS]
        messages = with_call_ids(messages, lambda m: origin_of(m) != NAME)
        messages = with_tool_names(messages, NAME)
        write = partial(_write, usual=shape)
        return [
            entry
            for message in messages
            for entry in recall(message, _key_of(message), self.read, write)
        ]

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`: every message is read whole."""
        del entry, path
        return None

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        shape, fields, place = unwrap(entry, path)
        kind = kind_of(required(fields, "type", str, place), f"{place}.type")
        if "content" not in fields:
            reason = "'content' is missing (it must be a string or an array)"
            raise FormatError(reason, place)
        optional(fields, "id", str, place)
        content = fields["content"]
        blocks, repeated = read_content(content, f"{place}.content")
        role = _ROLES.get(kind)
        if role is None:
            role = _SPEAKERS.get(required(fields, "role", str, place), Role.USER)
        known = _KNOWN
        if role is Role.TOOL_RESULT:
            known = _RESULT_KNOWN
            blocks = [_read_result(blocks, fields, place)]
        elif role is Role.ASSISTANT:
            known = _CALLS_KNOWN
            blocks += _read_calls(fields, repeated, place)
        else:
            blocks += [Opaque(frozen(part, place), NAME) for part in repeated]
        listed = "" if isinstance(content, str) else _LISTED
        return trusted_message(
            role,
            tuple(blocks),
            kind=kind_of_blocks(blocks),
            extra=rest(_said(fields), known, place),
            layout=f"{NAME}:{shape}{listed}",
        )

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        return _write(message, DATA)


def _key_of(message: Message) -> str:
    """The layout of *message* without its spelling."""
    shape, _, _ = layout_of(message, NAME).partition(":")
    return f"{NAME}:{shape}"


def _shape_of(message: Message) -> str | None:
    """The shape in which *message* came; none for one of another origin."""
    shape, _, _ = layout_of(message, NAME).partition(":")
    shape = shape.removesuffix(_LISTED)
    return shape if shape in SHAPES else None


def _first_shape(messages: Sequence[Message]) -> str | None:
    shapes = (shape for m in messages if (shape := _shape_of(m)) is not None)
    return next(shapes, None)


def _read_result(blocks: list[Block], fields: dict[str, Any], path: str) -> ToolResult:
    pending = interim = False
    if blocks and isinstance(first := blocks[0], Text):
        text, pending, interim = take_marker(first.text)
        # A marker alone stands before content that is not text.
        alone = marker_of(text) in {PENDING, INTERIM} and not (
            first.extra or unmark(text)
        )
        blocks[:1] = () if alone else (attrs.evolve(first, text=text),)
    return ToolResult(
        optional(fields, "tool_call_id", str, path),
        tuple(blocks),
        is_error=optional(fields, "status", str, path) == "error",
        pending=pending,
        interim=interim,
        tool_name=optional(fields, "name", str, path),
    )


def _read_calls(
    fields: dict[str, Any], repeated: Sequence[dict[str, Any]], path: str
) -> list[Block]:
    """The calls of an assistant's message, each once."""
    made: list[Block] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        calls = optional(fields, key, list, path) or ()
        for nth, call in enumerate(calls):
            where = f"{path}.{key}[{nth}]"
            checked(call, "a call", dict, where)
            frozen(call.get("type"), where, ".type")
            extra = rest(_said(call), _CALL_KEYS, where)
            name = optional(call, "name", str, where) or ""
            call_id = optional(call, "id", str, where)
            args = call.get("args")
            if key == "tool_calls":
                arguments = frozen(required(call, "args", dict, where), where)
                made.append(call_of(call_id, name, arguments, extra))
            elif args is None or isinstance(args, str):
                made.append(ToolCall(call_id, name, args or "", extra=extra))
            else:
                made.append(ToolCall(call_id, name, frozen(args, where), extra=extra))
    if not made:
        made += _old_calls(fields, path)
    ids = {block.id for block in made if isinstance(block, ToolCall)}
    for part in repeated:
        known, tool = part.get("call_id") or part.get("id"), part.get("name")
        if not isinstance(known, str) or not isinstance(tool, str):
            made.append(Opaque(frozen(part, path), NAME))
        elif known not in ids:
            said = next((part[k] for k in _ARGUMENTS if k in part), EMPTY)
            made.append(
                ToolCall(
                    known, tool, said if isinstance(said, str) else frozen(said, path)
                )
            )
    return made


def _old_calls(fields: dict[str, Any], path: str) -> list[Block]:
    """Calls of messages that were stored before there was a field for them."""
    more = fields.get("additional_kwargs")
    calls = more.get("tool_calls") if isinstance(more, dict) else None
    made: list[Block] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        call_id, name = call.get("id"), function.get("name")
        arguments = function.get("arguments")
        if isinstance(name, str) and isinstance(call_id, str):
            frozen(arguments, path)
            made.append(ToolCall(call_id, name, arguments))
    return made


def _said(fields: dict[str, Any]) -> dict[str, Any]:
    """*fields* without those that say nothing."""
    return {key: value for key, value in fields.items() if value not in _NOTHING}


def _write(message: Message, usual: str) -> list[Any]:
    """The entries that say *message*, in its own shape or else in the *usual* one."""
    own = is_own(message, NAME)
    shape = _shape_of(message) or usual
    listed = _shape_of(message) is not None and _key_of(message).endswith(_LISTED)
    extra = message.extra if own else EMPTY
    made = []
    for result in message.tool_results:
        content = lined_content(result)
        fields: dict[str, Any] = {
            "content": write_content(content, own=own, listed=listed),
            "type": "tool",
        }
        if result.tool_call_id is not None:
            fields["tool_call_id"] = result.tool_call_id
        if result.tool_name is not None:
            fields["name"] = result.tool_name
        if result.is_error:
            fields["status"] = "error"
        made.append(fields)
    blocks = [b for b in message.content if not isinstance(b, ToolResult)]
    if blocks or not made:
        content = write_content(blocks, own=own, listed=listed)
        kind = "chat" if "role" in extra else _KINDS[message.role]
        made.append({"content": content, "type": kind, **_write_calls(message, own)})
    return [wrap(shape, with_others(fields, extra)) for fields in made]


def _write_calls(message: Message, own: bool) -> dict[str, Any]:
    """The calls of *message*, those whose arguments are no object apart."""
    calls: dict[str, list[Any]] = {}
    for call in message.tool_calls:
        arguments = call.arguments
        key, kind, args = "tool_calls", "tool_call", thaw(arguments)
        if not isinstance(arguments, dict):
            key, kind, args = "invalid_tool_calls", "invalid_tool_call", call.text
        fields = {"name": call.name, "args": args, "id": call.id, "type": kind}
        calls.setdefault(key, []).append(
            with_others(fields, call.extra if own else EMPTY)
        )
    return calls
