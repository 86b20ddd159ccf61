"""Estimates for models without a public tokenizer."""

from __future__ import annotations

import attrs

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = bytes(range(ord("A"), ord("Z") + 1))
_DIGIT = bytes(range(ord("0"), ord("9") + 1))
_SPACE = b" "
_BREAK = b"\r\n\t"
_CONTINUATION = bytes(range(0x80, 0xC0))

_W = (0.19, 0.35, 0.45, 0.6, 0.06, 0.4, 0.7)
FAMILIES = {"generic": 1.0, "openai": 1.0, "claude": 1.15, "gemini": 1.0}


@attrs.frozen(repr=False, init=False)
class ApproximateCounter:
    """An honest estimate from the kinds of characters a text is made of."""

    family: str
    name: str
    exact: bool
    margin: float

    def __init__(self, family: str = "generic") -> None:
        """See the class."""
        name = "approximate" if family == "generic" else f"approximate-{family}"
        self.__attrs_init__(family, name, False, 0.15)  # type: ignore[attr-defined]

    def count(self, text: str) -> int:
        """Estimated tokens of *text*."""
        data = text.encode("utf-8", "surrogatepass")
        size = len(data)
        counts = [
            size - len(data.translate(None, c))
            for c in (_LOWER, _UPPER, _DIGIT, _SPACE, _BREAK, _CONTINUATION)
        ]
        total = sum(n * w for n, w in zip(counts[:3], _W, strict=False))
        total += counts[3] * _W[4] + counts[4] * _W[5]
        ascii_size = len(data.translate(None, bytes(range(128, 256))))
        total += (ascii_size - sum(counts[:5])) * _W[3] + (len(text) - ascii_size) * _W[6]
        scaled = total * FAMILIES.get(self.family, 1.0)
        return max(round(scaled), 1) if text else 0

    def __repr__(self) -> str:
        return f"ApproximateCounter({self.family!r})"
