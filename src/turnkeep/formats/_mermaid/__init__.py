"""The records of the seed system Mermaid."""

from ._format import Mermaid

__all__ = ["Mermaid"]
