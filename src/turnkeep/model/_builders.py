"""Messages in one line, and copies of them with more on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

import attrs

from ._blocks import Image, Thinking, ToolCall
from ._frozen import freeze
from ._message import Message, Role

CACHE_KEY: Final = "multi-llm"
"""Key of a message's metadata for cache hints: multi-llm's attributes of that name."""

DEFAULT_PRIORITY: Final = 50
"""Of a message without a priority of its own, where messages are ordered by it."""

_TYPES: Final = {"ephemeral": "Ephemeral", "extended": "Extended"}


def reasoned(content: str, reasoning: str, **fields: Any) -> Message:
    """An answer with the reasoning that led to it, which is sent back verbatim."""
    answer = Message.assistant(content, **fields)
    return attrs.evolve(answer, content=(Thinking(reasoning), *answer.content))


def run_summary(text: str, **fields: Any) -> Message:
    """A line for people only (`Worked for 5 s`): never sent and never counted."""
    return Message.system(text, kind="run_summary", **fields)


def with_images(
    message: Message, images: Sequence[Image], numbers: Sequence[int] | None = None
) -> Message:
    """*message* with *images* behind its content, and their numbers in the transcript.

    Raises:
        ValueError: There are more or fewer numbers than images.
    """
    if numbers is not None:
        if len(numbers) != len(images):
            msg = f"{len(images)} images need as many numbers, not {len(numbers)}"
            raise ValueError(msg)
        images = [
            attrs.evolve(image, number=number)
            for image, number in zip(images, numbers, strict=True)
        ]
    return message.evolve(content=(*message.content, *images))


def with_tool_calls(message: Message, calls: Sequence[ToolCall]) -> Message:
    """*message* with *calls* instead of those it makes; with none, it makes none."""
    kept = [block for block in message.content if not isinstance(block, ToolCall)]
    return message.evolve(content=(*kept, *calls))


def with_cache(
    message: Message,
    lifetime: Literal["ephemeral", "extended"] = "ephemeral",
    key: str | None = None,
) -> Message:
    """*message* with a hint that its prefix is worth caching; the last hint wins.

    Args:
        message:
            Any message.
        lifetime:
            `"ephemeral"`: minutes; `"extended"`: an hour.
        key:
            Names the cache entry, where a provider takes names.
    """
    before = message.metadata.get(CACHE_KEY)
    hints: dict[str, Any] = dict(before) if isinstance(before, dict) else {}
    hints |= {"cacheable": True, "cache_type": _TYPES[lifetime], "cache_key": key}
    return message.evolve(metadata=freeze({**message.metadata, CACHE_KEY: hints}))


def by_priority(messages: Sequence[Message]) -> list[Message]:
    """A view with the leading system messages by priority, then by time stamp.

    Stable, and only for the part before the conversation: sorting turns by priority
    would tear calls from their results. *messages* stays as it is.
    """
    leading = 0
    while leading < len(messages) and messages[leading].role is Role.SYSTEM:
        leading += 1
    return [*sorted(messages[:leading], key=_rank), *messages[leading:]]


_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def _rank(message: Message) -> tuple[int, datetime]:
    priority = DEFAULT_PRIORITY if message.priority is None else message.priority
    return priority, message.timestamp or _LATEST
