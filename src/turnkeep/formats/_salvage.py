"""Damaged logs of other programs: what is whole in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._json_text import parse_json

_ATTEMPTS: Final = 1_000
"""Places of one line at which a record is looked for: each try may read to its end."""

_SHOWN: Final = 5
"""Damaged lines that are noted one by one."""

_MARKS: Final = (
    frozenset({"timestamp", "type", "payload"}),
    frozenset({"type", "uuid", "parentUuid"}),
    frozenset({"type", "sessionId"}),
    frozenset({"type", "leafUuid"}),
    frozenset({"type", "messageId", "snapshot"}),
    frozenset({"sessionId", "projectHash"}),
    frozenset({"id", "type", "timestamp"}),
    frozenset({"$set"}),
    frozenset({"$rewindTo"}),
    frozenset({"working_dir"}),
    frozenset({"role", "created", "content"}),
)
"""Keys of which a record of a session log has all, of one row at least."""


@attrs.frozen
class Salvage:
    """The whole records of a damaged log, and what was wrong."""

    values: list[Any]
    notes: tuple[str, ...]


def salvage(data: bytes) -> Salvage | None:
    """The whole records of JSON Lines some of which are damaged.

    Only of logs that programs append to while they run: a record cut off by a kill, two
    on one line, runs of NUL. In any other file damage is for its owner to see, so that
    there is none of it here. Linear, save for lines that are one damaged record after
    the other.
    """
    values: list[Any] = []
    notes: list[str] = []
    damaged = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        whole = _whole(line)
        if whole is not None:
            values.append(whole)
            continue
        damaged += 1
        found = list(_records(line))
        values += found
        if damaged <= _SHOWN:
            held = f"{len(found)} whole record{'' if len(found) == 1 else 's'} in it"
            notes.append(f"line {number} is damaged: {held if found else 'left out'}")
    if not any(map(_is_record, values)):
        return None
    if damaged > _SHOWN:
        notes.append(f"{damaged - _SHOWN:,} more lines are damaged")
    return Salvage(values, tuple(notes))


def _whole(line: bytes) -> Any:
    """The value of a line that is in order, which is never null."""
    try:
        return parse_json(line.decode("utf-8-sig"))
    except (FormatError, UnicodeDecodeError):
        return None


def _records(line: bytes) -> Iterator[Any]:
    """The records that stand whole in a damaged line, from left to right."""
    text = line.replace(b"\0", b"").decode("utf-8", errors="replace")
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_ATTEMPTS):
        if at < 0:
            return
        try:
            _, end = decoder.raw_decode(text, at)
            value = parse_json(text[at:end])
        except (ValueError, RecursionError, FormatError):
            value, end = None, at + 1
        if _is_record(value):
            yield value
        else:
            end = at + 1
        at = text.find("{", end)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and any(marks <= value.keys() for marks in _MARKS)
