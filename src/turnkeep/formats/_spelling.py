"""How an entry was spelled where JSON allows several ways to say one thing.

Keys can be left out, null or at their default, times and numbers written differently,
and old files lack newer keys. A layout then keeps the differences to our own spelling,
and only those: an entry in today's spelling costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import Message, same

from ._base import layout_of
from ._shape import compact

Write = Callable[[Message], list[Any]]
Read = Callable[[Any, str], Message]


def remember(message: Message, entry: Any, name: str, write: Write) -> Message:
    """*message*, read from *entry*; its layout says what `write` would spell otherwise.

    Linear in the size of the entry.
    """
    written = write(message)
    ours = written[0] if len(written) == 1 else None
    # Readers are strict about types, so values that are equal are the same JSON.
    if ours == entry:
        return message
    patch = difference(ours, entry)
    if patch is None:
        return message
    return attrs.evolve(message, layout=f"{name}:{compact(patch)}")


def recall(message: Message, name: str, read: Read, write: Write) -> list[Any]:
    """The entries of *message*, spelled as they came where that still says the same."""
    written = write(message)
    if message.layout == name or not (details := layout_of(message, name)):
        return written
    try:
        entry = change(written[0] if len(written) == 1 else None, json.loads(details))
        again = write(read(entry, "$"))
    except (FormatError, ValueError, LookupError, TypeError, AttributeError):
        # The layout is not one of ours: somebody wrote it by hand.
        return written
    return [entry] if same(again, written) else written


def difference(ours: Any, theirs: Any) -> Any:
    """What turns *ours* into *theirs*, as JSON; none when they are the same."""
    if same(ours, theirs):
        return None
    if isinstance(ours, dict) and isinstance(theirs, dict):
        changes = {
            key: difference(ours[key], v) if key in ours else {"=": v}
            for key, v in theirs.items()
            if key not in ours or not same(ours[key], v)
        }
        gone = [key for key in ours if key not in theirs]
        return {"keys": changes, "gone": gone} if gone else {"keys": changes}
    if _is_list(ours) and _is_list(theirs) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return {"items": {n: difference(a, b) for n, (a, b) in pairs if not same(a, b)}}
    return {"=": theirs}


def change(value: Any, patch: Any) -> Any:
    """*value* changed by what `difference` found; *value* itself stays as it is.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: It does not fit *value*.
    """
    if patch is None:
        return value
    if "=" in patch:
        return patch["="]
    if "items" in patch:
        items = list(value)
        for nth, deeper in patch["items"].items():
            items[int(nth)] = change(items[int(nth)], deeper)
        return items
    gone = patch.get("gone", ())
    changed = {key: v for key, v in value.items() if key not in gone}
    for key, deeper in patch["keys"].items():
        changed[key] = change(changed.get(key), deeper)
    return changed


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
