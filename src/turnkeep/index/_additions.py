"""Messages of ours that a window needs beside its steps, and what is left of bad ones.

Asked by the index as it changes, for one step at a time, and by whoever looks at a
whole history at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from turnkeep.model import BRIDGE, Message, ToolResult, mark
from turnkeep.plans import Cause, Inserted
from turnkeep.turns import (
    ASSISTANT,
    HIDDEN,
    OURS,
    RESULT,
    SYSTEM,
    UNSAID,
    USER,
    Grouping,
    OpenCall,
)

BRIDGE_ANSWER: Final = mark(BRIDGE, "The tools have answered; the user went on.")
"""Stands between a stand-in and a user message where the model must speak first."""

BRIDGE_END: Final = mark(
    BRIDGE, "A tool has answered since: its result stands with its call above. Go on."
)
"""Stands last where the list would end on the assistant's side."""

_AFTERTHOUGHTS: Final = (bytes([RESULT]), bytes([HIDDEN]), bytes([SYSTEM]))
"""Kinds of a last message that may leave the end to what stands before it."""


def stand_in(call: OpenCall, text: str, cost: Callable[[Message], int]) -> Inserted:
    """What stands for the result of an open call."""
    message = Message.tool_result(
        call.id, text, pending=True, tool_name=call.name, metadata=call.note
    )
    return Inserted(call.message, message, cost(message), Cause.OPEN_CALL, call.key)


def next_word(grouping: Grouping, step: int, call: OpenCall) -> int:
    """The first message behind a step's call that is sent and not the step's own."""
    kinds, step_at, total = grouping.kinds, grouping.step_at, len(grouping)
    at = call.message + 1
    while at < total and (step_at(at) == step or kinds[at] == HIDDEN):
        at += 1
    return at


def bridge_behind(
    grouping: Grouping, step: int, at: int, cost: Callable[[Message], int]
) -> Inserted | None:
    """The model's word between a step's stand-ins and the user's message *at*.

    None where somebody else speaks there, and where the user's words come with another
    result of the step: they follow that one.
    """
    if at >= len(grouping) or grouping.kinds[at] not in (USER, OURS):
        return None
    if grouping.ties and grouping.step_at(at) in grouping.together(step):
        return None
    said = Message.assistant(BRIDGE_ANSWER, kind="bridge")
    return Inserted(at - 1, said, cost(said), Cause.PROFILE)


def ends_on_call(
    grouping: Grouping,
    gone: Collection[int],
    answered: Collection[int],
    *,
    per_message: bool,
) -> bool:
    """Whether the list ends on the assistant's side because its last result moves.

    Costs the messages that leave the end.

    Args:
        grouping:
            The history's.
        gone:
            Messages that no window holds.
        answered:
            Steps that end on stand-ins.
        per_message:
            Whether results must follow their call's own message.
    """
    kinds = grouping.kinds
    if kinds[-1:] not in _AFTERTHOUGHTS:
        return False
    moved = grouping.displaced if per_message else grouping.displaced_run
    last = len(grouping) - 1
    leaves = False
    while last >= 0:
        if last in moved or last in gone:
            leaves = True
        elif kinds[last] not in UNSAID:
            break
        last -= 1
    return (
        leaves
        and last >= 0
        and kinds[last] == ASSISTANT
        and grouping.step_at(last) not in answered
    )


def bridge_end(after: int, cost: Callable[[Message], int]) -> Inserted:
    """The user's word at the end of such a list."""
    said = Message.user(BRIDGE_END, kind="bridge")
    return Inserted(after, said, cost(said), Cause.PROFILE)


def left_of(message: Message, positions: Collection[int]) -> Message | None:
    """*message* without those of its results; none where nothing is left."""
    kept = []
    nth = -1
    for block in message.content:
        if isinstance(block, ToolResult):
            nth += 1
            if nth in positions:
                continue
        kept.append(block)
    return message.evolve(content=tuple(kept)) if kept else None


def misfits(
    grouping: Grouping, problems: int = 0, replaced: int = 0
) -> dict[int, dict[int, str]]:
    """Which results no window holds, and why: by message, by their place in it.

    Args:
        grouping:
            The history's.
        problems:
            How many of its problems are known already.
        replaced:
            How many of its replaced results are.
    """
    found: dict[int, dict[int, str]] = {}
    for problem in grouping.problems[problems:]:
        found.setdefault(problem.message, {})[problem.position] = Cause.REPAIR
    for index, position in _newer(grouping.superseded, replaced):
        found.setdefault(index, {})[position] = Cause.RESOLVED
    return found


def _newer(
    superseded: dict[tuple[int, int], int], known: int
) -> Sequence[tuple[int, int]]:
    """The last of them: a dictionary keeps its order."""
    fresh = len(superseded) - known
    every = reversed(superseded)
    return [next(every) for _ in range(fresh)][::-1]
