"""Anthropic's Messages API."""

from ._format import Anthropic

__all__ = ["Anthropic"]
