"""Records as tables: of each field its key, kind, default, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import EMPTY, FrozenDict, thaw

from ._fields import (
    checked,
    read_millis,
    read_time,
    with_others,
    write_millis,
    write_time,
)
from ._shape import frozen
from ._wire import rest


@attrs.frozen
class Kind:
    """What values a field takes, and how they are written.

    Args:
        words:
            What it must be, in words.
        read:
            From the value, its key and its path to what it says.
        write:
            The way back.
    """

    words: str
    read: Callable[[Any, str, str], Any]
    write: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _of(words: str, kind: type) -> Kind:
    return Kind(words, lambda value, key, path: checked(value, key, kind, path), _same)


TEXT: Final = _of("must be a string", str)
FLAG: Final = _of("must be a boolean", bool)
NUMBER: Final = _of("must be a whole number", int)
OBJECT: Final = _of("must be an object", dict)
ARRAY: Final = _of("must be an array", list)
AS_IS: Final = Kind("may be any JSON value", lambda value, _key, _path: value, _same)
"""What has a reader and a writer of its own."""

ANY: Final = Kind(
    "may be any JSON value", lambda value, _, path: frozen(value, path), thaw
)
"""JSON that is kept frozen."""


def _millis(value: Any, key: str, path: str) -> datetime | None:
    return read_millis(checked(value, key, int, path), path)


MILLIS: Final = Kind("must be a whole number", _millis, write_millis)
"""A time in milliseconds since 1970; 0 is unset."""

TIME: Final = Kind(
    "must be an RFC 3339 time",
    lambda value, _, path: read_time(value, path),
    write_time,
)
"""A time with its offset; 1970 is unset."""

UTC_TIME: Final = attrs.evolve(TIME, write=lambda when: write_time(when, utc=True))
"""The same, always written in UTC."""

NEEDED: Final = object()
"""The default of a field that must be there."""


@attrs.frozen
class Field:
    """One field of a record.

    Args:
        key:
            Its key in the record.
        kind:
            What it holds.
        default:
            What it is where it is absent; with `None`, null says the same.
        home:
            The attribute that it goes to; its key, if that is not said.
    """

    key: str
    kind: Kind
    default: Any = NEEDED
    home: str = attrs.field(default=attrs.Factory(lambda self: self.key, True))

    def read(self, record: dict[str, Any], path: str) -> Any:
        """Its value in *record*.

        Raises:
            FormatError: It is not what it must be.
        """
        value = record.get(self.key, NEEDED)
        if value is NEEDED:
            if self.default is not NEEDED:
                return thaw(self.default)
            reason = f"{self.key!r} is missing (it {self.kind.words})"
            raise FormatError(reason, path)
        if value is None and self.default is None:
            return None
        return self.kind.read(value, self.key, f"{path}.{self.key}")


class Table:
    """The fields of one kind of record, in the order in which they are written."""

    def __init__(self, *fields: Field, sparse: bool = False) -> None:
        """With *fields*; those at their default are not written if it is *sparse*."""
        self.fields = fields
        self.sparse = sparse
        self.keys = frozenset(field.key for field in fields)

    def read(self, record: Any, what: str, path: str) -> dict[str, Any]:
        """What *record* says, by home.

        Raises:
            FormatError: It is no object, or a field is not what it must be.
        """
        checked(record, what, dict, path)
        return {field.home: field.read(record, path) for field in self.fields}

    def rest(self, record: dict[str, Any], path: str) -> FrozenDict:
        """The keys of *record* that are none of the fields', frozen."""
        return rest(record, self.keys, path)

    def write(self, *, extra: FrozenDict = EMPTY, **values: Any) -> dict[str, Any]:
        """The record that says *values* by home, defaults for what is not given.

        Keys of *extra* stand behind, those of the fields left out.
        """
        made: dict[str, Any] = {}
        for field in self.fields:
            if field.home not in values and field.default is not NEEDED:
                if not self.sparse:
                    made[field.key] = thaw(field.default)
                continue
            value = values[field.home]
            if not self.sparse or value != field.default:
                made[field.key] = field.kind.write(value)
        return with_others(made, extra, self.keys)
