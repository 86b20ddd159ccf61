import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.tokens._pixels import (
    Patches,
    claude_image,
    fit,
    gemini_image,
    mistral_image,
    openai_image,
    qwen_image,
)

SIDES = st.integers(1, 12_000)


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        # Published: https://developers.openai.com/api/docs/guides/images-vision
        ("gpt-4o", 1024, 1024, "high", 765),
        ("gpt-4o", 2048, 4096, "high", 1105),
        ("gpt-4o", 4096, 8192, "low", 85),
        ("gpt-5-mini", 1024, 1024, "high", 1659),
        # Base and tile of every tile model, on one tile.
        ("gpt-4.1", 512, 512, "high", 255),
        ("gpt-4.5-preview", 512, 512, "high", 255),
        ("gpt-4-turbo", 512, 512, "high", 255),
        ("chatgpt-4o-latest", 512, 512, "auto", 255),
        ("gpt-5", 512, 512, "high", 210),
        ("gpt-5-chat-latest", 512, 512, "", 210),
        ("gpt-5.1", 512, 512, "high", 210),
        ("gpt-4o-mini", 512, 512, "high", 8500),
        ("gpt-4o-mini", 512, 512, "low", 2833),
        ("o1", 512, 512, "high", 225),
        ("o1-pro", 512, 512, "high", 225),
        ("o3", 512, 512, "high", 225),
        ("computer-use-preview", 512, 512, "high", 194),
        ("gpt-image-1", 1024, 1024, "high", 65 + 129),
        # Multipliers of the patch models, on 32 patches.
        ("gpt-4.1-mini", 1024, 32, "high", 52),
        ("gpt-4.1-nano", 1024, 32, "high", 79),
        ("gpt-5-nano-2025-08-07", 1024, 32, "high", 79),
        ("gpt-5.1-codex-mini", 1024, 32, "high", 52),
        ("o4-mini", 1024, 32, "high", 56),
        ("gpt-5.2", 1024, 32, "high", 39),
        ("gpt-5.4", 1024, 32, "high", 39),
        ("gpt-5.4-mini", 1024, 32, "high", 52),
        # Budgets by model and detail.
        ("gpt-5.2", 4000, 4000, "high", 1826),
        ("gpt-5.4", 4000, 4000, "auto", 3000),
        ("gpt-5.4", 4000, 4000, "original", 12_000),
        ("gpt-5.5", 4000, 4000, "auto", 12_000),
        ("gpt-5.6", 4000, 4000, "auto", 18_750),
        ("gpt-5.6", 4000, 4000, "high", 3000),
        ("gpt-6-astra", 640, 480, "low", 231),
        ("gpt-6-astra", 3200, 960, "original", 3600),
        ("gpt-6-astra", 3200, 960, "high", 2916),
        ("somebody-else", 1024, 1024, "high", 765),
    ],
)
def test_openai(model: str, width: int, height: int, detail: str, tokens: int) -> None:
    assert openai_image(model, width, height, detail) == tokens


def test_openai_shrinks_to_whole_patches() -> None:
    """The published example: 1800 x 2400 becomes 33 x 44 patches."""
    assert Patches(1.0).count(1800, 2400, "high") == 1452


def test_openai_shrinks_images_thinner_than_a_patch() -> None:
    assert Patches(1.0, (10, 65_535)).count(60_000, 8, "high") == 10


@pytest.mark.parametrize(
    ("width", "height", "fine", "tokens"),
    [
        # Published: https://platform.claude.com/docs/en/build-with-claude/vision
        (1000, 1000, False, 1296),
        (1092, 1092, False, 1521),
        (1920, 1080, False, 1560),
        (1920, 1080, True, 2691),
        (200, 200, False, 64),
        (1, 1, False, 1),
    ],
)
def test_claude(width: int, height: int, fine: bool, tokens: int) -> None:
    assert claude_image(width, height, fine=fine) == tokens


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        # Published: https://ai.google.dev/gemini-api/docs/image-understanding
        ("gemini-2.5-pro", 384, 384, "", 258),
        ("gemini-2.5-pro", 960, 540, "", 1548),
        ("gemini-2.0-flash", 4000, 4000, "MEDIA_RESOLUTION_LOW", 258),
        # Published: https://ai.google.dev/gemini-api/docs/media-resolution
        ("gemini-3-pro", 4000, 4000, "", 1120),
        ("gemini-3-pro", 4000, 4000, "MEDIA_RESOLUTION_LOW", 280),
        ("gemini-3-pro", 4000, 4000, "medium", 560),
        ("gemini-3.1-flash", 10, 10, "high", 1120),
        ("gemini-3-pro", 10, 10, "MEDIA_RESOLUTION_ULTRA_HIGH", 2240),
        ("", 960, 540, "", 1548),
    ],
)
def test_gemini(model: str, width: int, height: int, detail: str, tokens: int) -> None:
    assert gemini_image(model, width, height, detail) == tokens


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("pixtral-12b", 64, 48, 15),
        ("pixtral-12b", 4096, 2048, 65 * 32),
        ("mistral-small-latest", 56, 28, 3),
        ("mistral-medium-latest", 3080, 1540, 56 * 28),
    ],
)
def test_mistral(model: str, width: int, height: int, tokens: int) -> None:
    assert mistral_image(model, width, height) == tokens


def test_mistral_as_mistral_common_counts() -> None:
    """Equal to the encoder of mistral-common, for both of its sizes of patches."""
    image = pytest.importorskip("mistral_common.tokens.tokenizers.image")
    pillow = pytest.importorskip("PIL.Image")

    configs = {
        "pixtral-12b": image.ImageConfig(16, 1024),
        "mistral-small-latest": image.ImageConfig(14, 1540, 2),
    }
    for model, config in configs.items():
        encoder = image.ImageEncoder(config, image.SpecialImageIDs(1, 2, 3))
        for width, height in ((1, 1), (16, 17), (1000, 800), (4000, 200), (999, 2001)):
            across, down = encoder._image_to_num_tokens(
                pillow.new("L", (width, height))
            )
            assert mistral_image(model, width, height) == (across + 1) * down


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("qwen2.5-vl-72b", 280, 280, 102),
        ("qwen3-vl-8b", 320, 320, 102),
        ("qwen2.5-vl-72b", 1, 1, 6),
        ("qwen2.5-vl-72b", 28_000, 28_000, 16_386),
    ],
)
def test_qwen(model: str, width: int, height: int, tokens: int) -> None:
    assert qwen_image(model, width, height) == tokens


@given(width=SIDES, height=SIDES, fine=st.booleans())
def test_claude_never_exceeds_its_limit(width: int, height: int, fine: bool) -> None:
    """And never wastes a whole row: a resized image fills most of the limit."""
    limit = 4784 if fine else 1568
    tokens = claude_image(width, height, fine=fine)

    assert 1 <= tokens <= limit
    assert claude_image(height, width, fine=fine) == tokens


@given(width=SIDES, height=SIDES, detail=st.sampled_from(["low", "high", "original"]))
def test_patches_never_exceed_their_budget(
    width: int, height: int, detail: str
) -> None:
    rule = Patches(1.0, (2500, 2048), (10_000, 6000), "original")

    tokens = rule.count(width, height, detail)

    assert 1 <= tokens <= {"low": 256, "high": 2500, "original": 10_000}[detail]
    assert rule.count(width, height, "auto") == rule.count(width, height, "original")


@given(width=SIDES, height=SIDES, longest=st.integers(1, 9_000))
def test_fitting_keeps_the_shape(width: int, height: int, longest: int) -> None:
    fitted = fit(width, height, longest)

    assert max(fitted) <= max(longest, 1)
    assert fitted == (width, height) or max(fitted) == longest
    assert min(fitted) >= 1
