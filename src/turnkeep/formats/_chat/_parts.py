"""Content parts of chat messages, as OpenAI spells them."""

from __future__ import annotations

from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import Block, Document, FrozenDict, Image, Json, Opaque, Text, thaw

from .._shape import (
    as_object,
    as_text,
    frozen,
    frozen_object,
    json_text,
    json_type,
    split_data_url,
)

_IMAGE_HEADS = {
    "/9j/": "image/jpeg",
    "iVBOR": "image/png",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBER": "application/pdf",
}
"""How the base64 of each kind of file begins: its magic bytes, encoded."""

_REFUSAL = FrozenDict(type="refusal")


def media_type_of(data: str, default: str = "image/png") -> str:
    """The media type that base64 *data* shows in its first bytes, else *default*."""
    for head, media_type in _IMAGE_HEADS.items():
        if data.startswith(head):
            return media_type
    return default


def refusal(text: str) -> Text:
    """What the model said instead of an answer: text that knows it is a refusal."""
    return Text(text, extra=_REFUSAL)


def is_refusal(block: Block) -> bool:
    """Whether *block* is a refusal."""
    return isinstance(block, Text) and block.extra.get("type") == "refusal"


def decode_part(part: Any, path: str, name: str) -> Block:
    """One content part as a block; unknown types become opaque blocks of format *name*.

    Raises:
        FormatError: A known type without its content, or with one of the wrong type.
    """
    kind = as_object(part, "a content part", path).get("type")
    match kind:
        case "text":
            text = as_text(part.get("text"), "text", f"{path}.text")
            if len(part) == 2:
                return Text(text)
            return Text(text, extra=_rest(part, path, "type", "text"))
        case "image_url":
            return _decode_image(part, path)
        case "file":
            return _decode_file(part, path, name)
        case "refusal" if len(part) == 2:
            return refusal(as_text(part.get("refusal"), "refusal", f"{path}.refusal"))
        case None | str():
            return Opaque(frozen(part, path), name)
        case _:
            reason = (
                f"the type of a content part must be a string, got {json_type(kind)}"
            )
            raise FormatError(reason, f"{path}.type")


def _rest(part: dict[str, Any], path: str, *known: str) -> Any:
    return frozen_object({k: v for k, v in part.items() if k not in known}, path)


def _decode_image(part: dict[str, Any], path: str) -> Block:
    where = f"{path}.image_url"
    inner = part.get("image_url")
    if isinstance(inner, str):
        # Mistral's spelling, accepted by some servers: not ours to rewrite.
        inner = {"url": inner}
    inner = as_object(inner, "image_url", where)
    url = as_text(inner.get("url"), "the address of an image", f"{where}.url")
    detail = inner.get("detail")
    if detail is not None:
        as_text(detail, "detail", f"{where}.detail")
    found = split_data_url(url, f"{where}.url")
    made = (
        Image(url=url, detail=detail)
        if found is None
        else Image(found[1], found[0], detail=detail)
    )
    extra = {k: v for k, v in part.items() if k not in {"type", "image_url"}}
    made = attrs.evolve(made, extra=frozen_object(extra, path))
    # What the fields cannot say (more keys inside, `detail: null`) stays as it came.
    return made if encode_image(made, own=True) == part else _as_is(made, part, path)


def _as_is(made: Block, part: dict[str, Any], path: str) -> Block:
    """*made* with the whole part beside it, for a spelling of the same thing."""
    rest = {k: v for k, v in part.items() if k != "type"}
    return attrs.evolve(made, extra=frozen({"as_is": rest}, path))


def _decode_file(part: dict[str, Any], path: str, name: str) -> Block:
    where = f"{path}.file"
    if "file" not in part:
        return Opaque(frozen(part, path), name)
    inner = as_object(part["file"], "file", where)
    for key in ("file_data", "file_id", "filename"):
        if inner.get(key) is not None:
            as_text(inner[key], key, f"{where}.{key}")
    data, title, file_id = (
        inner.get(key) for key in ("file_data", "filename", "file_id")
    )
    found = split_data_url(data, f"{where}.file_data") if data else None
    made = Document(
        found[1] if found else None,
        found[0] if found else None,
        file_id=file_id,
        title=title,
        extra=_rest(part, path, "type", "file"),
    )
    if encode_file(made, own=True) == part:
        return made
    return _as_is(made, part, path) if found or file_id else Opaque(part, name)


def text_part(block: Text | Json, *, own: bool) -> dict[str, Any]:
    """A text part that says *block*."""
    if isinstance(block, Json):
        return {"type": "text", "text": json_text(block.value)}
    if own and is_refusal(block):
        return {"type": "refusal", "refusal": block.text}
    made = {"type": "text", "text": block.text}
    if own and block.extra:
        made |= {k: thaw(v) for k, v in block.extra.items() if k != "type"}
    return made


def encode_image(block: Image, *, own: bool) -> dict[str, Any] | None:
    """A part that shows *block*; none when it is a file id of another provider."""
    if own and "as_is" in block.extra:
        return {"type": "image_url", **thaw(block.extra["as_is"])}
    url = image_url(block)
    if url is None:
        return None
    inner = {"url": url}
    if block.detail is not None:
        inner["detail"] = block.detail
    made: dict[str, Any] = {"type": "image_url", "image_url": inner}
    if own:
        made |= thaw(block.extra)
    return made


def image_url(block: Image) -> str | None:
    """The address of an image, its data as a `data:` address."""
    if block.data is not None:
        media_type = block.media_type
        if media_type is None:
            media_type = media_type_of(block.data)
        return f"data:{media_type};base64,{block.data}"
    return block.url


def encode_file(block: Document, *, own: bool) -> dict[str, Any] | None:
    """A part that holds *block*, text documents as text; none when it cannot.

    A file needs a name beside its data (rule OC-07), so that one is given to it.
    """
    if own and "as_is" in block.extra:
        return {"type": "file", **thaw(block.extra["as_is"])}
    if block.text is not None:
        head = f"{block.title}\n" if block.title else ""
        return {"type": "text", "text": f"{head}{block.text}"}
    inner: dict[str, Any] = {}
    if block.data is not None:
        media_type = block.media_type
        if media_type is None:
            media_type = media_type_of(block.data, "application/pdf")
        inner["file_data"] = f"data:{media_type};base64,{block.data}"
        inner["filename"] = block.title or "document.pdf"
    elif own and block.file_id is not None:
        inner["file_id"] = block.file_id
        if block.title is not None:
            inner["filename"] = block.title
    else:
        return None
    made: dict[str, Any] = {"type": "file", "file": inner}
    if own:
        made |= thaw(block.extra)
    return made


def encode_part(block: Block, name: str, *, own: bool) -> dict[str, Any] | None:
    """The content part that says *block*; none for what format *name* cannot say."""
    match block:
        case Text() | Json():
            return text_part(block, own=own)
        case Image():
            return encode_image(block, own=own)
        case Document():
            return encode_file(block, own=own)
        case Opaque() if block.format in {name, None}:
            made: dict[str, Any] = thaw(block.value)
            return made
        case _:
            return None
