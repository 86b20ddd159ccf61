"""Request bodies: a list of entries with system text and tools beside it."""

from __future__ import annotations

from typing import Any

from turnkeep.errors import FormatError

from ._base import Envelope
from ._shape import as_array, json_type


def open_body(
    value: Any,
    key: str,
    *,
    system: tuple[str, ...] = (),
    tools: tuple[str, ...] = ("tools",),
    model: tuple[str, ...] = ("model",),
    kept: tuple[str, ...] = (),
) -> Envelope:
    """Take a list, or a body whose list stands under *key*, apart.

    Args:
        value:
            The list or the body.
        key:
            The key of the list in a body.
        system:
            Keys of the system text, in the spellings to look for.
        tools:
            The same for the tools.
        model:
            The same for the model.
        kept:
            Keys that say what the provider keeps of the context.

    Raises:
        FormatError: It is neither.
    """
    if isinstance(value, (list, tuple)):
        return Envelope(value)
    if not isinstance(value, dict) or key not in value:
        what = f"an object without {key!r}" if isinstance(value, dict) else None
        reason = (
            f"expected a list of entries or a body with {key!r}, "
            f"got {what or json_type(value)}"
        )
        raise FormatError(reason, "$")
    entries = as_array(value[key], key, f"$.{key}")

    def find(keys: tuple[str, ...]) -> Any:
        return next((value[k] for k in keys if value.get(k) is not None), None)

    name = find(model)
    return Envelope(
        entries,
        system=find(system),
        tools=find(tools),
        model=name if isinstance(name, str) else None,
        path=f"$.{key}",
        is_body=True,
        kept=tuple(name for name in kept if value.get(name) is not None),
        replace=lambda made: {**value, key: made},
    )
