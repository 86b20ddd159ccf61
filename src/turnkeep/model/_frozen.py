from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""A JSON value as `json.loads` gives it."""

MAX_DEPTH = 200
"""Levels of nesting accepted in any JSON value; more is refused with a path.

Far above what any provider accepts, far below Python's recursion limit.
"""


class FrozenDict(dict[str, Any]):
    """A JSON object that cannot change: hashable, and strict about types.

    It is a `dict`, so that `json`, `orjson` and readers take it as it is. Unlike a
    plain one it tells `1`, `1.0` and `True` apart, because their JSON differs.

    >>> FrozenDict(a=1) == FrozenDict(a=True)
    False
    """

    __slots__ = ("_hash",)
    _hash: int

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        msg = "frozen: make a new value with thaw() and freeze()"
        raise TypeError(msg)

    if not TYPE_CHECKING:  # a dict for checkers too, whose methods do other things
        __setitem__ = __delitem__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse
        __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            items = frozenset((key, type(v), v) for key, v in self.items())
            self._hash = hash(items)
            return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, dict) or len(self) != len(other):
            return False
        return all(key in other and same(v, other[key]) for key, v in self.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(tuple[Any, ...]):
    """A JSON array that cannot change; equality is strict about types."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple((type(v), v) for v in self))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, (tuple, list)) or len(self) != len(other):
            return False
        return all(map(same, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


EMPTY = FrozenDict()
"""The one empty object, shared."""


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal in value *and* in JSON type.

    Arrays may be lists or tuples. Linear in the size of the values.
    """
    if left is right:
        return True
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        return all(key in right and same(v, right[key]) for key, v in left.items())
    if isinstance(left, (list, tuple)):
        if not isinstance(right, (list, tuple)) or len(left) != len(right):
            return False
        return all(map(same, left, right))
    return type(left) is type(right) and left == right


class UnfitValueError(ValueError):
    """A Python value that JSON cannot say, with its path relative to the root."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(f"{reason} @ ${path}")
        self.reason = reason
        self.path = path


_LEAVES = frozenset({str, int, bool, type(None), FrozenDict, FrozenList})
"""Types whose values are frozen as they are."""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_KEYS = frozenset({str})


class _UnusualError(Exception):
    """Not for the short way."""


def freeze(value: Any) -> Any:
    """A frozen copy of a JSON value; what is frozen already is taken as it is.

    Linear in the size of the value. Paths are made only where something is wrong.

    Raises:
        UnfitValueError: For NaN and infinities, keys that are not text, other Python
            types, and more than `MAX_DEPTH` levels; a `ValueError` with the path.
    """
    if type(value) in _LEAVES:
        return value
    try:
        return _freeze_plain(value, 0)
    except _UnusualError:
        return _freeze(value, "", 0)


def _freeze_plain(value: Any, depth: int) -> Any:
    """What `_freeze` gives for what `json.loads` gives, at a fraction of its cost."""
    if depth >= MAX_DEPTH:
        raise _UnusualError
    kind = type(value)
    if kind is dict:
        if not value:
            return EMPTY
        if not _KEYS.issuperset(map(type, value)):
            raise _UnusualError
        if _LEAVES.issuperset(map(type, value.values())):
            return FrozenDict(value)
        return FrozenDict(
            [
                (key, v if type(v) in _LEAVES else _freeze_plain(v, depth + 1))
                for key, v in value.items()
            ]
        )
    if kind is list:
        if _LEAVES.issuperset(map(type, value)):
            return FrozenList(value)
        return FrozenList(
            [v if type(v) in _LEAVES else _freeze_plain(v, depth + 1) for v in value]
        )
    if kind is float and math.isfinite(value):
        return value
    raise _UnusualError


def _freeze(value: Any, path: str, depth: int) -> Any:
    """Freeze any value, and say where one does not fit."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if depth >= MAX_DEPTH:
        reason = f"nested deeper than {MAX_DEPTH} levels"
        raise UnfitValueError(reason, path)
    if isinstance(value, Mapping):
        return _freeze_items(value.items(), path, depth)
    if isinstance(value, (list, tuple)):
        return FrozenList(
            _freeze(v, f"{path}[{nth}]", depth + 1) for nth, v in enumerate(value)
        )
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        reason = f"{value!r} is not JSON"
        raise UnfitValueError(reason, path)
    if isinstance(value, (str, bool, int)):
        return str(value) if isinstance(value, str) else int(value)
    reason = f"a {kind.__name__} is not JSON"
    raise UnfitValueError(reason, path)


def _freeze_items(items: Iterable[tuple[Any, Any]], path: str, depth: int) -> Any:
    if not (pairs := list(items)):
        return EMPTY
    for key, _ in pairs:
        if type(key) is not str:
            reason = f"key {key!r} is not text"
            raise UnfitValueError(reason, path)
    return FrozenDict(
        [(key, _freeze(v, f"{path}.{key}", depth + 1)) for key, v in pairs]
    )


def thaw(value: Any) -> Any:
    """A plain, mutable copy (`dict`, `list`) of a frozen JSON value."""
    if isinstance(value, dict):
        if _PLAIN.issuperset(map(type, value.values())):
            return dict(value)
        return {k: v if type(v) in _PLAIN else thaw(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [v if type(v) in _PLAIN else thaw(v) for v in value]
    return value


def walk_text(value: Any) -> Iterator[str]:
    """Every piece of text in a JSON value, keys of objects included, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, v in value.items():
            yield key
            yield from walk_text(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from walk_text(v)
