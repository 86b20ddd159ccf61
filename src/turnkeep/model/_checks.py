"""What the fields of messages and blocks may be: checked before anything is kept.

Whatever passes here can be written to every store and read back equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from turnkeep.errors import NaiveTimestampError

from ._frozen import FrozenDict

MOST: Final = 2**53
"""Whole numbers up to here are the same in every JSON reader and every database."""

MOST_TOKENS: Final = 2**40 - 1
"""No message has more tokens: what does has been counted wrong."""

SCOPES: Final = ("turn", "step")


def quoted(value: object) -> str:
    """*value* for an error: its `repr`, cut where it is long.

    >>> quoted("x" * 1_000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' (str)"
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - somebody else's __repr__ must not hide the error
        return f"a {type(value).__name__}"
    if len(text) <= 80:
        return text
    end = text[0] if text[0] in ("'", '"') else ""
    return f"{text[:60]}...{end} ({type(value).__name__})"


def near(name: object, known: Iterable[str]) -> str:
    """The known name that was meant, as the end of a sentence; empty if none was.

    >>> near("antropic", ["openai", "anthropic"])
    "; did you mean 'anthropic'?"
    """
    from difflib import get_close_matches  # noqa: PLC0415 - for the error only

    found = get_close_matches(str(name), sorted(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def check_text(name: str, value: object) -> None:
    """Refuse what is no text.

    Raises:
        TypeError: With the name of the field and the value.
    """
    if type(value) is not str and not isinstance(value, str):
        msg = f"{name} must be text, not {quoted(value)}"
        raise TypeError(msg)


def check_text_or_none(name: str, value: object) -> None:
    """The same where nothing may be said."""
    if value is not None:
        check_text(name, value)


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither true nor false.

    Raises:
        TypeError: With the name of the field and the value.
    """
    if value is not True and value is not False:
        msg = f"{name} must be True or False, not {quoted(value)}"
        raise TypeError(msg)


def check_whole(
    name: str, value: object, *, least: int = -MOST, most: int = MOST
) -> None:
    """Refuse what is no whole number, or out of range.

    Raises:
        TypeError: It is none; `True` is none either.
        ValueError: It is below *least* or above *most*.
    """
    if type(value) is bool or not isinstance(value, int):
        msg = f"{name} must be a whole number, not {quoted(value)}"
        raise TypeError(msg)
    if not least <= value <= most:
        msg = f"{name} must be from {least:,} to {most:,}, not {quoted(value)}"
        raise ValueError(msg)


def check_moment(name: str, value: object) -> None:
    """Refuse what is no date and time with a time zone.

    Raises:
        TypeError: It is no `datetime`.
        NaiveTimestampError: It has no time zone.
    """
    if not isinstance(value, datetime):
        hint = ""
        if isinstance(value, str):
            hint = "; datetime.fromisoformat() reads a text"
        msg = f"{name} must be a datetime with a time zone, not {quoted(value)}{hint}"
        raise TypeError(msg)
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveTimestampError(value)


def check_scope(value: object) -> None:
    """Refuse what is no scope of a pin.

    Raises:
        ValueError: With the two that there are.
    """
    if value not in SCOPES:
        msg = f"pin_scope must be 'turn' or 'step', not {quoted(value)}"
        raise ValueError(msg)


def check_message(message: Any) -> None:
    """Check the fields of a message that no converter has looked at.

    Raises:
        TypeError: A field is of a wrong type.
        ValueError: It is out of range.
        NaiveTimestampError: The time stamp has no time zone.
    """
    if message.id is not None:
        check_text("id", message.id)
    if message.timestamp is not None:
        check_moment("timestamp", message.timestamp)
    if message.token_count is not None:
        check_whole("token_count", message.token_count, least=0, most=MOST_TOKENS)
    if message.pinned is not False:
        check_flag("pinned", message.pinned)
    if message.pin_scope != "turn":
        check_scope(message.pin_scope)
    if message.kind is not None:
        check_text("kind", message.kind)
    if message.priority is not None:
        check_whole("priority", message.priority)
    if type(message.metadata) is not FrozenDict:
        _refuse_object("metadata", message.metadata)
    if type(message.extra) is not FrozenDict:
        _refuse_object("extra", message.extra)


def _refuse_object(name: str, value: object) -> None:
    msg = f"{name} must be an object, not {quoted(value)}"
    raise TypeError(msg)
