from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs

from turnkeep.model import Message

from .._base import Envelope, Format
from .._marks import CARRIED, SIGNED, Judgement, Marks, Sign
from .._outline import Outline
from .._registry import get_format
from ._notes import Notes


def marks_of(line: Sign | None = None, file: Sign | None = None) -> Marks:
    """The marks of a program's files.

    Args:
        line:
            What shows that an entry of a list is the program's, in words; it may look
            at no more of it than a `Judge`.
        file:
            What shows it of an object.
    """

    def judge(entry: Any) -> Judgement:
        words = None if line is None else line(entry)
        return (CARRIED, "") if words is None else (SIGNED, words)

    return Marks(judge, lists=(), sign=file)


@attrs.frozen
class Session:
    """What a program would send next, as one of its files tells."""

    entries: Sequence[Any]
    """In the shape of the provider it sends to."""

    system: Any = None
    """System text beside the list, as that shape has it."""

    tools: Any = None
    """Tool definitions, raw."""

    model: str | None = None
    """The model that was asked last."""

    wire: str | None = None
    """The format of the entries, where it is not the reader's usual one."""

    is_body: bool = False
    """Whether what is sent is more than the list."""

    replace: Callable[[list[Any]], Any] = attrs.field(default=list, repr=False)
    """What is sent, with other entries in the list."""


class SessionFormat(ABC):
    """A file that a program left: read, never written.

    Such a file is a log, and what the model sees a projection of it. A subclass says by
    what marks it knows its files and reads one into a `Session`; everything else is
    done by the wire format that the session is in.
    """

    name: ClassVar[str]

    marks: ClassVar[Marks]
    """By what its files are known; made by `marks_of`."""

    wire: ClassVar[str]
    """The format in which its messages are given."""

    files: ClassVar[str]
    """Where such files come from or lie, for people."""

    @abstractmethod
    def read(self, value: Any, notes: Notes) -> Session:
        """What the program would send next; *notes* takes what is left out.

        Raises:
            FormatError: It is no such file, or damaged beyond what the program mends.
        """

    def open(self, value: Any) -> Envelope:
        """See `Format.open`: the messages that the program would send next."""
        notes = Notes()
        session = self.read(value, notes)
        return Envelope(
            session.entries,
            system=session.system,
            tools=session.tools,
            model=session.model,
            is_body=session.is_body,
            replace=session.replace,
            wire=session.wire or self.wire,
            session=self.name,
            notes=notes.sentences(),
        )

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`; of an entry that `open` gave."""
        return self._wire.decode(entry, path)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`; of entries that `open` gave."""
        return self._wire.outline(entries, path)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`; in the shape that `open` gives."""
        return self._wire.encode(messages)

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return self._wire.decode_system(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return self._wire.encode_request(messages, tools)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        return self._wire.losses(message)

    @property
    def _wire(self) -> Format:
        return get_format(self.wire)
