"""A cut that outlives messages that go: what was left out of the rest stays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from turnkeep.engine import Memory

if TYPE_CHECKING:
    from ._core import Core
    from ._pace import Pace


class Carried:
    """What a conversation remembers of its last window, by message ids.

    Taken before a change that would forget it, and given back after.
    """

    def __init__(self, chat: Core, first: int) -> None:
        """Note it; costs nothing but what it says.

        Args:
            chat:
                The conversation.
            first:
                The first message that is about to go, or to move.
        """
        self._first = first
        fitter, ledger = chat._fitter, chat._ledger
        self._memory: Memory | None = fitter.memory
        self._available = fitter.available
        self._pace: Pace = attrs.evolve(fitter.pace)
        self._messages, self._grouping = ledger.messages, ledger.grouping

    @property
    def border(self) -> int:
        """The first message behind all that was left out or changed; 0 for none."""
        memory = self._memory
        if memory is None:
            return 0
        steps = len(memory.dropped.rstrip(b"\0"))
        grouping = self._grouping
        last = grouping.first[steps] if steps < grouping.steps else len(grouping)
        return max([last if steps else 0, *(i + 1 for i in memory.replaced)])

    def give_back(self, chat: Core) -> None:
        """Let the next window begin as the last one; costs the history."""
        memory, fitter = self._memory, chat._fitter
        fitter.pace = self._pace
        if memory is None:
            fitter.available = self._available
            return
        if chat._ledger.messages is not self._messages:
            memory = self._moved(memory, chat)
        fitter.remember(memory, self._available)

    def _moved(self, memory: Memory, chat: Core) -> Memory:
        """The same of the messages that are there now."""
        ledger, old = chat._ledger, self._grouping
        index, messages = ledger.index, self._messages
        first = min(self._first, len(old))
        now: list[int | None] = [
            *range(first),
            *(index.get(messages[i].id or "") for i in range(first, len(old))),
        ]
        grouping = ledger.grouping
        # What stands before the first change has the steps it had.
        start = min(
            old.step_at(first) if first < len(old) else old.steps,
            grouping.step_at(first) if first < len(grouping) else grouping.steps,
            len(memory.dropped),
        )
        dropped = bytearray(grouping.steps)
        dropped[:start] = memory.dropped[:start]
        for step in range(start, len(memory.dropped)):
            code = memory.dropped[step]
            if not code:
                continue
            left = next((now[i] for i in old.members(step) if now[i] is not None), None)
            if left is not None:
                dropped[grouping.step_of[left]] = code
        replaced = {
            place: value
            for i, value in memory.replaced.items()
            if (place := now[i]) is not None
        }
        inserted = []
        for item in memory.inserted:
            # What it stood behind may be gone: then behind what is left before that.
            after = next(
                (p for i in range(item.after, -1, -1) if (p := now[i]) is not None), -1
            )
            inserted.append(attrs.evolve(item, after=after))
        frame = memory.frame
        if frame is not None:
            frame = tuple(
                tuple(sorted(p for i in places if (p := now[i]) is not None))
                for places in frame
            )
        return Memory(bytes(dropped), memory.causes, replaced, tuple(inserted), frame)
