"""JSON as commands write it."""

from __future__ import annotations

import json
import re
from typing import Any

from ._terminal import escaped


def dumps(value: Any, indent: int | None = None) -> bytes:
    """*value* as UTF-8 JSON with a line break at its end.

    Lone surrogates, which UTF-8 cannot hold, and whatever could steer a terminal are
    written as JSON escapes.
    """
    separators = None if indent is not None else (",", ":")
    text = json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=separators,
    )
    return f"{escaped(text)}\n".encode()


def indent_of(text: str) -> int | None:
    r"""How many blanks *text* is indented by, or none if it is not pretty-printed.

    >>> indent_of("[\n  1\n]"), indent_of("[1]")
    (2, None)
    """
    found = re.match(r"\s*[\[{]\r?\n( +)", text)
    return len(found.group(1)) if found else None
