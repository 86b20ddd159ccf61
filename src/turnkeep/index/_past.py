from __future__ import annotations

from typing import Any, Final, TypeAlias

from turnkeep.model import Message, as_sent
from turnkeep.tokens._old_thinking import is_left_out, lean_cost
from turnkeep.turns import reasoning_in

from ._ledger import Ledger
from ._replaced import Replaced

_Old: TypeAlias = tuple[Message, int | None]
_NONE: Final[dict[int, _Old]] = {}
"""Of those before whom nothing was replaced; never written to."""


class Past:
    """The messages as they were when a plan was made: what the plan goes on saying.

    Costs nothing while the history only grows: lists are shared, and what is replaced
    later is found in the ledger's chain (`Replaced`). Removing messages makes new lists
    and leaves these alone.
    """

    __slots__ = (
        "_asked",
        "_counter",
        "_counts",
        "_forgotten",
        "_ledger",
        "_messages",
        "_seen",
    )

    def __init__(self, ledger: Ledger) -> None:
        """As *ledger* is now."""
        self._ledger = ledger
        self._messages = ledger.messages
        self._counts = ledger.counts
        self._counter = ledger.counter
        self._asked = ledger.asked if ledger.leaves_out_thinking else -1
        """The newest question, where what was thought before it counts nothing."""
        self._forgotten = ledger.forgotten
        self._seen: tuple[Replaced, dict[int, _Old]] = (ledger.replaced, _NONE)
        """How far the chain has been read, and what stood where: one value, so that
        two readers at once leave a true one."""

    def _replaced(self, index: int) -> _Old | None:
        """What stood at *index* and how many tokens it had, if it was replaced since.

        No tokens where the counts of then are still the ones to ask.
        """
        if self._seen[0].later is not None:
            self._catch_up()
        return self._seen[1].get(index)

    def _catch_up(self) -> None:
        """Read what was replaced since the last look."""
        link, known = self._seen
        old = dict(known)
        while link.later is not None:
            tokens = link.tokens if link.counts is self._counts else None
            old.setdefault(link.index, (link.message, tokens))
            link = link.later
        self._seen = link, old

    def message(self, index: int) -> Message:
        """One message."""
        # In this order: whoever replaces it says so first.
        now = self._messages[index]
        old = self._replaced(index)
        return now if old is None else old[0]

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        if index in self._forgotten:
            return 0
        if self.leaves_out(index):
            return lean_cost(self.message(index), self._ledger.cost)
        tokens = self.known(index)
        if tokens >= 0:
            return tokens
        ledger = self._ledger
        if self._replaced(index) is None and self._counts is ledger.counts:
            return ledger.count(index)
        return self._counter.message(as_sent(self.message(index)))

    def leaves_out(self, index: int) -> bool:
        """Whether the provider leaves a message's reasoning out."""
        return index < self._asked and is_left_out(self.message(index))

    def reasoning(self) -> list[int]:
        """The assistant's messages that hold reasoning, in order. Linear."""
        return reasoning_in(self._ledger.grouping.kinds, self.message)

    def ledger(self, total: int) -> Ledger:
        """The first *total* messages, grouped and summed up again; costs them."""
        earlier = Ledger(self._counter)
        earlier.join_lines(self._ledger.lines_join)
        earlier.keep_elsewhere(self._ledger.kept)
        messages = [self.message(index) for index in range(total)]
        earlier.load(messages, [self.known(index) for index in range(total)])
        return earlier

    def known(self, index: int) -> int:
        """Tokens of a message; -1 where nobody has counted yet."""
        now = self._counts[index]
        old = self._replaced(index)
        return now if old is None or old[1] is None else old[1]

    def cost(self, message: Message) -> int:
        """Tokens of a message of ours."""
        return self._ledger.cost(message)

    def in_front(self) -> tuple[int, ...]:
        """None: windows of a conversation are encoded results first."""
        return ()

    def id(self, index: int) -> str:
        """Id of a message."""
        return self.message(index).id or str(index)

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        return self._ledger.revision

    def apply(self, plan: Any, messages: Any) -> Any:
        """The window that *plan* leaves; *messages* is the conversation."""
        return self._ledger.apply(plan, messages)
