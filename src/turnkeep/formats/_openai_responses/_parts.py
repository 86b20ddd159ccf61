"""Content parts of Responses items."""

from __future__ import annotations

from typing import Any

from turnkeep.model import (
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Opaque,
    Text,
    thaw,
)

from .._chat._parts import image_url, is_refusal, media_type_of, refusal
from .._shape import (
    as_object,
    as_text,
    frozen,
    frozen_object,
    json_text,
    split_data_url,
)

NAME = "openai-responses"
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_FILE_KEYS = ("file_data", "file_url", "file_id", "filename")


def text_type(role: str) -> str:
    """The usual type of a text part in a message of *role*."""
    return "output_text" if role == "assistant" else "input_text"


def decode_part(part: Any, path: str, role: str) -> Block:
    """One content part as a block; unknown types become opaque blocks.

    Raises:
        FormatError: A known type without its content, or with one of the wrong type.
    """
    kind = as_object(part, "a content part", path).get("type")
    if kind is not None:
        as_text(kind, "the type of a content part", f"{path}.type")
    if kind in _TEXTS:
        text = as_text(part.get("text"), "text", f"{path}.text")
        known = {"text", "type"} if kind == text_type(role) else {"text"}
        return Text(text, extra=_rest(part, path, known))
    if kind == "refusal" and len(part) == 2:
        return refusal(as_text(part.get("refusal"), "refusal", f"{path}.refusal"))
    if kind in {"input_image", "computer_screenshot"} and (
        part.get("image_url") is not None or part.get("file_id") is not None
    ):
        return _decode_image(part, path)
    if kind == "input_file":
        return _decode_file(part, path)
    return Opaque(frozen(part, path), NAME)


def _rest(part: dict[str, Any], path: str, known: set[str]) -> FrozenDict:
    return frozen_object({k: v for k, v in part.items() if k not in known}, path)


def _texts(part: dict[str, Any], path: str, keys: tuple[str, ...]) -> dict[str, str]:
    """The keys of *part* among *keys* that say something; null says nothing."""
    return {
        key: as_text(part[key], key, f"{path}.{key}")
        for key in keys
        if part.get(key) is not None
    }


def _decode_image(part: dict[str, Any], path: str) -> Block:
    given = _texts(part, path, ("image_url", "file_id", "detail"))
    known = set(given) | ({"type"} if part["type"] == "input_image" else set())
    url = given.get("image_url")
    found = split_data_url(url, f"{path}.image_url") if url is not None else None
    if found is not None and url != f"data:{found[0]};base64,{found[1]}":
        found = None
    return Image(
        found[1] if found else None,
        found[0] if found else None,
        None if found else url,
        given.get("file_id"),
        given.get("detail"),
        extra=_rest(part, path, known),
    )


def _decode_file(part: dict[str, Any], path: str) -> Block:
    given = _texts(part, path, _FILE_KEYS)
    data = given.pop("file_data", None)
    known = {"type", *given}
    found = split_data_url(data, f"{path}.file_data") if data is not None else None
    if found is not None:
        known.add("file_data")
    elif not given.keys() & {"file_url", "file_id"}:
        return Opaque(frozen(part, path), NAME)
    return Document(
        found[1] if found else None,
        found[0] if found else None,
        given.get("file_url"),
        given.get("file_id"),
        title=given.get("filename"),
        # Data that is no `data:` address stays among the keys that we do not know.
        extra=_rest(part, path, known),
    )


def encode_part(
    block: Block, role: str, *, own: bool, native: bool
) -> dict[str, Any] | None:
    """The content part that says *block*; none for what has no place in one."""
    extra = thaw(block.extra) if own and not isinstance(block, Opaque) else {}
    match block:
        case Text() if own and is_refusal(block):
            return {"type": "refusal", "refusal": block.text}
        case Text() | Json():
            text = block.text if isinstance(block, Text) else json_text(block.value)
            made = {"type": text_type(role), "text": text, **extra}
            if not native and role == "assistant":
                made.setdefault("annotations", [])
            return made
        case Image() | Document() if role == "assistant" and not native:
            # The API takes text and refusals there, no more (rule OR-04).
            return _encode_text_file(block, role)
        case Image():
            return _encode_image(block, extra, own=own)
        case Document():
            if (plain := _encode_text_file(block, role)) is not None:
                return plain
            return _encode_file(block, extra, own=own)
        case Opaque() if block.format in {NAME, None}:
            opaque: dict[str, Any] = thaw(block.value)
            return opaque
        case _:
            return None


def _encode_image(
    block: Image, extra: dict[str, Any], *, own: bool
) -> dict[str, Any] | None:
    made: dict[str, Any] = {"type": "input_image"}
    if (url := image_url(block)) is not None:
        made["image_url"] = url
    elif not (own and block.file_id is not None):
        return made | extra if own and extra else None
    if own and block.file_id is not None:
        made["file_id"] = block.file_id
    if block.detail is not None:
        made["detail"] = block.detail
    return made | extra


def _encode_text_file(block: Image | Document, role: str) -> dict[str, Any] | None:
    if not isinstance(block, Document) or block.text is None:
        return None
    head = f"{block.title}\n" if block.title else ""
    return {"type": text_type(role), "text": f"{head}{block.text}"}


def _encode_file(
    block: Document, extra: dict[str, Any], *, own: bool
) -> dict[str, Any] | None:
    made: dict[str, Any] = {"type": "input_file"}
    if block.data is not None:
        media_type = block.media_type
        if media_type is None:
            media_type = media_type_of(block.data, "application/pdf")
        made["file_data"] = f"data:{media_type};base64,{block.data}"
        if not own:
            made["filename"] = block.title or "document.pdf"
    if block.url is not None:
        made["file_url"] = block.url
    if own and block.file_id is not None:
        made["file_id"] = block.file_id
    if own and block.title is not None:
        made["filename"] = block.title
    made |= extra
    return made if len(made) > 1 + ("filename" in made) else None
