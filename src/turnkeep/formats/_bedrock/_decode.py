"""Bedrock Converse content blocks: objects with one member each."""

from __future__ import annotations

import base64
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    MAX_DEPTH,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    freeze,
    trusted_call,
    trusted_result,
    trusted_text,
)

from .._shape import (
    as_array,
    as_object,
    as_text,
    check_base64,
    frozen,
    wrong,
)
from .._wire import need, rest, take_marker

NAME: Final = "bedrock"

BYTES, PACKED, SUCCESS = 1, 2, 4
"""Codes: data came as Python bytes; so did something in a block that we do not know;
a result says that it is a success."""

MEMBERS: Final = frozenset(
    {
        "text",
        "image",
        "document",
        "video",
        "audio",
        "toolUse",
        "toolResult",
        "guardContent",
        "cachePoint",
        "reasoningContent",
        "citationsContent",
        "searchResult",
        "toolAddition",
        "toolRemoval",
        "json",
    }
)
"""Members of a block (botocore 1.44: `ContentBlock`, `ToolResultContentBlock`)."""

DOCUMENTS: Final = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
"""Formats of documents (botocore 1.44, `DocumentFormat`) and their media types."""

_CALL: Final = frozenset({"toolUseId", "name", "input"})
_RESULT: Final = frozenset({"toolUseId", "content", "status"})
_BYTES_KEY: Final = "turnkeep:bytes"
"""Stands for Python bytes inside a block that we do not know."""


def decode_block(block: Any, path: str, role: str) -> tuple[Block, str]:
    """One block, and its code (and those of the blocks inside it).

    Server tool calls, calls and results on the wrong side, and members that we do not
    know are carried along unchanged.

    Raises:
        FormatError: Two members at once, or one that is not what it must be.
    """
    as_object(block, "a content block", path)
    members = [key for key in block if key in MEMBERS]
    if len(members) > 1:
        reason = f"a block has one member, not both {members[0]!r} and {members[1]!r}"
        raise FormatError(reason, path)
    if not block:
        reason = "a block has one member, this one has none"
        raise FormatError(reason, path)
    member = members[0] if members else ""
    if member == "text":
        text = as_text(block["text"], "text", f"{path}.text")
        if len(block) == 1:
            return trusted_text(text), "0"
        return Text(text, extra=rest(block, frozenset({"text"}), path)), "0"
    made = None
    inner = block.get(member)
    where = f"{path}.{member}"
    if member in {"image", "document"}:
        made = _media(as_object(inner, member, where), member, where)
    elif member == "toolUse" and role == "assistant":
        made = _call(as_object(inner, member, where), where)
    elif member == "toolResult" and role == "user":
        made = _result(as_object(inner, member, where), where)
    elif member == "reasoningContent" and role == "assistant":
        made = _reasoning(as_object(inner, member, where), where)
    elif member == "json" and role == "result":
        made = Json(frozen(inner, where)), "0"
    if made is None:
        return _opaque(block, path)
    found, code = made
    if len(block) > 1:
        more = rest(block, frozenset({member}), path)
        extra = freeze({**more, **getattr(found, "extra", {})})
        found = _with_extra(found, extra)
    return found, code


def _with_extra(block: Block, extra: FrozenDict) -> Block:
    if isinstance(block, ToolCall):
        return ToolCall(block.id, block.name, block.arguments_value, extra=extra)
    made: Block = attrs.evolve(block, extra=extra)  # type: ignore[arg-type]
    return made


def _opaque(block: dict[str, Any], path: str) -> tuple[Block, str]:
    try:
        return Opaque(frozen(block, path), NAME), "0"
    except FormatError:
        return Opaque(frozen(_pack(block), path), NAME), f"{PACKED}"


def _pack(value: Any, depth: int = 0) -> Any:
    """*value* with bytes as text; `frozen` refuses what is deeper than it looks."""
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _pack(v, depth + 1) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(v, depth + 1) for v in value]
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES_KEY: base64.b64encode(value).decode()}
    return value


def unpack(value: Any) -> Any:
    """What `_pack` packed, as it was."""
    if isinstance(value, dict):
        if value.keys() == {_BYTES_KEY}:
            return base64.b64decode(value[_BYTES_KEY])
        return {key: unpack(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [unpack(v) for v in value]
    return value


def _data(value: Any, what: str, path: str) -> tuple[str, int]:
    """Base64 text, and whether it came as Python bytes."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode(), BYTES
    if not isinstance(value, str):
        raise wrong(what, "base64 text or bytes", value, path)
    check_base64(value, path)
    return value, 0


def _media(inner: dict[str, Any], kind: str, path: str) -> tuple[Block, str]:
    """An image or a document; `extra[kind]` holds what has no field."""
    is_image = kind == "image"
    fields: dict[str, Any] = {}
    known = {"source"}
    code = 0
    spelled = inner.get("format")
    if spelled is not None:
        as_text(spelled, "format", f"{path}.format")
        media_type = f"image/{spelled}" if is_image else DOCUMENTS.get(spelled)
        if media_type is not None:
            known.add("format")
            fields["media_type"] = media_type
    if not is_image and inner.get("name") is not None:
        known.add("name")
        fields["title"] = as_text(inner["name"], "name", f"{path}.name")
    source = need(inner, "source", dict, "an object", path)
    where = f"{path}.source"
    if len(source) != 1:
        reason = f"a source has one member, not {len(source)}"
        raise FormatError(reason, where)
    more = dict(rest(inner, frozenset(known), path))
    if "bytes" in source:
        fields["data"], code = _data(source["bytes"], "bytes", f"{where}.bytes")
    elif "text" in source and not is_image:
        fields["text"] = as_text(source["text"], "text", f"{where}.text")
    elif "s3Location" in source:
        place = f"{where}.s3Location"
        location = as_object(source["s3Location"], "s3Location", place)
        fields["url"] = need(location, "uri", str, "a string", place)
        if owner := rest(location, frozenset({"uri"}), place):
            more["source"] = {"s3Location": owner}
    else:
        more["source"] = frozen(source, where)
    extra = freeze({kind: more} if more else {})
    return (Image if is_image else Document)(**fields, extra=extra), f"{code}"


def _call(inner: dict[str, Any], path: str) -> tuple[Block, str] | None:
    if "type" in inner:
        return None
    more = rest(inner, _CALL, path)
    call = trusted_call(
        need(inner, "toolUseId", str, "a string", path),
        need(inner, "name", str, "a string", path),
        frozen(need(inner, "input", dict, "an object", path), path, ".input"),
        FrozenDict(toolUse=more) if more else EMPTY,
    )
    return call, "0"


def _result(inner: dict[str, Any], path: str) -> tuple[Block, str]:
    call_id = need(inner, "toolUseId", str, "a string", path)
    raw = as_array(
        need(inner, "content", object, "an array", path), "'content'", f"{path}.content"
    )
    status = inner.get("status")
    if "status" in inner and status not in ("error", "success"):
        reason = f"unknown status {status!r} (expected success or error)"
        raise FormatError(reason, f"{path}.status")
    code = SUCCESS if status == "success" else 0
    pairs = [
        decode_block(block, f"{path}.content[{nth}]", "result")
        for nth, block in enumerate(raw)
    ]
    content = [block for block, _ in pairs]
    pending = interim = False
    if content and isinstance(first := content[0], Text):
        text, pending, interim = take_marker(first.text)
        if text is not first.text:
            content[0] = attrs.evolve(first, text=text)
    more = rest(inner, _RESULT, path)
    result = trusted_result(
        call_id,
        tuple(content),
        status == "error",
        pending,
        interim,
        extra=FrozenDict(toolResult=more) if more else EMPTY,
    )
    return result, f"{code}{''.join(code for _, code in pairs)}"


def _reasoning(inner: dict[str, Any], path: str) -> tuple[Block, str] | None:
    if inner.keys() == {"redactedContent"}:
        where = f"{path}.redactedContent"
        value, code = inner["redactedContent"], 0
        if not isinstance(value, str):
            value, code = _data(value, "redactedContent", where)
        return Thinking(data=value), f"{code}"
    if inner.keys() != {"reasoningText"}:
        return None
    where = f"{path}.reasoningText"
    said = as_object(inner["reasoningText"], "reasoningText", where)
    text = need(said, "text", str, "a string", where)
    known = {"text"}
    if said.get("signature") is not None:
        as_text(said["signature"], "signature", f"{where}.signature")
        known.add("signature")
    more = rest(said, frozenset(known), where)
    signature = said.get("signature")
    return Thinking(
        text, signature, extra=freeze({"reasoningContent": more} if more else {})
    ), "0"
