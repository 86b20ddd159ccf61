from __future__ import annotations

import json
import re
from typing import Any, Final

from turnkeep.errors import FormatError

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\r\n-]*+={0,2}\s*")
DATA_URL: Final = re.compile(
    r"data:[\w.+-]*/?[\w.+-]*(?:;[\w=.+-]+)*;base64,", re.IGNORECASE
)


def dumps(value: Any) -> str:
    """*value* as compact JSON, the shortest form in which a provider may read it.

    Raises:
        FormatError: It is no JSON value, or nested too deep to be written.
    """
    return write(value, (",", ":"))


def write(value: Any, separators: tuple[str, str]) -> str:
    """*value* as JSON with *separators*; raises as `dumps`."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=separators)
    except (RecursionError, TypeError, ValueError) as error:
        reason = f"not a JSON value that can be counted: {error}"
        raise FormatError(reason) from error


def is_base64(text: str, shortest: int = 1_000) -> bool:
    """Whether *text* is base64 of *shortest* characters at least: too long for a word.

    Looks at all of it, so that a long line of words is none.
    """
    return len(text) >= shortest and _BASE64.fullmatch(text) is not None
