"""What the formats of OpenAI's shape share; each adds its dialect and its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from turnkeep.model import Message

from .._base import Envelope
from .._ids import lacks_id
from .._marks import Marks
from .._outline import Outline
from ._decode import decode_chat
from ._dialect import Dialect
from ._encode import encode_chat, encode_linked, stands_apart
from ._open import chat_losses, open_list, request, system_messages, to_send
from ._outline import outline_chat


class ChatFormat:
    """A format of chat messages; each has a name, a dialect and marks to know it by."""

    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    list_key: ClassVar[str] = "messages"
    marks: ClassVar[Marks]

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        return decode_chat(entry, path, self.dialect)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_chat(entries, self.decode, path, self.dialect)

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

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        return stands_apart(before, after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        del message
        return False

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none for calls without ids."""
        del earlier
        if any(map(lacks_id, messages)):
            return None
        return encode_linked(messages, self.dialect)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        return chat_losses(message, self.dialect)
