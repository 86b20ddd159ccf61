from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable
from typing import Any, NoReturn

from turnkeep.errors import FormatError
from turnkeep.model import MAX_DEPTH

native: Any
try:
    import orjson as native
except ImportError:
    native = None

MAX_BYTES = 1 << 30
"""Size above which `loads` refuses its input unless told otherwise: 1 GiB."""

_LEVELS = MAX_DEPTH + 8
# What stands around a value of MAX_DEPTH levels: document, list, message, content,
# result, content, block.

_HUGE = 2.0**63


def dumps(value: Any) -> bytes:
    """*value* as compact UTF-8 JSON: the same bytes for the same value everywhere.

    Keys stay in their order, because providers cache requests by prefix. Numbers are
    spelled as Python's `json` does. Lone surrogates, which UTF-8 cannot say, become
    JSON escapes; a high one directly before a low one is read back as the character
    that both make. Linear in the size of the value; `orjson` is used where installed.

    Raises:
        FormatError: *value* holds what JSON cannot say (NaN, infinities, other types,
            keys that are not text), or is nested too deeply; with the path.
    """
    plain = _check(value)
    if native is not None and plain:
        try:
            made: bytes = native.dumps(value, default=_as_list)
        except TypeError:  # lone surrogates, integers of more than 64 bits
            pass
        else:
            return made
    try:
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), check_circular=False
        )
    except ValueError as error:  # integers of more than 4,300 digits
        raise FormatError(str(error)) from None
    return text.encode("utf-8", "backslashreplace")


def loads(data: bytes | str, *, max_bytes: int | None = MAX_BYTES) -> Any:
    """The value of JSON text; linear in its size.

    Args:
        data:
            JSON, as UTF-8 bytes (a byte order mark is fine) or as text.
        max_bytes:
            Largest size accepted, in bytes (characters of text); `None` for any.

    Raises:
        FormatError: It is larger, or not JSON: NaN, infinities and numbers beyond the
            range of a double included.
    """
    value, exact = read(data, max_bytes)
    if exact or not may_be_rounded(value):
        return value
    return _read_exactly(data)


def read(data: bytes | str, max_bytes: int | None) -> tuple[Any, bool]:
    """The value of JSON text, and whether it is exact; see `may_be_rounded`.

    Raises:
        FormatError: As of `loads`.
    """
    if max_bytes is not None and len(data) > max_bytes:
        reason = f"{len(data)} bytes are more than the {max_bytes} accepted"
        raise FormatError(reason)
    if native is not None:
        try:
            return native.loads(data), False
        except native.JSONDecodeError:
            # It refuses lone surrogates, which we accept, and words its errors
            # differently: `json` decides.
            pass
    return _read_exactly(data), True


def _read_exactly(data: bytes | str) -> Any:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte 0x{data[error.start]:02x} at {error.start}"
        raise FormatError(reason) from None
    except RecursionError:
        reason = f"nested deeper than {MAX_DEPTH} levels"
        raise FormatError(reason) from None
    except ValueError as error:
        reason = f"not JSON: {error}"
        raise FormatError(reason) from None


def may_be_rounded(value: Any) -> bool:
    """Whether *value* holds a float that was an integer of more than 64 bits.

    `orjson` reads those as floats; `json` keeps them whole.
    """
    todo: list[Any] = [(value,)]
    while todo:
        holder = todo.pop()
        for item in holder.values() if holder.__class__ is dict else holder:
            kind = item.__class__
            if kind is str:
                continue
            if kind is dict or kind is list:
                todo.append(item)
            elif kind is float and (item >= _HUGE or item <= -_HUGE):
                return True
    return False


def _refuse(constant: str) -> NoReturn:
    reason = f"{constant} is not JSON"
    raise ValueError(reason)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        reason = f"{text} is beyond the range of a double"
        raise ValueError(reason)
    return value


def _check(value: Any) -> bool:
    """Whether `orjson` spells everything in *value* as `json` does.

    Goes through it level by level, so that depth costs no recursion and a cycle ends.
    """
    plain = True
    level: list[Any] = [(value,)]
    depth = -1
    while level:
        depth += 1
        if depth > _LEVELS:
            reason = f"nested deeper than {MAX_DEPTH} levels"
            raise FormatError(reason)
        deeper: list[Any] = []
        for holder in level:
            items: Iterable[Any] = holder
            if isinstance(holder, dict):
                items = holder.values()
                for key in holder:
                    if key.__class__ is not str:
                        raise _misfit(value, holder, f"key {key!r} is not text")
            for item in items:
                kind = item.__class__
                if kind is str or item is None or kind is bool or kind is int:
                    continue
                if isinstance(item, (dict, list, tuple)):
                    deeper.append(item)
                elif isinstance(item, float):
                    if not math.isfinite(item):
                        raise _misfit(value, holder, f"{item!r} is not JSON", item)
                    plain = plain and "e" not in repr(item)
                elif not isinstance(item, (str, int)):
                    reason = f"a {kind.__name__} is not JSON"
                    raise _misfit(value, holder, reason, item)
        level = deeper
    return plain


def _misfit(root: Any, holder: Any, reason: str, item: Any = None) -> FormatError:
    """The error for *item* of *holder*, with its path from *root*."""
    # Breadth first, so that a cycle on the way cannot keep it from arriving.
    todo: deque[tuple[str, Any]] = deque([("$", root)])
    while True:
        path, value = todo.popleft()
        if value is (holder if item is None else item):
            return FormatError(reason, path)
        if isinstance(value, dict):
            todo += [(f"{path}.{key}", v) for key, v in value.items()]
        elif isinstance(value, (list, tuple)):
            todo += [(f"{path}[{nth}]", v) for nth, v in enumerate(value)]


def _as_list(value: Any) -> list[Any]:
    """What `orjson` does not take by itself: a frozen array is a tuple's subclass."""
    return list(value)
