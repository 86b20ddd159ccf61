"""What a vendor's own JSON costs: its text, and what in it is no text by its size."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from turnkeep.model import Document, Image

from ._media import audio_seconds, decode, payload
from ._media_rules import ASSUMED_PAGES, ASSUMED_SECONDS, MediaRule
from ._text import DATA_URL, dumps, is_base64

SEALED_CHARACTERS: Final = 5.33
"""Characters of base64 that stand for a token of what only the provider can read: four
bytes each. Anthropic states the figure for fetched pages (10 kB are 2,500 tokens); what
a search found is decrypted into the context, and costs what it says there."""

TOOL_REFERENCE: Final = 150
"""Tokens assumed for a tool that a search has found: its definition stands in the
prompt where its name does, and no message holds it."""

_UNREAD: Final = frozenset(
    {"signature", "thoughtSignature", "thought_signature", "encrypted_index"}
)
"""Keys whose text proves where something comes from; no model reads it."""

_SEALED: Final = frozenset({"encrypted_content", "redactedContent"})
"""Keys of what the provider alone can read, and puts into the context."""

_BYTES: Final = frozenset({"bytes", "data", "file_data", "fileData", "blob", "base64"})
"""Keys under which hosts and providers carry files."""

_TYPES: Final = ("media_type", "mimeType", "mime_type", "mediaType", "contentType")
_FORMATS: Final = {
    **dict.fromkeys(("png", "jpeg", "jpg", "gif", "webp"), "image"),
    **dict.fromkeys(("mp3", "wav", "ogg", "flac", "m4a", "aac", "opus"), "audio"),
    **dict.fromkeys(("mp4", "mov", "mkv", "webm", "mpeg"), "video"),
}
_AUDIO: Final = re.compile(r"audio|sound|speech")


class VendorJson:
    """Counts JSON of shapes nobody knows; `tokens` is linear in its size.

    Texts, numbers and keys count as compact JSON. Pictures, sound and files count by
    the rule of the model where their kind is said beside them or in their first bytes,
    sealed content and files of unknown kinds by their size; signatures count nothing.
    """

    def __init__(self, media: MediaRule, count: Callable[[str], int]) -> None:
        self._media = media
        self._count = count

    def tokens(self, value: Any) -> int:
        """Tokens of *value*."""
        apart = _Apart(self._media, self._count)
        rest = apart.take(value)
        return self._count(dumps(rest)) + apart.tokens


class _Apart:
    """Takes what is no text out of a value, and adds up what that costs."""

    def __init__(self, media: MediaRule, count: Callable[[str], int]) -> None:
        self.media = media
        self.count = count
        self.tokens = 0

    def take(self, value: Any, kind: str = "") -> Any:
        """*value* without what is no text."""
        if isinstance(value, Mapping):
            return self._object(value, kind)
        if isinstance(value, (list, tuple)):
            return [self.take(item, kind) for item in value]
        if isinstance(value, str) and len(value) > 60:
            found = DATA_URL.match(value, 0, 200)
            if found is not None:
                return self._file(value, _type_of_url(value))
            if is_base64(value):
                return self._file(value, kind)
        return value

    def _object(self, value: Mapping[str, Any], above: str) -> dict[str, Any]:
        kind = _type_in(value) or above
        if value.get("type") == "tool_reference":
            self.tokens += TOOL_REFERENCE
        rest: dict[str, Any] = {}
        for key, item in value.items():
            if key in _UNREAD and isinstance(item, str):
                rest[key] = ""
            elif key in _SEALED and isinstance(item, str):
                self.tokens += round(len(item) / SEALED_CHARACTERS)
                rest[key] = ""
            elif key in _BYTES and isinstance(item, str) and self._is_file(item, value):
                rest[key] = self._file(item, kind)
            else:
                inside = "audio" if _AUDIO.search(str(key)) else kind
                rest[key] = self.take(item, inside)
        return rest

    def _is_file(self, text: str, beside: Mapping[str, Any]) -> bool:
        """Whether a text under a key of files is one: plain text stands as it is."""
        if beside.get("type") == "text":
            return False
        kind = _type_in(beside)
        if kind.startswith("text/") and not is_base64(text, shortest=60):
            return False
        return bool(_type_in(beside)) or is_base64(text, shortest=60)

    def _file(self, data: str, kind: str) -> str:
        """Count a file in base64 or a data URL; nothing of it is left as text."""
        if kind.startswith("image"):
            self.tokens += self.media.image(Image(payload(data), kind))
        elif kind.startswith("audio"):
            self.tokens += self.media.audio(audio_seconds(data) or ASSUMED_SECONDS)
        elif kind.startswith("video"):
            self.tokens += self.media.video(ASSUMED_SECONDS)
        else:
            head = decode(payload(data), 64)
            if _is_picture(head):
                self.tokens += self.media.image(Image(payload(data), "image/png"))
            elif b"%PDF" in head:
                file = Document(payload(data), "application/pdf")
                self.tokens += self.media.document(file, self.count)
            else:
                self.tokens += self._unknown(data)
        return ""

    def _unknown(self, data: str) -> int:
        text = decode(payload(data)).decode("utf-8", "replace")
        if text and "\0" not in text and text.count("\ufffd") * 50 < len(text):
            return self.count(text)
        # No more than a document of which nothing is known either.
        pages = self.media.page() * ASSUMED_PAGES
        return min(round(len(data) / SEALED_CHARACTERS), pages)


def _type_in(value: Mapping[str, Any]) -> str:
    """The media type that an object says it holds; empty where it says none."""
    for key in _TYPES:
        found = value.get(key)
        if isinstance(found, str):
            return found.lower()
    form = value.get("format")
    return _FORMATS.get(form.lower(), "") if isinstance(form, str) else ""


def _type_of_url(url: str) -> str:
    return url[5:80].partition(";")[0].lower()


def _is_picture(head: bytes) -> bool:
    return head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or (
        head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    )
