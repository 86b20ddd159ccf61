from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.model import Message, Role, Thinking

from .._base import Envelope, is_own, layout_of
from .._chat._open import open_list, request, to_send
from .._ids import calls_before, lacks_id
from .._losses import host_losses, key_losses, opaque_losses, pictures
from .._marks import Marks
from .._outline import Outline
from .._shape import as_array
from ._decode import decode_item
from ._encode import encode_items
from ._judge import judge_item
from ._outline import outline_items
from ._parts import NAME

_INSTRUCTIONS = f"{NAME}:instructions"
_KEPT = ("previous_response_id", "conversation")
"""Keys of a body that say what the provider keeps of the context."""


class OpenAIResponses:
    """Items of OpenAI's Responses API.

    An item is a message; runs of assistant-side items make one step. Reasoning keeps
    its ciphertext byte for byte. Items that we do not know, and references to stored
    ones, are carried as they are. `instructions` are system text beside the list.
    """

    name = NAME
    list_key = "input"
    marks = Marks(judge_item, lists=("input",), body={"input": 3})

    def open(self, value: Any) -> Envelope:
        """See `Format.open`; `input` may be a string: one user message."""
        if not isinstance(value, dict) or not isinstance(value.get("input"), str):
            found = open_list(value, self.name, key="input")
            if not isinstance(value, dict):
                return found
            return attrs.evolve(
                found, system=value.get("instructions"), kept=_kept_by(value)
            )
        entry = {"role": "user", "content": value["input"]}
        found = open_list({**value, "input": [entry]}, self.name, key="input")
        return attrs.evolve(
            found,
            system=value.get("instructions"),
            kept=_kept_by(value),
            replace=lambda made: value if made == [entry] else {**value, "input": made},
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        return (decode_item(entry, path),)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_items(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return encode_items(messages)

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        del before
        return after.role is not Role.TOOL_RESULT

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        return _is_instructions(message)

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none for calls without ids."""
        if any(map(lacks_id, messages)):
            return None
        return encode_items(messages, calls_before(messages, earlier).values())

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`; instructions are text or a list of items."""
        if system is None:
            return ()
        if isinstance(system, str):
            return (Message.system(system, layout=_INSTRUCTIONS),)
        items = as_array(system, "instructions", path)
        return tuple(
            decode_item(item, f"{path}[{nth}]") for nth, item in enumerate(items)
        )

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        beside = [m for m in messages if _is_instructions(m)]
        listed = [m for m in messages if not _is_instructions(m)]
        body = request(self.encode(to_send(listed)), tools, key="input")
        if beside:
            body["instructions"] = "\n".join(message.text for message in beside)
        return body

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        lost = host_losses(message)
        if message.layout is None or not is_own(message, self.name):
            lost += key_losses(message, self.name)
            lost += opaque_losses(message, self.name)
            if any(isinstance(block, Thinking) for block in message.content):
                lost.append("reasoning (only items of this API can come back)")
            for block in pictures(message):
                if block.data is None and block.url is None:
                    lost.append("a file id of another provider")
                elif message.role is Role.ASSISTANT:
                    lost.append("an image or file of a message with role assistant")
        return lost


def _kept_by(body: dict[str, Any]) -> tuple[str, ...]:
    return tuple(key for key in _KEPT if body.get(key) is not None)


def _is_instructions(message: Message) -> bool:
    return message.role is Role.SYSTEM and layout_of(message, NAME) == "instructions"
