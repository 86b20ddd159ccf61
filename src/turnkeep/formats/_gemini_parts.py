"""Gemini's parts: one data field each, in camelCase or snake_case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
    join_text,
    thaw,
)

from ._shape import as_array, as_object, as_text, compact, frozen, split_data_url
from ._wire import need, object_arguments, put_marker, rest, take_marker

NAME: Final = "gemini"

_SNAKE, _INNER, _SIGNED, _BARE = 1, 2, 4, 8
"""Code of a part: its data field is in snake_case; so are the keys inside; so is the
key of its signature; arguments or response are absent."""

_DATA: Final = {
    "text": "text",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
    "toolCall": "toolCall",
    "tool_call": "toolCall",
    "toolResponse": "toolResponse",
    "tool_response": "toolResponse",
}
"""The data fields of a part, in both spellings, and their names."""

_SNAKES: Final = {
    "inlineData": "inline_data",
    "fileData": "file_data",
    "functionCall": "function_call",
    "functionResponse": "function_response",
}

SIGNATURES: Final = ("thoughtSignature", "thought_signature")

_TEXT_KEYS: Final = frozenset({"output", "result", "return_value", "content", "text"})
"""Keys under which frameworks put a result that is only text (`output`, and `error`
for failures, are Google's own: https://ai.google.dev/api/caching#FunctionResponse)."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*(={0,2})")

_ELSEWHERE: Final = re.compile(r"https?://(?!generativelanguage\.googleapis\.com/)")
"""Addresses that anyone can open; others are ids of Google's file services."""


def decode_part(part: Any, path: str, role: str) -> tuple[Block, str]:
    """One part as a block, and its code (and those of the parts inside it).

    Parts that we do not know, and calls and responses on the wrong side, are carried
    along unchanged.

    Raises:
        FormatError: Two data fields at once, or one that is not what it must be.
    """
    as_object(part, "a part", path)
    found = [key for key in part if key in _DATA and part[key] is not None]
    if len(found) > 1:
        reason = f"a part has one data field, not both {found[0]!r} and {found[1]!r}"
        raise FormatError(reason, path)
    if not found:
        return Opaque(frozen(part, path), NAME), "0"
    key = found[0]
    kind = _DATA[key]
    if key == "text" and len(part) == 1:
        return Text(as_text(part[key], "text", f"{path}.text")), "0"
    code = int(kind != key)
    if kind == "text":
        return _decode_text(part, path)
    if kind in {"inlineData", "fileData"}:
        block, inner = _decode_media(part[key], f"{path}.{key}", kind)
        extra, signed = _extra(part, key, kind, path)
        if inner[1]:
            extra[kind] = inner[1]
        made = attrs.evolve(block, extra=freeze(extra))
        return made, f"{code + inner[0] + signed:x}"
    if kind == "functionCall" and role == "model":
        return _decode_call(part, key, path)
    if kind == "functionResponse" and role != "model":
        return _decode_response(part, key, path)
    return Opaque(frozen(part, path), NAME), "0"


def _extra(
    part: dict[str, Any], key: str, kind: str, path: str
) -> tuple[dict[str, Any], int]:
    """The keys beside data field *key*, and the code of the signature's spelling."""
    extra = dict(rest(part, frozenset({key}), path))
    if kind in extra:
        reason = f"a part has one data field, not both {kind!r} and {key!r}"
        raise FormatError(reason, path)
    if "thought_signature" in extra and "thoughtSignature" not in extra:
        extra["thoughtSignature"] = extra.pop("thought_signature")
        return extra, _SIGNED
    return extra, 0


def _decode_text(part: dict[str, Any], path: str) -> tuple[Block, str]:
    text = as_text(part["text"], "text", f"{path}.text")
    extra, code = _extra(part, "text", "", path)
    if part.get("thought") is not True:
        return Text(text, extra=freeze(extra)), f"{code:x}"
    del extra["thought"]
    signature = None
    if isinstance(extra.get("thoughtSignature"), str):
        signature = extra.pop("thoughtSignature")
    return Thinking(text, signature, extra=freeze(extra)), f"{code:x}"


def _decode_media(
    inner: Any, path: str, kind: str
) -> tuple[Image | Document, tuple[int, FrozenDict]]:
    as_object(inner, kind, path)
    code, type_key, place = 0, "mimeType", "fileUri"
    keys = inner.keys()
    if keys & {"mime_type", "file_uri"} and not keys & {"mimeType", "fileUri"}:
        code, type_key, place = _INNER, "mime_type", "file_uri"
    if kind == "inlineData":
        place = "data"
    value = need(inner, place, str, "a string", path)
    media_type = inner.get(type_key)
    known = {place}
    if media_type is not None:
        as_text(media_type, type_key, f"{path}.{type_key}")
        known.add(type_key)
    elif kind == "inlineData":
        need(inner, type_key, str, "a string", path)
    fields: dict[str, Any] = {"media_type": media_type}
    if kind == "inlineData":
        _check(value, f"{path}.{place}")
        fields["data"] = value
    else:
        fields["url" if _ELSEWHERE.match(value) else "file_id"] = value
    is_image = media_type is not None and media_type.startswith("image/")
    block = (Image if is_image else Document)(**fields)
    return block, (code, rest(inner, frozenset(known), path))


def _check(data: str, path: str) -> None:
    """Refuse cut base64. Google's JSON takes both alphabets, padded or not."""
    found = _BASE64.fullmatch(data)
    bare = len(data) - len(found[1]) if found else 1
    if bare % 4 == 1 or (found and found[1] and len(data) % 4):
        reason = f"base64 of {len(data)} characters is damaged or truncated"
        raise FormatError(reason, path)


def _identity(inner: dict[str, Any], known: set[str], path: str) -> str | None:
    call_id = inner.get("id")
    if call_id is not None:
        as_text(call_id, "id", f"{path}.id")
        known.add("id")
    return call_id


def _decode_call(part: dict[str, Any], key: str, path: str) -> tuple[Block, str]:
    where = f"{path}.{key}"
    inner = as_object(part[key], key, where)
    known = {"name"}
    name = need(inner, "name", str, "a string", where)
    call_id = _identity(inner, known, where)
    extra, code = _extra(part, key, "functionCall", path)
    code += int(key != "functionCall")
    arguments: Any = EMPTY
    if inner.get("args") is not None:
        arguments = as_object(inner["args"], "args", f"{where}.args")
        arguments = frozen(arguments, f"{where}.args")
        known.add("args")
    elif "args" not in inner:
        code += _BARE
    if more := rest(inner, frozenset(known), where):
        extra["functionCall"] = more
    return ToolCall(call_id, name, arguments, extra=freeze(extra)), f"{code:x}"


def _decode_response(part: dict[str, Any], key: str, path: str) -> tuple[Block, str]:
    where = f"{path}.{key}"
    inner = as_object(part[key], key, where)
    known = {"name", "response"}
    name = need(inner, "name", str, "a string", where)
    call_id = _identity(inner, known, where)
    extra, code = _extra(part, key, "functionResponse", path)
    code += int(key != "functionResponse")
    content: list[Block] = []
    flags: dict[str, Any] = {}
    text_key = None
    if "response" in inner:
        response = as_object(inner["response"], "response", f"{where}.response")
        content, flags, text_key = _decode_content(response, f"{where}.response")
    else:
        code += _BARE
    codes = ""
    if inner.get("parts"):
        known.add("parts")
        parts = as_array(inner["parts"], "parts", f"{where}.parts")
        for nth, nested in enumerate(parts):
            block, nested_code = _decode_nested(nested, f"{where}.parts[{nth}]")
            content.append(block)
            codes += nested_code
    more = dict(rest(inner, frozenset(known), where))
    if text_key is not None:
        more["response"] = text_key
    if more:
        extra["functionResponse"] = more
    result = ToolResult(
        call_id, tuple(content), tool_name=name, extra=freeze(extra), **flags
    )
    return result, f"{code:x}{codes}"


def _decode_nested(part: Any, path: str) -> tuple[Block, str]:
    block, code = decode_part(part, path, "nested")
    if isinstance(block, (Image, Document)):
        return block, code
    return Opaque(frozen(part, path), NAME), "0"


def _decode_content(
    response: dict[str, Any], path: str
) -> tuple[list[Block], dict[str, Any], str | None]:
    """Content, flags and the unusual key of a response."""
    if not response:
        return [], {}, None
    if len(response) == 1:
        key, value = next(iter(response.items()))
        if isinstance(value, str) and (key == "error" or key in _TEXT_KEYS):
            text, pending, interim = take_marker(value)
            flags = {
                "is_error": key == "error",
                "pending": pending,
                "interim": interim,
            }
            return [Text(text)], flags, None if key in {"error", "output"} else key
    is_error = bool(response.get("error"))
    return [Json(frozen(response, path))], {"is_error": is_error}, None


@attrs.frozen
class PartWriter:
    """Writes blocks of one message as parts.

    Args:
        own:
            Whether the blocks' `extra` is Gemini's (or the caller's).
        exact:
            Whether the message is from Gemini's wire and unedited.
        names:
            The tool of each call id so far, for results that do not know theirs.
    """

    own: bool
    exact: bool
    names: dict[str, str]

    def write(self, blocks: Sequence[Block], codes: str = "") -> list[dict[str, Any]]:
        """The parts that say *blocks*, without what Gemini cannot carry.

        Empty text is refused (GE-04): only kept where it was, or where nothing else is.
        """
        code = iter(codes)
        made = [
            part for block in blocks if (part := self._part(block, code)) is not None
        ]
        if not self.exact and len(made) > 1:
            made = [part for part in made if part.get("text") != "" or len(part) > 1]
        return made

    def _part(self, block: Block, codes: Iterator[str]) -> dict[str, Any] | None:
        code = int(next(codes, "0"), 16)
        match block:
            case Text():
                return self._more({"text": block.text}, block.extra, code)
            case ToolCall():
                return self._call(block, code)
            case ToolResult():
                return self._result(block, code, codes)
            case Thinking():
                return self._thinking(block, code)
            case Json():
                return {"text": compact(block.value)}
            case Image() | Document():
                return self._media(block, code)
            case Opaque():
                if block.format not in {NAME, None}:
                    return None
                plain: dict[str, Any] = thaw(block.value)
                return plain

    def _more(
        self, part: dict[str, Any], extra: FrozenDict, code: int, kind: str = ""
    ) -> dict[str, Any]:
        if extra and self.own:
            for key, value in extra.items():
                if key == "thoughtSignature" and code & _SIGNED:
                    part["thought_signature"] = value
                elif key != kind:
                    part[key] = thaw(value)
        return part

    def _inner(self, extra: FrozenDict, kind: str) -> dict[str, Any]:
        inner = extra.get(kind) if self.own else None
        return thaw(inner) if isinstance(inner, dict) else {}

    def _thinking(self, block: Thinking, code: int) -> dict[str, Any] | None:
        if not self.own or (block.data is not None and not block.text):
            return None
        part: dict[str, Any] = {"text": block.text, "thought": True}
        if block.signature is not None:
            part[SIGNATURES[bool(code & _SIGNED)]] = block.signature
        return self._more(part, block.extra, code)

    def _call(self, block: ToolCall, code: int) -> dict[str, Any]:
        inner: dict[str, Any] = {} if block.id is None else {"id": block.id}
        if block.id is not None:
            self.names[block.id] = block.name
        inner["name"] = block.name
        more = self._inner(block.extra, "functionCall")
        arguments = object_arguments(block)
        if arguments or not (code & _BARE or "args" in more):
            inner["args"] = arguments
            more.pop("args", None)
        inner |= more
        key = "function_call" if code & _SNAKE else "functionCall"
        return self._more({key: inner}, block.extra, code, "functionCall")

    def _result(
        self, block: ToolResult, code: int, codes: Iterator[str]
    ) -> dict[str, Any]:
        call_id = block.tool_call_id
        inner: dict[str, Any] = {} if call_id is None else {"id": call_id}
        name = block.tool_name
        if name is None:
            name = self.names.get(call_id or "", "unknown_tool")
        inner["name"] = name
        more = self._inner(block.extra, "functionResponse")
        text_key = more.pop("response", None)
        content = put_marker(block)
        said = [b for b in content if isinstance(b, (Text, Json))]
        shown = [b for b in content if not isinstance(b, (Text, Json))]
        if said or block.is_error or not code & _BARE:
            key = text_key if isinstance(text_key, str) else "output"
            inner["response"] = _response(said, "error" if block.is_error else key)
        parts = [part for b in shown if (part := self._part(b, codes)) is not None]
        inner |= more
        if parts:
            inner["parts"] = parts
        key = "function_response" if code & _SNAKE else "functionResponse"
        return self._more({key: inner}, block.extra, code, "functionResponse")

    def _media(self, block: Image | Document, code: int) -> dict[str, Any] | None:
        media_type = block.media_type
        data, place = block.data, block.url
        if place is None and self.own:
            place = block.file_id
        if data is None and place is not None and (found := _inline(place)):
            media_type, data = found
        if data is None and place is None:
            text = block.text if isinstance(block, Document) else None
            return None if text is None else {"text": text}
        snake = bool(code & _INNER)
        inner: dict[str, Any] = {}
        if media_type is None and data is not None:
            is_image = isinstance(block, Image)
            media_type = "image/png" if is_image else "application/pdf"
        if media_type is not None:
            inner["mime_type" if snake else "mimeType"] = media_type
        if data is not None:
            kind = "inlineData"
            inner["data"] = data
        else:
            kind = "fileData"
            inner["file_uri" if snake else "fileUri"] = place
        inner |= self._inner(block.extra, kind)
        key = _SNAKES[kind] if code & _SNAKE else kind
        return self._more({key: inner}, block.extra, code, kind)


def _inline(url: str) -> tuple[str, str] | None:
    try:
        return split_data_url(url, "$")
    except FormatError:
        return None


def _response(said: Sequence[Block], key: str) -> dict[str, Any]:
    """A response object that says text and JSON under *key*, or as it was."""
    if not said:
        return {"error": ""} if key == "error" else {}
    if len(said) == 1 and isinstance(only := said[0], Json):
        value = thaw(only.value)
        if isinstance(value, dict) and (key != "error" or value.get("error")):
            return value
        return {key: value}
    return {key: join_text(said)}
