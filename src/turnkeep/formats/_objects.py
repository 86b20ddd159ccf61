"""Objects of SDKs among a caller's messages: read as they would be sent, given back.

The clients of most providers return pydantic objects, and callers append those to their
lists beside dicts of their own, whole or inside an entry. What is decided is decided on
what would be sent; what comes back is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import Message

from ._host_objects import host_of, host_of_all

_LISTS: Final = ("messages", "contents", "input")
"""Keys of a body that holds such a list."""

_PARTS: Final = ("content", "parts", "tool_calls")
"""Keys of an entry whose elements may be objects."""

_JSON: Final = frozenset({dict, str, int, float, bool, type(None), list, tuple, bytes})
_EARLY: Final = 200
_LATE: Final = 50
"""Entries that are searched for objects inside: lists begin and end as they go on."""

_DEEPEST: Final = 6
"""Levels of an entry on which objects are looked for."""

_LEFT_OUT: Final[dict[str, dict[str, bool]]] = {
    "anthropic": {"exclude_unset": True},
    "openai": {"exclude_unset": True},
    "mistralai": {},
}
"""What the clients of some packages leave out; roles may be defaults in others."""


class Objects:
    """The caller's own messages, by the wire entries that were read from them."""

    def __init__(self, originals: Sequence[Any], wires: Sequence[Any]) -> None:
        """Remember which of *wires* was read from which of *originals*."""
        self.originals = originals
        # The entries are kept, so that no other object gets the address of one.
        self._wires = wires
        self._own = {
            id(wire): own
            for wire, own in zip(wires, originals, strict=True)
            if wire is not own
        }
        self._edited: dict[int, tuple[Any, Any]] = {}
        self._host = host_of_all(originals)

    def edited(self, nth: int, entries: Iterable[Any]) -> None:
        """Say that *entries* stand in the place of the *nth*."""
        for entry in entries:
            self._edited[id(entry)] = (entry, self.originals[nth])

    def replaced(self, old: Any, new: Any) -> None:
        """Say that entry *new* stands in the place of entry *old*."""
        known = self._edited.get(id(old))
        own = self._own.get(id(old)) if known is None else known[1]
        if own is not None:
            self._edited[id(new)] = (new, own)

    def restored(self, entries: Sequence[Any]) -> list[Any]:
        """*entries* as the caller's objects, new ones made by the type they replace."""
        return [self._restored(entry) for entry in entries]

    def _restored(self, entry: Any) -> Any:
        own = self._own.get(id(entry))
        if own is not None:
            return own
        edited = self._edited.get(id(entry))
        if edited is not None:
            return remade(entry, edited[1])
        return entry if self._host is None else self._host.make(entry, None)


def read_objects(value: Any) -> tuple[Any, Objects | None]:
    """*value* with every object in its list read; and those objects, if there are any.

    Costs a look at the type of each entry where there are none.

    Raises:
        FormatError: An object cannot say what it is, with its path.
    """
    key = None
    entries = value
    if isinstance(value, Mapping):
        key = next((k for k in _LISTS if isinstance(value.get(k), (list, tuple))), None)
        if key is None:
            return value, None
        entries = value[key]
    if not isinstance(entries, (list, tuple)) or not _has_objects(entries):
        return value, None
    path = "$" if key is None else f"$.{key}"
    wires = [_wire(entry, f"{path}[{n}]") for n, entry in enumerate(entries)]
    made = wires if key is None else {**value, key: wires}
    return made, Objects(entries, wires)


def read_object(value: Any, path: str = "$") -> Any:
    """One value as its client would send it, whatever stands in it.

    Raises:
        FormatError: An object cannot say what it is, with its path.
    """
    return _wire(value, path)


def read_entry(value: Any, path: str = "$") -> Any:
    """The same for one entry of a list, which is looked at as briefly as there.

    Raises:
        FormatError: An object cannot say what it is, with its path.
    """
    return _wire(value, path) if _has_objects([value]) else value


def _has_objects(entries: Sequence[Any]) -> bool:
    kinds = set(map(type, entries))
    if kinds != {dict}:
        return any(kind not in _JSON and kind is not Message for kind in kinds)
    looked = entries
    if len(entries) > _EARLY + _LATE:
        looked = [*entries[:_EARLY], *entries[-_LATE:]]
    for key in _PARTS:
        inner = [v for e in looked if type(v := e.get(key)) is list]
        if inner and not _JSON.issuperset(map(type, chain.from_iterable(inner))):
            return True
    return False


def _wire(value: Any, path: str, depth: int = 0) -> Any:
    """*value* as it would be sent; itself where that is the same."""
    if depth > _DEEPEST or isinstance(value, (str, bytes, Message)):
        return value
    if isinstance(value, dict):
        read = {k: _wire(v, f"{path}.{k}", depth + 1) for k, v in value.items()}
        return read if any(read[k] is not v for k, v in value.items()) else value
    if isinstance(value, (list, tuple)):
        parts = [_wire(v, f"{path}[{n}]", depth + 1) for n, v in enumerate(value)]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else parts
    return _dumped(value, path)


def _dumped(value: Any, path: str) -> Any:
    """What an object says it is as JSON; the object where it does not say."""
    kind = type(value)
    if isinstance(value, type):
        return value
    try:
        if (host := host_of(value)) is not None:
            return host.dump(value)
        if hasattr(kind, "model_dump"):
            return _model_dump(value)
        if hasattr(kind, "to_dict"):
            return value.to_dict()
    except Exception as error:
        # Foreign code may raise anything.
        reason = f"a {kind.__name__} could not be read: {error}"
        raise FormatError(reason, path) from error
    return value


def _model_dump(value: Any) -> Any:
    """The fields that its own client would send."""
    bases = type(value).__mro__
    packages = [base.__module__.partition(".")[0] for base in bases]
    known = next((_LEFT_OUT[name] for name in packages if name in _LEFT_OUT), None)
    left_out = {"exclude_none": True} if known is None else known
    hidden = getattr(value, "__api_exclude__", None)
    options: dict[str, Any] = {"mode": "json", "by_alias": True, **left_out}
    if hidden:
        options["exclude"] = hidden
    try:
        return value.model_dump(**options)
    except TypeError:
        # No pydantic model, only one that has the method.
        return value.model_dump()


def remade(entry: Any, own: Any) -> Any:
    """*entry* by the type of the caller's *own* object; itself where that cannot be."""
    if (host := host_of(own)) is not None:
        return host.make(entry, own)
    kind = type(own)
    make = getattr(kind, "model_validate", None) or getattr(kind, "from_dict", None)
    if make is None or isinstance(own, dict):
        return entry
    try:
        made = make(entry)
        return made if _dumped(made, "$") == entry else entry
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        return entry
