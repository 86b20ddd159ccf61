from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate, compress

from ._calls import OpenCall, Problem
from ._columns import KIND_OF, OPEN_RESULT, Columns
from ._entries import ASSISTANT, HIDDEN, RESULT, USER, Answer
from ._grouping import Grouping

_BEGINS = bytes(kind != RESULT for kind in range(256))
_OPENS_TURN = bytes(kind == USER for kind in range(256))
_NO_STEP = bytes([RESULT])
_TWO_ASSISTANTS = bytes([ASSISTANT, ASSISTANT])
_FEW = 64


def group_columns(columns: Columns) -> Grouping:
    """Group a whole history at once; the same as adding each of its messages.

    Linear, nearly all of it in C: only what is not answered on the spot is paired one
    by one.
    """
    return _AtOnce(columns)


class _AtOnce(Grouping):
    """Columns, grouped; the step of each message is noted when many are asked for."""

    __slots__ = ("_answered", "_begins", "_columns", "_looks", "_step_of")

    _step_of: array[int] | None

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self._columns = columns
        self._answered: dict[str, list[int]] | None = None
        """By id, the results that stand right behind their calls."""
        self._looks = 0
        """How often a step has been looked up."""
        self.kinds = bytearray(columns.codes.translate(KIND_OF))
        if not self.kinds:
            return
        carriers, twins = self._pair()
        heads = bytearray(self.kinds)
        at = self.kinds.find(_TWO_ASSISTANTS)
        while at >= 0:
            heads[at + 1] = RESULT
            at = self.kinds.find(_TWO_ASSISTANTS, at + 1)
        for problem in self.problems:
            heads[problem.message] = RESULT if problem.message in twins else HIDDEN
        self._begins = heads.translate(_BEGINS)
        """Whether each message begins a step."""
        self._step_of = None
        self.first = array("i", compress(range(len(heads)), self._begins))
        opens = heads.translate(_OPENS_TURN, _NO_STEP)
        opens[0] = 1
        self.turn_first = array("i", compress(range(len(opens)), opens))
        if carriers or twins:
            self._seat_strays(carriers, twins)
        self._set_places(carriers)

    @property
    def step_of(self) -> array[int]:
        """Step of each message; linear the first time."""
        if self._step_of is None:
            # From a list: an array that grows item by item takes twice as long.
            steps = list(accumulate(self._begins, initial=-1))
            self._step_of = array("i", steps)[1:]
        return self._step_of

    @step_of.setter
    def step_of(self, steps: array[int]) -> None:
        self._step_of = steps

    def step_at(self, index: int) -> int:
        """See `Grouping.step_at`; the first few cost a search."""
        if self._step_of is None and self._looks < _FEW:
            self._looks += 1
            return bisect_right(self.first, index) - 1
        return self.step_of[index]

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
        step_of = self.step_of
        misfits = {problem.message for problem in self.problems}
        for index in sorted((*carriers, *twins)):
            carrier = carriers.get(index)
            step = step_of[twins[index] if carrier is None else carrier]
            if step_of[index] != step:
                step_of[index] = step
            if bisect_right(self.first, index) - 1 != step:
                self.late.setdefault(step, []).append(index)
            if carrier is None:
                continue
            before = index - 1
            if before != carrier and (
                carriers.get(before) != carrier or before in self.displaced
            ):
                self.displaced[index] = carrier
            if (
                step_of[before] != step
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
        if self._answered is None:
            # Only histories with misfits pay for this index.
            self._answered = self._columns.answered()
        places = self._answered.get(call_id or "", ())
        at = bisect_left(places, index)
        if at and (known is None or places[at - 1] > known):
            known = places[at - 1]
        return known
