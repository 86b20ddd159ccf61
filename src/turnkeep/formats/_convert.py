from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import Message, Role, paused_gc
from turnkeep.providers._tool_definitions import read_tools, write_tools

from ._base import Envelope, Format, decode_entries
from ._registry import FORMATS, READ_ONLY

Arrange: TypeAlias = Callable[[Sequence[Message], str], Sequence[Message]]
"""From a history and the name of a format to the history in that format's order."""

_BESIDE = frozenset({"system", "systemInstruction", "instructions"})


@attrs.frozen
class Loss:
    """Something that the target format cannot carry."""

    where: str
    """The message's id or its place, or `tools`."""
    what: str
    """What is lost, in words."""

    def __str__(self) -> str:
        """One line."""
        return f"{self.where}: {self.what}"


@attrs.frozen
class Conversion:
    """A history in another format, and what did not survive."""

    value: Any
    """A list, or a request body where the input was one or system text must stand
    beside the list."""
    losses: tuple[Loss, ...]
    source: str
    target: str
    notes: tuple[str, ...] = ()
    """What the reader of a session left out; see `Envelope.notes`."""


def decode_all(envelope: Envelope, fmt: Format) -> list[Message]:
    """Every message of an envelope, system text beside the list first."""
    messages: list[Message] = []
    with paused_gc():
        if envelope.system is not None:
            messages.extend(fmt.decode_system(envelope.system))
        messages.extend(decode_entries(envelope, fmt))
    return messages


def convert_value(
    envelope: Envelope,
    source: Format,
    target: Format,
    *,
    strict: bool,
    arrange: Arrange | None = None,
) -> Conversion:
    """A history of one format in another; costs the history.

    Args:
        envelope:
            The history, opened by *source*.
        source:
            Its format.
        target:
            The format to write.
        strict:
            Whether a loss is an error.
        arrange:
            Puts messages where the target wants them.

    Raises:
        ValueError: The target is a format that is only read.
        FormatError: The input is malformed, or (strict) something would be lost.
    """
    if target.name in READ_ONLY:
        written = ", ".join(name for name in FORMATS if name not in READ_ONLY)
        msg = f"{target.name!r} is only read, never written; convert to {written}"
        raise ValueError(msg)
    messages: Sequence[Message] = decode_all(envelope, source)
    if arrange is not None:
        messages = arrange(messages, target.name)
    losses = [
        Loss(message.id or str(nth), what)
        for nth, message in enumerate(messages)
        for what in target.losses(message)
    ]
    tools = envelope.tools
    if tools and target.name != source.name:
        defined, others = read_tools(tools)
        tools = write_tools(defined, target.name)
        losses += [Loss("tools", f"{other} is no function tool") for other in others]
    if strict and losses:
        reason = f"{target.name} cannot carry {len(losses)} things: " + "; ".join(
            map(str, losses[:5])
        )
        raise FormatError(reason, envelope.path)
    return Conversion(
        _written(messages, target, tools, is_body=envelope.is_body),
        tuple(losses),
        envelope.session or source.name,
        target.name,
        envelope.notes,
    )


def _written(
    messages: Sequence[Message], target: Format, tools: Any, *, is_body: bool
) -> Any:
    body = target.encode_request(messages, tools)
    lists = [key for key, value in body.items() if isinstance(value, list)]
    if is_body or not lists:
        return body
    if any(key in _BESIDE for key in body) and any(
        message.role is Role.SYSTEM for message in messages
    ):
        return body
    key = next((k for k in ("messages", "contents", "input") if k in body), lists[0])
    return body[key]
