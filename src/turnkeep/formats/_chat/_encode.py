"""From our messages to chat messages.

Entries of other origin get the one spelling that every provider of the dialect takes.
Two things are carried by convention: assistant messages that follow each other are one
message where calls stand among them, because results must follow their calls at once;
and images of a tool result go into a user message behind the run of results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from turnkeep.model import (
    BRIDGE,
    DISPLAY_KINDS,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    mark,
    thaw,
)

from .._base import is_own, layout_of
from .._ids import with_call_ids
from .._marker_lines import lined_blocks
from .._shape import compact, json_text
from ._dialect import Dialect
from ._runs import ASSISTANT_SIDE, joined_run

_PLAIN = {Role.SYSTEM: "system", Role.USER: "user", Role.ASSISTANT: "assistant"}

SHOWN_LATER = "[shown in the next user message]"
"""What stands in a tool result that has nothing but images, when those moved."""


def encode_chat(messages: Sequence[Message], dialect: Dialect) -> list[Any]:
    """Chat entries that say *messages*. Linear in their size."""
    writer = _Writer(dialect)
    return _written(writer, with_call_ids(messages, writer.is_foreign))


def encode_linked(messages: Sequence[Message], dialect: Dialect) -> list[Any]:
    """The same for messages whose calls and results all have ids."""
    return _written(_Writer(dialect), messages)


def _written(writer: _Writer, messages: Sequence[Message]) -> list[Any]:
    name, entries = writer.dialect.name, writer.entries
    for message in messages:
        content = message.content
        if (
            message.layout == name
            and len(content) == 1
            and type(text := content[0]) is Text
            and not message.extra
            and not text.extra
            and message.role in _PLAIN
            and not writer.waits
        ):
            # The common case, as in decoding.
            entries.append({"role": _PLAIN[message.role], "content": text.text})
        elif message.role is not Role.TOOL_RESULT or not writer.add_plain(message):
            writer.add(message)
    writer.finish()
    return entries


def stands_apart(before: Message, after: Message) -> bool:
    """Whether neighbours are written the same together as each on its own.

    Assistant entries may become one, and results hold pictures back until the last of
    their run. True only of messages whose calls have ids.
    """
    return before.role not in ASSISTANT_SIDE and after.role is not Role.TOOL_RESULT


class _Writer:
    """Writes entry after entry; holds back what must be joined or moved."""

    def __init__(self, dialect: Dialect) -> None:
        self.entries: list[Any] = []
        self.dialect = dialect
        self.prefix = f"{dialect.name}:"
        self.run: list[Message] = []
        self.moved: list[Any] = []
        self.waits = False

    def is_foreign(self, message: Message) -> bool:
        """Whether *message* was not decoded by this format."""
        layout = message.layout
        if layout is None:
            return True
        return layout != self.dialect.name and not layout.startswith(self.prefix)

    def add(self, message: Message) -> None:
        foreign = self.is_foreign(message)
        if foreign and message.kind in DISPLAY_KINDS:
            return
        if foreign and message.role in ASSISTANT_SIDE:
            self._flush()
            self.run.append(message)
            self.waits = True
            return
        self._end_run()
        if message.role is not Role.TOOL_RESULT:
            self._flush()
        detail = layout_of(message, self.dialect.name)
        if detail.startswith("{"):
            self.entries.append(json.loads(detail))
        elif message.role in ASSISTANT_SIDE:
            self._assistant(message)
        else:
            self._other(message)

    def add_plain(self, message: Message) -> bool:
        """Add a result if it is one text, and pictures do not wait: most of them."""
        if self.moved or message.layout is not None or message.kind is not None:
            return False
        if self.run:
            self._end_run()
        return self._plain_result(message)

    def finish(self) -> None:
        self._end_run()
        self._flush()

    def _end_run(self) -> None:
        run = self.run
        self.waits = bool(self.moved)
        if run:
            self.run = []
            for message in run if len(run) == 1 else joined_run(run):
                self._assistant(message)

    def _flush(self) -> None:
        if self.moved:
            self.entries.append({"role": "user", "content": self.moved})
            self.moved = []
            self.waits = bool(self.run)

    def _plain_call(self, message: Message) -> bool:
        """Write calls behind one text or none, as most of an agent's answers are."""
        if message.extra or message.layout is not None:
            return False
        said: str | None = None
        calls: list[Any] = []
        for nth, block in enumerate(message.content):
            if type(block) is ToolCall and block.id is not None and not block.extra:
                function = {"name": block.name, "arguments": block.text}
                calls.append({"id": block.id, "type": "function", "function": function})
            elif type(block) is Text and not nth and not block.extra:
                said = block.text
            else:
                return False
        if calls:
            entry = {"role": "assistant", "content": said, "tool_calls": calls}
            self.entries.append(entry)
        return bool(calls)

    def _assistant(self, message: Message) -> None:
        if self._plain_call(message):
            return
        dialect = self.dialect
        foreign, own = self.is_foreign(message), is_own(message, dialect.name)
        entry: dict[str, Any] = {"role": "assistant"}
        calls = message.tool_calls
        thinking = [b for b in message.content if isinstance(b, Thinking)]
        in_parts = dialect.thinking == "part"
        rest = [
            b
            for b in message.content
            if not isinstance(b, (ToolCall, ToolResult))
            and (in_parts or not isinstance(b, Thinking))
        ]
        self._put_content(entry, rest, message, empty=None if calls else "")
        if thinking and not in_parts and (not foreign or dialect.thinking):
            extra = thinking[0].extra if own else FrozenDict()
            text = "\n".join(block.text for block in thinking)
            if text or not foreign:
                entry[extra.get("key", dialect.thinking_keys[0])] = text
        if len(calls) == 1 and calls[0].id is None and "function" in dialect.roles:
            # Only what was decoded has no id here: a legacy call.
            entry["function_call"] = self._function(calls[0], own=own, foreign=foreign)
        elif calls:
            entry["tool_calls"] = [
                self._call(call, own=own, foreign=foreign) for call in calls
            ]
        _put_extra(entry, message, own=own)
        self.entries.append(entry)

    def _other(self, message: Message) -> None:
        if message.role is Role.TOOL_RESULT and self._plain_result(message):
            return
        rest = [b for b in message.content if not isinstance(b, ToolResult)]
        for block in message.tool_results:
            self._result(block, message)
        if message.role is Role.TOOL_RESULT:
            return
        if message.tool_results and not rest:
            return
        self._flush()
        role = _PLAIN[message.role]
        if role == "system" and message.extra.get("role") in self.dialect.roles:
            role = message.extra["role"]
        entry: dict[str, Any] = {"role": role}
        self._put_content(entry, rest, message, empty="")
        _put_extra(entry, message, own=is_own(message, self.dialect.name))
        self.entries.append(entry)

    def _plain_result(self, message: Message) -> bool:
        """Write a result that is one text and nothing else, as nearly all are."""
        content = message.content
        if len(content) != 1 or message.extra or message.layout is not None:
            return False
        result = content[0]
        if (
            type(result) is not ToolResult
            or not result.final
            or result.is_error
            or result.tool_name is not None
            or result.tool_call_id is None
            or len(result.content) != 1
        ):
            return False
        said = result.content[0]
        if type(said) is not Text or said.extra:
            return False
        entry = {"role": "tool", "tool_call_id": result.tool_call_id}
        self.entries.append({**entry, "content": said.text})
        return True

    def _result(self, result: ToolResult, message: Message) -> None:
        blocks: list[Block] = list(result.content)
        if self.is_foreign(message):
            blocks = self._move_pictures(result, blocks)
        if not result.final or result.is_error:
            blocks = lined_blocks(result, blocks)
        entry: dict[str, Any] = {"role": "tool"}
        if result.tool_call_id is not None:
            entry["tool_call_id"] = result.tool_call_id
        elif "function" in self.dialect.roles:
            entry["role"] = "function"
        self._put_content(entry, blocks, message, empty="")
        if result.tool_name is not None:
            entry["name"] = result.tool_name
        _put_extra(entry, message, own=is_own(message, self.dialect.name))
        self.entries.append(entry)

    def _move_pictures(self, result: ToolResult, blocks: list[Block]) -> list[Block]:
        shown = [b for b in blocks if _is_picture(b)]
        parts = [
            part
            for block in shown
            if (part := self.dialect.encode_part(block, self.dialect.name, own=False))
        ]
        if not parts:
            return blocks
        head = mark(BRIDGE, f"Shown by the tool result {result.tool_call_id}:")
        self.moved += [{"type": "text", "text": head}, *parts]
        self.waits = True
        left = [b for b in blocks if not _is_picture(b)]
        return left or [Text(SHOWN_LATER)]

    def _put_content(
        self,
        entry: dict[str, Any],
        blocks: Sequence[Block],
        message: Message,
        empty: Any,
    ) -> None:
        dialect = self.dialect
        detail = layout_of(message, dialect.name)
        own = is_own(message, dialect.name)
        if not blocks and detail in {"absent", "null", "list"}:
            if detail != "absent":
                entry["content"] = [] if detail == "list" else None
            return
        if len(blocks) == 1 and detail != "list":
            block = blocks[0]
            if isinstance(block, Json):
                entry["content"] = json_text(block.value)
                return
            if isinstance(block, Text) and not (own and block.extra):
                entry["content"] = block.text
                return
        foreign = self.is_foreign(message)
        shows = not foreign or entry["role"] in dialect.images
        parts = [
            part
            for block in blocks
            if (shows or not _is_picture(block))
            and not (foreign and isinstance(block, Text) and not block.text)
            and (part := dialect.encode_part(block, dialect.name, own=own)) is not None
        ]
        if foreign and len(parts) == 1 and parts[0].keys() == {"type", "text"}:
            entry["content"] = parts[0]["text"]
        else:
            entry["content"] = parts or empty

    def _call(self, call: ToolCall, *, own: bool, foreign: bool) -> dict[str, Any]:
        made: dict[str, Any] = {} if call.id is None else {"id": call.id}
        if call.extra.get("type") == "custom" and self.dialect.custom_tools:
            made["type"] = "custom"
            made["custom"] = {"name": call.name, "input": call.text}
            return made
        made["type"] = "function"
        made["function"] = self._function(call, own=own, foreign=foreign)
        if own and call.extra:
            for key, value in call.extra.items():
                made.setdefault(key, thaw(value))
        return made

    def _function(self, call: ToolCall, *, own: bool, foreign: bool) -> dict[str, Any]:
        arguments: Any = call.text
        if (
            call.arguments_text is None
            and self.dialect.object_arguments
            and not foreign
        ):
            arguments = thaw(call.arguments_value)
        elif call.extra.get("type") == "custom":
            arguments = compact({"input": call.text})
        made = {"name": call.name, "arguments": arguments}
        if own and call.extra:
            made |= thaw(call.extra.get("function", {}))
        return made


def _put_extra(entry: dict[str, Any], message: Message, *, own: bool) -> None:
    if own and message.extra:
        for key, value in message.extra.items():
            entry.setdefault(key, thaw(value))


def _is_picture(block: Block) -> bool:
    if isinstance(block, Document):
        return block.text is None
    return isinstance(block, Image)
