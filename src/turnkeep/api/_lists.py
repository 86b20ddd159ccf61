"""A caller's own list as the engine's source: raw entries in, raw entries out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from turnkeep.errors import DuplicateIdError, StalePlanError
from turnkeep.formats import open_value
from turnkeep.formats._base import Envelope, Format, Sketch, Sketching
from turnkeep.formats._neighbours import joiner_of
from turnkeep.model import Message, PinScope, ToolResult, as_sent, paused_gc
from turnkeep.plans import Inserted, Plan
from turnkeep.tokens import RequestCounter
from turnkeep.turns import ANSWERS, ASSISTANT, Grouping, entry_of, group_columns


class Counter(Protocol):
    """What a message costs: by the provider's rules, or as the caller says."""

    by_entry: bool
    """Whether only whole entries can be counted exactly."""

    def entry(self, entry: Any, message: Message) -> int:
        """Tokens of an entry of the history that is one message."""
        ...

    def made(self, message: Message) -> int:
        """Tokens of a message of ours."""
        ...


class RuleCounter:
    """Counts by a provider's published rules."""

    by_entry = False

    def __init__(self, counter: RequestCounter) -> None:
        """Count with *counter*."""
        self._counter = counter

    def entry(self, entry: Any, message: Message) -> int:
        """See `Counter.entry`."""
        del entry
        return self._counter.message(as_sent(message))

    def made(self, message: Message) -> int:
        """See `Counter.made`."""
        return self._counter.message(as_sent(message))


class CallerCounter:
    """Counts with a callable from one message in the caller's shape to its tokens."""

    by_entry = True

    def __init__(self, count: Callable[[Any], Any], fmt: Format) -> None:
        """Count with *count*, which takes entries of *fmt*."""
        self._count = count
        self._format = fmt

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

    def __init__(
        self,
        envelope: Envelope,
        fmt: Format,
        counter: Counter,
        *,
        lasting: bool = True,
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

        Raises:
            FormatError: An entry is not what *fmt* demands.
            DuplicateIdError: Two entries have the same id.
        """
        self.envelope = envelope
        self.format = fmt
        self._counter = counter
        self._entries = list(envelope.entries) if lasting else envelope.entries
        self._messages: dict[int, Message] = {}
        self._wire: Sequence[int] = range(len(self._entries))
        """The entry of each message."""
        self._counts: dict[int, int] = {}
        self._apart = not counter.by_entry
        """Whether every part of an entry is counted as what it would be alone."""
        self._made: dict[Message, int] = {}
        sketch: Sketch | None = None
        if isinstance(fmt, Sketching):
            with paused_gc():
                sketch = fmt.sketch(self._entries)
        if sketch is None:
            every = range(len(self._entries))
            self._ids = self._take_ids(every, list(map(_id_of, self._entries)))
            self.grouping = self._decode_all()
        else:
            self._ids = self._take_ids(sketch.id_at, sketch.ids)
            self.grouping = group_columns(sketch.columns)

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

    def _decode_all(self) -> Grouping:
        grouping = Grouping()
        wire: list[int] = []
        with paused_gc():
            for nth, entry in enumerate(self._entries):
                for part in self._parts_of(entry, nth, grouping):
                    self._messages[len(wire)] = part
                    asked = part.metadata.get(ANSWERS) if part.metadata else None
                    meant_for = -1
                    if asked is not None and asked in self._ids:
                        meant_for = bisect_left(wire, self._ids[asked])
                    wire.append(nth)
                    grouping.add(entry_of(part), meant_for)
        if len(wire) > len(self._entries):
            self._wire = wire
        return grouping

    def _parts_of(self, entry: Any, nth: int, grouping: Grouping) -> list[Message]:
        """The messages of an entry, late results apart from those of the last calls."""
        made: list[Message] = []
        for part in self.format.decode(entry, f"{self.envelope.path}[{nth}]"):
            late = _late_results(part, grouping)
            rest = [block for block in part.content if block not in late]
            if not late or not any(isinstance(block, ToolResult) for block in rest):
                made.append(part)
                continue
            made += [part.evolve(id=None, content=(block,)) for block in late]
            made.append(part.evolve(content=tuple(rest)))
        return made

    def count(self, index: int) -> int:
        """See `Source.count`."""
        known = self._counts.get(index)
        if known is None:
            known = self._counts[index] = self._count(index)
        return known

    def _count(self, index: int) -> int:
        nth = self._wire[index]
        first, stop = self._parts(nth)
        entry = self._entries[nth]
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
                return True
        return False

    def message(self, index: int) -> Message:
        """See `Source.message`."""
        known = self._messages.get(index)
        if known is None:
            # Only lists read as columns get here, and those have one message an entry.
            (known,) = self.format.decode(self._entries[index], self.path(index))
            self._messages[index] = known
        return known

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
        chosen = {n for n, entry in enumerate(self._entries) if predicate(entry)}
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

    def fingerprint(self) -> Any:
        """See `Source.fingerprint`: the list was copied, so nothing can change."""
        return None

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window that *plan* leaves of *messages*, in their shape."""
        name = self.envelope.session or self.format.name
        _, envelope = open_value(messages, name)
        entries = envelope.entries
        if len(entries) != len(self._entries) or any(
            left is not right and left != right
            for left, right in zip(entries, self._entries, strict=True)
        ):
            reason = "these are other messages"
            raise StalePlanError(reason)
        return envelope.replace(self.window(plan, entries))

    def apply_to(self, plan: Plan, envelope: Envelope) -> Any:
        """The same for the very messages that this source was made from."""
        return envelope.replace(self.window(plan, self._entries))

    def window(self, plan: Plan, entries: Sequence[Any]) -> list[Any]:
        """The entries that *plan* sends: the caller's own wherever nothing changed.

        Entries that were no neighbours are joined where their provider wants that.
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
            if join is not None and made and new and not 0 <= last == nth - 1:
                both = join(made[-1], new[0])
                if both is not None:
                    made[-1] = both
                    del new[0]
            made.extend(new)
            last, at = nth, stop
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
        return self.format.encode(
            [edits[i][0] if i in edits else self._messages[i] for i in parts]
        )


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


def _late_results(part: Message, grouping: Grouping) -> list[ToolResult]:
    """Those of several results whose calls stand before the last thing said."""
    results = part.tool_results
    if len(results) < 2:
        return []
    last = len(grouping) - 1
    while last >= 0 and grouping.kinds[last] == ASSISTANT:
        last -= 1
    return [
        result
        for result in results
        if result.tool_call_id is not None
        and (calls := grouping.open_of(result.tool_call_id))
        and all(call.message <= last for call in calls)
    ]


def _id_of(entry: Any) -> str | None:
    identity = (
        entry.get("id") if isinstance(entry, Mapping) else getattr(entry, "id", None)
    )
    return identity if isinstance(identity, str) and identity else None
