"""LangChain's content: a text, or parts in its own or any provider's spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

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
    thaw,
)

from .._fields import checked, text_blocks, with_others
from .._shape import as_text, check_base64, compact, frozen, split_data_url, wrong
from .._wire import rest

NAME: Final = "langchain"

CALLS: Final = frozenset({"tool_use", "tool_call", "function_call", "custom_tool_call"})
"""Parts that say a call once more: it stands under `tool_calls` as well."""

_TEXT_KEYS: Final = frozenset({"type", "text"})
_THINKING_KEYS: Final = frozenset({"type", "thinking", "signature", "data"})
_REASONING_KEYS: Final = frozenset({"type", "reasoning"})
_MEDIA_KEYS: Final = frozenset(
    {"type", "base64", "mime_type", "url", "file_id", "filename"}
)
_PLAIN_KEYS: Final = frozenset({"type", "text", "mime_type", "title"})
_URL_KEYS: Final = frozenset({"type", "image_url"})


def read_content(content: Any, path: str) -> tuple[list[Block], list[dict[str, Any]]]:
    """The blocks of a content, and apart from them the parts that say calls.

    Raises:
        FormatError: It is neither text nor a list of texts and parts.
    """
    if isinstance(content, str):
        return list(text_blocks(content)), []
    if not isinstance(content, (list, tuple)):
        what = "content"
        raise wrong(what, "a string or an array", content, path)
    blocks: list[Block] = []
    calls: list[dict[str, Any]] = []
    for nth, part in enumerate(content):
        where = f"{path}[{nth}]"
        if isinstance(part, str):
            blocks.append(Text(part))
            continue
        checked(part, "a content part", dict, where)
        if isinstance(part.get("type"), str) and part["type"] in CALLS:
            calls.append(part)
        else:
            blocks.append(_read(part, where))
    return blocks, calls


def _read(part: dict[str, Any], path: str) -> Block:
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"], extra=rest(part, _TEXT_KEYS, path))
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        return _thinking(part, path)
    if kind == "redacted_thinking" and isinstance(part.get("data"), str):
        return Thinking(data=part["data"], extra=rest(part, _THINKING_KEYS, path))
    if kind == "reasoning" and isinstance(part.get("reasoning"), str):
        extra = frozen({"type": kind, **rest(part, _REASONING_KEYS, path)}, path)
        return Thinking(part["reasoning"], extra=extra)
    if kind == "image_url" and (image := _image_by_url(part, path)) is not None:
        return image
    if kind in {"image", "file"} and _is_standard(part):
        return _media(part, path)
    if kind == "text-plain" and isinstance(part.get("text"), str):
        return Document(
            text=part["text"],
            media_type=_text(part, "mime_type", path),
            title=_text(part, "title", path),
            extra=rest(part, _PLAIN_KEYS, path),
        )
    return Opaque(frozen(part, path), NAME)


def _thinking(part: dict[str, Any], path: str) -> Thinking:
    return Thinking(
        part["thinking"],
        signature=_text(part, "signature", path),
        data=_text(part, "data", path),
        extra=rest(part, _THINKING_KEYS, path),
    )


def _text(part: Mapping[str, Any], key: str, path: str) -> str | None:
    value = part.get(key)
    return None if value is None else as_text(value, key, f"{path}.{key}")


def _image_by_url(part: dict[str, Any], path: str) -> Image | None:
    """OpenAI's part: an address, or inline data in one."""
    where = f"{path}.image_url"
    found = part.get("image_url")
    inside = found if isinstance(found, dict) else {"url": found}
    url, detail = inside.get("url"), inside.get("detail")
    if not isinstance(url, str) or not inside.keys() <= {"url", "detail"}:
        return None
    if not isinstance(detail, (str, type(None))):
        return None
    extra = rest(part, _URL_KEYS, path)
    inline = split_data_url(url, f"{where}.url")
    if inline is None:
        return Image(url=url, detail=detail, extra=extra)
    media_type, data = inline
    return Image(data, media_type, detail=detail, extra=extra)


def _is_standard(part: Mapping[str, Any]) -> bool:
    """Whether a picture or file is in LangChain's own spelling."""
    sources = [key for key in ("base64", "url", "file_id") if part.get(key) is not None]
    return len(sources) == 1 and isinstance(part[sources[0]], str)


def _media(part: dict[str, Any], path: str) -> Image | Document:
    data = part.get("base64")
    if data is not None:
        check_base64(data, f"{path}.base64")
    media_type = _text(part, "mime_type", path)
    extra = rest(part, _MEDIA_KEYS, path)
    if part["type"] == "image":
        extra = frozen({"type": "image", **extra}, path)
        if "filename" in part:
            extra = frozen({**extra, "filename": part["filename"]}, path)
        return Image(
            data,
            media_type,
            url=part.get("url"),
            file_id=part.get("file_id"),
            extra=extra,
        )
    return Document(
        data,
        media_type,
        url=part.get("url"),
        file_id=part.get("file_id"),
        title=_text(part, "filename", path),
        extra=extra,
    )


def write_content(blocks: Sequence[Block], *, own: bool, listed: bool) -> Any:
    """Content that says *blocks*; a text where that is enough and it is not *listed*.

    Args:
        blocks:
            Calls and results among them are left out.
        own:
            Whether the keys in their `extra` are LangChain's.
        listed:
            Whether a list is wanted in any case.
    """
    parts = [made for block in blocks if (made := _write(block, own=own)) is not None]
    if listed:
        return parts
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].keys() == _TEXT_KEYS and parts[0]["text"]:
        return parts[0]["text"]
    return parts


def _write(block: Block, *, own: bool) -> dict[str, Any] | None:
    if isinstance(block, Opaque):
        return dict(thaw(block.value)) if block.format == NAME else None
    extra: FrozenDict = block.extra if own else EMPTY
    match block:
        case Text():
            made: dict[str, Any] | None = {"type": "text", "text": block.text}
        case Json():
            made = {"type": "text", "text": compact(block.value)}
        case Thinking():
            made = _write_thinking(block, extra)
        case Image():
            made = _write_image(block, extra)
        case Document():
            made = _write_file(block)
        case ToolCall() | ToolResult():
            made = None
    return None if made is None else with_others(made, extra)


def _write_thinking(block: Thinking, extra: FrozenDict) -> dict[str, Any]:
    if extra.get("type") == "reasoning":
        return {"type": "reasoning", "reasoning": block.text}
    seals = {"signature": block.signature, "data": block.data}
    made = {key: value for key, value in seals.items() if value is not None}
    if made.keys() == {"data"} and not block.text:
        return {"type": "redacted_thinking", **made}
    return {"type": "thinking", "thinking": block.text, **made}


def _write_image(block: Image, extra: FrozenDict) -> dict[str, Any] | None:
    if block.file_id is not None or extra.get("type") == "image":
        return _standard("image", block)
    url = block.url
    if block.data is not None:
        url = f"data:{block.media_type or ''};base64,{block.data}"
    if url is None:
        return None
    inside = {"url": url}
    if block.detail is not None:
        inside["detail"] = block.detail
    return {"type": "image_url", "image_url": inside}


def _write_file(block: Document) -> dict[str, Any] | None:
    if block.text is not None:
        made = {"type": "text-plain", "text": block.text}
        known = {"mime_type": block.media_type, "title": block.title}
        return made | {key: v for key, v in known.items() if v is not None}
    standard = _standard("file", block)
    if standard is not None and block.title is not None:
        standard["filename"] = block.title
    return standard


def _standard(kind: str, block: Image | Document) -> dict[str, Any] | None:
    sources = {"base64": block.data, "url": block.url, "file_id": block.file_id}
    source = next(((k, v) for k, v in sources.items() if v is not None), None)
    if source is None:
        return None
    made = {"type": kind, source[0]: source[1]}
    if block.media_type is not None:
        made["mime_type"] = block.media_type
    return made
