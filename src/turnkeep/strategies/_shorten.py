"""The middle of a long tool result goes; its beginning and its end stay.

One piece for the strategy that shortens and for the engine, which does so before it
gives up. What was shortened once can be shortened again: the gap then grows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import attrs

from turnkeep.model import (
    OFFLOADED,
    SHORTENED,
    Block,
    Json,
    Message,
    Text,
    ToolResult,
    mark,
    marker_of,
    unmark,
)

_TRIES = 8

_SHORT = 40
"""Characters in which no check value saves what they cost: it has eight."""

_GAP = re.compile(
    r"^\[\.\.\. (\d+) of (\d+) (lines|elements|pieces) left out \.\.\.\]$", re.MULTILINE
)


class Pieces(NamedTuple):
    """A text in pieces that may be left out."""

    pieces: Sequence[str]
    unit: str
    """What to call them."""
    gap: int | None = None
    """The place behind which some were left out before; none: nothing was."""
    out: int = 0
    """How many were left out before."""
    label: str | None = None
    """The line that says where all of it is; none: nowhere."""


def shorten(
    text: str,
    whole: int,
    limit: int,
    head: float,
    measure: Callable[[str], int],
    label: str | None = None,
) -> str | None:
    """*text* (of *whole* tokens) cut in its middle to at most *limit* tokens.

    With *label*, a line that says where all of it is, it is marked as offloaded; what
    was offloaded stays so, with its line. `None` where even the marker does not fit.
    Costs at most 10 calls of *measure*.
    """
    parts = _parts(text)
    if label is not None:
        parts = parts._replace(label=label)
    room = len(text) * max(limit, 0) // max(whole, 1)
    for _ in range(_TRIES):
        made = _cut(parts, room, head)
        tokens = measure(made)
        if tokens <= limit:
            return made
        room = room * max(limit, 0) // (tokens + 1) - 8
        if room <= 0:
            break
    made = _cut(parts, 0, head)
    return made if measure(made) <= limit else None


def shortest(text: str, measure: Callable[[str], int]) -> str:
    """The least that can be said of *text*: how much of it was left out.

    The check value in the first line has more or fewer tokens by chance, so a few words
    more may be fewer tokens: the cheapest of the shortest cuts, the first of equals.
    Costs at most 40 calls of *measure*, mostly far fewer.
    """
    parts = _parts(text)
    cuts = dict.fromkeys(_cut(parts, room, 0.5) for room in range(_SHORT))
    return min(cuts, key=measure)


def _parts(text: str) -> Pieces:
    marker = marker_of(text)
    if marker in (SHORTENED, OFFLOADED):
        label, left = None, unmark(text)
        if marker == OFFLOADED:
            label, _, left = left.partition("\n")
        found = _GAP.search(left)
        if found is not None:
            first, last = left[: found.start()], left[found.end() :].removeprefix("\n")
            out, unit = int(found[1]), found[3]
            if unit == "lines":
                before = first.splitlines(keepends=True)
                behind = last.splitlines(keepends=True)
            else:
                before, behind = _words(first), _words(last)
            return Pieces([*before, *behind], unit, len(before), out, label)
    return Pieces(*split(text))


def _cut(parts: Pieces, room: int, head: float) -> str:
    """The first and last pieces that fit *room* characters, and what is left out."""
    pieces, unit, gap, before, label = parts
    total = len(pieces)
    front = back = 0
    left = round(room * head)
    most = total if gap is None else gap
    while front < most and len(pieces[front]) <= left:
        left -= len(pieces[front])
        front += 1
    left = room - round(room * head)
    most = total - front if gap is None else total - gap
    while back < most and len(pieces[-1 - back]) <= left:
        left -= len(pieces[-1 - back])
        back += 1
    out = total - front - back + before
    first = "".join(pieces[:front])
    last = "".join(pieces[total - back :]) if back else ""
    newline = "\n" if first and not first.endswith("\n") else ""
    middle = f"[... {out} of {total + before} {unit} left out ...]"
    said = f"{first}{newline}{middle}\n{last}".rstrip("\n")
    return (
        mark(SHORTENED, said) if label is None else mark(OFFLOADED, f"{label}\n{said}")
    )


def has_text(result: ToolResult) -> bool:
    """Whether there is text, or JSON, to shorten in a result."""
    return any(isinstance(block, (Text, Json)) for block in result.content)


def saying(result: ToolResult, text: str) -> ToolResult:
    """*result* with *text* in the place of all its text and JSON."""
    first = True
    content: list[Block] = []
    for block in result.content:
        if not isinstance(block, (Text, Json)):
            content.append(block)
        elif first:
            content.append(Text(text))
            first = False
    return attrs.evolve(result, content=tuple(content))


def measure_of(
    cost: Callable[[Message], int], result: ToolResult
) -> Callable[[str], int]:
    """Tokens of a text, as a result like *result* would have them."""

    def made(text: str) -> Message:
        return Message.tool_result(
            result.tool_call_id, text, tool_name=result.tool_name
        )

    empty = cost(made(""))
    return lambda text: cost(made(text)) - empty


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
    return _words(text), "pieces"


def _words(text: str) -> list[str]:
    """Words; a run without spaces (base64, minified code) in 16 characters each."""
    pieces: list[str] = []
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or text[at - 1] == " " or at - start >= 16:
            pieces.append(text[start:at])
            start = at
    return pieces


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
