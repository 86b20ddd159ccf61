"""The format `pydantic-ai`."""

from ._format import PydanticAi

__all__ = ["PydanticAi"]
