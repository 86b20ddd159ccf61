"""`convert`: a history in another format."""

from __future__ import annotations

from turnkeep.api._arguments import Messages, with_hints
from turnkeep.api._placing import placed
from turnkeep.formats import Conversion, convert_value, get_format, open_messages

_WHOLE = frozenset({"turnkeep", "messages"})
"""Formats with fields for what is late or not final: the history stays as it is."""


@with_hints
def convert(
    messages: Messages,
    *,
    to: str,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    strict: bool = False,
) -> Conversion:
    """A history in another format; costs the history.

    Args:
        messages:
            A list of messages in any format, or a request body.
        to:
            The format to write.
        format:
            The format of *messages*; detected when not given.
        model:
            Helps detection where several formats fit.
        strict:
            Raise where something would be lost.

    Returns:
        `value`, the history in its new shape, and `losses`, what it could not carry.

    Raises:
        FormatError: The input is malformed, or (strict) something would be lost.
    """
    source, envelope = open_messages(messages, format, model)
    arrange = None if to in _WHOLE else placed
    return convert_value(
        envelope, source, get_format(to), strict=strict, arrange=arrange
    )
