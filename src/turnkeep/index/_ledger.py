"""The history of a conversation, with what is known about each message beside it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from turnkeep.errors import DuplicateIdError
from turnkeep.model import Image, Message, PinScope, Thinking, ToolResult, as_sent
from turnkeep.plans import Cause
from turnkeep.tokens import RequestCounter
from turnkeep.tokens._old_thinking import (
    is_left_out,
    lean_cost,
    leaves_out_thinking,
)
from turnkeep.turns import (
    ANSWERS,
    ASSISTANT,
    HIDDEN,
    RESULT,
    SYSTEM,
    USER,
    Grouping,
    OpenCall,
    entry_of,
)

from ._additions import left_of, misfits
from ._costs import Costs
from ._memory import NOTHING, forgotten_in, put_away
from ._replaced import Replaced
from ._spotted import Spotted
from ._sums import Setting, Sums

_LINE_BEHIND = bytes([RESULT, SYSTEM])

# All of a message that its tokens depend on.
_counted = attrgetter("role", "content", "kind", "extra", "layout", "token_count")


def _reasons(message: Message) -> bool:
    """Whether the model reasons in a message."""
    return (
        Thinking in map(type, message.content) and entry_of(message).kind == ASSISTANT
    )


def shows(message: Message) -> bool:
    """Whether there are pictures in a message."""
    return any(
        type(block) is Image
        or (type(block) is ToolResult and Image in map(type, block.content))
        for block in message.content
    )


class Ledger:
    """Messages in order, their ids, counts, pins and grouping; sums by step.

    Appending costs the message, whatever stands before it; so do a late result, an edit
    and a new count (logarithmic in the steps). Removing messages costs the history, but
    those at the end only what goes.
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
        self.costs = Costs(counter)
        self.lines_join = False
        self.kept: tuple[str, ...] = ()
        """Keys of a request under which the provider keeps what stands before it."""
        self.leaves_out_thinking = leaves_out_thinking(counter)
        """Whether what was thought before the newest question counts as nothing."""
        self.renewed: dict[str, None] = {}
        """Results that say something else since the model last spoke, by id."""
        self._begin()

    def _begin(self) -> None:
        self.grouping = Grouping(lines_join=self.lines_join, stateful=bool(self.kept))
        self.asked = -1
        """The newest message of the user's own."""
        self.forgotten = NOTHING
        """What a memory of the provider's has replaced: it counts nothing."""
        self.sums: Sums | None = None
        """Tokens by step and what holds them; made when somebody plans by them."""
        self.last_uncounted = -1
        """The last message that nobody has counted yet; -1 if there is none."""
        self.gone: dict[int, str] = {}
        """Messages that no window holds, and why."""
        self.mended: dict[int, Message] = {}
        """Messages that lose some of several results."""
        self._bad: dict[int, dict[int, str]] = {}
        """Results that no window holds, by message and place, and why."""
        self.misfits = (0, 0)
        """How many misfits and replaced results there are."""
        self.shown_only = False
        """Whether some messages are never sent."""
        self._thoughts = Spotted(_reasons)
        self._pictures = Spotted(shows)

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
        bad, replaced = self.misfits
        if len(grouping.problems) != bad or len(grouping.superseded) != replaced:
            self._look_at_misfits(index)
        if grouping.memories:
            if grouping.memories[-1][0] == index:
                self._forget()
            elif index in grouping.displaced:
                self.forgotten = forgotten_in(grouping)
        if entry.kind == ASSISTANT and self.renewed:
            self.renewed.clear()
            grouping.renewed = ()
        if entry.kind == HIDDEN:
            self.shown_only = True
        elif entry.kind == USER:
            self._ask(index)
        if known < 0:
            self.last_uncounted = index
        if self.sums is not None:
            self.sums.append(
                index,
                step,
                self.weight(index),
                calls=bool(entry.calls),
                hosted=entry.hosted is not None,
            )
        if message.pinned:
            self.pins[index] = message.pin_scope
            if self.sums is not None:
                self.sums.pin(index, message.pin_scope)
            self.version += 1  # it may hold what stands before it
        self.revision += 1
        if entry.hosted is not None and entry.hosted.refers and bad:
            self.regroup()  # what answered nothing here may answer what is kept
        return index

    def _forget(self) -> None:
        """A memory of the provider's came; costs the history."""
        now, newest = forgotten_in(self.grouping), len(self.messages) - 1
        touched = {*self.forgotten, *now} - {newest}
        before = {index: self.weight(index) for index in touched}
        self.forgotten = now
        self._put_away()
        if self.sums is not None:
            for index, weight in before.items():
                self.sums.weigh(index, self.weight(index) - weight)
        self._look_for_uncounted()
        self.version += 1

    def _look_for_uncounted(self) -> None:
        """Find the last message that somebody has to count."""
        counts, forgotten, last = self.counts, self.forgotten, len(self.counts) - 1
        while last >= 0 and (counts[last] >= 0 or last in forgotten):
            last -= 1
        self.last_uncounted = last

    def _put_away(self) -> None:
        """Leave out what may not stand before a memory, and nothing else for it."""
        away = {i: why for i, why in self.gone.items() if why != Cause.MEMORY}
        for index in put_away(self.grouping):
            away.setdefault(index, Cause.MEMORY)
        self.gone = away

    def _ask(self, index: int) -> None:
        """A message of the user's own came: what was thought before may count less."""
        before, self.asked = self.asked, index
        if not self.leaves_out_thinking or self.sums is None:
            return
        thoughts = self.thoughts
        start, stop = bisect_left(thoughts, before + 1), bisect_left(thoughts, index)
        for thought in thoughts[start:stop]:
            self.asked = before
            weight = self.weight(thought)
            self.asked = index
            self.sums.weigh(thought, self.weight(thought) - weight)
        if start < stop:
            self.version += 1

    def leaves_out(self, index: int) -> bool:
        """Whether the provider leaves a message's reasoning out: it counts nothing."""
        return (
            self.leaves_out_thinking
            and index < self.asked
            and is_left_out(self.messages[index])
        )

    def _meant_for(self, message: Message) -> int:
        """The message whose call a result answers, if the result says so."""
        return self.index.get(message.metadata.get(ANSWERS, ""), -1)

    def _look_at_misfits(self, newest: int) -> None:
        """Leave out what the message *newest* made superfluous, or of itself."""
        grouping = self.grouping
        for index, positions in misfits(grouping, *self.misfits).items():
            before = self.weight(index) if index != newest else 0
            bad = self._bad.setdefault(index, {})
            for position, why in positions.items():
                bad.setdefault(position, why)
            self._mend(index)
            if self.sums is not None and index != newest:
                self.sums.weigh(index, self.weight(index) - before)
        self.misfits = (len(grouping.problems), len(grouping.superseded))

    def _mend(self, index: int) -> None:
        """Find out what is left of a message."""
        bad = self._bad[index]
        left = left_of(self.messages[index], bad)
        if left is None:
            self.gone[index] = next(iter(bad.values()))
            self.mended.pop(index, None)
        else:
            self.mended[index] = left

    def weight(self, index: int) -> int:
        """Tokens of a message in a window; 0 where nobody has counted."""
        if index in self.gone or self.grouping.kinds[index] == HIDDEN:
            return 0
        if index in self.forgotten:
            return 0
        if self.mended and index in self.mended:
            return self.costs(self.mended[index])
        if self.counts[index] >= 0 and self.leaves_out(index):
            return self._lean(index)
        return max(self.counts[index], 0)

    def _lean(self, index: int) -> int:
        return lean_cost(self.messages[index], self.costs)

    @property
    def thoughts(self) -> list[int]:
        """The messages that hold reasoning, in order; costs what is new."""
        return self._thoughts.among(self.messages)

    @property
    def pictures(self) -> list[int]:
        """The messages that hold pictures, in order; costs what is new."""
        return self._pictures.among(self.messages)

    def sums_for(self, setting: Setting, awaited: Callable[[OpenCall], bool]) -> Sums:
        """The sums under a setting; made anew, and then kept, where it is another."""
        sums = self.sums
        if sums is None or (sums.setting is not setting and sums.setting != setting):
            sums = self.sums = Sums(
                self.grouping,
                setting,
                weights=self._weights(),
                pins=self.pins,
                awaited=awaited,
                cost=self.costs,
            )
        return sums

    def _weights(self) -> list[int]:
        """Tokens of each message in a window."""
        weights = [max(count, 0) for count in self.counts]
        kinds, at = self.grouping.kinds, self.grouping.kinds.find(HIDDEN)
        while at >= 0:
            weights[at] = 0
            at = kinds.find(HIDDEN, at + 1)
        old = self.thoughts if self.leaves_out_thinking else ()
        for index in (*self.gone, *self.mended, *old, *self.forgotten):
            weights[index] = self.weight(index)
        return weights

    # -- changing --

    def replace(self, index: int, message: Message) -> None:
        """Put *message* (of the same id) in a message's place."""
        before, weight = self.messages[index], self.weight(index)
        self._keep(index, before)
        self.messages[index] = message
        self.revision += 1
        self.version += 1
        if message.pinned:
            self.pins[index] = message.pin_scope
        else:
            self.pins.pop(index, None)
        if _counted(message) != _counted(before):
            self.counts[index] = -1
            self._thoughts.forget(index)
            self._pictures.forget(index)
            if entry_of(message) != entry_of(before):
                self.regroup()
            else:
                if index in self.mended:
                    self._mend(index)
                if self.sums is not None:
                    self.sums.weigh(index, self.weight(index) - weight)
            self.count(index)
        pin = message.pinned, message.pin_scope
        if self.sums is not None and (before.pinned, before.pin_scope) != pin:
            self.sums.unpin(index)
            if message.pinned:
                self.sums.pin(index, message.pin_scope)

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
        self.index = {m.id or "": i for i, m in enumerate(messages)}
        self.pins = {i: m.pin_scope for i, m in enumerate(messages) if m.pinned}
        self.revision += 1
        self.regroup()

    def truncate(self, length: int) -> None:
        """Keep only the first *length* messages.

        The same as `rebuild`, but it costs what goes and the last turn of what stays,
        unless one concerns the other.
        """
        found = self.grouping.before_turn_of(length)
        if found is None:
            self.rebuild(range(length))
            return
        grouping, start = found
        for message in self.messages[length:]:
            del self.index[message.id or ""]
        messages = self.messages[:length]
        add, meant_for = grouping.add, self._meant_for
        for message in messages[start:]:
            add(entry_of(message), meant_for(message) if message.metadata else -1)
        self.messages, self.counts = messages, self.counts[:length]
        self.replaced = Replaced()  # earlier plans keep the lists as they were
        self.pins = {i: scope for i, scope in self.pins.items() if i < length}
        self.grouping = grouping
        self.sums = None
        self._thoughts.cut_off(length)
        self._pictures.cut_off(length)
        self.shown_only = HIDDEN in grouping.kinds
        self.asked = grouping.kinds.rfind(USER)
        if self.last_uncounted >= length:
            self._look_for_uncounted()
        self.version += 1
        self.revision += 1
        self.renew(())

    def regroup(self) -> None:
        """Group and sum up again from the beginning."""
        self.version += 1
        self._begin()
        grouping = self.grouping
        add, meant_for = grouping.add, self._meant_for
        for message in self.messages:
            add(entry_of(message), meant_for(message) if message.metadata else -1)
        if grouping.problems or grouping.superseded:
            self._look_at_misfits(-1)
        self.renew(())
        self.shown_only = HIDDEN in grouping.kinds
        self.asked = grouping.kinds.rfind(USER)
        self.forgotten = forgotten_in(grouping)
        self._put_away()
        self._look_for_uncounted()

    def renew(self, ids: Iterable[str]) -> None:
        """The model has not read these results as they are now, wherever they stand."""
        self.renewed.update(dict.fromkeys(ids))
        if self.renewed:
            index = self.index
            self.renewed = {one: None for one in self.renewed if one in index}
            self.grouping.renewed = sorted(index[one] for one in self.renewed)
            self.revision += 1

    def join_lines(self, joins: bool) -> bool:
        """Whether system text behind a tool round is part of it, from now on.

        True if steps are other ones now; costs the history then.
        """
        if joins == self.lines_join:
            return False
        self.lines_join = joins
        if self.grouping.lines or _LINE_BEHIND in self.grouping.kinds:
            self.revision += 1
            self.regroup()
            return True
        self.grouping.lines_join = joins
        return False

    def keep_elsewhere(self, names: Sequence[str]) -> None:
        """The provider keeps what stands before the first message under these keys.

        Costs the history.
        """
        if self.kept != tuple(names):
            self.kept = tuple(names)
            self.revision += 1
            self.regroup()

    @property
    def is_stateful(self) -> bool:
        """Whether the provider keeps part of what it reads."""
        return bool(self.kept or self.grouping.references)

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
        before, self.leaves_out_thinking = (
            self.leaves_out_thinking,
            leaves_out_thinking(counter),
        )
        if known:
            if before != self.leaves_out_thinking:
                self.revision += 1
                self.regroup()
            return
        self.costs = Costs(counter)
        self.counts = array("q", [-1]) * len(self.messages)
        self.revision += 1
        self.regroup()

    def copy(self) -> Ledger:
        """An independent copy; costs the history."""
        other = Ledger(self.counter)
        other.join_lines(self.lines_join)
        other.keep_elsewhere(self.kept)
        for index, message in enumerate(self.messages):
            other.append(message, self.counts[index])
        other.renew(self.renewed)
        return other

    # -- what the engine asks ---------------------------------------------------------

    def count(self, index: int) -> int:
        """Tokens of a message, counted once."""
        asked_for, known = index, self.counts[index]
        if known < 0:
            before = self.weight(index)
            known = self.counter.message(as_sent(self.messages[index]))
            self.counts[index] = known
            if self.sums is not None:
                self.sums.weigh(index, self.weight(index) - before)
            if index == self.last_uncounted:
                counts, forgotten = self.counts, self.forgotten
                while index >= 0 and (counts[index] >= 0 or index in forgotten):
                    index -= 1
                self.last_uncounted = index
        return self._lean(asked_for) if self.leaves_out(asked_for) else known

    def cost(self, message: Message) -> int:
        """Tokens of a message of ours, counted once."""
        return self.costs(message)

    def message(self, index: int) -> Message:
        """One message."""
        return self.messages[index]

    def reasoning(self) -> list[int]:
        """The assistant's messages that hold reasoning, in order."""
        return self.thoughts

    def in_front(self) -> tuple[int, ...]:
        """None: windows of a conversation are encoded results first."""
        return ()

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
