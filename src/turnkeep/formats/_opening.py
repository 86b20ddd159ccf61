"""Taking a caller's value apart: its format found, the objects in it read."""

from __future__ import annotations

from typing import Any

import attrs

from ._base import Envelope, Format
from ._detect import detect
from ._objects import Objects, read_objects
from ._registry import get_format


def open_messages(
    messages: Any,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
) -> tuple[Format, Envelope]:
    """Open a list, a body or a session, and say which format its entries have.

    Of a session that is the format of what its program would send next, not of the
    session: from here on it is a list like any other. Objects of SDKs are read.

    >>> entry = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    >>> line = {"type": "response_item", "payload": {"type": "message", **entry}}
    >>> wire, envelope = open_messages([{"timestamp": "2026-01-02T03:04:05Z", **line}])
    >>> wire.name, envelope.session, len(envelope.entries)
    ('openai-responses', 'codex', 1)

    Args:
        messages:
            What was read.
        format:
            The format it is in; none: found out.
        model:
            The model it is for, which decides between formats that are alike.

    Raises:
        FormatError: No format takes it, or (`AmbiguousFormatError`) several do.
        ValueError: There is no format of that name.
    """
    read, objects = read_objects(messages)
    return _opened(read, format or detect(read, model=model).format, objects)


def reopen(messages: Any, name: str) -> tuple[Format, Envelope]:
    """The same for messages that are known to be of the format called *name*."""
    read, objects = read_objects(messages)
    return _opened(read, name, objects)


def _opened(read: Any, name: str, objects: Objects | None) -> tuple[Format, Envelope]:
    fmt = get_format(name)
    envelope = fmt.open(read)
    if envelope.wire is not None:
        # What a session's program would send is made anew: no entry is the caller's.
        return get_format(envelope.wire), envelope
    return fmt, envelope if objects is None else _giving_back(envelope, objects)


def _giving_back(envelope: Envelope, objects: Objects) -> Envelope:
    put = envelope.replace
    return attrs.evolve(
        envelope,
        objects=objects,
        replace=lambda made: put(objects.restored(made)),
    )
