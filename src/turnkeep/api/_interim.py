"""Results that are a host's placeholders: read as not final, sent as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from turnkeep.api._arguments import Interim
from turnkeep.api._lists import Counter
from turnkeep.formats import Envelope, Format
from turnkeep.formats._outline import Outline, outline_decoded
from turnkeep.model import Block, FrozenDict, Message, ToolResult

_TOLD: Final = "turnkeep:interim"
"""Key that notes on a result that the caller, not the history, calls it interim."""


def is_given(interim: Interim) -> bool:
    """Whether anything is named at all."""
    return callable(interim) or bool(interim)


def names_in(interim: Interim) -> frozenset[str]:
    """The calls that are named one by one."""
    if callable(interim):
        return frozenset()
    return frozenset([interim] if isinstance(interim, str) else interim)


class InterimFormat:
    """A format whose results are not final where the caller says so.

    It decodes every message, because only their results tell which calls they answer.
    What it marks is only for planning: it is written and counted as it came.
    """

    def __init__(self, fmt: Format, interim: Interim) -> None:
        """As *fmt*, with the results that *interim* names."""
        self.name = fmt.name
        self.marks = fmt.marks
        self._format = fmt
        self._names = names_in(interim)
        self._chosen: Callable[[Any], object] | None = None
        if callable(interim):
            self._chosen = interim

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return self._format.open(value)

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`; only their messages say which results are meant."""
        return outline_decoded(entries, self.decode, path)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        messages = self._format.decode(entry, path)
        if not any(message.tool_results for message in messages):
            return messages
        every = self._chosen is not None and bool(self._chosen(entry))
        return tuple(self._marked(message, every=every) for message in messages)

    def _marked(self, message: Message, *, every: bool) -> Message:
        content = tuple(
            _mark(block)
            if isinstance(block, ToolResult)
            and block.final
            and (every or (block.tool_call_id or block.tool_name) in self._names)
            else block
            for block in message.content
        )
        return (
            message if content == message.content else message.evolve(content=content)
        )

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return self._format.encode(list(map(_as_it_came, messages)))

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        return self._format.decode_system(system, path)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return self._format.encode_request(list(map(_as_it_came, messages)), tools)

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        return self._format.losses(message)


class InterimCounter:
    """Counts results that were marked as what they are on the wire."""

    def __init__(self, counter: Counter) -> None:
        """As *counter* does."""
        self.by_entry = counter.by_entry
        self.leaves_out_thinking = counter.leaves_out_thinking
        # What others count of the same entries is not this.
        self.salt: int | None = None
        self._counter = counter

    def entry(self, entry: Any, message: Message) -> int:
        """See `Counter.entry`."""
        return self._counter.entry(entry, _as_it_came(message))

    def made(self, message: Message) -> int:
        """See `Counter.made`."""
        return self._counter.made(_as_it_came(message))


def _mark(result: ToolResult) -> ToolResult:
    return attrs.evolve(
        result, interim=True, extra=FrozenDict(result.extra, **{_TOLD: True})
    )


def _as_it_came(message: Message) -> Message:
    """*message* without the marks of this module; itself where there are none."""
    if not any(map(_is_marked, message.content)):
        return message
    return message.evolve(content=tuple(map(_plain, message.content)))


def _is_marked(block: Block) -> bool:
    return isinstance(block, ToolResult) and _TOLD in block.extra


def _plain(block: Block) -> Block:
    if not isinstance(block, ToolResult) or _TOLD not in block.extra:
        return block
    extra = {key: value for key, value in block.extra.items() if key != _TOLD}
    return attrs.evolve(block, interim=False, extra=FrozenDict(extra))
