"""What chat formats share besides their entries: bodies, detection, losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import DISPLAY_KINDS, Message, Text

from .._base import Envelope, is_own
from .._losses import (
    host_losses,
    key_losses,
    opaque_losses,
    picture_losses,
    thinking_losses,
)
from .._shape import as_array, as_object, as_text
from ._decode import describe
from ._dialect import Dialect


def open_list(value: Any, name: str, *, key: str = "messages") -> Envelope:
    """Take a list, or a body with the list under *key*, apart.

    Raises:
        FormatError: It is neither.
    """
    if isinstance(value, (list, tuple)):
        return Envelope(value)
    if not isinstance(value, dict) or key not in value:
        reason = (
            f"{name} is a list of messages or a body with {key!r}, "
            f"got {describe(value)}"
        )
        raise FormatError(reason, "$")
    path = f"$.{key}"
    entries = as_array(value[key], key, path)
    tools = value.get("tools")
    if tools is not None:
        as_array(tools, "tools", "$.tools")
    functions = value.get("functions")
    if isinstance(functions, (list, tuple)) and not tools:
        # What tools were called before 2023-11; they cost the same.
        tools = [{"type": "function", "function": one} for one in functions]
    model = value.get("model")
    return Envelope(
        entries,
        tools=tools,
        model=model if isinstance(model, str) else None,
        path=path,
        is_body=True,
        replace=lambda made: {**value, key: made},
    )


def system_messages(system: Any, path: str) -> tuple[Message, ...]:
    """System text that stands beside a list: a string, or an array of text parts.

    Raises:
        FormatError: It is neither.
    """
    if system is None:
        return ()
    if isinstance(system, str):
        return (Message.system(system),)
    blocks = []
    for nth, part in enumerate(as_array(system, "system text", path)):
        where = f"{path}[{nth}]"
        text = as_object(part, "a part of system text", where).get("text")
        blocks.append(Text(as_text(text, "text", f"{where}.text")))
    return (Message.system(blocks),) if blocks else ()


def to_send(messages: Iterable[Message]) -> list[Message]:
    """*messages* without those that are only shown to people."""
    return [m for m in messages if m.kind not in DISPLAY_KINDS]


def request(entries: list[Any], tools: Any, *, key: str = "messages") -> dict[str, Any]:
    """A body of *entries* and, when there are any, *tools*."""
    body: dict[str, Any] = {key: entries}
    if tools:
        body["tools"] = tools
    return body


def chat_losses(message: Message, dialect: Dialect) -> list[str]:
    """What a chat dialect cannot carry of *message*."""
    lost = host_losses(message)
    if message.layout is None or not is_own(message, dialect.name):
        lost += key_losses(message, dialect.name)
        lost += opaque_losses(message, dialect.name)
        carries = dialect.thinking is not None
        lost += thinking_losses(message, carries_text=carries)
        lost += picture_losses(message, addresses=dialect.file_addresses)
    return lost
