from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.model import Document, Message, Thinking

from .._base import Envelope, is_own
from .._chat._encode import stands_apart
from .._chat._open import open_list, request, system_messages, to_send
from .._joins import answers
from .._losses import host_losses, key_losses, opaque_losses, pictures
from .._marks import Marks
from .._outline import Outline
from ._decode import decode_ollama
from ._encode import encode_ollama, encode_rounds
from ._judge import judge_ollama
from ._outline import outline_ollama


class Ollama:
    """Ollama's `/api/chat` messages: content is text, arguments are an object.

    A result names its tool; most servers know no ids, so that none are written for
    messages of other origin, and results of one round are put in the order of their
    calls. Ids that came in go back.
    """

    name = "ollama"
    list_key = "messages"
    marks = Marks(judge_ollama)

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        return (decode_ollama(entry, path),)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_ollama(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return encode_ollama(messages)

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        return stands_apart(before, after) and not answers(after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        del message
        return False

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none where names do not do."""
        return encode_rounds(messages, earlier)

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
        lost = host_losses(message)
        if message.layout is None or not is_own(message, self.name):
            lost += key_losses(message, self.name)
            lost += opaque_losses(message, self.name)
            lost += [
                "a file, or an image that is not inline"
                for block in pictures(message)
                if isinstance(block, Document) or block.data is None
            ]
            lost += [
                "the seal or ciphertext of reasoning"
                for block in message.content
                if isinstance(block, Thinking) and (block.signature or block.data)
            ]
        return lost
