from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.model import Message

from ._base import Envelope, Match, Sketch
from ._chat_columns import sketch_chat
from ._chat_decode import decode_chat
from ._chat_encode import encode_chat
from ._chat_match import judge_deepseek
from ._chat_open import (
    chat_losses,
    match_entries,
    open_list,
    request,
    system_messages,
    to_send,
)
from ._dialect import Dialect

_DIALECT = Dialect(
    "deepseek",
    roles=("system", "user", "assistant", "tool", "latest_reminder"),
    thinking="key",
)


class DeepSeek:
    """DeepSeek's chat messages: OpenAI's, with reasoning in `reasoning_content`.

    There is no developer role (rule DS-02), so developer messages of other formats
    become system messages; a `latest_reminder` is one whose `extra` keeps the role.
    """

    name = "deepseek"

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name)

    def matches(self, value: Any) -> Match:
        """See `Format.matches`."""
        return match_entries(value, judge_deepseek)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        return decode_chat(entry, path, _DIALECT)

    def sketch(self, entries: Sequence[Any]) -> Sketch | None:
        """See `Sketching.sketch`."""
        return sketch_chat(entries)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return encode_chat(messages, _DIALECT)

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
        return chat_losses(message, _DIALECT)
