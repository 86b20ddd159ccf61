from __future__ import annotations

from typing import NamedTuple

from turnkeep.index import HistoryView
from turnkeep.model import (
    CLEARED,
    OFFLOADED,
    SHORTENED,
    Message,
    Text,
    ToolCall,
    ToolResult,
    mark,
    marker_of,
    trusted_result,
)
from turnkeep.turns import is_final_word


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

    Nothing edits pinned messages, consent and the provider's own answers: they are left
    out. Costs one look at each message.
    """
    found: list[Found] = []
    step_of = history.message_steps
    asked: dict[int, list[tuple[int, ToolCall]]] = {}
    for index, message in enumerate(history.messages):
        content = message.content
        if len(content) == 1 and type(content[0]) is Text:
            continue  # so is most of a history
        if not history.is_shown(index):
            continue
        step, position = step_of[index], -1
        fixed = history.pinned(index) or is_final_word(message)
        for block in history.current(index).content:
            if type(block) is ToolCall:
                asked.setdefault(step, []).append((index, block))
            elif type(block) is ToolResult:
                position += 1
                made, call = _called(asked.get(step, []), block)
                if block.final and not fixed:
                    found.append(Found(step, index, position, block, call, made))
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
    """Whether a result has been cleared, cut or offloaded already."""
    return marker_of(result.text) in (CLEARED, SHORTENED, OFFLOADED)


def notice(text: str) -> tuple[Text]:
    """The content of a cleared result: that it was, and *text*."""
    return (Text(mark(CLEARED, text)),)


def cleared(result: ToolResult, content: tuple[Text]) -> ToolResult:
    """The same result saying nothing but a `notice`."""
    return trusted_result(
        result.tool_call_id,
        content,
        result.is_error,
        result.pending,
        result.interim,
        result.tool_name,
        result.extra,
    )


def result_at(message: Message, position: int) -> ToolResult:
    """One of the results that *message* carries."""
    only = message.content[0]
    if len(message.content) == 1 and type(only) is ToolResult:
        return only
    return message.tool_results[position]


def with_result(message: Message, position: int, result: ToolResult) -> Message:
    """*message* with another result in the place of one of its results."""
    if len(message.content) == 1:
        return message.with_blocks((result,))
    blocks = list(message.content)
    places = [n for n, block in enumerate(blocks) if isinstance(block, ToolResult)]
    blocks[places[position]] = result
    return message.with_blocks(tuple(blocks))
