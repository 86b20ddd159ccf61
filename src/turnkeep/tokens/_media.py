from __future__ import annotations

import re
from binascii import Error, a2b_base64
from typing import Final

_HEADS: Final = (512, 65_536, 4 * 1024 * 1024)
"""Characters of base64 decoded to find a size: enough for most headers; a JPEG may
carry a preview, a profile and more before its own size."""

_BLANK: Final = re.compile(r"\s+")
_URL_SAFE: Final = str.maketrans("-_", "+/")


def payload(data: str) -> str:
    """The base64 behind a data URL's comma; anything else as it is."""
    if data[:5].lower() == "data:":
        head, comma, tail = data.partition(",")
        return tail if comma else head
    return data


def decode(data: str, characters: int | None = None) -> bytes:
    """The bytes of base64 text, or of its first *characters* only; b"" for nonsense.

    Takes the URL-safe alphabet, line breaks and missing padding as well.
    """
    text = data if characters is None else data[:characters]
    text = _BLANK.sub("", text).translate(_URL_SAFE).rstrip("=")
    if len(text) % 4 == 1 or characters is not None:
        text = text[: len(text) // 4 * 4]
    try:
        return a2b_base64(text + "=" * (-len(text) % 4))
    except (Error, ValueError):
        return b""


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels from the header of a PNG, JPEG, GIF or WebP.

    Decodes the head only, however large the image is; none where it says no size.

    Args:
        data: Base64, or a data URL of it.
    """
    text = payload(data)
    for characters in _HEADS:
        head = decode(text, characters)
        size = _size(head)
        if size is not None and min(size) > 0:
            return size
        if len(text) <= characters or not head.startswith(b"\xff\xd8"):
            return None
    return None


def _size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return _big(head, 16, 4), _big(head, 20, 4)
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return _little(head, 6, 2), _little(head, 8, 2)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8X":
            return _little(head, 24, 3) + 1, _little(head, 27, 3) + 1
        case b"VP8L":
            bits = _little(head, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            # The two highest bits are a scale for display.
            return _little(head, 26, 2) & 0x3FFF, _little(head, 28, 2) & 0x3FFF
        case _:
            return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif 0xD0 <= marker <= 0xD9 or marker == 0x01:  # markers without a body
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(head, at + 7, 2), _big(head, at + 5, 2)
        else:
            at += 2 + max(_big(head, at + 2, 2), 2)
    return None


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


_PAGE: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PAGES: Final = re.compile(rb"/Count\s+(\d{1,5})")


def pdf_pages(data: str) -> int | None:
    """Pages of a PDF in base64: its page objects, or the count in its page tree.

    None where neither can be read (both may be compressed). Linear in its size.
    """
    content = decode(payload(data))
    if b"%PDF" not in content[:1024]:
        return None
    pages = len(_PAGE.findall(content))
    counts = [int(count) for count in _PAGES.findall(content)]
    return max(pages, *counts, 0) or None if counts else pages or None


def audio_seconds(data: str, *, default_rate: int = 16_000) -> float:
    """Seconds of sound in base64: from a WAV header, else its size at 128 kbit/s.

    Args:
        data: Base64, or a data URL of it.
        default_rate: Bytes a second where no header tells.
    """
    text = payload(data)
    size = len(text) * 3 / 4
    head = decode(text, 512)
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE" and len(head) >= 32:
        rate = _little(head, 28, 4)
        return size / rate if rate else size / default_rate
    return size / default_rate
