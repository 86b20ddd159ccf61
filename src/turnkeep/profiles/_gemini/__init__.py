"""What Gemini's generateContent API demands."""

from ._profile import profile

__all__ = ["profile"]
