"""Bedrock Converse content blocks: objects with one member each, or bytes in Python."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
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
    thaw,
)

from ._shape import (
    as_array,
    as_object,
    as_text,
    check_base64,
    compact,
    frozen,
    split_data_url,
    wrong,
)
from ._wire import CallIds, need, object_arguments, put_marker, rest, take_marker

NAME: Final = "bedrock"

_BYTES, _PACKED, _SUCCESS = 1, 2, 4
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
        "json",
    }
)
"""Members of a block (botocore 1.44: `ContentBlock`, `ToolResultContentBlock`)."""

_DOCUMENTS: Final = {
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

_FORMATS: Final = {media_type: name for name, media_type in _DOCUMENTS.items()}

_BYTES_KEY: Final = "turnkeep:bytes"
"""Stands for Python bytes inside a block that we do not know."""

_TITLE: Final = re.compile(r"[^a-zA-Z0-9 \-()\[\]]+")
"""What the name of a document must not hold (Converse API reference)."""


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
            return Text(text), "0"
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
        found = attrs.evolve(found, extra=extra)
    return found, code


def _opaque(block: dict[str, Any], path: str) -> tuple[Block, str]:
    try:
        return Opaque(frozen(block, path), NAME), "0"
    except FormatError:
        return Opaque(frozen(_pack(block), path), NAME), f"{_PACKED}"


def _pack(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pack(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(v) for v in value]
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES_KEY: base64.b64encode(value).decode()}
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_BYTES_KEY}:
            return base64.b64decode(value[_BYTES_KEY])
        return {key: _unpack(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_unpack(v) for v in value]
    return value


def _data(value: Any, what: str, path: str) -> tuple[str, int]:
    """Base64 text, and whether it came as Python bytes."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode(), _BYTES
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
        media_type = f"image/{spelled}" if is_image else _DOCUMENTS.get(spelled)
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
    call = ToolCall(
        need(inner, "toolUseId", str, "a string", path),
        need(inner, "name", str, "a string", path),
        frozen(need(inner, "input", dict, "an object", path), f"{path}.input"),
    )
    more = rest(inner, frozenset({"toolUseId", "name", "input"}), path)
    return (attrs.evolve(call, extra=freeze({"toolUse": more})) if more else call), "0"


def _result(inner: dict[str, Any], path: str) -> tuple[Block, str]:
    call_id = need(inner, "toolUseId", str, "a string", path)
    raw = as_array(
        need(inner, "content", object, "an array", path), "'content'", f"{path}.content"
    )
    status = inner.get("status")
    if "status" in inner and status not in ("error", "success"):
        reason = f"unknown status {status!r} (expected success or error)"
        raise FormatError(reason, f"{path}.status")
    code = _SUCCESS if status == "success" else 0
    pairs = [
        decode_block(block, f"{path}.content[{nth}]", "result")
        for nth, block in enumerate(raw)
    ]
    content = [block for block, _ in pairs]
    pending = interim = False
    if content and isinstance(first := content[0], Text):
        text, pending, interim = take_marker(first.text)
        content[0] = attrs.evolve(first, text=text)
    more = rest(inner, frozenset({"toolUseId", "content", "status"}), path)
    result = ToolResult(
        call_id,
        tuple(content),
        is_error=status == "error",
        pending=pending,
        interim=interim,
        extra=freeze({"toolResult": more} if more else {}),
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


@attrs.frozen
class BlockWriter:
    """Writes blocks of messages of one origin.

    Args:
        ids:
            The ids to write.
        own:
            Whether the blocks' `extra` is Bedrock's (or the caller's).
        exact:
            Whether the message is from Bedrock's wire and unedited.
        signed:
            Whether signatures can be those of a model on Bedrock.
    """

    ids: CallIds
    own: bool
    exact: bool
    signed: bool

    def write(self, blocks: Sequence[Block], codes: str = "") -> list[dict[str, Any]]:
        """The wire blocks that say *blocks*, without what Bedrock cannot carry.

        Blank text is refused (BR-05): kept where it was, or where nothing else is.
        """
        return self._write(blocks, iter(codes))

    def _write(
        self, blocks: Sequence[Block], codes: Iterator[str]
    ) -> list[dict[str, Any]]:
        made = [
            entry
            for block in blocks
            if (entry := self._block(block, codes)) is not None
        ]
        if not self.exact and len(made) > 1:
            made = [e for e in made if "text" not in e or e["text"].strip()]
        return made

    def _block(self, block: Block, codes: Iterator[str]) -> dict[str, Any] | None:
        code = int(next(codes, "0"), 16)
        match block:
            case Text():
                return self._more({"text": block.text}, block.extra, "")
            case ToolCall():
                inner = {
                    "toolUseId": self.ids.write(block.id),
                    "name": block.name,
                    "input": object_arguments(block),
                }
                inner |= self._inner(block.extra, "toolUse")
                return self._more({"toolUse": inner}, block.extra, "toolUse")
            case ToolResult():
                return self._result(block, code, codes)
            case Thinking():
                return self._thinking(block, code)
            case Json():
                return self._more({"text": compact(block.value)}, block.extra, "")
            case Image() | Document():
                return self._media(block, code)
            case Opaque():
                if block.format not in {NAME, None}:
                    return None
                plain: dict[str, Any] = thaw(block.value)
                return _unpack(plain) if code & _PACKED else plain

    def _more(
        self, entry: dict[str, Any], extra: FrozenDict, member: str
    ) -> dict[str, Any]:
        if extra and self.own:
            for key, value in extra.items():
                if key != member:
                    entry[key] = thaw(value)
        return entry

    def _inner(self, extra: FrozenDict, member: str) -> dict[str, Any]:
        inner = extra.get(member) if self.own else None
        return thaw(inner) if isinstance(inner, dict) else {}

    def _thinking(self, block: Thinking, code: int) -> dict[str, Any] | None:
        if not self.signed:
            return None
        if block.data is not None:
            data: Any = block.data
            if code & _BYTES:
                data = base64.b64decode(data)
            entry: dict[str, Any] = {"redactedContent": data}
        elif block.signature is None and not self.exact:
            return None
        else:
            said = {"text": block.text}
            if block.signature is not None:
                said["signature"] = block.signature
            entry = {
                "reasoningText": said | self._inner(block.extra, "reasoningContent")
            }
        made = {"reasoningContent": entry}
        return self._more(made, block.extra, "reasoningContent")

    def _result(
        self, block: ToolResult, code: int, codes: Iterator[str]
    ) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        for nested in put_marker(block):
            if isinstance(nested, Json):
                content.append(self._json(nested, codes))
            elif (entry := self._block(nested, codes)) is not None:
                content.append(entry)
        if not self.exact and (len(content) > 1 or not block.is_error):
            content = [e for e in content if "text" not in e or e["text"].strip()]
        if not self.exact and block.is_error and not block.text.strip():
            # BR-13: an error without a word is refused.
            content = [*(e for e in content if e != {"text": ""}), {"text": "error"}]
        inner: dict[str, Any] = {
            "toolUseId": self.ids.write(block.tool_call_id),
            "content": content,
        }
        if block.is_error:
            inner["status"] = "error"
        elif code & _SUCCESS:
            inner["status"] = "success"
        inner |= self._inner(block.extra, "toolResult")
        return self._more({"toolResult": inner}, block.extra, "toolResult")

    def _json(self, block: Json, codes: Iterator[str]) -> dict[str, Any]:
        next(codes, "0")
        value = thaw(block.value)
        if not isinstance(value, dict) and not self.exact:
            return {"text": compact(value)}
        return self._more({"json": value}, block.extra, "json")

    def _media(self, block: Image | Document, code: int) -> dict[str, Any] | None:
        kind = "image" if isinstance(block, Image) else "document"
        more = self._inner(block.extra, kind)
        media_type, source = self._source(block, more.pop("source", {}), code)
        if source is None:
            return None
        inner: dict[str, Any] = {}
        if media_type is not None:
            inner["format"] = _spelled(media_type, kind)
        elif not self.exact and "text" not in source:
            inner["format"] = "png" if kind == "image" else "pdf"
        if isinstance(block, Document):
            if block.title is not None:
                inner["name"] = block.title
            if not self.exact:
                inner["name"] = _TITLE.sub("-", block.title or "document")[:200]
        inner |= {"source": source} | more
        return self._more({kind: inner}, block.extra, kind)

    def _source(
        self, block: Image | Document, more: dict[str, Any], code: int
    ) -> tuple[str | None, dict[str, Any] | None]:
        media_type, data = block.media_type, block.data
        if data is None and block.url is not None:
            if block.url.startswith("s3://") or self.exact:
                location = {"uri": block.url} | more.get("s3Location", {})
                return media_type, {"s3Location": location}
            if found := _inline(block.url):
                media_type, data = found
        if data is not None:
            raw = base64.b64decode(data) if code & _BYTES else data
            return media_type, {"bytes": raw}
        if isinstance(block, Document) and block.text is not None:
            return media_type, {"text": block.text}
        return media_type, more or None


def _inline(url: str) -> tuple[str, str] | None:
    try:
        return split_data_url(url, "$")
    except FormatError:
        return None


def _spelled(media_type: str, kind: str) -> str:
    if kind == "image":
        return media_type.removeprefix("image/")
    return _FORMATS.get(media_type, "txt")
