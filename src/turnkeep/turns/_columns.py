from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Final, NamedTuple

import attrs

from ._entries import ASSISTANT, RESULT, SYSTEM, USER, CallKey

CALL: Final = 8
"""What each call of a message adds to its code."""

OPEN_RESULT: Final = RESULT + CALL
"""The code of a result that is not final."""

MANY_CALLS: Final = ASSISTANT + 31 * CALL
"""The code of a message with 31 calls or more."""

KIND_OF: Final = bytes(code % CALL for code in range(256))
"""The kind of a message, by its code: a table for `bytes.translate`."""

_FINAL = bytes([RESULT])
_UNLINKED = bytes([SYSTEM, USER, ASSISTANT])
_IS_LINKED = bytes(code not in _UNLINKED for code in range(256))
_CALLS = bytes(
    code // CALL if code % CALL == ASSISTANT and code != MANY_CALLS else 0
    for code in range(256)
)
_ANSWERED = [
    (bytes([ASSISTANT + count * CALL]) + _FINAL * count, bytes(count + 1))
    for count in range(1, 31)
]
_BLOCK = 1_024


class Linked(NamedTuple):
    """A message that makes calls, or that carries a result."""

    message: int
    """Its index."""
    ids: Sequence[str]
    """Those of its calls, or of the one that it answers; of settled calls, in the order
    of their results."""
    settled: bool
    """Whether it makes calls that the messages right behind it answer."""


class _Part(NamedTuple):
    """Neighbours, and how many ids of calls and of results come before theirs."""

    start: int
    stop: int
    call: int
    result: int


@attrs.frozen
class Columns:
    """A whole history for `group_columns`, one byte a message; nothing is shown only.

    Most calls of most histories are answered in full by the results right behind them.
    Whole stretches of those are recognised by comparing bytes and lists, so that only
    the others are looked at one by one.
    """

    codes: bytes
    """The kind of each message; 8 more for each call it makes (31 of them at most), or
    where its result is not final."""
    call_ids: list[str]
    """The ids of all calls, in order, save those of messages with 31 or more."""
    result_ids: list[str]
    """The ids of the calls that the results answer, in order: one each."""
    keys_of: Callable[[int], list[CallKey]]
    """The calls that a message makes."""

    def strays(self) -> Iterator[Linked]:
        """Calls without their results right behind them, and other results, in order.

        Linear; a history without any costs a few passes in C.
        """
        if _alternate(self.codes) and self.call_ids == self.result_ids:
            return
        for part in self._parts():
            if not self._is_settled(part):
                yield from (link for link in self._links(part) if not link.settled)

    def asked(self) -> set[str]:
        """The ids of all calls."""
        ids = set(self.call_ids)
        at = self.codes.find(MANY_CALLS)
        while at >= 0:
            ids.update(key.id or "" for key in self.keys_of(at))
            at = self.codes.find(MANY_CALLS, at + 1)
        return ids

    def answered(self) -> dict[str, list[int]]:
        """By id, the final results that stand right behind their calls, in order."""
        at: dict[str, list[int]] = {}
        for index, ids, settled in self._links(_Part(0, len(self.codes), 0, 0)):
            if settled:
                for place, call_id in enumerate(ids, index + 1):
                    at.setdefault(call_id, []).append(place)
        return at

    def _parts(self) -> Iterator[_Part]:
        """The history in blocks that part no call from the results right behind it."""
        codes, total = self.codes, len(self.codes)
        start = call = result = 0
        while start < total:
            stop = min(start + _BLOCK, total)
            while stop < total and codes[stop] % CALL == RESULT:
                stop += 1
            yield _Part(start, stop, call, result)
            block = codes[start:stop]
            call += sum(block.translate(_CALLS))
            result += block.count(RESULT) + block.count(OPEN_RESULT)
            start = stop

    def _is_settled(self, part: _Part) -> bool:
        block = self.codes[part.start : part.stop]
        if not _alternate(block):
            return False
        results = slice(part.result, part.result + block.count(RESULT))
        calls = slice(part.call, part.call + block.count(RESULT))
        return self.result_ids[results] == self.call_ids[calls]

    def _links(self, part: _Part) -> Iterator[Linked]:
        start, stop, call, result = part
        codes, result_ids, after = self.codes, self.result_ids, 0
        for at in compress(range(start, stop), codes[start:stop].translate(_IS_LINKED)):
            if at < after:
                continue
            code = codes[at]
            if code % CALL == RESULT:
                yield Linked(at, result_ids[result : result + 1], settled=False)
                result += 1
                continue
            if code == MANY_CALLS:
                ids = [key.id or "" for key in self.keys_of(at)]
            else:
                ids = self.call_ids[call : call + code // CALL]
                call += len(ids)
            after = at + 1 + len(ids)
            if codes[at + 1 : after] == _FINAL * len(ids):
                given = result_ids[result : result + len(ids)]
                if given == ids or sorted(given) == sorted(ids):
                    yield Linked(at, given, settled=True)
                    result += len(ids)
                    continue
            yield Linked(at, ids, settled=False)
            after = 0


def _alternate(codes: bytes) -> bool:
    """Whether as many final results as a message makes calls follow each, and no more.

    A few passes in C.
    """
    for answered, nothing in _ANSWERED:
        if answered[0] in codes:
            codes = codes.replace(answered, nothing)
    return not codes.translate(None, _UNLINKED)
