"""Results that share an entry with those of later calls, as messages of their own."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

import attrs

from turnkeep.model import Message, ToolResult
from turnkeep.turns import (
    MANY_RESULTS,
    CallKey,
    Columns,
    LinkId,
    code_of,
    entry_of,
    link_id,
    results_in,
)

from ._outline import Outline


def part_message(message: Message, late: Sequence[int]) -> list[Message]:
    """A message whose results at *late* stand apart, each in a message before it."""
    results = message.tool_results
    apart = [results[nth] for nth in late]
    made = [message.evolve(id=None, content=(block,)) for block in apart]
    nth = -1
    rest = []
    for block in message.content:
        if isinstance(block, ToolResult):
            nth += 1
            if nth in late:
                continue
        rest.append(block)
    return [*made, message.evolve(content=tuple(rest))]


def part_late(
    outline: Outline,
    columns: Columns,
    late: Mapping[int, Sequence[int]],
    message: Callable[[int], Message],
) -> tuple[Outline, Columns]:
    """Outline and columns of a list of which some messages are parted. Linear.

    Args:
        outline:
            As it was read.
        columns:
            Its columns.
        late:
            By message, the places of the results that shall stand apart.
        message:
            Gives a message.
    """
    parts = {index: part_message(message(index), late[index]) for index in sorted(late)}
    places = list(parts)
    before = list(accumulate((len(p) - 1 for p in parts.values()), initial=0))
    starts = [index + before[nth] for nth, index in enumerate(places)]

    def now(index: int) -> int:
        return index + before[bisect_left(places, index)]

    def then(index: int) -> int:
        nth = bisect_right(starts, index) - 1
        if nth < 0:
            return index
        inside = index < starts[nth] + len(parts[places[nth]])
        return places[nth] if inside else index - before[nth + 1]

    def keys_of(index: int) -> list[CallKey]:
        return columns.keys_of(then(index))

    codes, ids = bytearray(), list[LinkId]()
    answers = {now(i): found for i, found in columns.answers.items() if i not in parts}
    messages = {now(i): m for i, m in outline.messages.items() if i not in parts}
    wire: list[int] = []
    stop = 0
    for index, block, found in _pieces(columns, places):
        codes += block
        ids += found
        wire += outline.wire[stop : stop + len(block)]
        stop += len(block)
        if index < 0:
            break
        for part in parts[index]:
            row = entry_of(part)
            messages[len(codes)] = part
            if code_of(row) == MANY_RESULTS:
                answers[len(codes)] = row.results
            else:
                ids += map(link_id, row.results)
            codes.append(code_of(row))
            wire.append(outline.wire[index])
        stop += 1
    made = Columns(
        bytes(codes),
        columns.call_ids,
        ids,
        keys_of,
        answers,
        list(map(now, columns.summaries)),
        {now(index): hosted for index, hosted in columns.hosted.items()},
    )
    reasoning = list(map(now, outline.reasoning))
    in_front = list(map(now, outline.in_front))
    return (
        attrs.evolve(
            outline,
            columns=made,
            wire=wire,
            reasoning=reasoning,
            in_front=in_front,
            messages=messages,
        ),
        made,
    )


def _pieces(
    columns: Columns, places: Sequence[int]
) -> Iterator[tuple[int, bytes, list[LinkId]]]:
    """Each of *places*, at last -1, and the codes and result ids between."""
    codes, at, result = columns.codes, 0, 0
    for place in places:
        stop = result + results_in(codes[at:place])
        yield place, codes[at:place], columns.result_ids[result:stop]
        result = stop + results_in(codes[place : place + 1])
        at = place + 1
    yield -1, codes[at:], columns.result_ids[result:]
