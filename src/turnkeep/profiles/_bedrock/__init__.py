"""What the Converse API of Amazon Bedrock demands."""

from ._profile import profile

__all__ = ["profile"]
