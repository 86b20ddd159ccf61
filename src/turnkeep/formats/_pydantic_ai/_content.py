"""What Pydantic AI's prompts and results are made of: texts, pictures, files, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from turnkeep.model import (
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Opaque,
    Text,
    join_text,
    thaw,
)

from .._fields import text_blocks, with_others
from .._shape import check_base64, compact, frozen, wrong
from .._wire import rest

NAME: Final = "pydantic-ai"

_BINARY: Final = frozenset({"data", "media_type", "kind"})
_ADDRESS: Final = frozenset({"url", "media_type", "kind"})
_MEDIA: Final = frozenset(
    {"binary", "image-url", "document-url", "audio-url", "video-url", "uploaded-file"}
)


def read_prompt(content: Any, path: str) -> list[Block]:
    """The blocks of a prompt.

    Raises:
        FormatError: It is neither a text nor a list.
    """
    if isinstance(content, str):
        return list(text_blocks(content))
    if not isinstance(content, (list, tuple)):
        what = "content"
        raise wrong(what, "a string or an array", content, path)
    return [_read_item(item, f"{path}[{nth}]") for nth, item in enumerate(content)]


def read_answer(content: Any, path: str) -> list[Block]:
    """The blocks of a tool's answer, which may be any JSON value.

    Raises:
        FormatError: JSON cannot say it.
    """
    if isinstance(content, str):
        return list(text_blocks(content))
    if isinstance(content, (list, tuple)) and any(map(_is_media, content)):
        return [_read_item(item, f"{path}[{nth}]") for nth, item in enumerate(content)]
    if _is_media(content):
        return [_read_item(content, path)]
    return [Json(frozen(content, path))]


def _is_media(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("kind")
    return isinstance(kind, str) and kind in _MEDIA


def _read_item(item: Any, path: str) -> Block:
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        return Json(frozen(item, path))
    kind, media_type = item.get("kind"), item.get("media_type")
    if not isinstance(kind, str) or not isinstance(media_type, (str, type(None))):
        return Json(frozen(item, path))
    if kind == "binary" and isinstance(item.get("data"), str):
        # Written in the alphabet for addresses; everybody else has the usual one.
        data = item["data"].replace("-", "+").replace("_", "/")
        check_base64(data, f"{path}.data")
        is_image = (media_type or "").startswith("image/")
        extra = _rest(item, _BINARY, path)
        made = Image if is_image else Document
        return made(data, media_type, extra=extra)
    if isinstance(url := item.get("url"), str):
        extra = _rest(item, _ADDRESS, path)
        if kind == "image-url":
            return Image(media_type=media_type, url=url, extra=extra)
        if kind == "document-url":
            return Document(media_type=media_type, url=url, extra=extra)
    if kind in _MEDIA:
        return Opaque(frozen(item, path), NAME)
    return Json(frozen(item, path))


def _rest(item: dict[str, Any], known: frozenset[str], path: str) -> FrozenDict:
    return rest({k: v for k, v in item.items() if v is not None}, known, path)


def write_content(blocks: Sequence[Block], *, own: bool, answer: bool = False) -> Any:
    """What says *blocks*: a text where that is enough.

    Args:
        blocks:
            No calls and no results.
        own:
            Whether the keys in their `extra` are Pydantic AI's.
        answer:
            Whether it is a tool's answer, which may be a JSON value.
    """
    if answer and len(blocks) == 1 and isinstance(only := blocks[0], Json):
        return thaw(only.value)
    if all(isinstance(block, (Text, Json)) for block in blocks):
        if any(isinstance(block, Json) for block in blocks) and not answer and own:
            return [_write_item(block, own=own) for block in blocks]
        return join_text(blocks)
    made = [_write_item(block, own=own) for block in blocks]
    return [item for item in made if item is not None]


def _write_item(block: Block, *, own: bool) -> Any:
    match block:
        case Text():
            return block.text
        case Json():
            return thaw(block.value) if own else compact(block.value)
        case Image() | Document():
            made = _write_media(block)
            if made is None or not own:
                return made
            return with_others(made, block.extra)
        case Opaque() if block.format == NAME:
            return thaw(block.value)
        case _:
            return None


def _write_media(block: Image | Document) -> Any:
    is_image = isinstance(block, Image)
    if block.data is not None:
        data = block.data.replace("+", "-").replace("/", "_")
        usual = "image/png" if is_image else "application/octet-stream"
        made = {"data": data, "media_type": block.media_type or usual}
        return {**made, "kind": "binary"}
    if block.url is not None:
        kind = "image-url" if is_image else "document-url"
        made = {"url": block.url, "kind": kind}
        if block.media_type is not None:
            made["media_type"] = block.media_type
        return made
    return block.text if isinstance(block, Document) else None


def has_place(block: Image | Document) -> bool:
    """Whether there is a way to say what it shows."""
    text = block.text if isinstance(block, Document) else None
    return block.data is not None or block.url is not None or text is not None
