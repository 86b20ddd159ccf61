"""A checksum for each row of a database: what was changed behind our back is noticed.

A row is sealed over everything it says, with the number of its conversation, so that a
changed text, a changed number and a row that was moved are all noticed where they are
read. A row that a connection could not read as UTF-8 has lone surrogates in it (see
`LENIENT`), and no seal fits it.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from turnkeep.errors import CorruptStoreError

LENIENT: Final = "surrogateescape"
"""How bytes that are no UTF-8 are read, once a connection has refused them."""

BROKEN_SEAL: Final = "not as it was written (its checksum is another)"

_HALF: Final = 2**31
# Signed, so that PostgreSQL keeps four bytes, and is always sent the same type.


def seal(*columns: Any) -> int:
    """The checksum of a row's columns; types count: text is not taken for a number."""
    # One format for all would be slower: columns are few and mostly short.
    text = "\0".join([c if c.__class__ is str else repr(c) for c in columns])
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) - _HALF


def is_text(value: object) -> bool:
    """Whether a column holds text that was read as it stands there."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def demand_text(value: object, where: str) -> None:
    """Refuse a column that should hold text and does not.

    Raises:
        CorruptStoreError: It holds something else, or bytes that are no UTF-8.
    """
    if not isinstance(value, str):
        reason = f"{where}: text expected, found {value!r:.60}"
        raise CorruptStoreError(reason)
    if not is_text(value):
        raw = value.encode("utf-8", LENIENT)
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            place = error.start
            reason = f"{where}: not UTF-8: byte 0x{raw[place]:02x} at {place}"
            raise CorruptStoreError(reason) from None


def demand_seal(kept: object, columns: tuple[Any, ...], where: str) -> None:
    """Refuse a row that is not as it was sealed.

    Raises:
        CorruptStoreError: Something in it, or the seal, was changed.
    """
    if kept != seal(*columns):
        reason = f"{where}: {BROKEN_SEAL}"
        raise CorruptStoreError(reason)


def demand_numbers(values: tuple[object, ...], where: str) -> None:
    """Refuse columns that should hold whole numbers and do not.

    SQLite keeps any value in any column, and rows are compared before they are opened.

    Raises:
        CorruptStoreError: One of them holds something else.
    """
    for value in values:
        if type(value) is not int:
            reason = f"{where}: a whole number expected, found {value!r:.60}"
            raise CorruptStoreError(reason)
