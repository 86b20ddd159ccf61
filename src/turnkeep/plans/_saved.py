"""What a plan that crosses processes takes along of its history."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from turnkeep.errors import StalePlanError
from turnkeep.model import Message

from ._decisions import Inserted
from ._plan import Plan, PlanSource


@attrs.frozen
class SavedSource:
    """A history as a plan saw it: ids, counts and messages, no more."""

    is_portable: ClassVar = True

    ids: tuple[str, ...]
    counts: tuple[int, ...]
    messages: tuple[Message, ...]

    def count(self, index: int) -> int:
        """See `PlanSource.count`."""
        return self.counts[index]

    def message(self, index: int) -> Message:
        """See `PlanSource.message`."""
        return self.messages[index]

    def id(self, index: int) -> str:
        """See `PlanSource.id`."""
        return self.ids[index]

    def fingerprint(self) -> Any:
        """See `PlanSource.fingerprint`: nothing here changes."""
        return None

    def apply(self, plan: Plan, messages: Any) -> Any:
        """See `PlanSource.apply`."""
        if tuple(messages) != self.messages:
            reason = "these are other messages"
            raise StalePlanError(reason)
        made: list[Message] = []
        for item in plan.order:
            if isinstance(item, Inserted):
                made.append(item.message)
            else:
                edit = plan.edits.get(item)
                made.append(self.messages[item] if edit is None else edit.message)
        return made


def source_of(source: PlanSource, total: int) -> PlanSource:
    """What to pickle of *source*: itself where it can be, else what it says.

    Costs the history: everything is counted.
    """
    if getattr(source, "is_portable", False):
        return source
    every = range(total)
    return SavedSource(
        tuple(map(source.id, every)),
        tuple(map(source.count, every)),
        tuple(map(source.message, every)),
    )
