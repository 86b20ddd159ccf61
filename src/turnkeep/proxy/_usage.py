"""What an answer says of its cost, read from a copy while it passes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

_MOST: Final = 16 * 2**20
"""Bytes of an answer that are looked at."""
_PLACES: Final = ("usage", "usageMetadata", "message", "response", "metadata")


class UsageReader:
    """Is fed an answer's bytes, and knows its usage at the end.

    A stream of events is read line by line and forgotten; a whole answer is kept until
    it ends. What cannot be read is no usage: the answer itself is never touched.
    """

    def __init__(self, content_type: str, encoding: str | None) -> None:
        """Of an answer with these headers."""
        self._streams = "event-stream" in content_type
        name = (encoding or "identity").lower()
        self._unpack = zlib.decompressobj(47) if name in ("gzip", "deflate") else None
        self._reads = name in ("identity", "gzip", "deflate")
        self._buffer = b""
        self._seen = 0
        self.usage: dict[str, Any] = {}
        """What was found so far: later figures replace earlier ones."""

    def feed(self, chunk: bytes) -> None:
        """Look at the next bytes."""
        if not self._reads:
            return
        if self._unpack is not None:
            try:
                chunk = self._unpack.decompress(chunk, _MOST)
            except zlib.error:
                self._reads = False
                return
        self._seen += len(chunk)
        self._buffer += chunk
        if self._streams:
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    self._take(line[5:])
        if len(self._buffer) > _MOST:
            self._reads, self._buffer = False, b""

    def close(self) -> None:
        """The answer is over."""
        if self._reads and self._buffer:
            line = self._buffer.strip()
            self._take(line[5:] if line.startswith(b"data:") else line)
        self._buffer = b""

    def _take(self, text: bytes) -> None:
        if b"sage" not in text:  # usage, usageMetadata
            return
        try:
            value = json.loads(text)
        except ValueError:
            return
        for one in value if isinstance(value, list) else [value]:
            for found in _usages(one):
                self.usage |= {k: v for k, v in found.items() if v is not None}


def _usages(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The usage objects of an event or an answer, wherever its API puts them."""
    if not isinstance(value, Mapping) or depth > 2:
        return
    for key in _PLACES:
        inner = value.get(key)
        if not isinstance(inner, Mapping):
            continue
        if key in ("usage", "usageMetadata"):
            yield inner
        else:
            yield from _usages(inner, depth + 1)
