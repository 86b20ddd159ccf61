"""Texts that a store keeps beside a conversation: what windows only refer to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from turnkeep.errors import (
    ConflictError,
    DuplicateIdError,
    UnknownConversationError,
)
from turnkeep.model import Message

from ._values import Change, Row

PREFIX: Final = "offloaded:"
"""How the ids of the conversations begin that hold the texts beside another one."""


class _Store(Protocol):
    def create(self, conversation_id: str, change: Change = ...) -> int: ...

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int: ...

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]: ...


class Texts:
    """Gives a store two methods more: texts by name, beside each conversation.

    They are messages of a conversation of their own, `offloaded:` and the id of the
    one that they stand beside.
    """

    def put_text(self: Any, conversation_id: str, name: str, text: str) -> None:
        """Keep *text* under *name*, durably; what has that name already stays.

        Costs the text.

        Raises:
            FormatError: No store can keep an id, or so long a text.
        """
        store: _Store = self
        place = f"{PREFIX}{conversation_id}"
        change = Change.of_messages([Message.user(text, id=name, kind="offloaded")])
        version: int | None = None
        while True:
            try:
                if version is None:
                    store.create(place, change)
                else:
                    store.write(place, change, expected=version)
            except DuplicateIdError:
                return
            except ConflictError as error:
                version = error.actual
            except UnknownConversationError:  # deleted in between
                version = None
            else:
                return

    def read_text(self: Any, conversation_id: str, name: str) -> str | None:
        """The text of that name; `None` where there is none. Costs the text.

        Raises:
            FormatError: No store can keep such an id.
        """
        store: _Store = self
        try:
            rows = store.read_messages(f"{PREFIX}{conversation_id}", [name])
        except UnknownConversationError:
            return None
        return rows[0].message.text if rows else None
