"""Blocks of any origin as Gemini's parts."""

from __future__ import annotations

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
    join_text,
    thaw,
)

from .._marker_lines import lined_content
from .._shape import compact, split_data_url
from .._wire import object_arguments
from ._decode import BARE, DATA, INNER, NAME, SIGNATURES, SIGNED, SNAKE

_SNAKES: Final = {
    "inlineData": "inline_data",
    "fileData": "file_data",
    "functionCall": "function_call",
    "functionResponse": "function_response",
}


def is_sendable(block: Opaque) -> bool:
    """Whether it is a part: from Gemini, or of nobody and with one data field."""
    if block.format is None:
        return len(block.value.keys() & DATA.keys()) == 1
    return block.format == NAME


@attrs.frozen
class PartWriter:
    """Writes blocks of one message as parts.

    Args:
        names:
            The tool of each call id so far, for results that do not know theirs.
        own:
            Whether the blocks' `extra` is Gemini's (or the caller's).
        exact:
            Whether the message is from Gemini's wire and unedited.
    """

    names: dict[str, str]
    own: bool
    exact: bool

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
                if not block.extra:
                    return {"text": block.text}
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
            case Opaque() if is_sendable(block):
                plain: dict[str, Any] = thaw(block.value)
                return plain
            case _:
                return None

    def _more(
        self, part: dict[str, Any], extra: FrozenDict, code: int, kind: str = ""
    ) -> dict[str, Any]:
        if extra and self.own:
            for key, value in extra.items():
                if key == "thoughtSignature" and code & SIGNED:
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
            part[SIGNATURES[bool(code & SIGNED)]] = block.signature
        return self._more(part, block.extra, code)

    def _call(self, block: ToolCall, code: int) -> dict[str, Any]:
        inner: dict[str, Any] = {} if block.id is None else {"id": block.id}
        if block.id is not None:
            self.names[block.id] = block.name
        inner["name"] = block.name
        more = self._inner(block.extra, "functionCall")
        arguments = object_arguments(block)
        if arguments or not (code & BARE or "args" in more):
            inner["args"] = arguments
            more.pop("args", None)
        inner |= more
        key = "function_call" if code & SNAKE else "functionCall"
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
        content = lined_content(block)
        said = [b for b in content if isinstance(b, (Text, Json))]
        shown = [b for b in content if not isinstance(b, (Text, Json))]
        if said or block.is_error or not code & BARE:
            key = text_key if isinstance(text_key, str) else "output"
            inner["response"] = _response(said, "error" if block.is_error else key)
        parts = [part for b in shown if (part := self._part(b, codes)) is not None]
        inner |= more
        if parts:
            inner["parts"] = parts
        key = "function_response" if code & SNAKE else "functionResponse"
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
        snake = bool(code & INNER)
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
        key = _SNAKES[kind] if code & SNAKE else kind
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
