"""What the formats of OpenAI's shape share; each adds its dialect and its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from turnkeep.model import Message

from .._base import Envelope, Sketch
from .._marks import Marks
from ._columns import sketch_chat
from ._decode import decode_chat
from ._dialect import Dialect
from ._encode import encode_chat
from ._open import chat_losses, open_list, request, system_messages, to_send


class ChatFormat:
    """A format of chat messages; each has a name, a dialect and marks to know it by."""

    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    marks: ClassVar[Marks]

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        return decode_chat(entry, path, self.dialect)

    def sketch(self, entries: Sequence[Any]) -> Sketch | None:
        """See `Sketching.sketch`."""
        return sketch_chat(entries, self.dialect)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return encode_chat(messages, self.dialect)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return request(self.encode(to_send(messages)), tools)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        return chat_losses(message, self.dialect)
