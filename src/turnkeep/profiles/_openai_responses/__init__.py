"""What OpenAI's Responses API demands."""

from ._profile import profile

__all__ = ["profile"]
