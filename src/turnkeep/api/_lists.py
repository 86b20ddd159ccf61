"""A caller's own list as the engine's source: raw entries in, raw entries out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Protocol

from turnkeep.api._marking import Marking
from turnkeep.errors import DuplicateIdError, StalePlanError
from turnkeep.formats import reopen
from turnkeep.formats._base import Envelope, Format
from turnkeep.formats._neighbours import content_key_of, joiner_of, rejoin
from turnkeep.formats._objects import Objects
from turnkeep.formats._outline import Outline, own_id, stands_in_front
from turnkeep.formats._parted import part_late, part_message
from turnkeep.index._memory import NOTHING, forgotten_in
from turnkeep.model import Message, PinScope, as_sent, paused_gc
from turnkeep.plans import Inserted, Plan, hand_over
from turnkeep.tokens import RequestCounter
from turnkeep.tokens._old_thinking import leaves_out_thinking, without_thinking
from turnkeep.tokens._table import COUNTS, prints_of, salt_of
from turnkeep.turns import (
    ANSWERS,
    USER,
    Columns,
    Grouping,
    entry_of,
    group_columns,
    late_answers,
    reasoning_in,
)

_STRETCH: Final = 256
"""Messages whose counts are looked up together."""


class Counter(Protocol):
    """What a message costs: by the provider's rules, or as the caller says."""

    by_entry: bool
    """Whether only whole entries can be counted exactly."""

    leaves_out_thinking: bool
    """Whether what was thought before the newest question counts as nothing."""

    salt: int | None
    """What tells its counts from those of other counters; none: they are not kept."""

    def entry(self, entry: Any, message: Message) -> int:
        """Tokens of an entry of the history that is one message."""
        ...

    def made(self, message: Message) -> int:
        """Tokens of a message of ours."""
        ...


class RuleCounter:
    """Counts by a provider's published rules."""

    by_entry = False

    def __init__(self, counter: RequestCounter, fmt: Format) -> None:
        """Count with *counter* what was read from format *fmt*."""
        self._counter = counter
        self._format = fmt
        self.leaves_out_thinking = leaves_out_thinking(counter)
        self.salt = salt_of(counter, fmt.name)

    def entry(self, entry: Any, message: Message) -> int:
        """See `Counter.entry`."""
        del entry
        return self._counter.message(as_sent(message))

    def made(self, message: Message) -> int:
        """See `Counter.made`: what is sent is counted, as it would be read again."""
        fmt, count = self._format, self._counter.message
        return sum(
            count(as_sent(read))
            for entry in fmt.encode([message])
            for read in fmt.decode(entry)
        )


class CallerCounter:
    """Counts with a callable from one message in the caller's shape to its tokens."""

    by_entry = True
    leaves_out_thinking = False

    def __init__(self, count: Callable[[Any], Any], fmt: Format) -> None:
        """Count with *count*, which takes entries of *fmt*."""
        self._count = count
        self._format = fmt
        self.salt = salt_of(count, fmt.name)

    def _call(self, entry: Any) -> int:
        tokens = self._count(entry)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            msg = f"token_counter must return a whole number >= 0, got {tokens!r}"
            raise TypeError(msg)
        return tokens

    def entry(self, entry: Any, message: Message) -> int:
        """See `Counter.entry`."""
        del message
        return self._call(entry)

    def made(self, message: Message) -> int:
        """See `Counter.made`."""
        return sum(map(self._call, self._format.encode([message])))


class ListSource:
    """A caller's list, read once; messages are decoded and counted when needed."""

    is_portable: ClassVar = True
    """Whether it can be pickled: a plan takes it along."""

    def __init__(
        self,
        envelope: Envelope,
        fmt: Format,
        counter: Counter,
        *,
        lasting: bool = True,
        lines_join: bool = False,
    ) -> None:
        """Read the entries of *envelope*: who speaks, which calls, which results.

        Args:
            envelope:
                What holds them.
            fmt:
                Their format.
            counter:
                Counts them.
            lasting:
                Whether this may be asked when the caller has changed his list.
            lines_join:
                See `Grouping`.

        Raises:
            FormatError: An entry is not what *fmt* demands.
            DuplicateIdError: Two entries have the same id.
        """
        self.envelope = envelope
        self.format = fmt
        self._counter = counter
        self._lines_join = lines_join
        self._stateful = bool(envelope.kept)
        self._entries = list(envelope.entries) if lasting else envelope.entries
        self._shown: Sequence[Any] = self._entries
        if envelope.objects is not None:
            self._shown = envelope.objects.originals
        self._messages: dict[int, Message] = {}
        self._wire: Sequence[int] = ()
        """The entry of each message."""
        self._reasoning: Sequence[int] = ()
        self._in_front: Sequence[int] = ()
        self._counts: dict[int, int] = {}
        self._every: Sequence[int] = ()
        """All of them, where all were known."""
        self._prints: dict[int, int] = {}
        """The prints of entries whose counts were not known."""
        self._looked_up = range(0)
        """The messages whose counts were looked up last."""
        self._apart = not counter.by_entry
        """Whether every part of an entry is counted as what it would be alone."""
        self._made: dict[Message, int] = {}
        self.marking: Marking | None = None
        """Where cache marks go; none where they are left as they are."""
        with paused_gc():
            outline = fmt.outline(self._entries, envelope.path)
            self._ids = self._take_ids(outline.id_at, outline.ids)
            self._take(outline)
            if outline.columns is None:
                self.grouping = self._group_one_by_one()
            else:
                self.grouping = self._group(outline, outline.columns)
        self._left_out = self._find_left_out()
        self._forgotten = forgotten_in(self.grouping)

    def _find_left_out(self) -> dict[int, int]:
        """The messages whose thinking the provider leaves out; none is counted yet."""
        if not self._counter.leaves_out_thinking or not self._reasoning:
            return {}
        asked = self.grouping.kinds.rfind(USER)
        return {index: -1 for index in self._reasoning if index < asked}

    def _take(self, outline: Outline) -> None:
        self._messages = outline.messages
        self._wire = outline.wire
        self._reasoning = outline.reasoning
        self._in_front = outline.in_front

    def _group(self, outline: Outline, columns: Columns) -> Grouping:
        """Group all at once, late results apart from those of the last calls."""
        late: dict[int, list[int]] = {}
        grouping = group_columns(
            columns, late, lines_join=self._lines_join, stateful=self._stateful
        )
        if not late:
            return grouping
        outline, columns = part_late(outline, columns, late, self.message)
        self._take(outline)
        return group_columns(
            columns, lines_join=self._lines_join, stateful=self._stateful
        )

    def _take_ids(self, places: Sequence[int], found: Sequence[Any]) -> dict[str, int]:
        """The entries at *places* that have an id of their own, by it."""
        ids: dict[str, int] = {}
        if all(found) and set(map(type, found)) <= {str}:
            ids = dict(zip(found, places, strict=True))
            if len(ids) == len(found):
                return ids
            ids = {}
        for nth, identity in zip(places, found, strict=True):
            if isinstance(identity, str) and identity:
                if identity in ids:
                    raise DuplicateIdError(identity, f"{self.envelope.path}[{nth}]")
                ids[identity] = nth
        return ids

    def _group_one_by_one(self) -> Grouping:
        """Group messages that are all decoded, late results apart as well."""
        grouping = Grouping(lines_join=self._lines_join, stateful=self._stateful)
        entries, messages = self._wire, self._messages
        made: dict[int, Message] = {}
        wire: list[int] = []
        for index, nth in enumerate(entries):
            row = entry_of(messages[index])
            late = late_answers(grouping, row.results, len(grouping))
            parts = [messages[index]]
            if 0 < len(late) < len(row.results):
                parts = part_message(messages[index], late)
            for part in parts:
                asked = part.metadata.get(ANSWERS) if part.metadata else None
                meant_for = -1
                if asked is not None and asked in self._ids:
                    meant_for = bisect_left(wire, self._ids[asked])
                made[len(wire)] = part
                wire.append(nth)
                grouping.add(entry_of(part), meant_for)
        self._messages = made
        if len(wire) > len(entries):
            self._wire = wire
            self._in_front = [i for i, m in made.items() if stands_in_front(m)]
            self._reasoning = reasoning_in(grouping.kinds, made.__getitem__)
        return grouping

    def count(self, index: int) -> int:
        """See `Source.count`."""
        if index in self._forgotten:
            return 0
        if index in self._left_out:
            return self._count_lean(index)
        return self._count_whole(index)

    def _count_lean(self, index: int) -> int:
        """Tokens of a message of which the provider leaves its thinking out."""
        known = self._left_out[index]
        if known < 0:
            message = self.message(index)
            left = without_thinking(message)
            if left is message:
                known = self._count_whole(index)
            else:
                known = 0 if left is None else self.cost(left)
            self._left_out[index] = known
        return known

    def _count_whole(self, index: int) -> int:
        if self._every:
            return self._every[index]
        known = self._counts.get(index)
        if known is None:
            if index not in self._looked_up:
                start = index - index % _STRETCH
                self._look_up(range(start, min(start + _STRETCH, len(self._wire))))
                return self._count_whole(index)
            known = self._counts[index] = self._count(index)
            if (key := self._prints.get(index)) is not None:
                COUNTS.put(key, known)
        return known

    def counts(self) -> Sequence[int]:
        """Tokens of every message; each is counted if it has not been."""
        every = range(len(self._wire))
        found = self._look_up(every)
        lean = self._left_out or self._forgotten
        if found is not None and not lean:
            return found
        if lean:
            return list(map(self.count, every))
        known = self._counts
        return [known[i] if i in known else self.count(i) for i in every]

    def _look_up(self, indexes: range) -> Sequence[int] | None:
        """Take over the counts that are known of some messages; all of them, if so.

        Only of entries that are one message: what parts of others cost depends on
        where the rest of them is.
        """
        self._looked_up = indexes
        salt = self._counter.salt
        if salt is None:
            return None
        wire = self._wire
        if isinstance(wire, range):
            entries = self._entries[indexes.start : indexes.stop]
            single: Sequence[int] = indexes
        else:
            single = [i for i in indexes if len(range(*self._parts(wire[i]))) == 1]
            entries = [self._entries[wire[i]] for i in single]
        keys = prints_of(entries, salt)
        found = COUNTS.get_many(keys)
        complete = [tokens for tokens in found if tokens is not None]
        if len(complete) == len(indexes):
            if len(complete) == len(wire):
                self._every = complete
            else:
                self._counts.update(zip(indexes, complete, strict=True))
            return complete
        for index, key, tokens in zip(single, keys, found, strict=True):
            if tokens is not None:
                self._counts[index] = tokens
            elif key:
                self._prints[index] = key
        return None

    def _count(self, index: int) -> int:
        nth = self._wire[index]
        first, stop = self._parts(nth)
        entry = self._shown[nth]
        if stop - first == 1:
            return self._counter.entry(entry, self.message(index))
        if self._apart or index > first:
            return self.cost(self.message(index))
        rest = sum(map(self.count, range(first + 1, stop)))
        return max(self._counter.entry(entry, self.message(index)) - rest, 0)

    def _parts(self, nth: int) -> tuple[int, int]:
        """The messages of an entry: the first, and the one behind the last."""
        wire = self._wire
        if isinstance(wire, range):
            return nth, nth + 1
        start = bisect_left(wire, nth)
        return start, bisect_right(wire, nth, start)

    def count_apart(self, plan: Plan) -> bool:
        """Count parts of entries alone from now on, if *plan* sends a first one alone.

        A caller who counts entries is asked about whole ones where they stay whole:
        their first part costs what the others leave. True if that was not so, and
        counts are other ones now; linear in the messages.
        """
        wire = self._wire
        if self._apart or isinstance(wire, range):
            return False
        kept = {item for item in plan.order if not isinstance(item, Inserted)}
        kept.difference_update(plan.edits)
        for index in kept:
            first, stop = self._parts(wire[index])
            if index == first and not kept.issuperset(range(first + 1, stop)):
                self._apart = True
                self._counts.clear()
                self._every = ()
                return True
        return False

    def message(self, index: int) -> Message:
        """See `Source.message`."""
        known = self._messages.get(index)
        if known is None:
            nth = self._wire[index]
            parts = self.format.decode(self._entries[nth], self.path(index))
            self._messages.update(zip(range(*self._parts(nth)), parts, strict=True))
            known = self._messages[index]
        return known

    def reasoning(self) -> Sequence[int]:
        """See `Source.reasoning`."""
        return self._reasoning

    def leaves_out(self, index: int) -> bool:
        """See `Source.leaves_out`."""
        return index in self._left_out

    def in_front(self) -> Sequence[int]:
        """See `Source.in_front`."""
        return self._in_front

    def id(self, index: int) -> str:
        """See `Source.id`."""
        nth = self._wire[index]
        identity = _id_of(self._entries[nth])
        return str(nth) if identity is None else identity

    def cost(self, message: Message) -> int:
        """See `Source.cost`; the same message is counted once."""
        known = self._made.get(message)
        if known is None:
            known = self._made[message] = self._counter.made(message)
        return known

    def indexes_of(self, key: object) -> list[int] | None:
        """The messages of the entry with that id or index; none if there is no such."""
        nth: int | None = None
        if isinstance(key, str):
            nth = self._ids.get(key)
            if nth is None and key.lstrip("-").isdigit():
                key = int(key)
        if nth is None and isinstance(key, int) and not isinstance(key, bool):
            nth = key + len(self._entries) if key < 0 else key
        if nth is None or not 0 <= nth < len(self._entries):
            return None
        return list(range(*self._parts(nth)))

    def matching(self, predicate: Callable[[Any], object]) -> list[int]:
        """The messages of the entries for which *predicate* says yes."""
        chosen = {n for n, entry in enumerate(self._shown) if predicate(entry)}
        return [i for i, wire in enumerate(self._wire) if wire in chosen]

    def path(self, index: int) -> str:
        """JSON path of a message's entry."""
        return f"{self.envelope.path}[{self._wire[index]}]"

    def own_pins(self) -> dict[int, PinScope]:
        """The messages that say themselves that they are pinned."""
        return {
            index: message.pin_scope
            for index, message in self._messages.items()
            if message.pinned
        }

    def __getstate__(self) -> dict[str, Any]:
        """What a plan asks; everything is counted, and the counter stays behind."""
        envelope = self.envelope
        return {
            "entries": list(self._entries),
            "path": envelope.path,
            "session": envelope.session,
            "format": self.format,
            "wire": list(self._wire),
            "marking": self.marking,
            "messages": self._messages,
            "counts": [self.count(i) for i in range(len(self._wire))],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what `__getstate__` gave."""
        self._left_out, self._every = {}, ()
        self._forgotten = NOTHING
        self._entries = state["entries"]
        self.envelope = Envelope(
            self._entries, path=state["path"], session=state["session"]
        )
        self.format = state["format"]
        self._wire = state["wire"]
        self.marking = state["marking"]
        self._messages = state["messages"]
        self._every = state["counts"]

    def fingerprint(self) -> Any:
        """See `Source.fingerprint`: the list was copied, so nothing can change."""
        return None

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window that *plan* leaves of *messages*, in their shape."""
        _, envelope = reopen(messages, self.envelope.session or self.format.name)
        entries = envelope.entries
        if len(entries) != len(self._entries) or any(
            left is not right and left != right
            for left, right in zip(entries, self._entries, strict=True)
        ):
            reason = "these are other messages"
            raise StalePlanError(reason)
        return self._given(plan, entries, envelope)

    def apply_to(self, plan: Plan, envelope: Envelope) -> Any:
        """The same for the very messages that this source was made from."""
        hand_over(plan)
        return self._given(plan, self._entries, envelope)

    def _given(self, plan: Plan, entries: Sequence[Any], envelope: Envelope) -> Any:
        """The window in the shape of *envelope*, its cache marks set or removed."""
        ends: list[tuple[int, int]] = []
        made = self.window(plan, entries, envelope.objects, ends)
        if self.marking is None:
            return envelope.replace(made)
        return self.marking.applied(made, ends, envelope)

    def window(
        self,
        plan: Plan,
        entries: Sequence[Any],
        objects: Objects | None = None,
        ends: list[tuple[int, int]] | None = None,
    ) -> list[Any]:
        """The entries that *plan* sends: the caller's own wherever nothing changed.

        Entries that were no neighbours are joined where their provider wants that.
        *ends* takes, for each stretch of the order, up to which place it goes and how
        many entries there are behind it.
        """
        made: list[Any] = []
        order, wire = plan.order, self._wire
        join = joiner_of(self.format.name)
        total, at = len(order), 0
        last = -1
        while at < total:
            item = order[at]
            if isinstance(item, Inserted):
                nth, stop = -1, at + 1
                new = self.format.encode([item.message])
            else:
                nth, stop = wire[item], at + 1
                while stop < total and _goes_on(order, stop, wire, nth):
                    stop += 1
                new = self._entries_of(plan, order[at:stop], entries)  # type: ignore[arg-type]
                if objects is not None and new and new[0] is not entries[nth]:
                    objects.edited(nth, new)
            if join is not None and made and new and not 0 <= last == nth - 1:
                both = join(made[-1], new[0])
                if both is not None:
                    made[-1] = both
                    del new[0]
            made.extend(new)
            last, at = nth, stop
            if ends is not None:
                ends.append((stop, len(made)))
        return made

    def _entries_of(
        self, plan: Plan, parts: Sequence[int], entries: Sequence[Any]
    ) -> list[Any]:
        """What is sent for neighbouring messages of one entry."""
        edits = plan.edits
        nth = self._wire[parts[0]]
        is_whole = (parts[0], parts[-1] + 1) == self._parts(nth)
        if is_whole and not any(i in edits for i in parts):
            return [entries[nth]]
        made = self.format.encode(
            [edits[i][0] if i in edits else self.message(i) for i in parts]
        )
        key = content_key_of(self.format.name) if len(parts) > 1 else None
        return made if key is None else rejoin(made, key)


def _goes_on(
    order: Sequence[int | Inserted], at: int, wire: Sequence[int], nth: int
) -> bool:
    item, before = order[at], order[at - 1]
    return (
        not isinstance(item, Inserted)
        and not isinstance(before, Inserted)
        and item == before + 1
        and wire[item] == nth
    )


def _id_of(entry: Any) -> str | None:
    identity = own_id(entry)
    return identity if isinstance(identity, str) and identity else None
