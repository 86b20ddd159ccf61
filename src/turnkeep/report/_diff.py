"""What one message list has lost, changed and gained against another."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import attrs

from turnkeep.model import Message

from ._survey import Survey
from ._texts import texts

Kind: TypeAlias = Literal["same", "lost", "changed", "new", "moved"]


@attrs.frozen
class Change:
    """What became of one message."""

    kind: Kind
    before: int | None
    """Its place in the first list."""
    after: int | None
    """Its place in the second."""
    tokens_before: int = 0
    tokens_after: int = 0


@attrs.frozen
class Diff:
    """Two lists compared, message by message, in the order of the second."""

    before: Survey
    after: Survey
    changes: tuple[Change, ...]

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)

    @property
    def is_empty(self) -> bool:
        """Whether both lists say the same."""
        return all(change.kind == "same" for change in self.changes)


def diff(before: Survey, after: Survey) -> Diff:
    """Compare two measured lists: a history and its window, or two windows.

    A message is the same when it says the same, in whatever format; it is changed when
    it answers or makes the same calls, or has the same id, and says something else.
    What is in both lists at another place has moved. Where a text occurs several times
    the later ones match, because windows keep what is new. Costs n log n.
    """
    left = [_said(message) for message in before.messages]
    right = [_said(message) for message in after.messages]
    pairs = _matched(left, right)
    used = {a for a, _ in pairs}
    taken = {b for _, b in pairs}
    moved = _leftovers(left, right, used, taken)
    used |= moved.keys()
    taken |= set(moved.values())
    edited: dict[int, int] = {}
    for name in (_own_id, _links):
        found = _leftovers(
            [name(message) for message in before.messages],
            [name(message) for message in after.messages],
            used,
            taken,
        )
        edited |= found
        used |= found.keys()
        taken |= set(found.values())
    changes = _in_order(dict(pairs), moved, edited, len(left), len(right))
    return Diff(
        before,
        after,
        tuple(_counted(before, after, change) for change in changes),
    )


def _counted(before: Survey, after: Survey, change: Change) -> Change:
    return attrs.evolve(
        change,
        tokens_before=0
        if change.before is None
        else before.entries[change.before].tokens,
        tokens_after=0 if change.after is None else after.entries[change.after].tokens,
    )


def _said(message: Message) -> Hashable:
    """What two messages have in common that say the same, in whatever format."""
    said = tuple(map(tuple, texts(message)))
    return (message.role, said, _links(message))


def _own_id(message: Message) -> Hashable:
    return message.id


def _links(message: Message) -> Hashable:
    """The calls it makes and answers; none for plain text, which cannot be followed."""
    calls = tuple(call.id for call in message.tool_calls if call.id)
    results = tuple(r.tool_call_id for r in message.tool_results if r.tool_call_id)
    return (calls, results) if calls or results else None


def _matched(
    left: Sequence[Hashable], right: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Places of equal things in both lists, rising in both (a patience diff)."""
    anchors = _rising(_unique_pairs(left, right))
    fences = [(-1, -1), *anchors, (len(left), len(right))]
    pairs = list(anchors)
    for (a, b), (stop_a, stop_b) in pairwise(fences):
        pairs.extend(_latest(left, right, (a + 1, stop_a), (b + 1, stop_b)))
    return sorted(pairs)


def _unique_pairs(
    left: Sequence[Hashable], right: Sequence[Hashable]
) -> list[tuple[int, int]]:
    once_left, once_right = _once(left), _once(right)
    return [
        (place, once_right[said])
        for said, place in once_left.items()
        if said in once_right
    ]


def _once(said: Sequence[Hashable]) -> dict[Hashable, int]:
    """Places of what occurs exactly once."""
    places: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for place, one in enumerate(said):
        if one in places:
            twice.add(one)
        places[one] = place
    return {one: place for one, place in places.items() if one not in twice}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of *pairs* that rises in the second place as in the first."""
    ends: list[int] = []
    tails: list[int] = []
    parents: list[int] = []
    for nth, (_, b) in enumerate(pairs):
        at = bisect_left(ends, b)
        parents.append(tails[at - 1] if at else -1)
        if at == len(ends):
            ends.append(b)
            tails.append(nth)
        else:
            ends[at] = b
            tails[at] = nth
    chain: list[tuple[int, int]] = []
    nth = tails[-1] if tails else -1
    while nth >= 0:
        chain.append(pairs[nth])
        nth = parents[nth]
    return chain[::-1]


def _latest(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    span_left: tuple[int, int],
    span_right: tuple[int, int],
) -> Iterator[tuple[int, int]]:
    """Equal things between two anchors, from the end."""
    places: dict[Hashable, list[int]] = {}
    for place in range(*span_left):
        places.setdefault(left[place], []).append(place)
    stop = span_left[1]
    for b in range(span_right[1] - 1, span_right[0] - 1, -1):
        found = places.get(right[b], [])
        while found and found[-1] >= stop:
            found.pop()
        if found:
            stop = found.pop()
            yield stop, b


def _leftovers(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    used: set[int],
    taken: set[int],
) -> dict[int, int]:
    """What equals among what is not matched yet, wherever it stands."""
    places: dict[Hashable, list[int]] = {}
    for place in range(len(right) - 1, -1, -1):
        if place not in taken and right[place] is not None:
            places.setdefault(right[place], []).append(place)
    found: dict[int, int] = {}
    for place, one in enumerate(left):
        if place not in used and one is not None and places.get(one):
            found[place] = places[one].pop()
    return found


def _in_order(
    same: dict[int, int],
    moved: dict[int, int],
    edited: dict[int, int],
    size_left: int,
    size_right: int,
) -> Iterator[Change]:
    """Every message once: the second list's order, what was lost where it stood."""
    kinds: dict[int, tuple[Kind, int]] = {}
    sources: dict[Kind, dict[int, int]] = {
        "same": same,
        "moved": moved,
        "changed": edited,
    }
    for kind, pairs in sources.items():
        kinds |= {b: (kind, a) for a, b in pairs.items()}
    gone = [a for a in range(size_left) if not (a in same or a in moved or a in edited)]
    at = 0
    for b in range(size_right):
        kind, a = kinds.get(b, ("new", -1))
        if kind in ("same", "changed"):
            while at < len(gone) and gone[at] < a:
                yield Change("lost", gone[at], None)
                at += 1
        yield Change(kind, None if kind == "new" else a, b)
    for a in gone[at:]:
        yield Change("lost", a, None)
