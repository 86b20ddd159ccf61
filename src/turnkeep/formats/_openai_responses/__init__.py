"""OpenAI's Responses API."""

from ._format import OpenAIResponses

__all__ = ["OpenAIResponses"]
