from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from turnkeep.model import SHORTENED, mark

_TRIES = 8


def shorten(
    text: str, whole: int, limit: int, head: float, measure: Callable[[str], int]
) -> str | None:
    """*text* (of *whole* tokens) cut in its middle to at most *limit* tokens.

    `None` where even the marker does not fit. Costs at most 8 calls of *measure*.
    """
    pieces, unit = split(text)
    room = len(text) * limit // whole
    for _ in range(_TRIES):
        made = _cut(pieces, unit, room, head)
        tokens = measure(made)
        if tokens <= limit:
            return made
        room = room * limit // (tokens + 1) - 8
        if room < 0:
            room = 0
            made = _cut(pieces, unit, room, head)
            return made if measure(made) <= limit else None
    return None


def _cut(pieces: Sequence[str], unit: str, room: int, head: float) -> str:
    """The first and last pieces that fit *room* characters, and what is left out."""
    front = back = 0
    left = round(room * head)
    while front < len(pieces) and len(pieces[front]) <= left:
        left -= len(pieces[front])
        front += 1
    left = room - round(room * head)
    while back < len(pieces) - front and len(pieces[-1 - back]) <= left:
        left -= len(pieces[-1 - back])
        back += 1
    out = len(pieces) - front - back
    first = "".join(pieces[:front])
    last = "".join(pieces[len(pieces) - back :]) if back else ""
    gap = "\n" if first and not first.endswith("\n") else ""
    middle = f"[... {out} of {len(pieces)} {unit} left out ...]"
    return mark(SHORTENED, f"{first}{gap}{middle}\n{last}".rstrip("\n"))


def split(text: str) -> tuple[list[str], str]:
    """*text* in pieces that may be left out, and what to call them.

    Joining the pieces gives the text again (that of JSON in compact form). Lines and
    elements are used where there are more than a few.

    >>> split('[1, {"a": 2}, 3]')
    (['[1', ',{"a":2}', ',3', ']'], 'elements')
    """
    lines = text.splitlines(keepends=True)
    if len(lines) > 3:
        return lines, "lines"
    if text.lstrip()[:1] in ("[", "{"):
        pieces = _elements(text)
        if pieces is not None:
            return pieces, "elements"
    pieces = []
    start = 0
    # Words; a run without spaces (base64, minified code) is cut every 16 characters.
    for at in range(1, len(text) + 1):
        if at == len(text) or text[at - 1] == " " or at - start >= 16:
            pieces.append(text[start:at])
            start = at
    return pieces, "pieces"


def _elements(text: str) -> list[str] | None:
    """The elements of a JSON array or the members of an object, separators included."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        parts = [_dump(item) for item in value]
        ends = "[]"
    else:
        parts = [f"{_dump(key)}:{_dump(item)}" for key, item in value.items()]
        ends = "{}"
    if len(parts) < 3:
        return None
    parts = [parts[0], *(f",{part}" for part in parts[1:])]
    return [f"{ends[0]}{parts[0]}", *parts[1:], ends[1]]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def beginning(text: str, whole: int, limit: int, measure: Callable[[str], int]) -> str:
    """As much of the beginning of *text* (of *whole* tokens) as has *limit* tokens.

    Cut between words. Costs at most 8 calls of *measure*.
    """
    room = len(text) * limit // whole
    for _ in range(_TRIES):
        made = (text[:room].rsplit(None, 1) or [""])[0]
        tokens = measure(made)
        if tokens <= limit:
            return made
        room = max(min(room * limit // tokens, len(made) - 1), 0)
    return text[: max(limit // 4, 1)]
