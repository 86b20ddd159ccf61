"""Gemini's generateContent API."""

from ._format import Gemini

__all__ = ["Gemini"]
