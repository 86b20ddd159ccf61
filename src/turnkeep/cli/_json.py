from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from turnkeep.errors import FormatError
from turnkeep.model import MAX_DEPTH

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def parse(text: str) -> Any:
    """The JSON value of *text*; linear in its length.

    Stricter than `json.loads`: no NaN or infinity, no number that overflows, no value
    nested deeper than `MAX_DEPTH`.

    Raises:
        FormatError: With the path of the offending value, and its line and column
            where the text is no JSON at all.
    """
    odd: list[str] = []

    def constant(name: str) -> float:
        odd.append(name)
        return math.nan

    def number(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            odd.append(digits)
        return value

    try:
        value = json.loads(text, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError as error:
        _refuse(text, error)
    except RecursionError:
        _refuse_depth(text)
    except ValueError as error:
        # Python refuses to read integers of thousands of digits.
        reason = f"not a usable number: {error}"
        raise FormatError(reason) from None
    if odd:
        reason = f"{odd[0]} is not JSON"
        raise FormatError(reason, _path_of_odd(value))
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    return value


def parse_lines(text: str) -> list[Any]:
    """The values of JSON Lines; blank lines are skipped.

    Raises:
        FormatError: With the path and number of the offending line.
    """
    values: list[Any] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            values.append(parse(line))
        except FormatError as error:
            path = f"$[{len(values)}]{error.path[1:]}"
            reason = error.reason.partition(" (line ")[0]
            reason = f"{reason} (line {number})"
            raise FormatError(reason, path) from None
    return values


def looks_like_lines(text: str) -> bool:
    """Whether *text* holds several JSON objects, one a line."""
    lines = (line for line in text.splitlines() if line.strip())
    first, second = next(lines, ""), next(lines, "")
    # A pretty-printed value never ends its first line with a closed object.
    return all(
        line.lstrip().startswith("{") and line.rstrip().endswith("}")
        for line in (first, second)
    )


def dumps(value: Any, indent: int | None = None) -> bytes:
    """*value* as UTF-8 JSON with a line break at its end.

    Lone surrogates, which UTF-8 cannot hold, are written as JSON escapes.
    """
    separators = None if indent is not None else (",", ":")
    text = json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=separators,
    )
    return f"{text}\n".encode(errors="backslashreplace")


def indent_of(text: str) -> int | None:
    """How many blanks *text* is indented by, or none if it is not pretty-printed."""
    found = re.match(r"\s*[\[{]\r?\n( +)", text)
    return len(found.group(1)) if found else None


def _refuse(text: str, error: json.JSONDecodeError) -> NoReturn:
    if not text.strip():
        reason = "the input is empty"
        raise FormatError(reason) from None
    at_end = not text[error.pos :].strip(' \t\r\n"') or "Unterminated" in error.msg
    what = "the JSON ends too early" if at_end else f"not JSON: {error.msg}"
    reason = f"{what} (line {error.lineno}, column {error.colno})"
    raise FormatError(reason, path_at(text, error.pos)) from None


def _refuse_depth(text: str) -> NoReturn:
    _check_depth(text)
    # Deep, but not by our measure: Python itself gave up.
    reason = "nested too deeply"
    raise FormatError(reason)


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token.group() in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                path = path_at(text, token.start(), levels=6)
                reason = f"nested deeper than {MAX_DEPTH} levels"
                raise FormatError(reason, path)
        elif token.group() in "]}":
            depth -= 1


def path_at(text: str, position: int, levels: int = MAX_DEPTH) -> str:
    """The JSON path of what stands at *position*, at most *levels* deep.

    >>> path_at('{"a": [1, {"b": tru', 16)
    '$.a[1].b'
    """
    # One entry a level: the index in an array, or the key in an object.
    stack: list[int | str] = []
    key = ""
    for token in _TOKEN.finditer(text, 0, position):
        match token.group():
            case "[":
                stack.append(0)
            case "{":
                stack.append("")
            case "]" | "}":
                del stack[-1:]
            case ",":
                if stack:
                    last = stack[-1]
                    stack[-1] = last + 1 if isinstance(last, int) else ""
            case ":":
                if stack:
                    stack[-1] = key
            case other:
                key = other[1:-1] if other.startswith('"') else other
    shown = "".join(_component(part) for part in stack[:levels])
    return f"${shown}{'...' if len(stack) > levels else ''}"


def _component(part: int | str) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if not part:
        return ""
    return f".{part}" if _PLAIN_KEY.match(part) else f"[{json.dumps(part)}]"


def _path_of_odd(value: Any, path: str = "$") -> str:
    """Where the first number that JSON cannot say stands."""
    if isinstance(value, dict):
        items = [(_component(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        items = [(f"[{nth}]", item) for nth, item in enumerate(value)]
    else:
        return path if isinstance(value, float) and not math.isfinite(value) else ""
    for part, item in items:
        if found := _path_of_odd(item, path + part):
            return found
    return ""
