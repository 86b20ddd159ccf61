"""The format `langchain`."""

from ._format import LangChain

__all__ = ["LangChain"]
