from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import DISPLAY_KINDS, Message, Role, thaw
from turnkeep.model._layout import Layout

from .._base import Envelope
from .._claude._messages import (
    MessageWriter,
    block_losses,
    decode_message,
    wire_role,
)
from .._ids import with_call_ids
from .._marks import CARRIED, NEVER, Judgement, Marks
from .._outline import Outline, outline_decoded
from .._sessions._notes import Notes
from .._shape import as_array, as_object, as_text, frozen, json_type
from .._wire import need, weave
from ._tree import is_message, main_line, put_back

NAME: Final = "claude-code"

_LISTS: Final = ("lines", "loglines")
"""Keys under which exports of whole sessions hold the lines."""

_TYPES: Final = frozenset({"user", "assistant", "system", "summary"})
_LINKS: Final = frozenset({"parentUuid", "sessionId", "leafUuid", "isSidechain"})
_CARRIES: Final = frozenset({"timestamp", "metadata"})


def _judge(line: dict[str, Any]) -> Judgement:
    """The score of *line*: it wraps a `message`, or links to other lines."""
    kind = line.get("type")
    if not isinstance(kind, str):
        return NEVER, "a line without a type"
    is_linked = bool(line.keys() & _LINKS)
    if "role" in line and not is_linked:
        return NEVER, "an entry with a role of its own"
    if is_message(line) and isinstance(line.get("message"), dict):
        return 4, "a line that wraps a message"
    if kind in _TYPES and is_linked:
        return 2, "a line that links to others"
    return CARRIED, ""


class ClaudeCode:
    """Sessions of Claude Code: one line an event, Anthropic's messages inside.

    Made for reading. `open` finds the main line of the tree; side chains, abandoned
    branches and events that are no messages are left apart and put back by
    `Envelope.replace`. The line around a message is its `metadata`, `toolUseResult`
    among it, so that it is kept and never sent.
    """

    name = NAME
    marks = Marks(_judge, lists=_LISTS)
    files = "`$CLAUDE_CONFIG_DIR` (`~/.claude`): `projects/*/*.jsonl`"

    def open(self, value: Any) -> Envelope:
        """The lines of a session file as a list, or an export with `lines`."""
        lines: Sequence[Any]
        key: str | None
        if isinstance(value, (list, tuple)):
            key, lines, path = None, value, "$"
        else:
            key = next(
                (k for k in _LISTS if isinstance(value, dict) and k in value), ""
            )
            if not key:
                reason = f"expected the lines of a session, got {json_type(value)}"
                raise FormatError(reason, "$")
            path = f"$.{key}"
            lines = as_array(value[key], key, path)
        notes = Notes()
        main = main_line(lines, path, notes)

        def replace(made: list[Any]) -> Any:
            result = put_back(lines, main, made)
            return result if key is None else {**value, key: result}

        return Envelope(
            [lines[nth] for nth in main],
            path=path,
            is_body=key is not None,
            replace=replace,
            notes=notes.sentences(),
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`; lines that are no messages give nothing."""
        as_object(entry, "a line", path)
        if not is_message(entry):
            return ()
        inner = need(entry, "message", dict, "an object", path)
        fields: dict[str, Any] = {"metadata": _around(entry, inner, path)}
        if entry.get("uuid") is not None:
            fields["id"] = as_text(entry["uuid"], "uuid", f"{path}.uuid")
        if entry.get("timestamp") is not None:
            fields["timestamp"] = _time(entry["timestamp"], f"{path}.timestamp")
        messages = decode_message(inner, f"{path}.message", NAME, fields)
        if entry.get("isCompactSummary") is True:
            return tuple(attrs.evolve(m, kind="summary") for m in messages)
        if entry.get("isMeta") is True:
            return tuple(attrs.evolve(m, kind=m.kind or "meta") for m in messages)
        return messages

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """Lines as they came; messages of other origin get new, linked ones."""
        messages = with_call_ids(messages, lambda _message: True)
        writer = MessageWriter(messages)
        lines: list[Any] = []
        before: Message | None = None
        for message in messages:
            if message.kind in DISPLAY_KINDS:
                continue
            layout = Layout.of(message.layout, NAME)
            content = writer.content(message, layout)
            if content is None:
                continue
            if (
                layout.joined
                and before is not None
                and before.role is Role.TOOL_RESULT
                and before.metadata == message.metadata
            ):
                inner = lines[-1]["message"]
                inner["content"] = weave(inner["content"], content, layout.positions)
            else:
                lines.append(_line(message, content, before))
            before = message
        return lines

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """Nothing: sessions do not hold the system text.

        Raises:
            FormatError: There is some.
        """
        if system is not None:
            reason = "a session of Claude Code has no system text beside its lines"
            raise FormatError(reason, path)
        return ()

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """An export with `lines`; sessions have no place for *tools*."""
        del tools
        return {"lines": self.encode(messages)}

    def losses(self, message: Message) -> list[str]:
        """The same as for Anthropic, save the time stamp."""
        return block_losses(message, NAME, _CARRIES)


def _around(line: dict[str, Any], inner: dict[str, Any], path: str) -> Any:
    """The line without the content of its message, frozen."""
    bare = {key: value for key, value in inner.items() if key != "content"}
    return frozen({**line, "message": bare}, path)


def _time(value: Any, path: str) -> datetime:
    text = as_text(value, "timestamp", path)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        reason = f"{text[:40]!r} is no ISO 8601 time stamp"
        raise FormatError(reason, path) from None
    if when.tzinfo is None:
        reason = f"time stamp {text!r} has no time zone"
        raise FormatError(reason, path)
    return when


def _line(message: Message, content: Any, before: Message | None) -> dict[str, Any]:
    around = message.metadata.get("message")
    if isinstance(around, dict) and isinstance(message.metadata.get("type"), str):
        line: dict[str, Any] = thaw(message.metadata)
        line["message"]["content"] = content
        return line
    role = wire_role(message)
    if role == "assistant" and isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    line = {"type": role, "message": {"role": role, "content": content}}
    if message.id is not None:
        line["uuid"] = message.id
        if before is None or before.id is not None:
            line["parentUuid"] = None if before is None else before.id
    if message.timestamp is not None:
        line["timestamp"] = message.timestamp.isoformat()
    if message.kind == "summary":
        line["isCompactSummary"] = True
    return line
