"""A window in a host's own objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from turnkeep.errors import StalePlanError
from turnkeep.formats import get_format, reopen
from turnkeep.formats._neighbours import join_all, joiner_of
from turnkeep.formats._objects import remade
from turnkeep.formats._sending import order
from turnkeep.model import Message
from turnkeep.policy import Policy

from ._host import HostList

_AHEAD = 8
"""Entries that are looked at for one that is sent: results move, others are changed."""


@attrs.frozen(eq=False)
class Sight:
    """The host's list as it was when a window was made of it.

    Costs nothing to keep: later lists are other ones, or longer.
    """

    objects: list[Any]
    copies: list[Any]
    ids: list[tuple[str, ...]]
    places: Mapping[str, int]
    head: int
    size: int

    @classmethod
    def of(cls, host: HostList) -> Sight:
        """What *host* is now."""
        return cls(
            host.objects, host.copies, host.ids, host.places, host.head, len(host)
        )

    def apply(
        self, sent: Sequence[Message], messages: Any, name: str, demands: Policy
    ) -> Any:
        """*sent* in the shape of *messages*: its own objects wherever nothing changed.

        Costs the window, and a comparison of addresses with the list that was followed.

        Raises:
            StalePlanError: *messages* is not that list.
        """
        shape = None
        entries = messages
        if isinstance(messages, Mapping):
            _, shape = reopen(messages, name)
            objects = shape.objects
            entries = shape.entries if objects is None else objects.originals
        elif not isinstance(messages, list):
            entries = list(messages)
        self._refuse_others(entries)
        made = self._entries(sent, entries, name, demands)
        return made if shape is None else shape.replace(made)

    def _refuse_others(self, entries: Sequence[Any]) -> None:
        expected = self.size - self.head
        if len(entries) != expected:
            reason = f"{len(entries)} entries, and {expected} were followed"
            raise StalePlanError(reason)
        known = HostList()
        known.objects = self.objects[self.head : self.size]
        known.copies = self.copies[self.head : self.size]
        same = known.same_beginning(entries)
        if same < expected:
            reason = f"entry {same} says something else than when it was followed"
            raise StalePlanError(reason)

    def _entries(
        self,
        sent: Sequence[Message],
        entries: Sequence[Any],
        name: str,
        demands: Policy,
    ) -> list[Any]:
        """The entries that say *sent*, in its order."""
        places, head = self.places, self.head
        beside = {one for ids in self.ids[:head] for one in ids}
        listed = order([m for m in sent if m.id not in beside], demands)
        wires = get_format(name).encode(listed)
        join = joiner_of(name)
        if join is not None:
            wires = join_all(wires, join)
        theirs: list[int] = []
        for message in listed:
            place = places.get(message.id or "")
            if place is not None and (not theirs or theirs[-1] != place):
                theirs.append(place)
        made: list[Any] = []
        at = 0
        for wire in wires:
            near = range(at, min(at + _AHEAD, len(theirs)))
            found = next((n for n in near if self.copies[theirs[n]] == wire), -1)
            if found >= 0:
                made.append(entries[theirs[found] - head])
                at = found + 1
            elif at < len(theirs):
                made.append(remade(wire, entries[theirs[at] - head]))
            else:
                made.append(wire)
        return made
