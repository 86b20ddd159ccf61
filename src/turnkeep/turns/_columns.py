from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from ._entries import Answer


@attrs.frozen
class Columns:
    """A whole history for `Grouping.from_columns`; nothing in it is shown only."""

    kinds: bytearray
    """Kind of each message; kept, not copied."""
    call_at: Sequence[int]
    """The messages that make calls, in order."""
    call_ids: Sequence[list[str]]
    """The ids of their calls."""
    result_at: Sequence[int]
    """The messages that carry a result, in order: one each."""
    result_ids: Sequence[str]
    """The ids of the calls they answer."""
    not_final: frozenset[int]
    """The messages whose result is not final."""
    name_of: Callable[[int, int], str]
    """The tool's name, by message and place of the call in it."""

    def answer(self, nth: int) -> Answer:
        """The *nth* result."""
        final = self.result_at[nth] not in self.not_final
        return Answer(self.result_ids[nth], None, final)

    def waits(self, start: int, stop: int) -> bool:
        """Whether one of these results is not final."""
        return not self.not_final.isdisjoint(self.result_at[start:stop])

    def answered(self) -> dict[str, list[int]]:
        """By id, the final results that stand right behind their calls, in order."""
        at: dict[str, list[int]] = {}
        results = dict(zip(self.result_at, self.result_ids, strict=True))
        for index, ids in zip(self.call_at, self.call_ids, strict=True):
            places = range(index + 1, index + 1 + len(ids))
            if [results.get(i) for i in places] == ids and self.not_final.isdisjoint(
                places
            ):
                for place, call_id in zip(places, ids, strict=True):
                    at.setdefault(call_id, []).append(place)
        return at
