from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import CLEARED, Message, Thinking, ToolCall
from turnkeep.plans import Batch, Cause, Edit, Replace

from ._base import Shrinking, Stable, at_least
from ._results import (
    Found,
    cleared,
    final_results,
    is_ours,
    name_of,
    notice,
    result_at,
    with_result,
)

PLACEHOLDER = (
    "This tool result was cleared to save room. Call the tool again if needed."
)


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@attrs.frozen
class ClearToolResults(Shrinking, Stable):
    """Old tool results give way to a line that says so; calls and replies stay.

    The oldest go first, the newest *keep* never. Open calls' answers are left alone,
    pinned messages too. What was cleared is recognised and not cleared again.

    Evidence: the most common recipe, and not a good one by itself. In front of the
    default it left 83.0 % of a coding session's calls all they used, where the default
    alone left 85.1 % (32,000 tokens, cut to 0.6; `benchmarks/bench_recall.py`).
    Clearing at each step rewrites the prompt cache each time: hence *clear_at_least*
    (`turnkeep.strategies._when.clear_at_least` computes it from prices).

    Costs one look at each message.

    >>> ClearToolResults(keep=5, exclude_tools=["memory"]).exclude_tools
    ('memory',)

    Args:
        keep:
            Newest results that stay.
        exclude_tools:
            Tools whose results are never cleared.
        placeholder:
            What the model reads instead, behind a fixed first line.
        clear_at_least:
            Tokens that clearing must free in all; otherwise nothing is cleared.
        clear_tool_inputs:
            Clear the arguments of the calls as well. Calls that carry a signature, or
            stand in a message that reasons, keep theirs: providers check both.
    """

    keep: int = attrs.field(default=3, validator=at_least(0))
    exclude_tools: tuple[str, ...] = attrs.field(default=(), converter=_names)
    placeholder: str = PLACEHOLDER
    clear_at_least: int = attrs.field(default=0, validator=at_least(0))
    clear_tool_inputs: bool = False

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the clearing of old results, oldest first."""
        found = final_results(history)
        old = [
            item
            for item in found[: max(len(found) - self.keep, 0)]
            if name_of(item) not in self.exclude_tools
        ]
        if self.clear_at_least:
            batch = tuple(self._edits(history, old, gather=True))
            if batch:
                yield Batch(batch, self.clear_at_least)
        else:
            yield from self._edits(history, old, gather=False)

    def _edits(
        self, history: HistoryView, old: list[Found], *, gather: bool
    ) -> Iterator[Replace]:
        """One edit a result, or, gathered, one a message with all that it loses."""
        drafts: dict[int, Message] = {}
        content = notice(self.placeholder)

        def current(index: int) -> Message:
            return drafts[index] if index in drafts else history.current(index)

        for item in old:
            ours = is_ours(item.result)
            if ours and not self.clear_tool_inputs:
                continue
            message = current(item.message)
            result = result_at(message, item.position)
            if result is not item.result:
                ours = is_ours(result)
            if not ours:
                empty = cleared(result, content)
                made = with_result(message, item.position, empty)
                if gather:
                    drafts[item.message] = made
                else:
                    yield Replace(item.message, made, Cause.CLEARED)
            if self.clear_tool_inputs and item.call is not None:
                asking = current(item.call_message)
                made = _without_input(asking, item.call)
                if made is asking or history.pinned(item.call_message):
                    continue
                if gather:
                    drafts[item.call_message] = made
                else:
                    yield Replace(item.call_message, made, Cause.CLEARED)
        for index, message in drafts.items():
            yield Replace(index, message, Cause.CLEARED)


_NO_INPUT = {"cleared": CLEARED}


def _without_input(message: Message, call: ToolCall) -> Message:
    """*message* without the arguments of *call*, or itself where that is unsafe."""
    if call.arguments == _NO_INPUT or call.extra:
        return message
    if any(isinstance(block, Thinking) for block in message.content):
        return message
    blocks = list(message.content)
    nth = next((n for n, block in enumerate(blocks) if block == call), -1)
    if nth < 0:
        return message
    text = '{"cleared":"' + CLEARED + '"}'
    arguments = text if call.arguments_text is not None else _NO_INPUT
    blocks[nth] = ToolCall(call.id, call.name, arguments)
    return message.evolve(content=tuple(blocks))
