"""Gemini's parts: one data field each, in camelCase or snake_case."""

from __future__ import annotations

import re
import string
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
    freeze,
    trusted_call,
    trusted_result,
    trusted_text,
)

from .._shape import as_array, as_object, as_text, frozen
from .._wire import need, rest, take_marker

NAME: Final = "gemini"

SNAKE, INNER, SIGNED, BARE = 1, 2, 4, 8
"""Code of a part: its data field is in snake_case; so are the keys inside; so is the
key of its signature; arguments or response are absent."""

DATA: Final = {
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

SIGNATURES: Final = ("thoughtSignature", "thought_signature")

_TEXT_KEYS: Final = frozenset({"output", "result", "return_value", "content", "text"})
"""Keys under which frameworks put a result that is only text (`output`, and `error`
for failures, are Google's own: https://ai.google.dev/api/caching#FunctionResponse)."""

_BASE64: Final = (string.ascii_letters + string.digits + "+/_-").encode()
_PADDINGS: Final = frozenset({b"", b"=", b"=="})

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
    found = [key for key in part if key in DATA and part[key] is not None]
    if len(found) > 1:
        reason = f"a part has one data field, not both {found[0]!r} and {found[1]!r}"
        raise FormatError(reason, path)
    if not found:
        return Opaque(frozen(part, path), NAME), "0"
    key = found[0]
    kind = DATA[key]
    if key == "text" and len(part) == 1:
        return trusted_text(as_text(part[key], "text", f"{path}.text")), "0"
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
    if kind == "functionResponse" and role not in {"model", "nested"}:
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
        return extra, SIGNED
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
        code, type_key, place = INNER, "mime_type", "file_uri"
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
    # Deleting the alphabet is the fastest look at every character that there is.
    padding = data.encode("ascii", "replace").translate(None, _BASE64)
    bare = len(data) - len(padding)
    if (
        padding not in _PADDINGS
        or not data.endswith(padding.decode())
        or bare % 4 == 1
        or (padding and len(data) % 4)
    ):
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
        arguments = frozen(arguments, where, ".args")
        known.add("args")
    elif "args" not in inner:
        code += BARE
    if more := rest(inner, frozenset(known), where):
        extra["functionCall"] = more
    return trusted_call(call_id, name, arguments, freeze(extra)), f"{code:x}"


def _decode_response(part: dict[str, Any], key: str, path: str) -> tuple[Block, str]:
    where = f"{path}.{key}"
    inner = as_object(part[key], key, where)
    known = {"name", "response"}
    name = need(inner, "name", str, "a string", where)
    call_id = _identity(inner, known, where)
    extra: dict[str, Any] = {}
    code = 0
    if len(part) > 1:
        extra, code = _extra(part, key, "functionResponse", path)
    code += int(key != "functionResponse")
    content: list[Block] = []
    flags: dict[str, Any] = {}
    text_key = None
    if "response" in inner:
        response = as_object(inner["response"], "response", f"{where}.response")
        content, flags, text_key = _decode_content(response, f"{where}.response")
    else:
        code += BARE
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
    result = trusted_result(
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
            return (
                [trusted_text(text)],
                flags,
                None if key in {"error", "output"} else key,
            )
    is_error = bool(response.get("error"))
    return [Json(frozen(response, path))], {"is_error": is_error}, None
