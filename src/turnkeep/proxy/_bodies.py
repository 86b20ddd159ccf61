"""Bodies as bytes: unpacked to look at them, never longer than they may be."""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

_WINDOWS: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Packings that can be undone here, and how zlib calls them."""


class TooLargeError(Exception):
    """A body is longer than it may be, packed or unpacked."""


def unpacked(body: bytes, encoding: str | None, most: int) -> bytes | None:
    """*body* without its packing; none where it cannot be undone.

    Args:
        body: The bytes that came.
        encoding: The header `content-encoding`.
        most: Bytes that it may have.

    Raises:
        TooLargeError: It is longer.
    """
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    window = _WINDOWS.get(name)
    if window is None:
        return None
    unpacker = zlib.decompressobj(window)
    try:
        made = unpacker.decompress(body, most + 1)
    except zlib.error:
        return None
    if len(made) > most:
        raise TooLargeError
    return made if unpacker.eof else None


def parsed(body: bytes) -> dict[str, Any] | None:
    """A body as an object; none where it is no such thing."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def printed(value: Any) -> bytes:
    """A body as bytes; lone surrogates as escapes, as they came."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
