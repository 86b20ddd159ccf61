"""Anthropic's content blocks, as requests, responses and session files have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
)
from ._wire import CallIds, need, object_arguments, put_marker, rest, take_marker

NAME: Final = "anthropic"

_LIST, _NULL = 1, 2
_FALSE: Final = 4
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
        return Text(text)
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
    return ToolCall(
        need(block, "id", str, "a string", path),
        need(block, "name", str, "a string", path),
        frozen(need(block, "input", dict, "an object", path), f"{path}.input"),
        extra=rest(block, _CALL, path),
    )


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
    call_id = need(block, "tool_use_id", str, "a string", path)
    is_error = block.get("is_error")
    code = 0
    if is_error is False:
        code = _FALSE
    elif "is_error" in block:
        need(block, "is_error", bool, "a boolean", path)
    content: Sequence[Block] = ()
    pending = interim = False
    raw = block.get("content")
    if isinstance(raw, str):
        text, pending, interim = take_marker(raw)
        content = (Text(text),)
    elif raw is not None:
        raw = as_array(raw, "the content of a tool result", f"{path}.content")
        content = decode_blocks(raw, f"{path}.content", "result", None)
        if not content or is_plain(content):
            code += _LIST
        if content and isinstance(first := content[0], Text):
            text, pending, interim = take_marker(first.text)
            if text is not first.text:
                content = [attrs.evolve(first, text=text), *content[1:]]
    elif "content" in block:
        code += _NULL
    result = ToolResult(
        call_id,
        tuple(content),
        is_error=is_error is True,
        pending=pending,
        interim=interim,
        extra=rest(block, _RESULT, path),
    )
    return result, code


def is_plain(blocks: Sequence[Block]) -> bool:
    """Whether content is one text without further keys: a string says it as well."""
    return len(blocks) == 1 and isinstance(blocks[0], Text) and not blocks[0].extra


_NO_CODES: Final[Iterator[str]] = iter("")


@attrs.frozen
class BlockWriter:
    """Writes blocks of messages of one origin.

    Args:
        ids:
            The ids to write.
        own:
            Whether the blocks' `extra` is Anthropic's (or the caller's).
        exact:
            Whether the message is from Anthropic's wire and unedited: written as it
            was, even where the API would refuse it.
        signed:
            Whether signatures can be Anthropic's.
    """

    ids: CallIds
    own: bool
    exact: bool
    signed: bool

    def write(
        self, blocks: Sequence[Block], codes: Iterator[str] = _NO_CODES
    ) -> list[dict[str, Any]]:
        """The wire blocks that say *blocks*, without what Anthropic cannot carry.

        Empty text is refused beside other blocks (AN-06): only kept where it was.
        """
        made = [
            entry
            for block in blocks
            if (entry := self._block(block, codes)) is not None
        ]
        if not self.exact and len(made) > 1:
            made = [e for e in made if e["type"] != "text" or e["text"].strip()]
        return made

    def _block(self, block: Block, codes: Iterator[str]) -> dict[str, Any] | None:
        match block:
            case Text():
                return self._more({"type": "text", "text": block.text}, block.extra)
            case ToolCall():
                entry = {
                    "type": "tool_use",
                    "id": self.ids.write(block.id),
                    "name": block.name,
                    "input": object_arguments(block),
                }
                return self._more(entry, block.extra)
            case ToolResult():
                return self._result(block, int(next(codes, "0"), 16))
            case Thinking():
                return self._thinking(block)
            case Json():
                return {"type": "text", "text": compact(block.value)}
            case Image():
                return self._image(block)
            case Document():
                return self._document(block)
            case Opaque() if block.format in {NAME, None}:
                plain: dict[str, Any] = thaw(block.value)
                return plain
            case _:
                return None

    def _more(
        self,
        entry: dict[str, Any],
        extra: FrozenDict,
        *,
        without: str = "",
    ) -> dict[str, Any]:
        if extra and self.own:
            for key, value in extra.items():
                if key != without:
                    entry[key] = thaw(value)
        return entry

    def _thinking(self, block: Thinking) -> dict[str, Any] | None:
        if not self.signed:
            return None
        if block.data is not None:
            entry = {"type": "redacted_thinking", "data": block.data}
            return self._more(entry, block.extra)
        if block.signature is None and not self.exact:
            return None
        entry = {"type": "thinking", "thinking": block.text}
        if block.signature is not None:
            entry["signature"] = block.signature
        return self._more(entry, block.extra)

    def _image(self, block: Image) -> dict[str, Any] | None:
        source = self._source(block)
        if source is None:
            return None
        entry = {"type": "image", "source": source}
        return self._more(entry, block.extra, without="source")

    def _document(self, block: Document) -> dict[str, Any] | None:
        source = self._source(block)
        if source is None:
            return None
        entry: dict[str, Any] = {"type": "document", "source": source}
        if block.title is not None:
            entry["title"] = block.title
        return self._more(entry, block.extra, without="source")

    def _source(self, block: Image | Document) -> dict[str, Any] | None:
        more = thaw(block.extra.get("source", {})) if self.own else {}
        if "type" in more:
            return dict(more)
        if isinstance(block, Document) and block.text is not None:
            media_type = block.media_type or "text/plain"
            made = {"type": "text", "media_type": media_type, "data": block.text}
        elif block.data is not None:
            is_image = isinstance(block, Image)
            media_type = block.media_type or (
                "image/png" if is_image else "application/pdf"
            )
            made = {"type": "base64", "media_type": media_type, "data": block.data}
        elif block.url is not None:
            made = _url_source(block.url)
        elif block.file_id is not None and self.own:
            made = {"type": "file", "file_id": block.file_id}
        else:
            return None
        return made | more

    def _result(self, block: ToolResult, code: int) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": self.ids.write(block.tool_call_id),
        }
        content = put_marker(block)
        if is_plain(content) and not code & _LIST:
            entry["content"] = content[0].text  # type: ignore[union-attr]
        elif content:
            entry["content"] = self.write(content)
        elif code & _LIST:
            entry["content"] = []
        elif code & _NULL:
            entry["content"] = None
        if block.is_error:
            entry["is_error"] = True
            if not self.exact and not entry.get("content"):
                # AN-27: an error without a word is refused.
                entry["content"] = "error"
        elif code & _FALSE:
            entry["is_error"] = False
        return self._more(entry, block.extra)


def _url_source(url: str) -> dict[str, str]:
    try:
        found = split_data_url(url, "$")
    except FormatError:
        found = None
    if found is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": found[0], "data": found[1]}
