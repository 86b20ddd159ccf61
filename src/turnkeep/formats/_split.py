"""User entries that hold tool results and something else: two logical messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from turnkeep.model import (
    Block,
    Message,
    Opaque,
    Role,
    ToolResult,
    trusted_message,
)
from turnkeep.model._layout import Layout, spelled

from ._wire import in_front, kind_of


def split_results(
    blocks: Sequence[Block],
    codes: Sequence[str],
    layout: Layout,
    fields: dict[str, Any],
    *,
    is_theirs: Callable[[Opaque], bool] | None = None,
) -> tuple[Message, ...]:
    """The messages of a user entry with tool results: the results, then the rest.

    The results belong to the steps of their calls, the rest opens a turn. Blocks that
    say nothing (cache points) stay with what they follow, so that alone they open none.

    Args:
        blocks:
            All blocks of the entry; a tool result is among them.
        codes:
            The code of each block, for the layout; empty text for those without.
        layout:
            The layout of the entry as a whole.
        fields:
            Further fields of both messages. Of an id the second gets `/text` behind it.
        is_theirs:
            Whether a block that we do not know is the user's own; none: it never is.
    """
    if len(blocks) == 1:
        # The common case: one call, one result.
        said = spelled(layout, codes[0], None)
        content = tuple(blocks)
        return (trusted_message(Role.TOOL_RESULT, content, layout=said, **fields),)
    ours: list[int] = []
    theirs: list[int] = []
    group = ours
    for nth, block in enumerate(blocks):
        if isinstance(block, ToolResult):
            group = ours
        elif not isinstance(block, Opaque) or (is_theirs and is_theirs(block)):
            group = theirs
        group.append(nth)

    def part(
        places: list[int], role: Role, positions: Sequence[int] | None = None
    ) -> Message:
        content = tuple([blocks[nth] for nth in places])
        said = spelled(layout, "".join([codes[nth] for nth in places]), positions)
        return trusted_message(
            role, content, kind=kind_of(content), layout=said, **fields
        )

    results = part(ours, Role.TOOL_RESULT)
    if not theirs:
        return (results,)
    if fields.get("id") is not None:
        fields = {**fields, "id": f"{fields['id']}/text"}
    return results, part(theirs, Role.USER, () if in_front(ours) else ours)
