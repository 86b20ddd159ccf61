from __future__ import annotations

from array import array
from bisect import bisect_left

from ._calls import OpenCall, Problem
from ._columns import KIND_OF, OPEN_RESULT, Columns
from ._entries import ASSISTANT, HIDDEN, RESULT, USER, Answer, Entry
from ._grouping import Grouping
from ._marks import Marks

_BEGINS = bytes(kind != RESULT for kind in range(256))
_OPENS_TURN = bytes(kind == USER for kind in range(256))
_NO_STEP = bytes([RESULT])
_MANY = 1_024
_TWO_ASSISTANTS = bytes([ASSISTANT, ASSISTANT])


def group_columns(columns: Columns) -> Grouping:
    """Group a whole history at once; the same as adding each of its messages.

    Linear, nearly all of it in C: only what is not answered on the spot is paired one
    by one.
    """
    return _AtOnce(columns)


class _AtOnce(Grouping):
    """Columns, grouped: numbers of steps and turns are found as they are asked for."""

    __slots__ = (
        "_answered",
        "_asked",
        "_begins",
        "_columns",
        "_first",
        "_looks",
        "_opens",
        "_seats",
        "_step_of",
        "_turn_first",
    )

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self._columns = columns
        self._asked: set[str] | None = None
        """The ids of all calls."""
        self._answered: dict[str, list[int]] | None = None
        """By id, the results that stand right behind their calls."""
        self.kinds = bytearray(columns.codes.translate(KIND_OF))
        carriers, twins = self._pair()
        heads = bytearray(self.kinds)
        at = self.kinds.find(_TWO_ASSISTANTS)
        while at >= 0:
            heads[at + 1] = RESULT
            at = self.kinds.find(_TWO_ASSISTANTS, at + 1)
        for problem in self.problems:
            heads[problem.message] = RESULT if problem.message in twins else HIDDEN
        opens = heads.translate(_OPENS_TURN, _NO_STEP)
        opens[:1] = b"\1"[: len(opens)]
        self._begins = Marks(heads.translate(_BEGINS))
        """The messages that begin a step."""
        self._opens = Marks(opens)
        """The steps that open a turn."""
        self._first: array[int] | None = None
        self._turn_first: array[int] | None = None
        self._step_of: array[int] | None = None
        self._seats: dict[int, int] = {}
        """The steps of messages that stand behind a later one."""
        self._looks = 0
        """How often the step of a message was looked for."""
        if carriers or twins:
            self._seat_strays(carriers, twins)
        if self.kinds:
            self._set_places(carriers)

    @property
    def first(self) -> array[int]:
        """First message of each step; linear the first time."""
        if self._first is None:
            self._first = self._begins.places()
        return self._first

    @first.setter
    def first(self, first: array[int]) -> None:
        self._first = first

    @property
    def turn_first(self) -> array[int]:
        """First step of each turn; linear the first time."""
        if self._turn_first is None:
            self._turn_first = self._opens.places()
        return self._turn_first

    @turn_first.setter
    def turn_first(self, first: array[int]) -> None:
        self._turn_first = first

    @property
    def step_of(self) -> array[int]:
        """Step of each message; linear the first time."""
        if self._step_of is None:
            self._step_of = self._begins.numbers()
            for index, step in self._seats.items():
                self._step_of[index] = step
        return self._step_of

    @step_of.setter
    def step_of(self, steps: array[int]) -> None:
        self._step_of = steps

    @property
    def steps(self) -> int:
        """See `Grouping.steps`."""
        return self._begins.total if self._first is None else len(self._first)

    @property
    def turns(self) -> int:
        """See `Grouping.turns`."""
        made = self._turn_first
        return self._opens.total if made is None else len(made)

    def step_at(self, index: int) -> int:
        """See `Grouping.step_at`."""
        if self._step_of is None and self._looks < _MANY:
            self._looks += 1
            seat = self._seats.get(index)
            return self._around(index) if seat is None else seat
        return self.step_of[index]

    def _around(self, index: int) -> int:
        """The last step to begin at a message or before it."""
        return self._begins.before(index + 1) - 1

    def turn_of(self, step: int) -> int:
        """See `Grouping.turn_of`."""
        if self._turn_first is None:
            return self._opens.before(step + 1) - 1
        return super().turn_of(step)

    def steps_of(self, turn: int) -> range:
        """See `Grouping.steps_of`."""
        if self._turn_first is not None:
            return super().steps_of(turn)
        opens, last = self._opens, turn + 1 == self._opens.total
        return range(opens.nth(turn), self.steps if last else opens.nth(turn + 1))

    def span(self, start: int, stop: int) -> range:
        """See `Grouping.span`."""
        if self._first is not None:
            return super().span(start, stop)
        begins, total = self._begins, len(self.kinds)
        last = stop == begins.total
        return range(begins.nth(start), total if last else begins.nth(stop))

    def is_question(self, step: int) -> bool:
        """See `Grouping.is_question`."""
        if self._first is not None:
            return super().is_question(step)
        return self.kinds[self._begins.nth(step)] == USER

    def add(self, entry: Entry, meant_for: int = -1) -> int:
        """See `Grouping.add`; the first one makes all columns."""
        self.first, self.turn_first = self.first, self.turn_first
        self.step_of = self.step_of
        return super().add(entry, meant_for)

    def _pair(self) -> tuple[dict[int, int], dict[int, int]]:
        """Pair what is not answered on the spot.

        Returns:
            The call's message of each such result, and for each result too many the
            final result that came first.
        """
        columns = self._columns
        carriers: dict[int, int] = {}
        twins: dict[int, int] = {}
        for index, ids, _ in columns.strays():
            if self.kinds[index] == ASSISTANT:
                for position, key in enumerate(columns.keys_of(index)):
                    self._register(OpenCall(index, position, key))
                continue
            final = columns.codes[index] != OPEN_RESULT
            call = self._match(Answer(ids[0], None, final))
            if call is None:
                known = self._closed_before(ids[0], index)
                if known is not None:
                    twins[index] = known
                kind = "orphan_result" if known is None else "duplicate_result"
                self.problems.append(Problem(kind, index, 0, ids[0]))
                continue
            carriers[index] = call.message
            if call.answer is not None:
                self.superseded[call.answer] = index
            call.answer = (index, 0)
            if final:
                self._close(call, index)
        return carriers, twins

    def _seat_strays(self, carriers: dict[int, int], twins: dict[int, int]) -> None:
        """Give the results that were not answered on the spot to their steps."""
        misfits = {problem.message for problem in self.problems}
        for index in sorted((*carriers, *twins)):
            carrier = carriers.get(index)
            step = self.step_at(twins[index] if carrier is None else carrier)
            if self._around(index) != step:
                self._seats[index] = step
                if self._step_of is not None:
                    self._step_of[index] = step
                self.late.setdefault(step, []).append(index)
            if carrier is None:
                continue
            before = index - 1
            if before != carrier and (
                carriers.get(before) != carrier or before in self.displaced
            ):
                self.displaced[index] = carrier
            if (
                self.step_at(before) != step
                or before in misfits
                or before in self.displaced_run
            ):
                self.displaced_run.add(index)

    def _set_places(self, carriers: dict[int, int]) -> None:
        """Leave the marks that `add` goes on from."""
        kinds, last = self.kinds, len(self.kinds) - 1
        step = self.step_at(last)
        if kinds[last] == ASSISTANT:
            self._run = self._run_results = step
            if self._columns.codes[last] != ASSISTANT:
                self._place = last
        elif kinds[last] == RESULT and not (
            self.problems and self.problems[-1].message == last
        ):
            if last not in self.displaced_run:
                self._run_results = step
            if last not in self.displaced:
                self._place = carriers.get(last, kinds.rfind(ASSISTANT))

    def _closed_before(self, call_id: str | None, index: int) -> int | None:
        known = super()._closed_before(call_id, index)
        # Only histories with misfits pay for these indexes.
        if self._asked is None:
            self._asked = self._columns.asked()
        if call_id not in self._asked:
            return known
        if self._answered is None:
            self._answered = self._columns.answered()
        places = self._answered.get(call_id or "", ())
        at = bisect_left(places, index)
        if at and (known is None or places[at - 1] > known):
            known = places[at - 1]
        return known
