"""The shapes in which LangChain writes a message, and what stands inside all of them.

`messages_to_dict` puts the fields under `data`, `dumpd` under `kwargs` of a
constructor, and an object's own `model_dump` has them at the top.
"""

from __future__ import annotations

from typing import Any, Final

from turnkeep.errors import FormatError

from .._fields import checked, required
from .._wire import rest

DATA: Final = "data"
"""`messages_to_dict`: `{"type": "human", "data": {...}}`."""

CONSTRUCTOR: Final = "lc"
"""`dumpd`: `{"lc": 1, "type": "constructor", "id": [...], "kwargs": {...}}`."""

FLAT: Final = "flat"
"""`model_dump`: `{"type": "human", "content": ...}`."""

SHAPES: Final = frozenset({DATA, CONSTRUCTOR, FLAT})

_CLASSES: Final = {
    "human": "HumanMessage",
    "ai": "AIMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
    "function": "FunctionMessage",
    "chat": "ChatMessage",
}
_TYPES: Final = {
    **{kind: kind for kind in _CLASSES},
    **{name: kind for kind, name in _CLASSES.items()},
    **{f"{name}Chunk": kind for kind, name in _CLASSES.items()},
}
KINDS: Final = frozenset(_TYPES)
"""What may stand under `type`: kinds of messages, and names of their classes."""

_PLACE: Final = ("langchain", "schema", "messages")


def kind_of(name: str, path: str) -> str:
    """The kind of message that a `type` or the name of a class means.

    Raises:
        FormatError: There is none of that name.
    """
    kind = _TYPES.get(name)
    if kind is None:
        why = ""
        if name in {"remove", "RemoveMessage"}:
            why = "; it is an order to a reducer, which add_messages() carries out"
        reason = f"unknown message {name!r} (expected {', '.join(_CLASSES)}){why}"
        raise FormatError(reason, path)
    return kind


def unwrap(entry: Any, path: str) -> tuple[str, dict[str, Any], str]:
    """The shape of *entry*, the fields inside with their `type`, and where they stand.

    Raises:
        FormatError: It has none of the three shapes, or JSON cannot say it.
    """
    checked(entry, "a message", dict, path)
    if "lc" in entry:
        inside = required(entry, "kwargs", dict, path)
        names = required(entry, "id", list, path)
        if not names or not isinstance(names[-1], str):
            reason = "the last element of 'id' must be the name of a class"
            raise FormatError(reason, f"{path}.id")
        rest(entry, frozenset({"kwargs"}), path)
        place = f"{path}.kwargs"
        return CONSTRUCTOR, {"type": names[-1], **inside}, place
    kind = required(entry, "type", str, path)
    if "data" in entry and "content" not in entry:
        inside = required(entry, "data", dict, path)
        rest(entry, frozenset({"data"}), path)
        return DATA, {"type": kind, **inside}, f"{path}.data"
    return FLAT, entry, path


def wrap(shape: str, fields: dict[str, Any]) -> dict[str, Any]:
    """*fields* in the *shape* that LangChain writes."""
    if shape == FLAT:
        return fields
    kind = fields["type"]
    if shape == DATA:
        return {"type": kind, "data": fields}
    name = _CLASSES.get(kind, kind)
    made = {"lc": 1, "type": "constructor", "id": [*_PLACE, name]}
    return {**made, "kwargs": fields}


def shape_of(entry: Any) -> str | None:
    """The shape of *entry*, by its keys alone; none where it is no object."""
    if not isinstance(entry, dict):
        return None
    if "lc" in entry:
        return CONSTRUCTOR
    return DATA if "data" in entry and "content" not in entry else FLAT


def reshape(entry: Any, shape: str) -> Any:
    """*entry*, which we wrote, in another *shape*; itself where it has that one."""
    found = shape_of(entry)
    if found in {None, shape}:
        return entry
    inside = {DATA: "data", CONSTRUCTOR: "kwargs"}.get(found or "")
    return wrap(shape, entry if inside is None else entry[inside])
