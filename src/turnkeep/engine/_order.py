"""Where kept messages stand in the window, and the decisions as runs.

Kept messages keep their order. Only a result that does not stand where its provider
demands it moves, right behind its call; stand-ins go where the result would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from turnkeep.index import History
from turnkeep.plans import Action, Cause, Inserted, Run
from turnkeep.turns import ASSISTANT, HIDDEN, RESULT, USER, Grouping, entry_of

Placement: TypeAlias = Literal["after-call", "after-run", "anywhere"]
"""Where a format wants results: in the unbroken run after the call's own message, in
that after the whole assistant turn, or anywhere behind the call."""

Order: TypeAlias = Sequence[int | Inserted]

_ALIKE = re.compile(rb"(.)\1*", re.DOTALL)
_KEPT = re.compile(rb"\0+")


def kept_indexes(grouping: Grouping, dropped: bytearray | None) -> Sequence[int]:
    """Indexes of the messages of kept steps, in order; costs their number."""
    total = len(grouping)
    if dropped is None:
        return range(total)
    indexes: list[int] = []
    strays: list[int] = []
    for match in _KEPT.finditer(dropped):
        start, stop = match.span()
        span = grouping.span(start, stop)
        if not grouping.late:
            indexes.extend(span)
            continue
        step_at = grouping.step_at
        indexes.extend(i for i in span if not dropped[step_at(i)])
        for step in range(start, stop):
            strays.extend(i for i in grouping.late.get(step, ()) if i >= span.stop)
    if strays:
        indexes = sorted({*indexes, *strays})
    return indexes


def place(
    history: History,
    dropped: bytearray | None,
    inserted: Sequence[Inserted],
    placement: Placement,
) -> tuple[Order, tuple[int, ...]]:
    """The window in its order, and which results moved. Costs the window's length."""
    return arrange(
        history, kept_indexes(history.grouping, dropped), inserted, placement
    )


def arrange(
    history: History,
    indexes: Order,
    inserted: Sequence[Inserted],
    placement: Placement,
) -> tuple[Order, tuple[int, ...]]:
    """The window from the *indexes* of what is kept, in their order."""
    grouping = history.grouping
    gone, kinds = history.gone, grouping.kinds
    if gone or HIDDEN in kinds:
        indexes = [i for i in indexes if i not in gone and kinds[i] != HIDDEN]  # type: ignore[index]
    moves = _moves(history, placement)
    if not moves and not inserted:
        return indexes, ()
    behind: dict[int, list[int | Inserted]] = {}
    leading: list[Inserted] = []
    moved: list[int] = []
    present = set(indexes) if moves else set()
    for index, anchor in moves.items():
        if index in present:
            behind.setdefault(anchor, []).append(index)
            moved.append(index)
    for item in inserted:
        if item.call_id is None:
            leading.append(item)
        else:
            anchor = _anchor(history, item.after, placement)
            behind.setdefault(anchor, []).append(item)
    return _weave(history, indexes, behind, set(moved), leading), tuple(sorted(moved))


def joined_in(history: History, order: Order) -> list[int]:
    """Places in *order* whose entry its provider wants joined with the one before.

    Costs the window's length where providers join at all. Neighbours in the history
    stay as they are.
    """
    joins = history.rules.demands.joins
    if joins == "nothing":
        return []
    found: list[int] = []
    for at in range(1, len(order)):
        before, item = order[at - 1], order[at]
        if isinstance(item, int) and isinstance(before, int) and item == before + 1:
            continue
        left, right = _kind_of(history, before), _kind_of(history, item)
        same = (left == ASSISTANT) == (right == ASSISTANT)
        if same and (joins == "sides" or left == right in (ASSISTANT, RESULT)):
            found.append(at)
    return found


def _kind_of(history: History, item: int | Inserted) -> int:
    if isinstance(item, int):
        return history.grouping.kinds[item]
    return entry_of(item.message).kind


def _moves(history: History, placement: Placement) -> dict[int, int]:
    grouping = history.grouping
    if placement == "anywhere" or not history.rules.repair:
        return {}
    if placement == "after-call":
        return dict(sorted(grouping.displaced.items()))
    return {
        index: _run_end(history, grouping.displaced[index])
        for index in sorted(grouping.displaced_run)
    }


def _anchor(history: History, call_message: int, placement: Placement) -> int:
    return (
        call_message if placement == "after-call" else _run_end(history, call_message)
    )


def _run_end(history: History, index: int) -> int:
    """The last entry of the assistant message that *index* belongs to."""
    grouping, gone = history.grouping, history.gone
    step = grouping.step_at(index)
    last = index
    for i in range(index + 1, len(grouping)):
        if grouping.step_at(i) != step or grouping.kinds[i] not in (ASSISTANT, HIDDEN):
            break
        last = i if grouping.kinds[i] == ASSISTANT and i not in gone else last
    return last


def _weave(
    history: History,
    indexes: Sequence[int | Inserted],
    behind: Mapping[int, list[int | Inserted]],
    moved: set[int],
    leading: Sequence[Inserted],
) -> Order:
    """Put *behind* each anchor, after the results that follow it already.

    Where the user says something in the message of a result, that goes last: words end
    the run of results.
    """
    grouping = history.grouping
    kinds, step_at, together = grouping.kinds, grouping.step_at, grouping.together
    waiting = sorted(leading, key=lambda item: item.after)
    order: list[int | Inserted] = []
    results: list[int | Inserted] = []
    words: list[int | Inserted] = []
    step = -1
    nth = 0
    for index in indexes:
        if not isinstance(index, int) or index in moved:
            continue
        if results or words:
            follows = kinds[index] == RESULT and step_at(index) == step
            if not follows:
                order += results
                results = []
            answers = kinds[index] == USER and step_at(index) in together(step)
            if not follows and not answers:
                order += words
                words = []
        while nth < len(waiting) and waiting[nth].after < index:
            order.append(waiting[nth])
            nth += 1
        order.append(index)
        if index in behind:
            step = step_at(index)
            for item in behind[index]:
                own = isinstance(item, int) and kinds[item] == USER
                (words if own else results).append(item)
    order += results + words
    order.extend(waiting[nth:])
    return order


def runs_of(
    history: History,
    dropped: bytearray | None,
    causes: Sequence[str],
    edits: Mapping[int, str],
) -> tuple[Run, ...]:
    """Every message's decision; costs the runs and the exceptions, not the history."""
    grouping = history.grouping
    total = len(grouping)
    if not total:
        return ()
    odd = _exceptions(history, dropped, causes, edits)
    base: list[tuple[int, int, Action, str]] = []
    if dropped is None:
        base.append((0, total, "keep", Cause.ROOM))
    else:
        first = grouping.first
        for match in _ALIKE.finditer(bytes(dropped)):
            start, stop = match.span()
            end = first[stop] if stop < len(first) else total
            code = dropped[start]
            action: Action = "drop" if code else "keep"
            base.append((first[start], end, action, causes[code] or Cause.ROOM))
    merged: list[Run] = []

    def add(start: int, stop: int, action: Action, cause: str) -> None:
        if start == stop:
            return
        last = merged[-1] if merged else None
        if last and last.action == action and last.cause == cause:
            merged[-1] = Run(last.start, stop, action, cause)
        else:
            merged.append(Run(start, stop, action, cause))

    waiting = sorted(odd)
    nth = 0
    for start, stop, action, cause in base:
        at = start
        while nth < len(waiting) and waiting[nth] < stop:
            index = waiting[nth]
            add(at, index, action, cause)
            add(index, index + 1, *odd[index])
            at = index + 1
            nth += 1
        add(at, stop, action, cause)
    return tuple(merged)


def _exceptions(
    history: History,
    dropped: bytearray | None,
    causes: Sequence[str],
    edits: Mapping[int, str],
) -> dict[int, tuple[Action, str]]:
    """Messages whose decision is not that of the steps around them."""
    grouping = history.grouping
    odd: dict[int, tuple[Action, str]] = {}
    for step, members in grouping.late.items():
        code = 0 if dropped is None else dropped[step]
        for index in members:
            odd[index] = ("drop", causes[code]) if code else ("keep", Cause.ROOM)
    for step, cause in history.held.items():
        if dropped is None or not dropped[step]:
            for index in grouping.members(step):
                odd[index] = ("keep", cause)
    for index, message in history.mended.items():
        del message
        if dropped is None or not dropped[grouping.step_at(index)]:
            odd[index] = ("edit", Cause.REPAIR)
    for index, cause in edits.items():
        if dropped is None or not dropped[grouping.step_at(index)]:
            odd[index] = ("edit", cause)
    at = grouping.kinds.find(HIDDEN)
    while at >= 0:
        odd[at] = ("drop", Cause.DISPLAY)
        at = grouping.kinds.find(HIDDEN, at + 1)
    for index, cause in history.gone.items():
        odd[index] = ("drop", cause)
    return odd
