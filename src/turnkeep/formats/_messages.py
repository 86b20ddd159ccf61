from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import Message

from ._base import Envelope
from ._chat._open import system_messages
from ._marks import NEVER, Judgement, Marks
from ._outline import Outline, outline_decoded
from ._shape import json_type

_CERTAIN: Final = 9


def _judge(entry: Any) -> Judgement:
    if isinstance(entry, Message):
        return _CERTAIN, "a Message object"
    return NEVER, "no Message object"


class Messages:
    """Lists of turnkeep's own `Message` objects: nothing to decode.

    For callers who build their history in Python; it cannot stand in a file.
    """

    name = "messages"
    marks = Marks(_judge, objects=False)

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        if isinstance(value, (list, tuple)):
            return Envelope(value)
        reason = f"a list of Message objects is expected, got {json_type(value)}"
        raise FormatError(reason, "$")

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if not isinstance(entry, Message):
            reason = f"a Message object is expected, got {json_type(entry)}"
            raise FormatError(reason, path)
        return (entry,)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return list(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """The messages and the tools under the names that other formats use."""
        return {"messages": list(messages), **({"tools": tools} if tools else {})}

    def losses(self, message: Message) -> list[str]:  # noqa: ARG002 - as in Format
        """Nothing, ever."""
        return []
