"""The driver of the seed systems' formats: lists of records of their own.

A record is read strictly and written as its system writes it; how it was spelled stands
in the layout. What differs from format to format are tables of fields (`_table`), how a
message is put together from them, and what has no place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from turnkeep.model import DISPLAY_KINDS, EMPTY, Message, ToolCall

from ._base import Envelope
from ._body import open_body
from ._chat._open import request, system_messages
from ._fields import call_of, with_tool_names
from ._ids import calls_before, lacks_id, with_call_ids
from ._joins import answers
from ._losses import host_losses, key_losses
from ._marks import Judgement, Marks
from ._outline import Outline, outline_decoded
from ._record_losses import field_losses
from ._spelling import recall, remember
from ._table import ANY, TEXT, Field, Table

CALL: Final = Table(Field("id", TEXT), Field("name", TEXT), Field("arguments", ANY))
"""A call as most of these systems keep it; its arguments may be any JSON."""


class RecordFormat(ABC):
    """A list of records, or a body with `messages` and `system` beside them."""

    name: ClassVar[str]
    list_key: ClassVar[str] = "messages"

    model_keys: ClassVar[tuple[str, ...]] = ("model",)
    """Where a body names its model."""

    carries: ClassVar[frozenset[str]] = frozenset()
    """The host's fields that it has a place for."""

    lacks: ClassVar[frozenset[str]] = frozenset()
    """Fields of a message that it has no place for."""

    keeps_shown: ClassVar[bool] = False
    """Whether it holds messages only for people, and never sends them."""

    demands_ids: ClassVar[bool] = True
    """Whether every call has an id."""

    names_tools: ClassVar[bool] = False
    """Whether a result names its tool."""

    @abstractmethod
    def judge(self, entry: dict[str, Any]) -> Judgement:
        """How much a record looks like this format's, and the mark that says so."""

    @abstractmethod
    def read_short(self, entry: Any, path: str) -> Message | None:
        """The message of a record that is one text in today's spelling, else none."""

    @abstractmethod
    def read(self, entry: Any, path: str) -> Message:
        """The message that a record says.

        Raises:
            FormatError: With the path of the offending value below *path*.
        """

    @abstractmethod
    def write(self, message: Message) -> list[Any]:
        """The records that say *message*, in today's spelling."""

    @abstractmethod
    def lost_content(self, message: Message) -> list[str]:
        """What of the content has no place, in words."""

    def finish(self, entries: list[Any]) -> list[Any]:
        """*entries* with what depends on all of them; as they are, usually."""
        return entries

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_body(value, "messages", system=("system",), model=self.model_keys)

    @cached_property
    def marks(self) -> Marks:
        """See `Format.marks`."""
        return Marks(self.judge, lists=(self.list_key,))

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        if (quick := self.read_short(entry, path)) is not None:
            return (quick,)
        return (remember(self.read(entry, path), entry, self.name, self.write),)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`. A message of several parts may become several."""
        if not self.keeps_shown:
            messages = [m for m in messages if m.kind not in DISPLAY_KINDS]
        if self.demands_ids:
            messages = with_call_ids(messages, _everywhere)
        if self.names_tools:
            messages = with_tool_names(messages, self.name)
        return self.finish(
            [
                entry
                for message in messages
                for entry in recall(message, self.name, self.read, self.write)
            ]
        )

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        del before
        return not answers(after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`."""
        del message
        return False

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none where ids or names come from outside."""
        if self.demands_ids and any(map(lacks_id, messages)):
            return None
        if self.names_tools and calls_before(messages, earlier):
            return None
        return self.encode(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return system_messages(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return request(self.encode(messages), tools)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        shown = message.kind in DISPLAY_KINDS and not self.keeps_shown
        return [
            *(["a message only for people"] if shown else []),
            *host_losses(message, self.carries),
            *field_losses(message, self.lacks),
            *key_losses(message, self.name),
            *self.lost_content(message),
        ]


def read_call(record: Any, what: str, path: str) -> ToolCall:
    """The call that a `CALL` says.

    Raises:
        FormatError: It is none.
    """
    return call_of(**CALL.read(record, what, path), extra=CALL.rest(record, path))


def write_call(call: ToolCall, *, own: bool) -> dict[str, Any]:
    """The `CALL` that says *call*, with the keys in its `extra` if they are *own*."""
    said = {"id": call.id or "", "name": call.name, "arguments": call.arguments}
    return CALL.write(**said, extra=call.extra if own else EMPTY)


def _everywhere(_message: Message) -> bool:
    return True
