from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from turnkeep.errors import FormatError

_BINARY_KEYS: Final = frozenset(
    {
        "bytes",
        "data",
        "encrypted_content",
        "file_data",
        "redactedContent",
        "signature",
        "thoughtSignature",
        "thought_signature",
    }
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\r\n-]{1000,}+={0,2}\s*\Z")
_DATA_URL: Final = re.compile(
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


def is_binary(text: str) -> bool:
    """Whether *text* is a data URL, or base64 too long to be anything else."""
    return _DATA_URL.match(text, 0, 200) is not None or _BASE64.match(text) is not None


def without_binaries(value: Any) -> Any:
    """A JSON value whose base64 is left out: providers never read it as text.

    Looks at known keys (`data`, `signature`, ...) and at texts that can be nothing
    else. Linear in the size of the value.
    """
    if isinstance(value, Mapping):
        return {
            key: ""
            if key in _BINARY_KEYS and isinstance(v, str)
            else without_binaries(v)
            for key, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [without_binaries(v) for v in value]
    return "" if isinstance(value, str) and is_binary(value) else value
