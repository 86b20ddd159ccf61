from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import attrs

from turnkeep.model import Document, Image
from turnkeep.providers import parse_model

from ._media import audio_seconds, decode, image_size, payload, pdf_pages
from ._pixels import (
    ASSUMED,
    PAGE,
    claude_image,
    gemini_image,
    is_gemini_3,
    mistral_image,
    openai_image,
    qwen_image,
)

ASSUMED_PAGES: Final = 5
"""Pages assumed for documents that are not in the request (URLs, file ids)."""

ASSUMED_SECONDS: Final = 60.0
"""Seconds assumed for sound and video that are not in the request, and for video."""

_OPENAI_PAGE_TEXT: Final = 500
_CLAUDE_PAGE_TEXT: Final = 2250  # published: 1,500 to 3,000 a page
_GEMINI_PAGE: Final = 258
_GEMINI_3_PAGE: Final = 560


@attrs.frozen
class MediaRule:
    """What pictures, documents and sound cost one model.

    Nothing of them is counted as text, save what is text: a plain-text document.
    """

    family: str
    model: str
    """Bare name, lower case; empty for the family's default."""

    @property
    def name(self) -> str:
        """Part of a counter's identity: models with one name cost the same."""
        sample = self.image_tokens(2000, 1500, "high"), self.image_tokens(700, 700, "")
        return f"{self.family}-{sample[0]}-{sample[1]}"

    def image(self, block: Image) -> int:
        """Tokens of an image, from the size in its header or the size assumed."""
        size = image_size(block.data) if block.data else None
        if size is None and block.url and block.url[:5].lower() == "data:":
            size = image_size(block.url)
        width, height = size or ASSUMED
        return self.image_tokens(width, height, _detail(block))

    def image_tokens(self, width: int, height: int, detail: str) -> int:
        """Tokens of an image of a size in pixels."""
        match self.family:
            case "claude":
                fine = parse_model(self.model).estimate != "claude"
                return claude_image(width, height, fine=fine)
            case "gemini":
                return gemini_image(self.model, width, height, detail)
            case "mistral":
                return mistral_image(self.model, width, height)
            case "qwen":
                return qwen_image(self.model, width, height)
            case _:
                return openai_image(self.model, width, height, detail)

    def document(self, block: Document, count: Callable[[str], int]) -> int:
        """Tokens of a document: its text, or its pages, or its seconds."""
        tokens = count(block.title) if block.title else 0
        if block.text is not None:
            return tokens + count(block.text)
        kind = (block.media_type or "").lower()
        data = block.data
        if kind.startswith("image/"):
            return tokens + self.image(Image(data, kind, block.url, extra=block.extra))
        if kind.startswith("audio/"):
            seconds = audio_seconds(data) if data else ASSUMED_SECONDS
            return tokens + self.audio(seconds)
        if kind.startswith("video/"):
            return tokens + self.video(ASSUMED_SECONDS)
        if data is None:
            return tokens + self.page() * ASSUMED_PAGES
        pages = pdf_pages(data)
        if pages is not None:
            return tokens + self.page() * pages
        if kind == "application/pdf":
            return tokens + self.page() * ASSUMED_PAGES
        # Base64 of something else: providers read the text in it, at most all of it.
        text = decode(payload(data)).decode("utf-8", "replace")
        return tokens + (count(text) if _is_text(text) else self.page() * ASSUMED_PAGES)

    def page(self) -> int:
        """Tokens of a page of a PDF: its picture and its text."""
        match self.family:
            case "claude":
                return _CLAUDE_PAGE_TEXT + self.image_tokens(*PAGE, "")
            case "gemini":
                return _GEMINI_3_PAGE if is_gemini_3(self.model) else _GEMINI_PAGE
            case _:
                return _OPENAI_PAGE_TEXT + self.image_tokens(*PAGE, "")

    def audio(self, seconds: float) -> int:
        """Tokens of sound: 32 a second for Gemini (published), 10 elsewhere."""
        return math.ceil(seconds * (32 if self.family == "gemini" else 10))

    def video(self, seconds: float) -> int:
        """Tokens of video: 263 a second, as Gemini publishes it; others take none."""
        return math.ceil(seconds * 263)

    def opaque_media(self, value: Any) -> int | None:
        """Tokens of a vendor's block that carries sound; none for any other block."""
        inner = value.get("input_audio") if isinstance(value, dict) else None
        if not isinstance(inner, dict):
            return None
        data = inner.get("data")
        seconds = audio_seconds(data) if isinstance(data, str) else ASSUMED_SECONDS
        return self.audio(seconds)


def media_rule(family: str, model: str | None) -> MediaRule:
    """The rule of *model*; *family* decides where it says nothing."""
    name = parse_model(model).bare if model else ""
    return MediaRule(family.removesuffix("-new"), name)


def _detail(block: Image) -> str:
    if block.detail is not None:
        return block.detail
    # Gemini writes it beside the image, as an object or a text.
    level = block.extra.get("mediaResolution", block.extra.get("media_resolution"))
    if isinstance(level, dict):
        level = level.get("level")
    return level if isinstance(level, str) else ""


def _is_text(text: str) -> bool:
    return bool(text) and "\x00" not in text and text.count("\ufffd") * 50 < len(text)
