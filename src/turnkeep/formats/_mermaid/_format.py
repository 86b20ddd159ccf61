from __future__ import annotations

from typing import Any

from turnkeep.model import (
    Message,
    Thinking,
)

from .._base import origin_of
from .._losses import opaque_losses
from .._marks import NEVER, Judgement
from .._record_losses import block_losses
from .._records import RecordFormat
from ._names import NAME, ROLES, SEALED
from ._read import read_message, read_short
from ._write import write_message


class Mermaid(RecordFormat):
    """mermaid-cli: flat messages, unset fields written as null.

    Unknown roles are read as system messages and unknown kinds kept, both with their
    string; old files lack the newer keys. Display actions stand in the metadata. What
    there is no field for (ids, pins, priorities) goes into its metadata under
    `turnkeep`. A result has no error flag: a fixed first line stands for it, unless the
    text begins with `tool error: `.
    """

    name = NAME
    model_keys = ("model", "model_name")
    carries = frozenset({"pinned", "timestamp", "priority", "metadata"})
    # The crate leaves what is only for people out by itself.
    keeps_shown = True
    demands_ids = False
    names_tools = True

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`."""
        return read_short(entry, path)

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`."""
        return read_message(entry, path)

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        return write_message(message)

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        lost = [
            *opaque_losses(message, NAME),
            *block_losses(message, images=True, files=True),
        ]
        for block in message.content:
            if isinstance(block, Thinking):
                foreign = origin_of(message) not in SEALED
                if block.data or (block.signature and foreign):
                    lost.append("the seal or ciphertext of reasoning")
        return lost

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
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
