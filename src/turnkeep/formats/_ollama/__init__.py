"""Ollama's chat API."""

from ._format import Ollama

__all__ = ["Ollama"]
