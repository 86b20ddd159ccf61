"""Messages and texts made from parts that were checked already.

attrs converts and validates every field of a new message: right for callers, and three
times the cost where a loader has done it. These functions fill the slots directly. They
are for loaders inside turnkeep: nothing is converted, nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from ._blocks import Block, Text
from ._frozen import EMPTY, FrozenDict
from ._message import Message, PinScope, Role

_new = object.__new__


def _setter(kind: type, name: str) -> Callable[[object, Any], None]:
    # A slot's own setter: `object.__setattr__` looks it up by name each time.
    setter: Callable[[object, Any], None] = getattr(kind, name).__set__
    return setter


_role = _setter(Message, "role")
_content = _setter(Message, "content")
_id = _setter(Message, "id")
_timestamp = _setter(Message, "timestamp")
_token_count = _setter(Message, "token_count")
_pinned = _setter(Message, "pinned")
_pin_scope = _setter(Message, "pin_scope")
_kind = _setter(Message, "kind")
_priority = _setter(Message, "priority")
_metadata = _setter(Message, "metadata")
_extra = _setter(Message, "extra")
_layout = _setter(Message, "layout")
_text = _setter(Text, "text")
_text_extra = _setter(Text, "extra")


def trusted_message(
    role: Role,
    content: tuple[Block, ...] = (),
    id: str | None = None,  # noqa: A002 - the field's name
    timestamp: datetime | None = None,
    token_count: int | None = None,
    pinned: bool = False,
    pin_scope: PinScope = "turn",
    kind: str | None = None,
    priority: int | None = None,
    metadata: FrozenDict = EMPTY,
    extra: FrozenDict = EMPTY,
    layout: str | None = None,
) -> Message:
    """A message of these very parts; equal to `Message(...)` of the same."""
    made = _new(Message)
    _role(made, role)
    _content(made, content)
    _id(made, id)
    _timestamp(made, timestamp)
    _token_count(made, token_count)
    _pinned(made, pinned)
    _pin_scope(made, pin_scope)
    _kind(made, kind)
    _priority(made, priority)
    _metadata(made, metadata)
    _extra(made, extra)
    _layout(made, layout)
    return made


def trusted_text(text: str) -> Text:
    """A text without extra keys; equal to `Text(text)`."""
    made = _new(Text)
    _text(made, text)
    _text_extra(made, EMPTY)
    return made
