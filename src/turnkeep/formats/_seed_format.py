"""What the seed systems' formats share; each reads and writes messages of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from turnkeep.model import Message

from ._base import Envelope
from ._body import open_body
from ._chat._open import request, system_messages
from ._outline import Outline, outline_decoded


class SeedFormat(ABC):
    """A format of stored messages: a list, or `messages` with `system` beside them."""

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_body(value, "messages", system=("system",))

    @abstractmethod
    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    @abstractmethod
    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return request(self.encode(messages), tools)
