"""Headers of pictures and sounds, as small as they can be."""

import base64
import struct
from collections.abc import Callable


def png(width: int, height: int) -> bytes:
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    return head + struct.pack(">II", width, height) + b"\x08\x06\x00\x00\x00"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00"


def jpeg(width: int, height: int, *, before: int = 0, marker: int = 0xC0) -> bytes:
    """With *before* bytes of other segments in front of the size."""
    parts = [b"\xff\xd8"]
    while before > 0:
        size = min(before, 60_000)
        parts.append(b"\xff\xe1" + struct.pack(">H", size + 2) + b"\xff" * size)
        before -= size
    # A fill byte and a marker without a body are allowed anywhere.
    parts.append(b"\xff\xff\xd0")
    frame = struct.pack(">HBHHB", 17, 8, height, width, 3)
    parts.append(b"\xff" + bytes([marker]) + frame + b"\x00" * 9)
    return b"".join(parts)


def webp_extended(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00" + size


def webp_lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    head = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f"
    return head + struct.pack("<I", bits) + b"\x00" * 8


def webp_lossy(width: int, height: int) -> bytes:
    head = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x30\x01\x00\x9d\x01\x2a"
    return head + struct.pack("<HH", width | 0x4000, height)


def wav(seconds: float, rate: int = 16_000) -> bytes:
    """Mono, 16 bits: *rate* samples and twice as many bytes a second."""
    sound = b"\x00" * int(seconds * rate * 2)
    head = b"RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
    return head + struct.pack("<IIHH", rate, rate * 2, 2, 16) + b"data" + sound


def pdf(pages: int) -> bytes:
    page = b"<< /Type /Page /Parent 2 0 R >>\n"
    tree = b"<< /Type /Pages /Count %d >>\n" % pages
    return b"%PDF-1.7\n" + tree + page * pages


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


KINDS: dict[str, Callable[[int, int], bytes]] = {
    "png": png,
    "gif": gif,
    "jpeg": jpeg,
    "webp, extended": webp_extended,
    "webp, lossless": webp_lossless,
    "webp, lossy": webp_lossy,
}
