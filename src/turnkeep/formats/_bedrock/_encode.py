"""Blocks of any origin as Bedrock Converse content blocks."""

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
    thaw,
)

from .._marker_lines import lined_content
from .._shape import (
    compact,
    split_data_url,
)
from .._wire import CallIds, object_arguments
from ._decode import BYTES, DOCUMENTS, MEMBERS, NAME, PACKED, SUCCESS, unpack

_FORMATS: Final = {media_type: name for name, media_type in DOCUMENTS.items()}

_TITLE: Final = re.compile(r"[^a-zA-Z0-9 \-()\[\]]+")
"""What the name of a document must not hold (Converse API reference)."""


def is_sendable(block: Opaque) -> bool:
    """Whether it is a block: from Bedrock, or of nobody and with one member."""
    if block.format is None:
        return len(block.value) == 1 and block.value.keys() <= MEMBERS
    return block.format == NAME


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
                if not block.extra:
                    return {"text": block.text}
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
            case Opaque() if is_sendable(block):
                plain: dict[str, Any] = thaw(block.value)
                return unpack(plain) if code & PACKED else plain
            case _:
                return None

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
            if code & BYTES:
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
        for nested in lined_content(block):
            if isinstance(nested, Json):
                content.append(self._json(nested, codes))
            elif (entry := self._block(nested, codes)) is not None:
                content.append(entry)
        if not self.exact:
            content = [e for e in content if "text" not in e or e["text"].strip()]
            if block.is_error and not content:
                # BR-13: an error without a word is refused.
                content = [{"text": "error"}]
        inner: dict[str, Any] = {
            "toolUseId": self.ids.write(block.tool_call_id),
            "content": content,
        }
        if block.is_error:
            inner["status"] = "error"
        elif code & SUCCESS:
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
            raw = base64.b64decode(data) if code & BYTES else data
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
