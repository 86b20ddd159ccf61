"""What Anthropic's Messages API demands."""

from ._profile import profile

__all__ = ["profile"]
