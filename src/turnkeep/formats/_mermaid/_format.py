from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.model import (
    Message,
    Thinking,
)

from .._base import Envelope, origin_of
from .._body import open_body
from .._fields import (
    with_tool_names,
)
from .._losses import host_losses, key_losses, opaque_losses
from .._marks import NEVER, Judgement, Marks
from .._seed_format import SeedFormat
from .._seed_losses import block_losses
from .._spelling import recall, remember
from ._names import (
    NAME,
    ROLES,
    SEALED,
)
from ._read import read_message, read_short
from ._write import write_message


def _judge(entry: dict[str, Any]) -> Judgement:
    if not isinstance(entry.get("role"), str) or not isinstance(
        entry.get("content"), str
    ):
        return NEVER, "no role and text"
    if not isinstance(entry.get("timestamp"), str):
        return NEVER, "no time stamp as text"
    if entry["role"] in ROLES:
        return 4, f"the role {entry['role']!r} with a time stamp"
    # Unknown roles can be read, but say nothing.
    marks = {"provider_continuation", "image_numbers", "actions"}
    if marks <= entry.keys():
        return 4, "the fields of a Mermaid message"
    return NEVER, f"no role of Mermaid: {entry['role']!r}"


class Mermaid(SeedFormat):
    """mermaid-cli: flat messages, unset fields written as null.

    Unknown roles are read as system messages and unknown kinds kept, both with their
    string; old files lack the newer keys. Display actions stand in the metadata. What
    there is no field for (ids, pins, priorities) goes into its metadata under
    `turnkeep`. A result has no error flag: a fixed first line stands for it, unless the
    text begins with `tool error: `.
    """

    name = NAME
    marks = Marks(_judge)

    def open(self, value: Any) -> Envelope:
        """A list of messages, or a session with `messages` and `model_name`."""
        return open_body(
            value, "messages", system=("system",), model=("model", "model_name")
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if (quick := read_short(entry, path)) is not None:
            return (quick,)
        return (remember(read_message(entry, path), entry, NAME, write_message),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`. Run summaries stay: the crate leaves them out itself."""
        sent = with_tool_names(messages, NAME)
        return [e for m in sent for e in recall(m, NAME, read_message, write_message)]

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        carries = frozenset({"pinned", "timestamp", "priority", "metadata"})
        lost = [
            *host_losses(message, carries),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *block_losses(message, images=True, files=True),
        ]
        for block in message.content:
            if isinstance(block, Thinking):
                foreign = origin_of(message) not in SEALED
                if block.data or (block.signature and foreign):
                    lost.append("the seal or ciphertext of reasoning")
        return lost
