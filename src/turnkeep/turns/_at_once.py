from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from ._calls import OpenCall
from ._columns import KIND_OF, Columns, LinkId
from ._entries import ASSISTANT, HIDDEN, NOTE, RESULT, SYSTEM, USER, Answer, Entry
from ._grouping import Grouping
from ._late import late_answers
from ._marks import Marks

_BEGINS = bytes(kind != RESULT for kind in range(256))
_OPENS_TURN = bytes(kind == USER for kind in range(256))
_NO_STEP = bytes([RESULT])
_MANY = 1_024
_LINE = bytes([SYSTEM])
_LINE_BEHIND = bytes([RESULT, SYSTEM])
_TWO_ASSISTANTS = bytes([ASSISTANT, ASSISTANT])


def group_columns(
    columns: Columns,
    late: dict[int, list[int]] | None = None,
    *,
    lines_join: bool = False,
    stateful: bool = False,
) -> Grouping:
    """Group a whole history at once; the same as adding each of its messages.

    Linear, nearly all of it in C: only what is not answered on the spot is paired one
    by one.

    Args:
        columns:
            The history.
        late:
            Gets, by message, which of several results `late_answers` tells apart; they
            are paired before the others of their message.
        lines_join:
            See `Grouping`.
        stateful:
            See `Grouping`.
    """
    return _AtOnce(columns, late, lines_join=lines_join, stateful=stateful)


class _Stray(NamedTuple):
    """Results that do not stand right behind all that they answer."""

    carriers: list[int]
    """The messages of the calls that they answer."""
    homes: list[int]
    """The messages whose steps it belongs to: those, and where a result is one too
    many, the one that came first."""


class _AtOnce(Grouping):
    """Columns, grouped: numbers of steps and turns are found as they are asked for."""

    __slots__ = (
        "_answered",
        "_asked",
        "_begins",
        "_columns",
        "_first",
        "_late",
        "_looks",
        "_opens",
        "_seats",
        "_step_of",
        "_turn_first",
    )

    def __init__(
        self,
        columns: Columns,
        late: dict[int, list[int]] | None = None,
        *,
        lines_join: bool = False,
        stateful: bool = False,
    ) -> None:
        hosted = columns.hosted
        stateful = stateful or any(found.refers for found in hosted.values())
        super().__init__(lines_join=lines_join, stateful=stateful)
        self._columns = columns
        self._late = late
        self._asked: set[LinkId] | None = None
        """The ids of all calls."""
        self._answered: dict[LinkId, list[int]] | None = None
        """By id, the results that stand right behind their calls."""
        self.kinds = bytearray(columns.codes.translate(KIND_OF))
        self.summaries = list(columns.summaries)
        self.settings = {i for i, found in hosted.items() if found.sets_up}
        strays = self._pair()
        if lines_join:
            self._join_lines(strays)
        heads = bytearray(self.kinds)
        at = self.kinds.find(_TWO_ASSISTANTS)
        while at >= 0:
            heads[at + 1] = RESULT
            at = self.kinds.find(_TWO_ASSISTANTS, at + 1)
        for index, stray in strays.items():
            if not stray.homes:
                heads[index] = HIDDEN
        notes = self._notes()
        for index in notes:
            heads[index] = RESULT
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
        if strays or notes:
            self._seat(strays, notes)
        for index in self.lines:
            self.lines[index] = self.step_at(index)
        for index, found in hosted.items():
            self._host(index, found)
        if self.kinds:
            self._set_places(strays)

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

    def _notes(self) -> list[int]:
        """The messages of ours that stay with the step before them, in order."""
        found: list[int] = []
        at = self.kinds.find(NOTE, 1)
        while at >= 0:
            found.append(at)
            at = self.kinds.find(NOTE, at + 1)
        return found

    def _join_lines(self, strays: dict[int, _Stray]) -> None:
        """Take system messages behind rounds for parts of them; costs those."""
        kinds = self.kinds
        at = kinds.find(_LINE_BEHIND)
        while at >= 0:
            if self._ends_results(at, strays):
                at += 1
                while kinds[at : at + 1] == _LINE and at not in self.settings:
                    kinds[at] = NOTE
                    self.lines[at] = -1
                    at += 1
            else:
                at += 1
            at = kinds.find(_LINE_BEHIND, at)

    def _ends_results(self, index: int, strays: dict[int, _Stray]) -> bool:
        """Whether results up to *index* all answer the assistant's run before them."""
        kinds = self.kinds
        start = index
        carriers: list[int] = []
        while kinds[start] == RESULT and start > 0:
            stray = strays.get(start)
            if stray is not None:
                if not stray.carriers:
                    return False
                carriers += stray.carriers
            start -= 1
        if kinds[start] != ASSISTANT:
            return False
        while start > 0 and kinds[start - 1] == ASSISTANT:
            start -= 1
        return all(carrier >= start for carrier in carriers)

    def _pair(self) -> dict[int, _Stray]:
        """Pair what is not answered on the spot: the messages with such results."""
        columns = self._columns
        strays: dict[int, _Stray] = {}
        for link in columns.strays():
            index = link.message
            if self.kinds[index] == ASSISTANT:
                for position, key in enumerate(columns.keys_of(index)):
                    self._register(OpenCall(index, position, key))
                continue
            strays[index] = stray = _Stray([], [])
            answers = columns.answers_of(link)
            for position in self._positions(answers, index):
                self._answer(stray, index, position, answers[position])
        return strays

    def _positions(self, answers: Sequence[Answer], index: int) -> Sequence[int]:
        """The places of a message's results, in the order in which they are paired."""
        every = range(len(answers))
        if self._late is None:
            return every
        late = late_answers(self, answers, index)
        if not 0 < len(late) < len(answers):
            return every
        self._late[index] = late
        return [*late, *(nth for nth in every if nth not in late)]

    def _answer(self, stray: _Stray, index: int, position: int, answer: Answer) -> None:
        """Pair one result."""
        call = self._match(answer)
        if call is not None:
            stray.carriers.append(call.message)
            stray.homes.append(call.message)
            if call.answer is not None:
                self.superseded[call.answer] = index
            call.answer = (index, position)
            if answer.final:
                self._close(call, index, answer)
            return
        name = answer.id if answer.id is not None else f"\0{answer.name}"
        known = self._closed_before(name, index)
        said = answer.id if answer.id is not None else answer.name
        self._note_problem(index, position, said or "", known)
        if known is not None and known != index:
            stray.homes.append(known)

    def _seat(self, strays: dict[int, _Stray], notes: list[int]) -> None:
        """Give what was not answered on the spot, and notes, to their steps."""
        for index in sorted((*strays, *notes)):
            stray = strays.get(index)
            homes = [index - 1] if stray is None else stray.homes
            if not homes:
                continue
            step, *others = [self.step_at(home) for home in homes]
            if self._around(index) != step:
                self._seats[index] = step
                if self._step_of is not None:
                    self._step_of[index] = step
                self.late.setdefault(step, []).append(index)
            for other in others:
                if other != step:
                    self._share(step, other)
            if stray is not None and stray.carriers:
                self._note_place_of(index, stray, strays)

    def _note_place_of(
        self, index: int, stray: _Stray, strays: dict[int, _Stray]
    ) -> None:
        """Note if results do not stand right behind their calls."""
        before = index - 1
        place, run = -1, -1
        if self.kinds[before] == ASSISTANT:
            place, run = before, self.step_at(before)
        elif self.kinds[before] == RESULT:
            earlier = strays.get(before)
            if earlier is None:
                run = self.step_at(before)
            elif earlier.carriers:
                if before not in self.displaced:
                    place = earlier.carriers[0]
                if before not in self.displaced_run:
                    run = self.step_at(earlier.carriers[0])
        away = [carrier for carrier in stray.carriers if carrier != place]
        if away:
            self.displaced[index] = max(stray.carriers)
            if any(self.step_at(carrier) != run for carrier in away):
                self.displaced_run.add(index)

    def _set_places(self, strays: dict[int, _Stray]) -> None:
        """Leave the marks that `add` goes on from."""
        kinds, last = self.kinds, len(self.kinds) - 1
        if kinds[last] == ASSISTANT:
            self._run = self._run_results = self.step_at(last)
            if self._columns.codes[last] != ASSISTANT:
                self._place = last
        elif kinds[last] == RESULT:
            stray = strays.get(last)
            if stray is None:
                self._place = kinds.rfind(ASSISTANT)
                self._run_results = self.step_at(last)
            elif stray.carriers:
                if last not in self.displaced_run:
                    self._run_results = self.step_at(stray.carriers[0])
                if last not in self.displaced:
                    self._place = stray.carriers[0]

    def before_turn_of(self, length: int) -> None:
        """Nothing: what was closed right behind its call is not noted one by one."""
        del length

    def was_closed(self, call_id: str) -> bool:
        """See `Grouping.was_closed`."""
        return super().was_closed(call_id) or (
            self._closed_before(f"\0{call_id}", len(self.kinds)) is not None
        )

    def _closed_before(self, call_id: str | None, index: int) -> int | None:
        known = super()._closed_before(call_id, index)
        # Only histories with misfits pay for these indexes.
        if self._asked is None:
            self._asked = self._columns.asked()
        name = call_id or ""
        key: LinkId = (name[1:],) if name.startswith("\0") else name
        if key not in self._asked:
            return known
        if self._answered is None:
            self._answered = self._columns.answered()
        places = self._answered.get(key, ())
        at = bisect_left(places, index)
        if at and (known is None or places[at - 1] > known):
            known = places[at - 1]
        return known
