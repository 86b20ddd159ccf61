"""Blocks of any origin as Anthropic's content blocks."""

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
    thaw,
)

from .._marker_lines import lined_content
from .._shape import (
    compact,
    split_data_url,
)
from .._wire import CallIds, object_arguments
from ._decode import AS_LIST, AS_NULL, NAME, SAYS_FALSE, is_plain

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
        made: list[dict[str, Any]] = []
        for block in blocks:
            if type(block) is Text and not block.extra:
                made.append({"type": "text", "text": block.text})
            elif (entry := self._block(block, codes)) is not None:
                made.append(entry)
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
        content = lined_content(block)
        if is_plain(content) and not code & AS_LIST:
            entry["content"] = content[0].text  # type: ignore[union-attr]
        elif content:
            entry["content"] = self.write(content)
        elif code & AS_LIST:
            entry["content"] = []
        elif code & AS_NULL:
            entry["content"] = None
        if block.is_error:
            entry["is_error"] = True
            if not self.exact and not entry.get("content"):
                # AN-27: an error without a word is refused.
                entry["content"] = "error"
        elif code & SAYS_FALSE:
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
