from __future__ import annotations

from typing import Any

from turnkeep.model import Block, Document, Image, Opaque, Text, Thinking, thaw

from ._chat._dialect import Dialect
from ._chat._format import ChatFormat
from ._chat._judge import judge_mistral
from ._chat._parts import decode_part, encode_image, media_type_of, text_part
from ._marks import Marks
from ._shape import as_object, as_text, frozen, frozen_object, split_data_url


def _decode_part(part: Any, path: str, name: str) -> Block:
    """A content chunk: OpenAI's text and images, and those that only Mistral has."""
    kind = as_object(part, "a content part", path).get("type")
    if kind == "document_url":
        url = as_text(part.get("document_url"), "document_url", f"{path}.document_url")
        title = part.get("document_name")
        known = {"type", "document_url"}
        if title is not None:
            as_text(title, "document_name", f"{path}.document_name")
            known.add("document_name")
        extra = frozen_object({k: v for k, v in part.items() if k not in known}, path)
        found = split_data_url(url, f"{path}.document_url")
        if found is not None and url == f"data:{found[0]};base64,{found[1]}":
            return Document(found[1], found[0], title=title, extra=extra)
        return Document(url=url, title=title, extra=extra)
    if kind == "thinking":
        return _decode_thinking(part, path, name)
    if kind in {"file", "input_audio"}:
        return Opaque(frozen(part, path), name)
    return decode_part(part, path, name)


def _decode_thinking(part: dict[str, Any], path: str, name: str) -> Block:
    pieces = part.get("thinking")
    if not isinstance(pieces, (list, tuple)) or not all(map(_is_text, pieces)):
        # References among the pieces: carried as they are.
        return Opaque(frozen(part, path), name)
    signature = part.get("signature")
    known = {"type", "thinking"}
    if isinstance(signature, str):
        known.add("signature")
    rest = {k: v for k, v in part.items() if k not in known}
    if len(pieces) != 1:
        rest["pieces"] = list(pieces)
    return Thinking(
        "".join(piece["text"] for piece in pieces),
        signature if isinstance(signature, str) else None,
        extra=frozen_object(rest, path),
    )


def _is_text(piece: Any) -> bool:
    return (
        isinstance(piece, dict)
        and piece.keys() == {"type", "text"}
        and piece["type"] == "text"
        and isinstance(piece["text"], str)
    )


def _encode_part(block: Block, name: str, *, own: bool) -> dict[str, Any] | None:
    match block:
        case Thinking():
            extra = thaw(block.extra) if own else {}
            pieces = extra.pop("pieces", [{"type": "text", "text": block.text}])
            made = {"type": "thinking", "thinking": pieces, **extra}
            if own and block.signature is not None:
                made["signature"] = block.signature
            return made if own or block.text else None
        case Image():
            return encode_image(block, own=own)
        case Document(text=str()):
            return text_part(
                Text(f"{block.title or ''}\n{block.text}".lstrip()), own=own
            )
        case Document():
            return _encode_document(block, own=own)
        case Opaque() if block.format in {name, None}:
            opaque: dict[str, Any] = thaw(block.value)
            return opaque
        case Opaque():
            return None
        case _:
            return text_part(block, own=own)  # type: ignore[arg-type] # text and JSON


def _encode_document(block: Document, *, own: bool) -> dict[str, Any] | None:
    url = block.url
    if block.data is not None:
        media_type = block.media_type
        if media_type is None:
            media_type = media_type_of(block.data, "application/pdf")
        url = f"data:{media_type};base64,{block.data}"
    if url is None:
        return None
    made = {"type": "document_url", "document_url": url}
    if block.title is not None:
        made["document_name"] = block.title
    return made | (thaw(block.extra) if own else {})


_DIALECT = Dialect(
    "mistral",
    roles=("system", "user", "assistant", "tool"),
    thinking="part",
    thinking_keys=(),
    object_arguments=True,
    file_addresses=True,
    decode_part=_decode_part,
    encode_part=_encode_part,
)


class Mistral(ChatFormat):
    """Mistral's chat messages: OpenAI's, with chunks and habits of their own.

    Reasoning stands in the content, as a `thinking` chunk. Arguments may be an object.
    """

    name = "mistral"
    dialect = _DIALECT
    marks = Marks(judge_mistral)
