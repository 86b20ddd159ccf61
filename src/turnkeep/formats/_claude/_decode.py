"""Anthropic's content blocks as requests, responses and session files have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
    trusted_call,
    trusted_result,
    trusted_text,
)

from .._shape import (
    MARKS,
    as_array,
    as_object,
    as_text,
    check_base64,
    frozen,
)
from .._wire import need, rest, take_marker

NAME: Final = "anthropic"

AS_LIST, AS_NULL = 1, 2
SAYS_FALSE: Final = 4
"""Codes of a tool result: its content is a list where text would do, or null; and
`is_error` is there though it is false."""

_TEXT: Final = frozenset({"type", "text"})
_CALL: Final = frozenset({"type", "id", "name", "input"})
_RESULT: Final = frozenset({"type", "tool_use_id", "content", "is_error"})
_MEDIA: Final = frozenset({"type", "source", "title"})
_SOURCE: Final = {
    "base64": frozenset({"type", "media_type", "data"}),
    "text": frozenset({"type", "media_type", "data"}),
    "url": frozenset({"type", "url"}),
    "file": frozenset({"type", "file_id"}),
}


def decode_text(block: dict[str, Any], path: str) -> Text:
    """A text block; citations and cache marks stand in its `extra`."""
    text = need(block, "text", str, "a string", path)
    if len(block) == 2:
        return trusted_text(text)
    return Text(text, extra=rest(block, _TEXT, path))


def _thinking(block: dict[str, Any], path: str) -> Thinking:
    text = need(block, "thinking", str, "a string", path)
    signature = block.get("signature")
    known = {"type", "thinking"}
    if signature is not None:
        as_text(signature, "signature", f"{path}.signature")
        known.add("signature")
    extra = rest(block, frozenset(known), path)
    return Thinking(text, signature, extra=extra)


def _redacted(block: dict[str, Any], path: str) -> Thinking:
    data = need(block, "data", str, "a string", path)
    return Thinking(data=data, extra=rest(block, frozenset({"type", "data"}), path))


def _call(block: dict[str, Any], path: str) -> ToolCall:
    call_id, name, given = block.get("id"), block.get("name"), block.get("input")
    if type(call_id) is not str or type(name) is not str or type(given) is not dict:
        call_id = need(block, "id", str, "a string", path)
        name = need(block, "name", str, "a string", path)
        given = need(block, "input", dict, "an object", path)
    arguments = frozen(given, path, ".input")
    extra = EMPTY if len(block) == 4 else rest(block, _CALL, path)
    return trusted_call(call_id, name, arguments, extra)


def _media(block: dict[str, Any], path: str) -> Image | Document:
    """An image or a document.

    Keys of the source that have no field stand in `extra["source"]`; a source of an
    unknown type stands there whole.
    """
    is_image = block["type"] == "image"
    source = need(block, "source", dict, "an object", path)
    where = f"{path}.source"
    kind = need(source, "type", str, "a string", where)
    extra = dict(rest(block, _MEDIA, path))
    fields: dict[str, Any] = {}
    if kind not in _SOURCE or (is_image and kind == "text"):
        extra["source"] = frozen(source, where)
    else:
        for key in _SOURCE[kind] - {"type"}:
            value = need(source, key, str, "a string", where)
            fields["text" if key == "data" and kind == "text" else key] = value
        if kind == "base64":
            check_base64(source["data"], f"{where}.data")
        if more := rest(source, _SOURCE[kind], where):
            extra["source"] = more
    title = block.get("title")
    if not is_image and isinstance(title, str):
        fields["title"] = title
    elif "title" in block:
        extra["title"] = frozen(title, f"{path}.title")
    return (Image if is_image else Document)(**fields, extra=freeze(extra))


def _opaque(block: dict[str, Any], path: str) -> Opaque:
    return Opaque(frozen(block, path), NAME)


_DECODERS: Final[dict[str, Callable[[dict[str, Any], str], Block]]] = {
    "text": decode_text,
    "image": _media,
    "document": _media,
}
_ASSISTANT: Final[dict[str, Callable[[dict[str, Any], str], Block]]] = {
    **_DECODERS,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
}
"""Blocks that only the model makes; in a user message they mean nothing (AN-16)."""


def plain_texts(content: Sequence[Any]) -> tuple[Text, ...] | None:
    """The blocks of content that is nothing but plain texts; none for any other."""
    texts = []
    for block in content:
        if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
            return None
        text = block.get("text")
        if type(text) is not str:
            return None
        texts.append(trusted_text(text))
    return tuple(texts) if texts and not texts[0].text.startswith(MARKS) else None


def decode_blocks(
    content: Sequence[Any], path: str, role: str, codes: list[str] | None
) -> list[Block]:
    """The blocks of a message's content.

    Calls, results and reasoning where they may not stand, server tool blocks (which
    the same message answers) and unknown types are carried along unchanged.

    Args:
        content:
            The list of wire blocks.
        path:
            Its JSON path.
        role:
            Of the message; `"result"` inside a tool result.
        codes:
            Gets the code of each tool result, and empty text for every other block;
            none where results may not stand.

    Raises:
        FormatError: A block of a known type is not what that type demands.
    """
    decoders = _ASSISTANT if role == "assistant" else _DECODERS
    blocks: list[Block] = []
    for nth, block in enumerate(content):
        if (
            type(block) is dict
            and len(block) == 2
            and block.get("type") == "text"
            and type(text := block.get("text")) is str
        ):
            # The common case.
            blocks.append(trusted_text(text))
            if codes is not None:
                codes.append("")
            continue
        where = f"{path}[{nth}]"
        kind = as_object(block, "a content block", where).get("type")
        if type(kind) is not str:
            need(block, "type", str, "a string", where)
        if kind == "tool_result" and codes is not None:
            result, code = _result(block, where)
            codes.append(str(code))
            blocks.append(result)
        else:
            blocks.append(decoders.get(str(kind), _opaque)(block, where))
            if codes is not None:
                codes.append("")
    return blocks


def _result(block: dict[str, Any], path: str) -> tuple[ToolResult, int]:
    call_id = block.get("tool_use_id")
    if type(call_id) is not str:
        call_id = need(block, "tool_use_id", str, "a string", path)
    raw = block.get("content")
    is_error = block.get("is_error")
    code = 0
    if is_error is False:
        code = SAYS_FALSE
    elif "is_error" in block:
        need(block, "is_error", bool, "a boolean", path)
    content: Sequence[Block] = ()
    pending = interim = False
    if isinstance(raw, str):
        text, pending, interim = take_marker(raw)
        content = (trusted_text(text),)
    elif raw is not None:
        raw = as_array(raw, "the content of a tool result", f"{path}.content")
        content = decode_blocks(raw, f"{path}.content", "result", None)
        if not content or is_plain(content):
            code += AS_LIST
        if content and isinstance(first := content[0], Text):
            text, pending, interim = take_marker(first.text)
            if text is not first.text:
                content = [attrs.evolve(first, text=text), *content[1:]]
    elif "content" in block:
        code += AS_NULL
    result = trusted_result(
        call_id,
        tuple(content),
        is_error is True,
        pending,
        interim,
        extra=rest(block, _RESULT, path),
    )
    return result, code


def is_plain(blocks: Sequence[Block]) -> bool:
    """Whether content is one text without further keys: a string says it as well."""
    return len(blocks) == 1 and isinstance(blocks[0], Text) and not blocks[0].extra
