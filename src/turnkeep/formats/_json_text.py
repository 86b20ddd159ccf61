from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from turnkeep.errors import FormatError


class _RefusedError(Exception):
    """Valid for Python's parser, but not for us."""


class _Twice(dict[str, Any]):
    """An object in which a key stood twice."""

    key: str = ""


def _constant(_name: str) -> NoReturn:
    raise _RefusedError


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _RefusedError
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _RefusedError
    return made


_strict = json.JSONDecoder(
    parse_constant=_constant, parse_float=_number, object_pairs_hook=_object
)


def parse_json(text: str, where: str = "$") -> Any:
    """The value of a JSON text, strictly: no NaN, no overflow, no key twice.

    Linear in the length of *text*.

    >>> parse_json('{"role": "user"}')
    {'role': 'user'}

    Args:
        text:
            One JSON value.
        where:
            What to call its root in errors, such as `"$[3]"`.

    Raises:
        FormatError: It is not JSON. The reason names line and column, or the path
            leads to the offending value.
    """
    try:
        return _strict.decode(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        reason = f"not JSON: {_explain(error, text)}"
        raise FormatError(reason, where) from None
    except RecursionError:
        reason = "nested too deeply to be read"
        raise FormatError(reason, where) from None
    except _RefusedError:
        reason, path = _locate(text)
        raise FormatError(reason, where + path) from None
    except ValueError:
        # Python refuses to convert integers of more than 4,300 digits.
        reason = "a number has too many digits"
        raise FormatError(reason, where) from None


def _explain(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the text is empty"
    at = f"line {error.lineno}, column {error.colno}"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return f"it ends too early, at {at}: {error.msg}"
    return f"{error.msg} at {at}"


def _locate(text: str) -> tuple[str, str]:
    """What the strict parser refused, and the path to it: by a tolerant second pass."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_tolerant)
    except json.JSONDecodeError as error:
        return f"not JSON: {_explain(error, text)}", ""
    except (ValueError, RecursionError):
        return "NaN or a key that stands twice, among numbers or nesting too large", ""
    return next(_faults(value, ""))


def _tolerant(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    twice = _Twice(made)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            twice.key = key
        seen.add(key)
    return twice


def _faults(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Twice):
        yield f"key {value.key!r} stands twice in one object", f"{path}.{value.key}"
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _faults(item, f"{path}.{key}")
    elif isinstance(value, list):
        for nth, item in enumerate(value):
            yield from _faults(item, f"{path}[{nth}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{value!r} is not JSON (or a number too large for it)", path
