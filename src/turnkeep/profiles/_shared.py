"""Small questions about wire JSON that several profiles ask."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnkeep.model import same

from ._base import describe

FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What OpenAI, Mistral and Bedrock accept as the name of a tool."""

LIVE = "live probe, published September 2026"
"""The record of nine Anthropic models, OpenAI Chat and Responses (P1)."""

SHAPES = "live probe of Anthropic message shapes, published July 2026"
"""The record of what status each shape got (P2)."""


def items(value: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """The objects of a list with their positions; nothing for anything else."""
    if not isinstance(value, (list, tuple)):
        return []
    return [
        (nth, item)
        for nth, item in enumerate(value)
        # The type first: asking an abstract class costs ten times as much.
        if type(item) is dict or isinstance(item, Mapping)
    ]


def filled(value: Any) -> bool:
    """Whether *value* is text that is not empty."""
    return isinstance(value, str) and value != ""


def blank(value: Any) -> bool:
    """Whether *value* is text of white space only, or empty."""
    return isinstance(value, str) and not value.strip()


def inside(entry: Any, key: str) -> Mapping[str, Any]:
    """The object under *key*; an empty one where there is none."""
    is_object = type(entry) is dict or isinstance(entry, Mapping)
    value = entry.get(key) if is_object else None
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def role_of(entry: Any) -> str | None:
    """The role an entry states; none where it states none in text."""
    is_object = type(entry) is dict or isinstance(entry, Mapping)
    role = entry.get("role") if is_object else None
    return role if isinstance(role, str) else None


def a_message(role: Any) -> str:
    """A message of *role*, in words.

    >>> a_message("assistant"), a_message("user")
    ('an assistant message', 'a user message')
    """
    article = "an" if str(role).startswith("a") else "a"
    return f"{article} {role} message"


def bad_role(entry: Any) -> str:
    """In words, that an entry has none of the roles it may have."""
    if isinstance(entry, Mapping):
        return f"the role is {describe(entry.get('role'))}"
    return f"the message is {describe(entry)}, not an object"


def name_list(ids: Iterator[str] | list[str]) -> str:
    """A few ids in words: `'a', 'b' and 3 more`."""
    names = [repr(each) for each in ids]
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return ", ".join(names)


def first_stray(kept: list[tuple[str, Any]], before: list[Any]) -> str | None:
    """The path of the first of *kept* that is not, in order, one of *before*.

    Linear: every value is looked at once.
    """
    cursor = 0
    for path, value in kept:
        while cursor < len(before) and not same(value, before[cursor]):
            cursor += 1
        if cursor == len(before):
            return path
        cursor += 1
    return None


class Seals:
    """What stood beside each of some values, which may be equal to one another.

    >>> seals = Seals([("call", "s1"), ("call", "s2")])
    >>> seals.broken("call", "s2"), seals.broken("call", "s2"), seals.broken("new", "")
    (False, True, False)
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self._left = Counter((key, key_of(seal)) for key, seal in pairs)
        self._known = {key for key, _ in self._left}

    def broken(self, key: str, seal: Any) -> bool:
        """Whether the value of *key* was there, but never (again) beside *seal*."""
        pair = key, key_of(seal)
        if self._left[pair] > 0:
            self._left[pair] -= 1
            return False
        return key in self._known


def key_of(value: Any) -> str:
    """A text that is equal for equal JSON values."""
    return json.dumps(value, sort_keys=True, default=repr)
