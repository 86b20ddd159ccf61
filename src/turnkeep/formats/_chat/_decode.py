"""From chat messages to ours.

Three ways to spell a message are common, and cost little: content as text, as a list of
parts, or none at all. Rarer spellings (a call without its type, a refusal beside the
content) come back exact because the whole entry stands in the layout, as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    FrozenDict,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    trusted_call,
    trusted_message,
    trusted_result,
    trusted_text,
)

from .._shape import (
    ERROR_TEXT,
    MARKS,
    ResultText,
    as_array,
    as_object,
    as_text,
    frozen,
    frozen_object,
    json_type,
    real_id,
    wrong,
)
from .._wire import kind_of
from ._dialect import WIRE_ROLES, Dialect
from ._parts import refusal

_PLAIN = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_NAMED = frozenset({"developer", "latest_reminder"})
"""Roles of system messages that have a name of their own."""
_CALL_KEYS = frozenset({"id", "type", "function"})
_NOTHING: Any = object()
_SILENT = ResultText("")
_SPEAKING = (MARKS, ERROR_TEXT)
"""How the text of a result begins that says more than its text."""


def decode_chat(entry: Any, path: str, dialect: Dialect) -> tuple[Message, ...]:
    """The message of one chat entry.

    Raises:
        FormatError: It is none, with the path of the value that is wrong.
    """
    if type(entry) is dict and len(entry) == 2:
        # Most messages of most chats: a role and a text.
        role, content = entry.get("role"), entry.get("content")
        if (
            type(content) is str
            and type(role) is str
            and role in _PLAIN
            and not content.startswith(MARKS)
        ):
            text = (trusted_text(content),)
            return (trusted_message(_PLAIN[role], text, layout=dialect.name),)
    return (_decode(as_object(entry, "a message", path), path, dialect),)


def _decode(entry: dict[str, Any], path: str, dialect: Dialect) -> Message:
    if "role" not in entry:
        reason = "a message must have a role"
        raise FormatError(reason, path)
    role = as_text(entry["role"], "role", f"{path}.role")
    if role not in dialect.roles:
        reason = f"unknown role {role!r}; {dialect.name} has {', '.join(dialect.roles)}"
        raise FormatError(reason, f"{path}.role")
    reader = _Reader(dict(entry), path, dialect)
    del reader.rest["role"]
    match role:
        case "assistant":
            blocks = reader.assistant()
        case "tool" | "function":
            blocks = (reader.result(role),)
        case _:
            blocks = reader.content()
    if role in _NAMED:
        reader.rest["role"] = role
    identity = reader.rest.get("id")
    return trusted_message(
        WIRE_ROLES[role],
        blocks,
        id=real_id(identity),
        kind=kind_of(blocks),
        extra=frozen_object(reader.rest, path),
        layout=reader.layout(entry),
    )


class _Reader:
    """Takes one entry apart: every key that is understood leaves `rest`."""

    def __init__(self, rest: dict[str, Any], path: str, dialect: Dialect) -> None:
        self.rest = rest
        self.path = path
        self.dialect = dialect
        self.detail = ""
        self.odd = False

    def layout(self, entry: dict[str, Any]) -> str:
        name = self.dialect.name
        if self.odd:
            return f"{name}:{json.dumps(frozen(entry, self.path))}"
        return f"{name}:{self.detail}" if self.detail else name

    def content(self) -> tuple[Block, ...]:
        content = self.rest.pop("content", _NOTHING)
        if isinstance(content, str):
            return (trusted_text(content),)
        if content is _NOTHING:
            self.detail = "absent"
            return ()
        if content is None:
            self.detail = "null"
            return ()
        where = f"{self.path}.content"
        if not isinstance(content, (list, tuple)):
            what, expected = "content", "a string, an array of parts or null"
            raise wrong(what, expected, content, where)
        self.detail = "list"
        decode, name = self.dialect.decode_part, self.dialect.name
        return tuple(
            decode(part, f"{where}[{nth}]", name) for nth, part in enumerate(content)
        )

    def assistant(self) -> tuple[Block, ...]:
        rest = self.rest
        thinking = self._thinking()
        content = self.content()
        said = rest.get("refusal")
        if said is not None:
            content = (*content, refusal(as_text(said, "refusal", self._at("refusal"))))
            del rest["refusal"]
            self.odd = True
        calls: tuple[Block, ...] = ()
        if rest.get("tool_calls"):
            where = self._at("tool_calls")
            given = as_array(rest.pop("tool_calls"), "tool_calls", where)
            calls = tuple(
                self._call(call, f"{where}[{nth}]") for nth, call in enumerate(given)
            )
        elif rest.get("tool_calls") is not None:
            as_array(rest["tool_calls"], "tool_calls", self._at("tool_calls"))
        if rest.get("function_call") is not None:
            where = self._at("function_call")
            legacy = as_object(rest.pop("function_call"), "function_call", where)
            self.odd = self.odd or bool(calls)
            calls = (*calls, self._function(None, legacy, where, EMPTY))
        return (*thinking, *content, *calls)

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}"

    def _thinking(self) -> tuple[Block, ...]:
        keys = self.dialect.thinking_keys
        usual = keys[0] if keys else ""
        for key in keys:
            if isinstance(text := self.rest.get(key), str):
                del self.rest[key]
                extra = EMPTY if key == usual else FrozenDict(key=key)
                return (Thinking(text, extra=extra),)
        if self.dialect.thinking == "key" and self.rest.get(usual) is not None:
            as_text(self.rest[usual], usual, self._at(usual))
        return ()

    def _call(self, call: Any, path: str) -> ToolCall:
        call = as_object(call, "a tool call", path)
        identity, kind = call.get("id"), call.get("type")
        if identity is not None:
            as_text(identity, "the id of a tool call", f"{path}.id")
        self.odd = self.odd or identity is None or kind is None
        if kind is not None:
            as_text(kind, "the type of a tool call", f"{path}.type")
        if kind == "custom":
            return self._custom(identity, call, path)
        if "function" not in call:
            reason = "a tool call must have a function (or, of type custom, a custom)"
            raise FormatError(reason, path)
        function = as_object(call["function"], "function", f"{path}.function")
        extra = EMPTY
        if len(call) > 3:
            rest = {k: v for k, v in call.items() if k not in _CALL_KEYS}
            extra = frozen_object(rest, path)
        if kind not in {None, "function"}:
            self.odd = True
        return self._function(identity, function, f"{path}.function", extra)

    def _function(
        self, identity: str | None, function: dict[str, Any], path: str, extra: Any
    ) -> ToolCall:
        if "name" not in function:
            reason = "a function must have a name"
            raise FormatError(reason, path)
        name = as_text(function["name"], "the name of a function", f"{path}.name")
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            if arguments is None:
                self.odd, arguments = True, {}
            elif not isinstance(arguments, dict):
                what = "arguments"
                raise wrong(what, "a string of JSON", arguments, f"{path}.{what}")
            self.odd = self.odd or not self.dialect.object_arguments
            arguments = frozen(arguments, f"{path}.arguments")
        if len(function) > 2:
            rest = {k: v for k, v in function.items() if k not in {"name", "arguments"}}
            extra = {**extra, "function": frozen_object(rest, path)}
        if type(extra) is not FrozenDict:
            extra = frozen_object(extra, path)
        return trusted_call(identity, name, arguments, extra)

    def _custom(
        self, identity: str | None, call: dict[str, Any], path: str
    ) -> ToolCall:
        where = f"{path}.custom"
        custom = as_object(call.get("custom"), "custom", where)
        name = as_text(custom.get("name"), "the name of a tool", f"{where}.name")
        given = as_text(custom.get("input"), "input", f"{where}.input")
        usual = len(custom) == 2 and len(call) == 3 and self.dialect.custom_tools
        self.odd = self.odd or not usual
        return ToolCall(identity, name, given, extra={"type": "custom"})

    def result(self, role: str) -> ToolResult:
        rest = self.rest
        identity = rest.get("tool_call_id")
        if identity is None:
            self.odd = role == "tool" or "tool_call_id" in rest
        else:
            as_text(identity, "tool_call_id", self._at("tool_call_id"))
            self.odd = role == "function"
        rest.pop("tool_call_id", None)
        name = rest.get("name")
        if name is not None:
            as_text(name, "name", self._at("name"))
            del rest["name"]
        elif role == "function":
            self.odd = True
        blocks = self.content()
        flags = _SILENT
        if (
            blocks
            and type(first := blocks[0]) is Text
            and first.text.startswith(_SPEAKING)
        ):
            flags = ResultText.read(first.text)
            self.odd = self.odd or flags.write() != first.text
            if flags.text is not first.text:
                blocks = (Text(flags.text, extra=first.extra), *blocks[1:])
        return trusted_result(
            identity, blocks, flags.is_error, flags.pending, flags.interim, name
        )


def describe(value: Any) -> str:
    """What *value* is, when it should have been a list of messages or a body."""
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(map(str, value)) or '(none)'}"
    return json_type(value)
