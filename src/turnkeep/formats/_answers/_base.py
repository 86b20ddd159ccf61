from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from .._shape import as_array, as_object, wrong


@attrs.frozen
class Found:
    """What there is to take from an answer: the entries of its first choice."""

    entries: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Wire entries and their JSON paths; none where the answer is not to be sent back,
    because it failed or there was no room left to give it."""

    usage: dict[str, Any] | None = attrs.field(default=None, repr=False)
    """The answer, where it tells its usage: what was sent stands elsewhere in it."""

    model: str | None = None
    """Who gave it, as it says itself."""

    cut_off: tuple[str, ...] = ()
    """Ids (or names) of calls whose arguments the token limit cut off."""


class AnswerShape(Protocol):
    """How some provider's answers look.

    What is not looked at need not be there: servers that imitate a provider leave out
    a lot.
    """

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """Whether a whole answer has this shape."""
        ...

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """Whether a chunk of a stream does; keep-alive lines and errors have none."""
        ...

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The answer that came in *chunks*, as it would have come whole.

        Raises:
            FormatError: A chunk is not what it must be.
        """
        ...

    def take(self, response: Mapping[str, Any]) -> Found:
        """The messages and the usage of a whole answer.

        Raises:
            FormatError: It is not what it must be, with the path.
        """
        ...


def is_json(text: Any) -> bool:
    """Whether *text* is JSON from its beginning to its end (or no text at all)."""
    if not isinstance(text, str):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def stated(value: Mapping[str, Any]) -> dict[str, Any]:
    """What *value* says: answers spell out what they do not have, requests need not."""
    return {key: said for key, said in value.items() if said is not None}


def inner(value: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    """The object at *key*; an empty one where there is none.

    Raises:
        FormatError: Something else stands there.
    """
    found = value.get(key)
    return {} if found is None else as_object(found, key, f"{path}.{key}")


def parts_of(value: Mapping[str, Any], key: str, path: str) -> Sequence[Any]:
    """The array at *key*; an empty one where there is none.

    Raises:
        FormatError: Something else stands there.
    """
    found = value.get(key)
    return () if found is None else as_array(found, key, f"{path}.{key}")


def kind_of(value: Mapping[str, Any]) -> str:
    """The type that *value* says it has; empty text where it says none."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def index_of(value: Mapping[str, Any], key: str, path: str, usual: int = 0) -> int:
    """The place that *value* says it has; the *usual* one where it says none.

    Raises:
        FormatError: It is no number.
    """
    found = value.get(key)
    if found is None:
        return usual
    if not isinstance(found, int):
        raise wrong(key, "a number", found, f"{path}.{key}")
    return found


def text_or_none(value: Any) -> str | None:
    """*value* where it is text."""
    return value if isinstance(value, str) else None


def added(before: Any, text: Any) -> str:
    """*before*, where it is text, and then *text*, where that is."""
    return f"{text_or_none(before) or ''}{text_or_none(text) or ''}"
