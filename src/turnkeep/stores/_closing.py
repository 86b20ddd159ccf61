from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A store that closes when its `with` block is left."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open; nothing is lost if it is forgotten."""

    def __enter__(self) -> Self:
        """Close when left."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
