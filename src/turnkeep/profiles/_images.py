"""Images of an Anthropic request: how many, how large (rule AN-22)."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._anthropic_turns import Turn
from ._base import Findings, Request
from ._shared import inside, items

MOST_IMAGES = 600
MOST_ON_SMALL_WINDOWS = 100
FEW_IMAGES = 20
LONGEST_SIDE = 8_000
LONGEST_OF_MANY = 2_000
INLINE_LIMIT = 32 * 2**20
"""Bytes of a request; inline data alone are counted, which is nearly all of it."""

_HEADER = 4_096
"""Base64 characters of an image that are read for its size."""


def check_images(request: Request, turns: Sequence[Turn], found: Findings) -> None:
    """Rule AN-22 and AN-s6; reads the first 4 kB of each image, no more."""
    images = inline = 0
    sides: list[tuple[str, int]] = []
    for where, block in _media(request, turns):
        data = inside(block, "source").get("data")
        data = data if isinstance(data, str) else ""
        inline += len(data)
        if block.get("type") == "image":
            images += 1
            sides.append((where, max(image_size(data) or (0, 0))))
    limit = LONGEST_OF_MANY if images > FEW_IMAGES else LONGEST_SIDE
    for where, side in sides:
        if side > limit:
            what = f"a side of the image has {side} pixels, of at most {limit}"
            found.add("AN-22", where, what)
    if images > MOST_IMAGES:
        found.add("AN-22", request.path, f"the request has {images} images")
    elif images > MOST_ON_SMALL_WINDOWS:
        found.add("AN-s6", request.path, f"the request has {images} images")
    if inline > INLINE_LIMIT:
        what = f"inline images and documents take {inline} bytes of {INLINE_LIMIT}"
        found.add("AN-22", request.path, what)


def _media(
    request: Request, turns: Sequence[Turn]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for turn in turns:
        for block in turn.blocks:
            if block.kind in ("image", "document"):
                yield block.path(request), block.value
            elif block.kind == "tool_result":
                for nth, part in items(block.value.get("content")):
                    if part.get("type") in ("image", "document"):
                        yield f"{block.path(request)}.content[{nth}]", part


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height of a base64 PNG, GIF or JPEG; none when they are not found.

    >>> image_size("iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAAA=")
    (1, 2)
    """
    try:
        head = base64.b64decode(data[:_HEADER], validate=False)
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return struct.unpack(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return struct.unpack("<HH", head[6:10])
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + max(length, 2)
    return None
