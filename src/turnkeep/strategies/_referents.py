from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from turnkeep.model import (
    Document,
    Json,
    Message,
    Text,
    ToolCall,
    ToolResult,
)

T = TypeVar("T")

_RUN = re.compile(r"[\w@~./\\][\w@~./\\:#+-]*\w|\w")
_PARTS = re.compile(r"[\w@~-][\w@~./\\+-]*\w")
# The keys of JSON are matched, so that the quotes of keys and values stay in step.
_QUOTED = re.compile(r'"[^"\n\\]{0,80}"\s*:|"([^"\n\\]{2,80})"|`([^`\n]{2,80})`')
_CAMEL = re.compile(r"[a-z0-9][A-Z]")
_LONG = 200
"""Characters above which a text is prose or code rather than a value."""


class Referents(NamedTuple):
    """What one message names: ids, paths, identifiers, numbers, quoted values."""

    named: frozenset[str]
    """Everything it names, in text, calls and results."""

    used: frozenset[str]
    """What its tool calls use."""

    shown: frozenset[str]
    """What its tool results show."""


EMPTY: frozenset[str] = frozenset()


def referents_in(text: str) -> set[str]:
    """The ids, paths, identifiers, numbers and quoted values of a text. Linear.

    >>> sorted(referents_in('see src/app.py:12, user_id 4711 and "two words"'))
    ['4711', 'app.py', 'src/app.py', 'two words', 'user_id']
    """
    found: set[str] = set()
    for run in set(_RUN.findall(text)):
        if len(run) > _LONG:
            continue
        for part in _PARTS.findall(run):
            if _is_referent(part):
                found.add(part)
                if "/" in part:
                    name = part.rstrip("/").rpartition("/")[2]
                    if len(name) > 2:
                        found.add(name)
    for pair in _QUOTED.findall(text):
        value = (pair[0] or pair[1]).strip()
        if len(value) > 1:
            found.add(value)
    return found


def _is_referent(part: str) -> bool:
    if len(part) < 3:
        return False
    if part.isalpha():
        return part.isupper() or _CAMEL.search(part) is not None
    if part.isdigit():
        return True
    # Hyphenated words are prose; with a digit, a dot or a low line they are not.
    return any(not (c.isalpha() or c == "-") for c in part)


def referents_of(message: Message) -> Referents:
    """What a message names; found once for each message object."""
    return _CACHE.get(message)


def _extract(message: Message) -> Referents:
    named: set[str] = set()
    used: set[str] = set()
    shown: set[str] = set()
    for block in message.content:
        if isinstance(block, ToolCall):
            used |= _values(block.arguments)
        elif isinstance(block, ToolResult):
            for inner in block.content:
                shown |= _of_block(inner)
        else:
            named |= _of_block(block)
    named |= used
    named |= shown
    return Referents(
        frozenset(named) or EMPTY, frozenset(used) or EMPTY, frozenset(shown) or EMPTY
    )


def _of_block(block: Any) -> set[str]:
    if isinstance(block, Text):
        return referents_in(block.text)
    if isinstance(block, Json):
        return _values(block.value)
    if isinstance(block, Document) and block.text is not None:
        return referents_in(block.text)
    return set()


def _values(value: Any) -> set[str]:
    """Referents of a JSON value: short texts count whole, numbers as written."""
    found: set[str] = set()
    for text in _leaves(value):
        short = len(text) <= _LONG and "\n" not in text and len(text) > 1
        if short and not (text.isdigit() and len(text) < 3):
            found.add(text.strip())
        found |= referents_in(text)
    return found


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


class ByObject(Generic[T]):
    """Remembers what was computed for an object, for as long as the object lives.

    By identity: hashing a message costs its length, its address nothing.
    """

    def __init__(self, compute: Callable[[Message], T]) -> None:
        """Remember the answers of *compute*."""
        self._compute = compute
        self._known: dict[int, tuple[weakref.ref[Message], T]] = {}

    def get(self, message: Message) -> T:
        """The answer for *message*, computed now if it has not been."""
        key = id(message)
        known = self._known.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        value = self._compute(message)
        table = self._known

        def forget(ref: weakref.ref[Message]) -> None:
            entry = table.get(key)
            if entry is not None and entry[0] is ref:
                del table[key]

        table[key] = (weakref.ref(message, forget), value)
        return value

    def __len__(self) -> int:
        """Number of objects remembered."""
        return len(self._known)


_CACHE: ByObject[Referents] = ByObject(_extract)
