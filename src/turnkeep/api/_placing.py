"""Late results where the format that is written wants them, as windows have them."""

from __future__ import annotations

from collections.abc import Sequence

from turnkeep.model import Message, ToolResult
from turnkeep.profiles import get_profile
from turnkeep.turns import ANSWERS, ASSISTANT, HIDDEN, RESULT, Grouping, entry_of


def placed(messages: Sequence[Message], target: str) -> Sequence[Message]:
    """*messages* with each late result behind its call, and no placeholder beside it.

    The same objects, in their order, where nothing stands apart. Linear.

    Args:
        messages:
            A history.
        target:
            The format that will say it.
    """
    grouping = _grouped(messages)
    made = _without_replaced(messages, grouping)
    placement = get_profile(target).policy.results
    moves: dict[int, int] = {}
    if placement == "after-call":
        moves = dict(grouping.displaced)
    elif placement == "after-run":
        moves = {
            i: _run_end(grouping, grouping.displaced[i]) for i in grouping.displaced_run
        }
    orphans = {problem.message for problem in grouping.problems}
    moves = {i: at for i, at in moves.items() if i not in orphans and i in made}
    if not moves and len(made) == len(messages):
        return messages if made == dict(enumerate(messages)) else [*made.values()]
    return _woven(made, grouping, moves)


def _grouped(messages: Sequence[Message]) -> Grouping:
    grouping = Grouping()
    places: dict[str, int] = {}
    for index, message in enumerate(messages):
        meant = message.metadata.get(ANSWERS) if message.metadata else None
        grouping.add(entry_of(message), places.get(str(meant), -1))
        if message.id is not None:
            places.setdefault(message.id, index)
    return grouping


def _without_replaced(
    messages: Sequence[Message], grouping: Grouping
) -> dict[int, Message]:
    """By index, what is left without the placeholders whose answer has come."""
    made = dict(enumerate(messages))
    for index in {message for message, _ in grouping.superseded}:
        places = {nth for at, nth in grouping.superseded if at == index}
        kept, nth = [], -1
        for block in messages[index].content:
            if isinstance(block, ToolResult):
                nth += 1
                if nth in places:
                    continue
            kept.append(block)
        if kept:
            made[index] = messages[index].evolve(content=tuple(kept))
        else:
            del made[index]
    return made


def _run_end(grouping: Grouping, index: int) -> int:
    step, last = grouping.step_of[index], index
    for at in range(index + 1, len(grouping)):
        if grouping.step_of[at] != step or grouping.kinds[at] not in (
            ASSISTANT,
            HIDDEN,
        ):
            break
        last = at
    return last


def _woven(
    made: dict[int, Message], grouping: Grouping, moves: dict[int, int]
) -> list[Message]:
    """Each moved result behind its anchor, after the results that follow it already."""
    behind: dict[int, list[Message]] = {}
    for index in sorted(moves):
        behind.setdefault(moves[index], []).append(made[index])
    order: list[Message] = []
    waiting: list[Message] = []
    step = -1
    for index in range(len(grouping)):
        follows = grouping.kinds[index] == RESULT and grouping.step_of[index] == step
        if waiting and not follows and index not in moves:
            order += waiting
            waiting = []
        if index in made and index not in moves:
            order.append(made[index])
        if index in behind:
            waiting += behind[index]
            step = grouping.step_of[index]
    return order + waiting
