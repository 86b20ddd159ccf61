"""Where cache marks go: the published rules in one algorithm for every format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.providers import by_format, load

from ._spots import Marks, Spot, longest, shortest, spots_in

STRIDE: Final = 18
"""Positions between marks where it is not known how far the last request went.

Anthropic looks back over 20 positions, the marked one included: two fewer, so that what
is marked a place earlier, because a block cannot carry one, is still found.
"""

_FRAME: Final = ("system", "tools", "toolConfig")
"""Keys of a body beside its list that may hold marks."""


@attrs.frozen
class Extent:
    """How far into the list what matters reaches, in blocks from its front."""

    head: int = 0
    """Blocks that every window begins with: what is held, up to the first free step."""

    previous: int | None = None
    """Blocks up to the end of the previous window; none where nobody remembers it."""

    floor: int = -1
    """The entry with which the request is long enough to be cached; -1 where what
    stands in front of the list is."""


@attrs.frozen
class Sent:
    """A list with new marks, and how long they live."""

    entries: list[Any]
    ttl: str
    left: int
    """How many marks may still stand in front of the list."""


@attrs.frozen
class Marker:
    """Sets the marks of one format, or takes them away."""

    marks: Marks
    most: int
    place: bool
    """Whether new ones are set where the old ones went."""

    def strip(self, value: Any, found: list[str]) -> Any:
        """*value* without marks; the very object where it has none."""
        return self.marks.plain(value, found)

    def blocks_in(self, entries: Sequence[Any]) -> int:
        """How many blocks *entries* have, marks not counted."""
        return sum(len(self.marks.blocks(self.strip(e, []))) for e in entries)

    def in_list(
        self,
        entries: Sequence[Any],
        extent: Extent,
        beside: Mapping[str, Any],
        *,
        front: bool,
        fixed: Sequence[Any] = (),
    ) -> Sent:
        """*entries* marked anew; entries without marks are the very same. Linear.

        Args:
            entries:
                What is sent, in order.
            extent:
                What of it is known.
            beside:
                The body that the list stands in, its own marks still in it.
            front:
                Whether a mark is to stand in front of the list.
            fixed:
                System text and tools that are sent beside the list, and that nobody can
                change here.
        """
        found: list[str] = []
        aside: list[str] = []
        bare = [self.strip(entry, found) for entry in entries]
        for key in (*_FRAME, self.marks.key):
            if key in beside:
                # The request's own mark counts like that of a block.
                part = {key: beside[key]} if key == self.marks.key else beside[key]
                self.strip(part, found)
        for value in fixed:
            self.strip(value, aside)
        ttl = longest([*found, *aside], self.marks.default)
        # A longer one never stands behind a shorter one.
        ttl = shortest([ttl, *aside], ttl)
        left = self.most - len(aside)
        if not self.place:
            return Sent(bare, ttl, 0)
        spots = list(spots_in(bare, self.marks))
        chosen: list[Spot] = []
        for spot in self._wanted(spots, extent):
            if spot not in chosen:
                chosen.append(spot)
            if len(chosen) >= left - front:
                break
        for spot in sorted(chosen[: max(left - front, 0)], key=_from_the_end):
            bare[spot.entry] = self.marks.marked(bare[spot.entry], spot.block, ttl)
        return Sent(bare, ttl, left)

    def in_body(
        self, body: Mapping[str, Any], sent: Sent, *, tools: bool, system: bool
    ) -> dict[str, Any]:
        """*body* with what stands around its list marked anew.

        Args:
            body:
                With the list as it is sent.
            sent:
                The list.
            tools:
                Whether its tools alone are long enough.
            system:
                Whether they and its system text are.
        """
        found: list[str] = []
        made = {
            key: self.strip(value, found) if key in _FRAME else value
            for key, value in body.items()
            if key != self.marks.key
        }
        if not self.place or sent.left < 1:
            return made
        return self._framed(made, sent.ttl, tools=tools, system=system) or made

    def _framed(
        self, body: Mapping[str, Any], ttl: str, *, tools: bool, system: bool
    ) -> Any:
        """The end of the system text, or of the tools where there is none."""
        marked = None
        if system:
            marked = self.marks.frame(body, ttl, tools=False)
        if marked is None and tools and not body.get("system"):
            marked = self.marks.frame(body, ttl, tools=True)
        return marked

    def frames(self, body: Mapping[str, Any], *, tools: bool, system: bool) -> bool:
        """Whether a mark would stand in front of the list."""
        ttl = self.marks.default
        return bool(self._framed(body, ttl, tools=tools, system=system))

    def _wanted(self, spots: Sequence[Spot], extent: Extent) -> Iterator[Spot]:
        """Where marks are wanted in the list, what matters most first."""
        targets = [len(spots), extent.head]
        if extent.previous is None:
            targets += _strides(spots)
        else:
            targets.insert(1, min(extent.previous, len(spots)))
        for target in targets:
            found = _carrier(spots, target, extent.floor)
            if found is not None:
                yield found


def _carrier(spots: Sequence[Spot], before: int, floor: int) -> Spot | None:
    """The last block of the first *before* that can be marked and is far enough in."""
    for nth in range(before - 1, -1, -1):
        spot = spots[nth]
        if spot.entry < floor or (spot.entry == floor and not spot.is_last):
            return None
        if spot.carries:
            return spot
    return None


def _strides(spots: Sequence[Spot]) -> list[int]:
    """Every 18 positions from the end, in blocks from the front."""
    made: list[int] = []
    passed = 0
    for nth in range(len(spots) - 1, 0, -1):
        # A run counts as one position: its last block is met first.
        passed += not (spots[nth].run and spots[nth].run == spots[nth - 1].run)
        if (
            passed
            and passed % STRIDE == 0
            and (not made or passed // STRIDE > len(made))
        ):
            made.append(nth)
    return made


def _from_the_end(spot: Spot) -> tuple[int, int]:
    return -spot.entry, -spot.block


def marker_for(name: str, model: str | None, mode: str) -> Marker | None:
    """What sets or removes the marks of format *name*; none where nothing is to do.

    That is where marks are kept, and where the provider (or this model of it) has none:
    it caches by itself.
    """
    row = by_format(name)
    if mode == "keep" or row is None or row.marks is None or row.marks.places is None:
        return None
    marks: Marks = load(row.marks.places)(model)
    if mode == "place" and not marks.takes:
        return None
    return Marker(marks, row.marks.most, mode == "place")
