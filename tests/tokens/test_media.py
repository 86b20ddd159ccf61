import base64
from binascii import a2b_base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tokens import pictures
from tests.tokens.pictures import encode
from turnkeep.tokens import _media, image_size
from turnkeep.tokens._media import audio_seconds, decode, pdf_pages

SIDES = st.integers(1, 16_383)


@given(kind=st.sampled_from(sorted(pictures.KINDS)), width=SIDES, height=SIDES)
def test_reads_the_size_of_every_kind(kind: str, width: int, height: int) -> None:
    content = pictures.KINDS[kind](width, height) + b"pixels" * 1000

    assert image_size(encode(content)) == (width, height)


def test_reads_data_urls() -> None:
    data = encode(pictures.png(640, 480))

    assert image_size(f"data:image/png;base64,{data}") == (640, 480)
    assert image_size(f"DATA:;base64,{data}") == (640, 480)
    assert image_size("data:nothing") is None


def test_reads_base64_as_it_comes() -> None:
    """Line breaks, the URL-safe alphabet and missing padding are common."""
    content = b"\xff\xd8\xff\xe0\x00\x04\xfb\xff" + pictures.jpeg(31, 41)[2:]
    data = base64.urlsafe_b64encode(content).decode().rstrip("=")

    assert image_size("\r\n".join([data[:20], data[20:]])) == (31, 41)


@pytest.mark.parametrize("before", [1_000, 50_000, 2_000_000])
def test_a_jpeg_may_say_its_size_late(before: int) -> None:
    """Previews and colour profiles stand before it."""
    assert image_size(encode(pictures.jpeg(300, 200, before=before))) == (300, 200)


def test_a_jpeg_that_says_it_too_late() -> None:
    """Four megabytes of base64 are searched, no more."""
    assert image_size(encode(pictures.jpeg(300, 200, before=4_000_000))) is None


@pytest.mark.parametrize("marker", [0xC1, 0xC2, 0xCF])
def test_every_frame_of_a_jpeg(marker: int) -> None:
    assert image_size(encode(pictures.jpeg(300, 200, marker=marker))) == (300, 200)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain text",
        pictures.png(0, 10),
        pictures.png(10, 10)[:20],
        pictures.gif(10, 10)[:9],
        b"\xff\xd8 no segment here, whatever it is",
        b"\xff\xd8\xff\xe1\x00\x00" * 4,
        pictures.jpeg(10, 10, marker=0xC4),
        b"RIFF\x00\x00\x00\x00WEBPVP9X" + b"\x00" * 20,
    ],
)
def test_says_nothing_of_what_it_cannot_read(content: bytes) -> None:
    assert image_size(encode(content)) is None


@given(text=st.text(st.characters(categories=None, codec=None)))
def test_never_fails_on_nonsense(text: str) -> None:
    assert image_size(text) is None or "/" in text or "-" in text or text.isascii()
    assert audio_seconds(text) >= 0
    pdf_pages(text)


def test_decodes_the_head_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of 20 MB costs as much as one of 2 kB."""
    seen: list[int] = []

    def spy(text: str) -> bytes:
        seen.append(len(text))
        return a2b_base64(text)

    monkeypatch.setattr(_media, "a2b_base64", spy)

    assert image_size(encode(pictures.png(8, 9)) + "A" * 20_000_000) == (8, 9)
    assert sum(seen) <= 512


@pytest.mark.parametrize("text", ["é", "A", "AAAAA", "====", "\ud800"])
def test_nonsense_decodes_to_little(text: str) -> None:
    assert len(decode(text)) <= 3


@pytest.mark.parametrize("pages", [1, 7, 120])
def test_pages_of_a_pdf(pages: int) -> None:
    assert pdf_pages(encode(pictures.pdf(pages))) == pages


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        (b"%PDF-1.5 /Type/ObjStm /Count 12", 12),
        (b"%PDF-1.5 /Type/Page >> /Type /Pages", 1),
        (b"%PDF-1.5 compressed", None),
        (b"%PDF-1.5 /Count 0", None),
        (b"no pdf /Type /Page", None),
    ],
)
def test_pages_where_the_file_is_odd(content: bytes, pages: int | None) -> None:
    assert pdf_pages(encode(content)) == pages


def test_seconds_of_sound() -> None:
    """From the header of a WAV; anything else is taken for 128 kbit a second."""
    assert audio_seconds(encode(pictures.wav(2.5))) == pytest.approx(2.5, rel=0.01)
    assert audio_seconds(encode(b"\xff\xfb" * 16_000)) == pytest.approx(2, rel=0.01)
    assert audio_seconds(encode(pictures.wav(0, rate=0))) < 0.1
