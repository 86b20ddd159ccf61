from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.model import Message

from ._base import Envelope, Match, Sketch
from ._chat_columns import sketch_chat
from ._chat_decode import decode_chat
from ._chat_encode import encode_chat
from ._chat_match import judge_chat
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
    "openai",
    roles=("system", "developer", "user", "assistant", "tool", "function"),
    custom_tools=True,
)


class OpenAI:
    """OpenAI Chat Completions, and everyone who speaks it.

    Developer messages are system messages whose `extra` keeps the role. Calls and
    results of the older `function_call` kind have no ids. Custom tool calls keep their
    text. Reasoning that a compatible server left in `reasoning_content` or `reasoning`
    goes back where it was; reasoning of other formats has no place here.
    """

    name = "openai"

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name)

    def matches(self, value: Any) -> Match:
        """See `Format.matches`."""
        return match_entries(value, judge_chat)

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
