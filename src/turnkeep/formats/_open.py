"""A value opened, whatever wraps its messages."""

from __future__ import annotations

from typing import Any

from ._base import Envelope, Format
from ._detect import detect
from ._registry import get_format


def open_value(
    value: Any, name: str | None = None, *, model: str | None = None
) -> tuple[Format, Envelope]:
    """Open a list, a body or a session, and say which format its entries have.

    Of a session that is the format of what its program would send next, not of the
    session: from here on it is a list like any other.

    >>> entry = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    >>> line = {"type": "response_item", "payload": {"type": "message", **entry}}
    >>> wire, envelope = open_value([{"timestamp": "2026-01-02T03:04:05Z", **line}])
    >>> wire.name, envelope.session, len(envelope.entries)
    ('openai-responses', 'codex', 1)

    Args:
        value:
            What was read.
        name:
            The format it is in; none: found out.
        model:
            The model it is for, which decides between formats that are alike.

    Raises:
        FormatError: No format takes it, or (`AmbiguousFormatError`) several do.
        ValueError: There is no format of that name.
    """
    if name is None:
        name = detect(value, model=model).format
    fmt = get_format(name)
    envelope = fmt.open(value)
    return (fmt if envelope.wire is None else get_format(envelope.wire)), envelope
