"""From Ollama's chat messages to ours."""

from __future__ import annotations

import json
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    trusted_message,
    trusted_text,
)

from .._shape import (
    MARKS,
    ResultText,
    as_array,
    as_object,
    as_text,
    check_base64,
    frozen,
    frozen_object,
    real_id,
    wrong,
)
from .._wire import kind_of

NAME = "ollama"
_PLAIN = ("system", "user", "assistant")
_ROLES = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL_RESULT,
}


def decode_ollama(entry: Any, path: str) -> Message:
    """The message of one entry.

    Raises:
        FormatError: It is none, with the path of the value that is wrong.
    """
    if type(entry) is dict and len(entry) == 2:
        # Most messages of most chats: a role and a text.
        role, content = entry.get("role"), entry.get("content")
        if type(content) is str and role in _PLAIN and not content.startswith(MARKS):
            return trusted_message(_ROLES[role], (trusted_text(content),), layout=NAME)
    entry = as_object(entry, "a message", path)
    if "role" not in entry:
        reason = "a message must have a role"
        raise FormatError(reason, path)
    role = as_text(entry["role"], "role", f"{path}.role")
    if role not in _ROLES:
        reason = f"unknown role {role!r}; {NAME} has {', '.join(_ROLES)}"
        raise FormatError(reason, f"{path}.role")
    rest = {k: v for k, v in entry.items() if k not in {"role", "content"}}
    text = entry.get("content")
    # What is written without a content: the rare spellings keep the whole entry.
    odd = text is None
    blocks: list[Block] = [] if text is None else [Text(_content(text, path))]
    if role == "tool":
        result, is_odd = _result(rest, blocks, path)
        blocks, odd = [result], odd or is_odd
    else:
        blocks = [*_thinking(rest, path), *blocks, *_images(rest, path)]
        if role == "assistant" and (calls := _calls(rest, path)):
            # Ollama writes no content as empty text.
            blocks = [b for b in blocks if b != Text("")] + calls
    identity = rest.get("id")
    return trusted_message(
        _ROLES[role],
        tuple(blocks),
        id=real_id(identity),
        kind=kind_of(blocks),
        extra=frozen_object(rest, path),
        layout=f"{NAME}:{json.dumps(frozen(entry, path))}" if odd else NAME,
    )


def _content(text: Any, path: str) -> str:
    if isinstance(text, (list, tuple)):
        what = "content (Ollama has no content parts)"
        raise wrong(what, "a string", text, f"{path}.content")
    return as_text(text, "content", f"{path}.content")


def _thinking(rest: dict[str, Any], path: str) -> list[Block]:
    if rest.get("thinking") is None:
        return []
    return [Thinking(as_text(rest.pop("thinking"), "thinking", f"{path}.thinking"))]


def _images(rest: dict[str, Any], path: str) -> list[Block]:
    if not rest.get("images"):
        if rest.get("images") is not None:
            as_array(rest["images"], "images", f"{path}.images")
        return []
    made: list[Block] = []
    for nth, data in enumerate(
        as_array(rest.pop("images"), "images", f"{path}.images")
    ):
        where = f"{path}.images[{nth}]"
        check_base64(as_text(data, "an image", where), where)
        made.append(Image(data))
    return made


def _calls(rest: dict[str, Any], path: str) -> list[Block]:
    where = f"{path}.tool_calls"
    if not rest.get("tool_calls"):
        if rest.get("tool_calls") is not None:
            as_array(rest["tool_calls"], "tool_calls", where)
        return []
    calls = as_array(rest.pop("tool_calls"), "tool_calls", where)
    return [_call(call, f"{where}[{nth}]") for nth, call in enumerate(calls)]


def _call(call: Any, path: str) -> ToolCall:
    call = as_object(call, "a tool call", path)
    where = f"{path}.function"
    function = as_object(call.get("function"), "function", where)
    name = as_text(function.get("name"), "the name of a function", f"{where}.name")
    arguments = function.get("arguments")
    as_object(arguments, "arguments", f"{where}.arguments")
    rest = {k: v for k, v in call.items() if k != "function"}
    identity = rest.pop("id") if isinstance(rest.get("id"), str) else None
    inner = {k: v for k, v in function.items() if k not in {"name", "arguments"}}
    if inner:
        rest["function"] = inner
    return ToolCall(
        identity,
        name,
        frozen(arguments, f"{where}.arguments"),
        extra=frozen_object(rest, path) if rest else EMPTY,
    )


def _result(
    rest: dict[str, Any], blocks: list[Block], path: str
) -> tuple[ToolResult, bool]:
    identity = name = None
    if rest.get("tool_call_id") is not None:
        where = f"{path}.tool_call_id"
        identity = as_text(rest.pop("tool_call_id"), "tool_call_id", where)
    if rest.get("tool_name") is not None:
        name = as_text(rest.pop("tool_name"), "tool_name", f"{path}.tool_name")
    flags, odd = ResultText(""), False
    if blocks and isinstance(first := blocks[0], Text):
        flags = ResultText.read(first.text)
        odd = flags.write() != first.text
        blocks = [Text(flags.text)]
    result = ToolResult(
        identity,
        (*blocks, *_images(rest, path)),
        is_error=flags.is_error,
        pending=flags.pending,
        interim=flags.interim,
        tool_name=name,
    )
    return result, odd
