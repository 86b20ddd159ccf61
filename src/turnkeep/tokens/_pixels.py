from __future__ import annotations

import math
import re
from typing import Final

import attrs

from turnkeep.providers import parse_model

ASSUMED: Final = (1024, 1024)
"""Size in pixels assumed for images that are not in the request (URLs, file ids)."""

PAGE: Final = (1224, 1584)
"""Size in pixels assumed for a page of a document: a Letter page at 144 dpi."""


def fit(width: int, height: int, longest: int) -> tuple[int, int]:
    """The size scaled down so that no side exceeds *longest*; never up."""
    if max(width, height) <= longest:
        return width, height
    scale = longest / max(width, height)
    return max(round(width * scale), 1), max(round(height * scale), 1)


@attrs.frozen
class Tiles:
    """OpenAI's older rule: base tokens, and some for each tile of 512 pixels.

    Source: https://developers.openai.com/api/docs/guides/images-vision
    """

    base: int
    tile: int
    short: int = 768
    """The short side is scaled down to this."""

    def count(self, width: int, height: int, detail: str) -> int:
        """Tokens of an image; `auto` counts as `high`, the dearer of the two."""
        if detail == "low":
            return self.base
        width, height = fit(width, height, 2048)
        if (side := min(width, height)) > self.short:
            width = max(round(width * self.short / side), 1)
            height = max(round(height * self.short / side), 1)
        return self.base + self.tile * math.ceil(width / 512) * math.ceil(height / 512)


@attrs.frozen
class Patches:
    """OpenAI's newer rule: patches of 32 pixels up to a budget, times a factor.

    Source: as `Tiles`.
    """

    factor: float
    high: tuple[int, int] = (1536, 2048)
    """Most patches, and the longest side in pixels, at high detail."""
    original: tuple[int, int] | None = None
    """The same where `original` is offered."""
    auto: str = "high"
    """What `auto` means."""

    def count(self, width: int, height: int, detail: str) -> int:
        """Tokens of an image."""
        if detail not in ("low", "high", "original"):
            detail = self.auto
        if detail == "low":
            width, height = fit(width, height, 512)
        most, longest = self.high
        if detail == "original" and self.original is not None:
            most, longest = self.original
        width, height = fit(width, height, longest)
        patches = math.ceil(width / 32) * math.ceil(height / 32)
        if patches > most:
            patches = _shrunk(width, height, most)
        # 1024 * 1.62 is 1658.88 and counts 1659; a product like 1000.0000000001 does
        # not count one more.
        return math.ceil(round(patches * self.factor, 6))


def _shrunk(width: int, height: int, most: int) -> int:
    scale = math.sqrt(32 * 32 * most / (width * height))
    across, down = width * scale / 32, height * scale / 32
    # Very long and thin images have less than a patch on their short side.
    if min(across, down) >= 1:
        scale *= min(math.floor(across) / across, math.floor(down) / down)
    across = math.ceil(max(int(width * scale + 1e-6), 1) / 32)
    down = math.ceil(max(int(height * scale + 1e-6), 1) / 32)
    return min(across * down, most)


_OPENAI: Final = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"gpt-4o-mini", Tiles(2833, 5667)),
        (r"gpt-4\.1-nano|gpt-5[\d.]*-nano", Patches(2.46)),
        (r"gpt-4\.1-mini|gpt-5[\d.]*-(?:codex-)?mini", Patches(1.62)),
        (r"o4-mini", Patches(1.72)),
        (r"o[13](?:-|$)", Tiles(75, 150)),
        (r"computer-use", Tiles(65, 129)),
        (r"gpt-image", Tiles(65, 129, short=512)),
        (r"gpt-5\.[23](?:-|$)", Patches(1.2)),
        (r"gpt-5\.4(?:-|$)", Patches(1.2, (2500, 2048), (10_000, 6000))),
        (r"gpt-5\.5(?:-|$)", Patches(1.2, (2500, 2048), (10_000, 6000), "original")),
        (r"gpt-5(?:\.1)?(?:-|$)", Tiles(70, 140)),
        (r"gpt-[3-4]|chatgpt|gpt-4\.5", Tiles(85, 170)),
        (
            # 5.6 and later keep the size at `auto`; over 30,000 patches are refused.
            r"gpt-(?:5\.[6-9]|[6-9]|\d\d)",
            Patches(1.2, (2500, 65_535), (30_000, 65_535), "original"),
        ),
    )
)
_UNKNOWN: Final = Tiles(85, 170)


def openai_image(model: str, width: int, height: int, detail: str) -> int:
    """Tokens of an image for an OpenAI model; unknown ones as gpt-4o.

    >>> openai_image("gpt-4o", 1024, 1024, "high")
    765
    >>> openai_image("gpt-5-mini", 1024, 1024, "high")
    1659
    """
    for pattern, rule in _OPENAI:
        if pattern.search(model):
            return rule.count(width, height, detail)
    return _UNKNOWN.count(width, height, detail)


_PATCH: Final = 28


def claude_image(width: int, height: int, *, fine: bool) -> int:
    """Tokens of an image for Claude: patches of 28 pixels of the resized image.

    It is resized to the largest size of the same shape within both limits: 1568 pixels
    and 1568 tokens, or 2576 and 4784 for *fine* models (4.7 and later).
    Source: https://platform.claude.com/docs/en/build-with-claude/vision

    >>> claude_image(1920, 1080, fine=False), claude_image(1920, 1080, fine=True)
    (1560, 2691)
    """
    longest, most = (2576, 4784) if fine else (1568, 1568)
    width, height = fit(width, height, longest)
    across, down = -(-width // _PATCH), -(-height // _PATCH)
    if across * down <= most:
        return across * down
    # The largest scale within the limit puts one side on a multiple of a patch: try
    # each, in whole numbers, and take the largest scale that fits.
    best = (0.0, 1)
    for n in range(1, across + 1):
        if (tokens := n * -(-n * height // width)) <= most:
            best = max(best, (n / width, tokens))
    for n in range(1, down + 1):
        if (tokens := n * -(-n * width // height)) <= most:
            best = max(best, (n / height, tokens))
    return best[1]


_GEMINI_TILE: Final = 258
_GEMINI_3: Final = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}


def gemini_image(model: str, width: int, height: int, detail: str) -> int:
    """Tokens of an image for Gemini: tiles of 258; for Gemini 3 by resolution alone.

    Sources: https://ai.google.dev/gemini-api/docs/image-understanding and
    https://ai.google.dev/gemini-api/docs/media-resolution

    >>> gemini_image("gemini-2.5-pro", 960, 540, "")
    1548
    """
    level = detail.lower().removeprefix("media_resolution_")
    if is_gemini_3(model):
        return _GEMINI_3.get(level, _GEMINI_3["high"])
    if max(width, height) <= 384 or level == "low":
        return _GEMINI_TILE
    unit = max(int(min(width, height) / 1.5), 1)
    return _GEMINI_TILE * math.ceil(width / unit) * math.ceil(height / unit)


def is_gemini_3(model: str) -> bool:
    """Whether *model* is a Gemini of the third generation or later."""
    name = parse_model(model)
    return name.maker == "gemini" and (name.version or (0, 0)) >= (3, 0)


def mistral_image(model: str, width: int, height: int) -> int:
    """Tokens of an image for Mistral: a token a patch, and one to end each row.

    Source: `ImageEncoder` of mistral-common; a test holds the two equal.
    """
    patch, longest = (16, 1024) if "pixtral" in model else (28, 1540)
    width, height = fit(width, height, longest)
    return ((width - 1) // patch + 2) * ((height - 1) // patch + 1)


def qwen_image(model: str, width: int, height: int) -> int:
    """Tokens of an image for Qwen: one for 28 x 28 pixels (Qwen3-VL 32 x 32), plus two.

    Source: the models' processors, whose default allows 16,384 of them.
    """
    patch = 32 if re.search(r"qwen-?3", model) else 28
    tokens = max(round(width / patch), 1) * max(round(height / patch), 1)
    return min(max(tokens, 4), 16_384) + 2
