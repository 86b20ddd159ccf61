"""Messages as callers give them: ours, or entries of the conversation's format.

An entry is a dict, or the object of a client, which is read as it would be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from turnkeep.formats import decode_entries, get_format, read_entry, reopen
from turnkeep.model import Message
from turnkeep.model._checks import quoted


class Dumpable(Protocol):
    """An object of a client that says what it is as JSON, as pydantic's models do."""

    def model_dump(self) -> Any: ...


Given: TypeAlias = Message | Mapping[str, Any] | Dumpable
"""What is taken for a message."""


def as_messages(given: Any, format_name: str, path: str = "$") -> tuple[Message, ...]:
    """The messages that *given* is: a `Message`, or an entry of the format.

    An entry that holds results and words of the user is two.

    Raises:
        FormatError: An entry is malformed; its path says where.
        TypeError: It is neither.
    """
    if isinstance(given, Message):
        return (given,)
    entry = read_entry(given, path)
    if isinstance(entry, Mapping):
        return get_format(format_name).decode(entry, path)
    msg = (
        f"a Message or a dict in the format {format_name!r} expected"
        f"{_at(path)}, not {quoted(given)}{_way_out(given)}"
    )
    raise TypeError(msg)


def as_list(given: Any, format_name: str) -> list[Message]:
    """All messages of a list, or of a whole request body in the format.

    Raises:
        FormatError: An entry is malformed; its path says where.
        TypeError: It is no such thing, or an element is neither message nor entry.
    """
    if isinstance(given, Mapping):
        source, envelope = reopen(given, format_name)
        system = envelope.system
        first = () if system is None else source.decode_system(system)
        return [*first, *decode_entries(envelope, source)]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        msg = f"messages must be a list, not {quoted(given)}"
        raise TypeError(msg)
    return [
        message
        for nth, one in enumerate(given)
        for message in as_messages(one, format_name, f"$[{nth}]")
    ]


def _at(path: str) -> str:
    return "" if path == "$" else f" @ {path}"


def _way_out(given: object) -> str:
    if isinstance(given, str):
        return "; user(), assistant() and system() append a text"
    if isinstance(given, (list, tuple)):
        return "; extend() takes several"
    return ""
