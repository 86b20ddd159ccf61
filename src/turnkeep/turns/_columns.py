from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Final, NamedTuple, TypeAlias

import attrs

from ._entries import (
    ASSISTANT,
    MEMORY,
    NOTE,
    OURS,
    RESULT,
    SYSTEM,
    USER,
    Answer,
    CallKey,
    Entry,
)
from ._hosted import Hosted

LinkId: TypeAlias = str | tuple[str]
"""What links a call to its result: its id, or where it has none its tool's name, as a
tuple of one, which no id is equal to."""

CALL: Final = 8
"""What each call of a message adds to its code, and each of several results."""

OPEN_RESULT: Final = RESULT + CALL
"""The code of one result that is not final."""

MANY_CALLS: Final = ASSISTANT + 31 * CALL
"""The code of a message with 31 calls or more."""

MANY_RESULTS: Final = RESULT + 31 * CALL
"""The code of a message with 31 results or more, or several of which one is not
final."""

KIND_OF: Final = bytes(code % CALL for code in range(256))
"""The kind of a message, by its code: a table for `bytes.translate`."""

_FINAL = bytes([RESULT])
_UNLINKED = bytes([SYSTEM, USER, ASSISTANT, NOTE, OURS, MEMORY])
_IS_LINKED = bytes(code not in _UNLINKED for code in range(256))
_CALLS = bytes(
    code // CALL if code % CALL == ASSISTANT and code != MANY_CALLS else 0
    for code in range(256)
)
_RESULTS = bytes(
    0 if code % CALL != RESULT or code == MANY_RESULTS else max(code // CALL, 1)
    for code in range(256)
)
_ANSWERED = [
    (bytes([ASSISTANT + count * CALL]) + _FINAL * count, bytes(count + 1))
    for count in range(1, 31)
] + [
    (bytes([ASSISTANT + count * CALL, RESULT + count * CALL]), bytes(2))
    for count in range(2, 31)
]
_BLOCK = 1_024


def link_id(key: CallKey | Answer) -> LinkId:
    """What links a call, or a result, to the other."""
    return key.id if key.id is not None else (key.name or "",)


def results_in(codes: bytes) -> int:
    """How many result ids messages of these codes have; linear, in C."""
    return sum(codes.translate(_RESULTS))


def code_of(entry: Entry) -> int:
    """The code of a message that is not shown only, and no user's with results."""
    if entry.kind == ASSISTANT:
        return min(ASSISTANT + CALL * len(entry.calls), MANY_CALLS)
    if not entry.results:
        return entry.kind
    if len(entry.results) == 1:
        return RESULT if entry.results[0].final else OPEN_RESULT
    if all(answer.final for answer in entry.results):
        return min(RESULT + CALL * len(entry.results), MANY_RESULTS)
    return MANY_RESULTS


class Linked(NamedTuple):
    """A message that makes calls, or that carries results."""

    message: int
    """Its index."""
    ids: Sequence[LinkId]
    """Those of its calls, or of the ones that it answers; of settled calls, in the
    order of their results."""
    settled: bool
    """Whether it makes calls that what stands right behind it answers."""
    together: bool = False
    """Whether it is one message that answers them."""


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
    """The kind of each message; 8 more for each call it makes (31 of them at most), for
    each of several results, or where its one result is not final."""
    call_ids: list[LinkId]
    """The ids of all calls, in order, save those of `MANY_CALLS`."""
    result_ids: list[LinkId]
    """The ids of the calls that the results answer, in order, save those of
    `MANY_RESULTS`."""
    keys_of: Callable[[int], list[CallKey]]
    """The calls that a message makes."""
    answers: Mapping[int, Sequence[Answer]] = {}
    """The results of the messages with the code `MANY_RESULTS`."""
    summaries: Sequence[int] = ()
    """The messages that stand for earlier ones, in order."""
    hosted: Mapping[int, Hosted] = {}
    """What messages hold of their provider's own doing, in order."""

    def strays(self) -> Iterator[Linked]:
        """Calls without their results right behind them, and other results, in order.

        Linear; a history without any costs a few passes in C.
        """
        if _alternate(self.codes) and self.call_ids == self.result_ids:
            return
        for part in self._parts():
            if not self._is_settled(part):
                yield from (link for link in self._links(part) if not link.settled)

    def answers_of(self, link: Linked) -> Sequence[Answer]:
        """The results of a message."""
        code = self.codes[link.message]
        if code == MANY_RESULTS:
            return self.answers[link.message]
        final = code != OPEN_RESULT
        return [
            Answer(found, None, final)
            if isinstance(found, str)
            else Answer(None, found[0], final)
            for found in link.ids
        ]

    def asked(self) -> set[LinkId]:
        """The ids of all calls."""
        ids = set(self.call_ids)
        at = self.codes.find(MANY_CALLS)
        while at >= 0:
            ids.update(map(link_id, self.keys_of(at)))
            at = self.codes.find(MANY_CALLS, at + 1)
        return ids

    def answered(self) -> dict[LinkId, list[int]]:
        """By id, the final results that stand right behind their calls, in order."""
        at: dict[LinkId, list[int]] = {}
        for link in self._links(_Part(0, len(self.codes), 0, 0)):
            if link.settled:
                place = link.message
                for call_id in link.ids:
                    place = link.message + 1 if link.together else place + 1
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
            result += results_in(block)
            start = stop

    def _is_settled(self, part: _Part) -> bool:
        block = self.codes[part.start : part.stop]
        if not _alternate(block):
            return False
        count = results_in(block)
        results = self.result_ids[part.result : part.result + count]
        return results == self.call_ids[part.call : part.call + count]

    def _links(self, part: _Part) -> Iterator[Linked]:
        start, stop, call, result = part
        codes, result_ids, after = self.codes, self.result_ids, 0
        for at in compress(range(start, stop), codes[start:stop].translate(_IS_LINKED)):
            if at < after:
                continue
            code = codes[at]
            if code % CALL == RESULT:
                end = result + _RESULTS[code]
                yield Linked(at, result_ids[result:end], settled=False)
                result = end
                continue
            if code == MANY_CALLS:
                ids: list[LinkId] = list(map(link_id, self.keys_of(at)))
            else:
                ids = self.call_ids[call : call + code // CALL]
                call += len(ids)
            count = len(ids)
            behind = codes[at + 1 : at + 1 + count]
            together = 1 < count < 31 and behind[:1] == bytes([RESULT + count * CALL])
            if together or behind == _FINAL * count:
                given = result_ids[result : result + count]
                if _are_the_same(given, ids):
                    yield Linked(at, given, settled=True, together=together)
                    result += count
                    after = at + 2 if together else at + 1 + count
                    continue
            yield Linked(at, ids, settled=False)


def _are_the_same(given: list[LinkId], ids: list[LinkId]) -> bool:
    """Whether results answer these calls, in whatever order.

    Names and ids together tell only in order: a name means a call that has an id, too.
    """
    if given == ids:
        return True
    kinds = {*map(type, given), *map(type, ids)}
    return len(kinds) == 1 and sorted(given) == sorted(ids)


def _alternate(codes: bytes) -> bool:
    """Whether as many final results as a message makes calls follow each, and no more.

    A few passes in C.
    """
    for answered, nothing in _ANSWERED:
        if answered[0] in codes:
            codes = codes.replace(answered, nothing)
    return not codes.translate(None, _UNLINKED)
