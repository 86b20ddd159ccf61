from __future__ import annotations

from typing import NamedTuple

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import (
    CLEARED,
    SHORTENED,
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    mark,
    marker_of,
)


class Found(NamedTuple):
    """One final result of a tool, and the call that it answers."""

    step: int
    message: int
    position: int
    """Which of the message's results, from 0."""
    result: ToolResult
    call: ToolCall | None
    call_message: int
    """Index of the message that makes the call; -1 where there is none."""


def final_results(history: HistoryView) -> list[Found]:
    """The final results of the history, in the order of their messages.

    Pinned messages are left out: nothing edits them. Costs one look at each message.
    """
    found: list[Found] = []
    for step in history.steps:
        indexes = step.indexes
        if len(indexes) == 1 and not history.message(indexes[0]).tool_results:
            continue
        calls: list[tuple[int, ToolCall]] = []
        for index in indexes:
            message = history.current(index)
            calls += [(index, call) for call in message.tool_calls]
            for position, result in enumerate(message.tool_results):
                made, call = _called(calls, result)
                if result.final and not history.pinned(index):
                    found.append(Found(step.index, index, position, result, call, made))
    found.sort(key=lambda item: (item.message, item.position))
    return found


def _called(
    calls: list[tuple[int, ToolCall]], result: ToolResult
) -> tuple[int, ToolCall | None]:
    """The call that *result* answers; a final answer uses it up."""
    for nth, (index, call) in enumerate(calls):
        same = (
            call.name == result.tool_name
            if result.tool_call_id is None
            else call.id == result.tool_call_id
        )
        if same:
            if result.final:
                del calls[nth]
            return index, call
    return -1, None


def name_of(found: Found) -> str:
    """The tool's name, where the call or the result says it."""
    if found.call is not None:
        return found.call.name
    return found.result.tool_name or ""


def is_ours(result: ToolResult) -> bool:
    """Whether a result has been cleared already."""
    return marker_of(result.text) == CLEARED


def is_shortened(result: ToolResult) -> bool:
    """Whether a result has been cleared or cut already."""
    return marker_of(result.text) in (CLEARED, SHORTENED)


def cleared(result: ToolResult, text: str) -> ToolResult:
    """The same result saying only that its content was cleared, and *text*."""
    return attrs.evolve(result, content=(Text(mark(CLEARED, text)),))


def with_result(message: Message, position: int, result: ToolResult) -> Message:
    """*message* with another result in the place of one of its results."""
    blocks: list[Block] = []
    nth = -1
    for block in message.content:
        nth += isinstance(block, ToolResult)
        at_it = isinstance(block, ToolResult) and nth == position
        blocks.append(result if at_it else block)
    return message.evolve(content=tuple(blocks))
