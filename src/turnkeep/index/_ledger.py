"""The history of a conversation, with what is known about each message beside it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from sortedcontainers import SortedSet

from turnkeep.errors import DuplicateIdError
from turnkeep.index._prefix_sums import Tally
from turnkeep.model import Message, PinScope, as_sent
from turnkeep.tokens import RequestCounter
from turnkeep.turns import (
    ANSWERS,
    HIDDEN,
    SYSTEM,
    Entry,
    Grouping,
    entry_of,
    reasoning_in,
)

from ._replaced import Replaced

MADE: Final = 1_000
"""Messages of ours (stand-ins, edits, summaries) whose tokens are remembered."""

# All of a message that its tokens depend on.
_counted = attrgetter("role", "content", "kind", "extra", "layout", "token_count")


class Ledger:
    """Messages in order, their ids, counts, pins and grouping; sums by step.

    Appending costs the message, whatever stands before it; so do a late result, an edit
    and a new count (logarithmic in the steps). Removing messages costs the history.
    """

    def __init__(self, counter: RequestCounter) -> None:
        """An empty history whose messages *counter* counts."""
        self.counter = counter
        self.messages: list[Message] = []
        self.index: dict[str, int] = {}
        """Index of a message by its id."""
        self.counts = array("q")
        """Tokens of each message; -1 where nobody has counted yet."""
        self.pins: dict[int, PinScope] = {}
        self.revision = 0
        """Changes with every change of the history."""
        self.version = 0
        """Changes with every change that concerns what stands there already."""
        self.replaced = Replaced()
        """The end of the chain of messages that were replaced."""
        self.shifts = 0
        """Changes when the sums of any step but the last one do."""
        self._made: dict[Message, int] = {}
        self._begin()

    def _begin(self) -> None:
        self.grouping = Grouping()
        self.steps = Tally()
        """Tokens of each step, as far as they have been counted."""
        self.fixed = Tally()
        """The same for the steps in *static*; 0 for the others."""
        self.static: SortedSet[int] = SortedSet()
        """Steps that are held for good: system messages, and turns with a pin."""
        self.irregular = False
        """Whether steps are tied or a message lost a part: sums do not tell all."""
        self.shown_only = False
        """Whether some messages are never sent."""
        self._pinned_turn = -1  # the last turn, if a pin holds it whole
        self.last_uncounted = -1
        """The last message that nobody has counted yet; -1 if there is none."""
        self._left_out: set[int] = set()  # messages that no window holds
        self._seen = (0, 0)  # misfits and replaced results dealt with so far

    # -- appending --

    def append(self, message: Message, known: int = -1, *, count: bool = False) -> int:
        """Add a message that has an id; returns its index.

        Args:
            message:
                The message.
            known:
                Its tokens, if they have been counted.
            count:
                Whether to count them now, if not.

        Raises:
            DuplicateIdError: The id is taken; nothing is changed.
        """
        identity = message.id or ""
        if identity in self.index:
            raise DuplicateIdError(identity)
        if count and known < 0:
            known = self.counter.message(as_sent(message))
        index = len(self.messages)
        self.messages.append(message)
        self.index[identity] = index
        self.counts.append(known)
        entry, grouping = entry_of(message), self.grouping
        step = grouping.add(entry, self._meant_for(message) if message.metadata else -1)
        bad, replaced = self._seen
        if len(grouping.problems) != bad or len(grouping.superseded) != replaced:
            self._look_at_misfits(index)
        if grouping.ties:
            self.irregular = True
        if entry.kind == HIDDEN:
            self.shown_only = True
        if known < 0:
            self.last_uncounted = index
        weight = known if known > 0 and not self._is_unseen(index, entry) else 0
        if step == len(self.steps.values):
            self._begin_step(index, step, weight)
        else:
            self._shift(step, weight)
        if message.pinned:
            self.pins[index] = message.pin_scope
            self._hold(index, message.pin_scope)
            self.version += 1  # it may hold what stands before it
        self.revision += 1
        return index

    def _is_unseen(self, index: int, entry: Entry) -> bool:
        """Whether no window holds a message."""
        return entry.kind == HIDDEN or index in self._left_out

    def _begin_step(self, index: int, step: int, tokens: int) -> None:
        grouping = self.grouping
        fixed = (
            grouping.kinds[index] == SYSTEM
            or self._pinned_turn == len(grouping.turn_first) - 1
        )
        self.steps.append(tokens)
        self.fixed.append(tokens if fixed else 0)
        if fixed:
            self.static.add(step)

    def _look_at_misfits(self, newest: int) -> None:
        """Leave out what the message *newest* made superfluous, or itself."""
        grouping, (bad, replaced) = self.grouping, self._seen
        for problem in grouping.problems[bad:]:
            self._leave_out(problem.message, newest)
        fresh = len(grouping.superseded) - replaced
        for gone, _ in islice(reversed(grouping.superseded), fresh):
            self._leave_out(gone, newest)
        self._seen = (len(grouping.problems), len(grouping.superseded))

    def _meant_for(self, message: Message) -> int:
        """The message whose call a result answers, if the result says so."""
        return self.index.get(message.metadata.get(ANSWERS, ""), -1)

    def _leave_out(self, index: int, newest: int) -> None:
        """Take a message that no window holds out of the sums, if it is in them."""
        if len(self.messages[index].content) > 1:
            # Only a part of it goes: left to the ordinary way of planning.
            self.irregular = True
        elif index not in self._left_out:
            if index != newest and self.counts[index] > 0:
                self._shift(self.grouping.step_of[index], -self.counts[index])
            self._left_out.add(index)

    def _weigh(self, index: int, tokens: int) -> None:
        """Add tokens that a message turned out to have to the sums."""
        grouping = self.grouping
        if index not in self._left_out and grouping.kinds[index] != HIDDEN:
            self._shift(grouping.step_of[index], tokens)

    def _shift(self, step: int, change: int) -> None:
        if step + 1 != len(self.steps.values):
            self.shifts += 1
        self.steps.add(step, change)
        if step in self.static:
            self.fixed.add(step, change)

    def is_left_out(self, index: int) -> bool:
        """Whether no window holds a message: it was replaced, or answers nothing."""
        return index in self._left_out

    @property
    def ends_left_out(self) -> bool:
        """Whether no window holds the last message that is meant for the model."""
        last = len(self.messages) - 1
        if self.shown_only:
            kinds = self.grouping.kinds
            while last >= 0 and kinds[last] == HIDDEN:
                last -= 1
        return last in self._left_out

    # -- holding --

    def _hold(self, index: int, scope: PinScope) -> None:
        grouping = self.grouping
        step = grouping.step_of[index]
        if scope == "step":
            self._fix(step)
            return
        turn = grouping.turn_of(step)
        for each in grouping.steps_of(turn):
            self._fix(each)
        if turn == grouping.turns - 1:
            self._pinned_turn = turn

    def _fix(self, step: int) -> None:
        if step not in self.static:
            self.shifts += 1
            self.static.add(step)
            self.fixed.set(step, self.steps.values[step])

    def _hold_again(self, index: int) -> None:
        """Find out what still holds the steps of a message's turn."""
        grouping = self.grouping
        turn = grouping.turn_of(grouping.step_of[index])
        for step in grouping.steps_of(turn):
            if grouping.kinds[grouping.first[step]] != SYSTEM and step in self.static:
                self.static.remove(step)
                self.shifts += 1
                self.fixed.set(step, 0)
        if self._pinned_turn == turn:
            self._pinned_turn = -1
        for step in grouping.steps_of(turn):
            for i in grouping.members(step):
                if i in self.pins:
                    self._hold(i, self.pins[i])

    # -- changing --

    def replace(self, index: int, message: Message) -> None:
        """Put *message* (of the same id) in a message's place."""
        before = self.messages[index]
        self._keep(index, before)
        self.messages[index] = message
        self.revision += 1
        self.version += 1
        if message.pinned:
            self.pins[index] = message.pin_scope
        else:
            self.pins.pop(index, None)
        if _counted(message) != _counted(before):
            known = self.counts[index]
            self.counts[index] = -1
            if entry_of(message) != entry_of(before):
                self.regroup()
            elif known >= 0:
                self._weigh(index, -known)
        if self.counts[index] < 0:
            self.count(index)
        if (before.pinned, before.pin_scope) != (message.pinned, message.pin_scope):
            self._hold_again(index)
            for step in self.grouping.steps_of(
                self.grouping.turn_of(self.grouping.step_of[index])
            ):
                if step in self.static:
                    for member in self.grouping.members(step):
                        self.count(member)

    def _keep(self, index: int, message: Message) -> None:
        """Write down what is about to be replaced, for plans made before."""
        end = self.replaced
        end.index, end.message = index, message
        end.counts, end.tokens = self.counts, self.counts[index]
        end.later = self.replaced = Replaced()

    def rebuild(self, keep: Iterable[int]) -> None:
        """Keep only these messages, in order; costs the history."""
        kept = list(keep)
        messages = [self.messages[i] for i in kept]
        self.counts = array("q", [self.counts[i] for i in kept])
        self.messages = messages
        self.replaced = Replaced()  # earlier plans keep the lists as they were
        self._made.clear()
        self.index = {m.id or "": i for i, m in enumerate(messages)}
        self.pins = {i: m.pin_scope for i, m in enumerate(messages) if m.pinned}
        self.revision += 1
        self.regroup()

    def regroup(self) -> None:
        """Group and sum up again from the beginning."""
        self.version += 1
        self.shifts += 1
        self._begin()
        grouping = self.grouping
        add, meant_for = grouping.add, self._meant_for
        for message in self.messages:
            add(entry_of(message), meant_for(message) if message.metadata else -1)
        kinds, first, step_of = grouping.kinds, grouping.first, grouping.step_of
        self._seen = (len(grouping.problems), len(grouping.superseded))
        gone = {problem.message for problem in grouping.problems}
        gone.update(index for index, _ in grouping.superseded)
        whole = {index for index in gone if len(self.messages[index].content) == 1}
        self._left_out = whole
        self.irregular = bool(grouping.ties) or len(whole) < len(gone)
        self.shown_only = HIDDEN in kinds
        sums = [0] * len(first)
        for index, count in enumerate(self.counts):
            if count > 0 and index not in whole and kinds[index] != HIDDEN:
                sums[step_of[index]] += count
            elif count < 0:
                self.last_uncounted = index
        self.steps = Tally(sums)
        at = kinds.find(SYSTEM)
        while at >= 0:
            if first[step_of[at]] == at:
                self.static.add(step_of[at])
            at = kinds.find(SYSTEM, at + 1)
        held = self.static
        self.fixed = Tally([n if s in held else 0 for s, n in enumerate(sums)])
        for index, scope in self.pins.items():
            self._hold(index, scope)

    def load(self, messages: Sequence[Message], counts: Sequence[int] = ()) -> None:
        """Take over messages that have ids, and their counts where there are some.

        The same as appending each, in a fraction of the time.

        Raises:
            DuplicateIdError: An id is taken or used twice; nothing is changed.
        """
        start = len(self.messages)
        ids = dict(self.index)
        for index, message in enumerate(messages, start):
            identity = message.id or ""
            if identity in ids:
                raise DuplicateIdError(identity)
            ids[identity] = index
        self.index = ids
        self.messages = [*self.messages, *messages]
        self.counts.extend(counts or [-1] * len(messages))
        for index, message in enumerate(messages, start):
            if message.pinned:
                self.pins[index] = message.pin_scope
        self.revision += 1
        self.regroup()

    def use(self, counter: RequestCounter) -> None:
        """Count with *counter* from now on; what the host counted stays."""
        known = counter.name == self.counter.name
        self.counter = counter  # what it says of tools may differ all the same
        if known:
            return
        self._made.clear()
        self.counts = array("q", [-1]) * len(self.messages)
        self.revision += 1
        self.regroup()

    def copy(self) -> Ledger:
        """An independent copy; costs the history."""
        other = Ledger(self.counter)
        for index, message in enumerate(self.messages):
            other.append(message, self.counts[index])
        return other

    # -- what the engine asks ---------------------------------------------------------

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        known = self.counts[index]
        if known < 0:
            known = self.counter.message(as_sent(self.messages[index]))
            self.counts[index] = known
            self._weigh(index, known)
            if index == self.last_uncounted:
                counts = self.counts
                while index >= 0 and counts[index] >= 0:
                    index -= 1
                self.last_uncounted = index
        return known

    def cost(self, message: Message) -> int:
        """Tokens of a message of ours, counted once."""
        known = self._made.get(message)
        if known is None:
            if len(self._made) >= MADE:
                self._made.clear()
            known = self._made[message] = self.counter.message(as_sent(message))
        return known

    def message(self, index: int) -> Message:
        """One message."""
        return self.messages[index]

    def reasoning(self) -> list[int]:
        """The assistant's messages that hold reasoning, in order. Linear."""
        return reasoning_in(self.grouping.kinds, self.message)

    def id(self, index: int) -> str:
        """Id of a message."""
        return self.messages[index].id or str(index)

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        return self.revision

    def apply(self, plan: Any, messages: Any) -> Any:
        """The window that *plan* leaves; *messages* is this conversation."""
        del messages
        reader: Callable[[int], Message] = self.messages.__getitem__
        edits = plan.edits
        return [
            item.message
            if not isinstance(item, int)
            else (edits[item][0] if item in edits else reader(item))
            for item in plan.order
        ]
