"""The Converse API of Amazon Bedrock."""

from ._format import Bedrock

__all__ = ["Bedrock"]
