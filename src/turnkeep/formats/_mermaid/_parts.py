from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    Document,
    FrozenDict,
    Image,
    Opaque,
    Thinking,
    thaw,
)

from .._fields import checked, optional, required, with_others
from .._shape import check_base64, frozen
from .._wire import rest

_SEAL = frozenset({"provider", "signature"})
_MAGIC = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
}
"""Media types by the first characters of their base64: Mermaid stores none."""


def read_images(
    entry: dict[str, Any], path: str
) -> tuple[list[Block], list[Any] | None]:
    """The pictures and files of a message, and numbers that they cannot carry.

    Numbers are parallel to the images; where some are files, or where there are more
    or fewer of them than images, they are kept as they are.

    Raises:
        FormatError: Base64 is damaged, or a number is none.
    """
    data = optional(entry, "images", list, path) or []
    for nth, item in enumerate(data):
        where = f"{path}.images[{nth}]"
        check_base64(checked(item, "an image", str, where), where)
    numbers = optional(entry, "image_numbers", list, path)
    for nth, number in enumerate(numbers or ()):
        where = f"{path}.image_numbers[{nth}]"
        if checked(number, "an image number", int, where) < 0:
            reason = f"an image number cannot be negative: {number}"
            raise FormatError(reason, where)
    kinds = [_media_type(item) for item in data]
    fits = numbers is not None and len(numbers) == len(data) > 0
    fits = fits and "application/pdf" not in kinds
    blocks: list[Block] = []
    for nth, (item, kind) in enumerate(zip(data, kinds, strict=True)):
        if kind == "application/pdf":
            blocks.append(Document(item, kind))
        else:
            number = numbers[nth] if fits and numbers is not None else None
            blocks.append(Image(item, kind, number=number))
    return blocks, None if fits else numbers


def write_images(blocks: Sequence[Block]) -> tuple[list[str] | None, list[int] | None]:
    """The images among *blocks* and their numbers; nulls where there are none."""
    shown = [b for b in blocks if isinstance(b, (Image, Document)) and b.data]
    if not shown:
        return None, None
    numbers = [b.number for b in shown if isinstance(b, Image) and b.number is not None]
    data = [b.data for b in shown if b.data is not None]
    return data, numbers if len(numbers) == len(shown) else None


def read_continuation(
    value: dict[str, Any], path: str
) -> tuple[str | None, FrozenDict, FrozenDict | None]:
    """What a provider wants back with its answer, byte for byte.

    Returns:
        Anthropic's signature and the keys beside it, or what other providers left. The
        ciphertexts of the latter are unwrapped: the items are those to send.

    Raises:
        FormatError: A ciphertext is damaged, or a field missing.
    """
    provider = required(value, "provider", str, path)
    if provider == "anthropic":
        signature = required(value, "signature", str, path)
        return signature, rest(value, _SEAL, path), None
    if provider != "meta_responses":
        return None, EMPTY, frozen(value, path)
    items = [
        _unwrap(item, f"{path}.output[{nth}]")
        for nth, item in enumerate(required(value, "output", list, path))
    ]
    return None, EMPTY, frozen({**value, "output": items}, path)


def write_continuation(
    thoughts: Sequence[Thinking], opaque: Sequence[Opaque], *, own: bool
) -> dict[str, Any] | None:
    """The continuation that `read_continuation` reads; ciphertexts are wrapped."""
    if opaque:
        value: dict[str, Any] = thaw(opaque[0].value)
        items = value.get("output")
        if value.get("provider") == "meta_responses" and isinstance(items, list):
            value["output"] = [_wrap(i) if isinstance(i, dict) else i for i in items]
        return value
    for block in thoughts:
        if block.signature is not None:
            made = {"provider": "anthropic", "signature": block.signature}
            return with_others(made, block.extra if own else EMPTY)
    return None


def _unwrap(item: Any, path: str) -> Any:
    checked(item, "an output item", dict, path)
    kind = required(item, "kind", str, path)
    plain = dict(required(item, "item", dict, path))
    if kind == "other":
        return plain
    if kind != "reasoning":
        reason = f"unknown output item {kind!r} (expected reasoning or other)"
        raise FormatError(reason, f"{path}.kind")
    wrapped = required(item, "encrypted_content", str, path)
    try:
        text = base64.b64decode(wrapped, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        reason = f"ciphertext of {len(wrapped)} characters is damaged or truncated"
        raise FormatError(reason, f"{path}.encrypted_content") from None
    plain["encrypted_content"] = text
    return plain


def _wrap(item: dict[str, Any]) -> dict[str, Any]:
    # Base64, so that a pass that blacks out credentials cannot mistake it for one.
    text = item.get("encrypted_content")
    if not isinstance(text, str):
        return {"kind": "other", "item": item}
    rest = {key: value for key, value in item.items() if key != "encrypted_content"}
    wrapped = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
    return {"kind": "reasoning", "item": rest, "encrypted_content": wrapped}


def _media_type(data: str) -> str | None:
    return next(
        (kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None
    )
