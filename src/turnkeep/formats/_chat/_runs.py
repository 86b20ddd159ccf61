"""Assistant messages in a row, which chat formats want as one where calls are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from turnkeep.model import Message, Role, Thinking

ASSISTANT_SIDE = (Role.ASSISTANT, Role.TOOL_CALL)


def join_runs(
    messages: Sequence[Message], concerns: Callable[[Message], bool]
) -> list[Message]:
    """*messages* with the assistant messages that must be one made one. Linear."""
    made: list[Message] = []
    run: list[Message] = []
    for message in messages:
        if message.role in ASSISTANT_SIDE and concerns(message):
            run.append(message)
            continue
        made += joined_run(run)
        run = []
        made.append(message)
    return made + joined_run(run)


def joined_run(run: list[Message]) -> list[Message]:
    """Assistant messages in a row: as they are, or as one where they must be."""
    if len(run) > 1 and any(_joins(message) for message in run):
        return [_joined(run)]
    return run


def _joins(message: Message) -> bool:
    """Whether *message* cannot stand alone beside other assistant messages."""
    return bool(message.tool_calls) or all(
        isinstance(block, Thinking) for block in message.content
    )


def _joined(run: Sequence[Message]) -> Message:
    """One message that says *run*; keys of another format stay theirs."""
    extra: dict[str, Any] = {}
    for message in reversed(run):
        extra |= message.extra
    return attrs.evolve(
        run[0],
        role=Role.ASSISTANT,
        content=tuple(block for message in run for block in message.content),
        extra=extra,
        layout=next((m.layout for m in run if m.layout is not None), None),
    )
