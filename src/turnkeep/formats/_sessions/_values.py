"""Looking into values that a log may hold in any type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeep.errors import FormatError

from .._shape import as_array, as_object


def text_of(value: Any) -> str:
    """*value* where it is a text, also one that stands under `value`; else nothing."""
    if isinstance(value, dict):
        value = value.get("value")
    return value if isinstance(value, str) else ""


def kind_of(value: Mapping[str, Any], key: str = "type") -> str:
    """The text under *key*, by which readers tell what *value* is; else nothing."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def objects(value: Any, what: str, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of an array with their paths; nothing where there is no array.

    Raises:
        FormatError: It is something else, or holds something else.
    """
    if value is None:
        return
    for nth, item in enumerate(as_array(value, what, path)):
        where = f"{path}[{nth}]"
        yield as_object(item, f"an element of {what}", where), where


def one_conversation(value: Any, path: str) -> tuple[dict[str, Any], str]:
    """The only conversation of a chat service's export, or one by itself; its path.

    Raises:
        FormatError: There are several, or it is none.
    """
    if isinstance(value, (list, tuple)):
        if len(value) != 1:
            reason = f"an export of {len(value)} conversations: open one of them"
            raise FormatError(reason, path)
        value, path = value[0], f"{path}[0]"
    return as_object(value, "a conversation", path), path


def json_or_value(value: Any, what: str, path: str) -> Any:
    """*value*, parsed where it is JSON in a text, as attributes of traces hold it.

    Raises:
        FormatError: The text is no JSON: most often a limit of length cut it off.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        reason = (
            f"{what} is a text of {len(value):,} characters that is no JSON: it was "
            "cut off, so that the messages cannot be read"
        )
        raise FormatError(reason, path) from None
