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
    """The format of *messages* and its envelope, the objects of SDKs in it read.

    Raises:
        FormatError: No format takes it, or (`AmbiguousFormatError`) several do.
    """
    read, objects = read_objects(messages)
    name = format or detect(read, model=model).format
    fmt = get_format(name)
    envelope = fmt.open(read)
    return fmt, envelope if objects is None else _giving_back(envelope, objects)


def reopen(messages: Any, fmt: Format) -> Envelope:
    """The envelope of messages that are known to be of format *fmt*."""
    read, objects = read_objects(messages)
    envelope = fmt.open(read)
    return envelope if objects is None else _giving_back(envelope, objects)


def _giving_back(envelope: Envelope, objects: Objects) -> Envelope:
    put = envelope.replace
    return attrs.evolve(
        envelope,
        objects=objects,
        replace=lambda made: put(objects.restored(made)),
    )
