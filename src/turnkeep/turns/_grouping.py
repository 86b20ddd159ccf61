from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from ._calls import OpenCall, Problem, pick, take_out
from ._entries import (
    ASSISTANT,
    HIDDEN,
    NOTE,
    RESULT,
    SYSTEM,
    USER,
    Answer,
    CallKey,
    Entry,
)
from ._hosted import Does, Hosted, Memory


class Grouping:
    """Messages sorted into steps and turns, as they arrive. Columns, not objects."""

    __slots__ = (
        "_closed",
        "_hosts",
        "_names",
        "_open",
        "_place",
        "_reclosed",
        "_run",
        "_run_results",
        "answered",
        "displaced",
        "displaced_run",
        "first",
        "kinds",
        "late",
        "lines",
        "lines_join",
        "lost",
        "memories",
        "opened",
        "problems",
        "references",
        "renewed",
        "settings",
        "shared",
        "stateful",
        "step_of",
        "stored",
        "summaries",
        "superseded",
        "ties",
        "turn_first",
        "waiting",
    )

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        lines_join: bool = False,
        stateful: bool = False,
    ) -> None:
        """Group *entries*; more may be added later.

        Args:
            entries:
                How grouping sees each message.
            lines_join:
                Whether system messages behind a tool round are part of its step.
            stateful:
                Whether the provider keeps what stood before the first message.
        """
        self.stateful: bool = stateful
        """Whether the provider keeps calls that are not here: their results are
        whole."""
        self.stored: list[int] = []
        """Results whose call the provider keeps."""
        self.references: list[int] = []
        """Messages that are references to what the provider keeps, in order."""
        self.memories: list[tuple[int, Memory]] = []
        """Messages that hold a provider's memory, and its form, in order."""
        self.renewed: Sequence[int] = ()
        """Results that were changed since the model last spoke, in order."""
        self.settings: set[int] = set()
        """System messages that set something up, and are part of no round."""
        self.lost: dict[int, list[str]] = {}
        """By message, the calls that its provider's answers answer and nobody made."""
        self.waiting: dict[str, OpenCall] = {}
        """Calls of the provider's own that it has not answered, by id."""
        self._hosts: dict[str, int] = {}
        """By id, the message whose call others answer, or came out of."""
        self.lines_join: bool = lines_join
        """Whether system messages right behind a round's results belong to its step."""
        self.lines: dict[int, int] = {}
        """Those messages, and the step of each."""
        self.kinds: bytearray = bytearray()
        """Kind of each message."""
        self.step_of: array[int] = array("i")
        """Step of each message."""
        self.first: array[int] = array("i")
        """First message of each step."""
        self.turn_first: array[int] = array("i")
        """First step of each turn."""
        self.late: dict[int, list[int]] = {}
        """Messages of a step that stand behind a later step's beginning."""
        self.displaced: dict[int, int] = {}
        """Results that do not follow their call's own message: the latter's index, the
        newest one's where they answer several."""
        self.displaced_run: set[int] = set()
        """Those of them that do not follow the run that their call is part of."""
        self.superseded: dict[tuple[int, int], int] = {}
        """Results that were not final and have been replaced, and by which message."""
        self.problems: list[Problem] = []
        self.ties: dict[int, set[int]] = {}
        """Steps that can only leave together: they share a message, or the provider's
        own calls and answers tie them."""
        self.shared: set[int] = set()
        """Those of them that share a message."""
        self.summaries: list[int] = []
        """Messages that stand for earlier ones."""
        self.opened: Sequence[OpenCall] = ()
        """The calls of the newest message that makes any."""
        self.answered: Sequence[OpenCall] = ()
        """The calls that the newest message with results answers, for good or not."""
        self._open: dict[str | None, list[OpenCall]] = {}
        self._closed: dict[str | None, int] = {}
        """By id, the result that closed a call of it last."""
        self._reclosed: dict[str | None, list[int]] = {}
        """The results that closed calls of an id before those, oldest first."""
        self._names: dict[str, list[OpenCall]] | None = None
        self._run = -1  # the step whose assistant entries may still go on
        self._place = -1  # the call message whose unbroken results we are in
        self._run_results = -1  # the step whose unbroken results we are in
        for entry in entries:
            self.add(entry)

    def _closed_before(self, call_id: str | None, index: int) -> int | None:
        """The result, before *index*, that closed a call of that id last."""
        del index  # messages are added in their order
        return self._closed.get(call_id)

    def __len__(self) -> int:
        """Number of messages."""
        return len(self.kinds)

    def add(self, entry: Entry, meant_for: int = -1) -> int:
        """Add a message; returns its step. Amortised constant time.

        Args:
            entry:
                The message.
            meant_for:
                The message whose call it answers, where that is known: an id alone may
                name several open calls.
        """
        step = self._add(entry, meant_for)
        if entry.hosted is not None:
            self._host(len(self.kinds) - 1, entry.hosted)
        return step

    def _add(self, entry: Entry, meant_for: int) -> int:
        kind, calls, results, is_summary, hosted = entry
        index = len(self.kinds)
        if (
            kind == SYSTEM
            and self.lines_join
            and not (hosted is not None and hosted.sets_up)
            and self._ends_round(index - 1)
        ):
            self.lines[index] = len(self.first) - 1
            kind = NOTE
        if is_summary:
            self.summaries.append(index)
        self.kinds.append(kind)
        if kind == ASSISTANT:
            step = self._run
            if step < 0:
                step = self._run = self._begin(index)
            else:
                self.step_of.append(step)
            self._run_results = step
            if calls:
                self._place = index
                self.opened = made = [
                    OpenCall(index, n, key) for n, key in enumerate(calls)
                ]
                for call in made:
                    self._register(call)
            else:
                self._place = -1
            return step
        if kind == HIDDEN and self.first:
            step = len(self.first) - 1
            self.step_of.append(step)
            return step
        if kind == NOTE and self.first:
            step = self.step_of[-1]
            self.step_of.append(step)
            if step != len(self.first) - 1:
                self.late.setdefault(step, []).append(index)
            self._run = self._place = self._run_results = -1
            return step
        if results:
            return self._add_results(index, kind, results, meant_for)
        self._run = self._place = self._run_results = -1
        step = self._begin(index)
        if kind == USER and self.turn_first[-1] != step:
            self.turn_first.append(step)
        return step

    def _ends_round(self, index: int) -> bool:
        """Whether a message ends the results, or the system text, of the newest step.

        Results that stand where they belong: others leave their place.
        """
        if index in self.lines:
            return True
        newest = len(self.first) - 1
        return (
            index >= 0 and self.kinds[index] == RESULT and self._run_results == newest
        )

    def _begin(self, index: int) -> int:
        step = len(self.first)
        self.first.append(index)
        self.step_of.append(step)
        if not step:
            self.turn_first.append(0)
        return step

    def _register(self, call: OpenCall) -> None:
        self._open.setdefault(call.id, []).append(call)
        if self._names is not None:
            self._names.setdefault(call.name, []).append(call)

    def _add_results(
        self, index: int, kind: int, results: tuple[Answer, ...], meant_for: int
    ) -> int:
        self._run = -1
        if len(results) == 1 and kind == RESULT:
            call = self._match(results[0], meant_for)
            if call is not None and call.message == self._place:
                # Right behind its call, or behind other results of it: most are.
                return self._add_at_place(index, call, results[0])
        steps: list[int] = []
        carriers: list[int] = []
        self.answered = answered = []
        for position, answer in enumerate(results):
            call = self._match(answer, meant_for)
            if call is not None:
                carriers.append(call.message)
                answered.append(call)
                steps.append(self.step_of[call.message])
                if call.answer is not None:
                    self.superseded[call.answer] = index
                call.answer = (index, position)
                if answer.final:
                    self._close(call, index, answer)
                continue
            key = answer.id if answer.id is not None else answer.name
            known = self._closed_before(
                answer.id if answer.id is not None else f"\0{answer.name}", index
            )
            self._note_problem(index, position, key or "", known)
            if known is not None and known != index:
                steps.append(self.step_of[known])
        if kind == USER or not steps:
            # An orphan alone, or a user's own words in the same message.
            step = self._begin(index)
            if kind == USER and self.turn_first[-1] != step:
                self.turn_first.append(step)
        else:
            step = steps[0]
            self.step_of.append(step)
            if step != len(self.first) - 1:
                self.late.setdefault(step, []).append(index)
        for other in steps:
            if other != step:
                self._share(step, other)
        self._note_place(index, carriers)
        if kind == USER or not carriers:
            # Words end a run of results, and so does what answers nothing.
            self._place = self._run_results = -1
        return step

    def _note_problem(
        self, index: int, position: int, key: str, known: int | None
    ) -> None:
        """Note a result that answers no open call; *known*: what closed its call."""
        kind = "orphan_result" if known is None else "duplicate_result"
        problem = Problem(kind, index, position, key)
        if known is None and self.stateful:
            self.stored.append(index)
        else:
            self.problems.append(problem)

    def _host(self, index: int, hosted: Hosted) -> None:
        """Take in what a message holds of the provider's own doing."""
        step = self.step_at(index)
        if hosted.memory is not None:
            self.memories.append((index, hosted.memory))
        if hosted.sets_up:
            self.settings.add(index)
        if hosted.refers:
            self.references.append(index)
            self._keep_elsewhere()
        for does, name, tool in hosted.links:
            if does is Does.CALL:
                key = CallKey(name, tool, "server_tool")
                self.waiting[name] = OpenCall(index, -1, key)
            if does in (Does.CALL, Does.OFFER):
                self._hosts[name] = index
                continue
            if does is Does.ANSWER:
                self.waiting.pop(name, None)
            home = self._hosts.get(name)
            if home is None and does is Does.ANSWER and not tool:
                self.lost.setdefault(index, []).append(name)
            if home is not None and (other := self.step_at(home)) != step:
                self._tie(step, other)

    def _keep_elsewhere(self) -> None:
        """The provider keeps calls that are not here: orphans are whole after all."""
        self.stateful = True
        orphans = [p for p in self.problems if p.kind == "orphan_result"]
        if orphans:
            self.stored = sorted({*self.stored, *(p.message for p in orphans)})
            self.problems = [p for p in self.problems if p.kind != "orphan_result"]

    def before_turn_of(self, length: int) -> tuple[Grouping, int] | None:
        """The grouping of what stands before the turn that message *length* - 1 is in.

        Costs what stands behind it, and copies of the columns; what was grouped before
        stays as it is.

        Returns:
            The grouping and how many messages it holds: the rest of the first *length*
            is to be added. Nothing where what goes concerns what stays: a late answer,
            a second one, what the provider does itself, calls without ids.
        """
        at = self.kinds.rfind(USER, 0, length)
        if at <= 0 or self._names is not None or self._is_hosted():
            return None
        step, step_of = self.step_of[at], self.step_of
        if (
            self.first[step] != at
            or min(step_of[at:]) < step
            or any(problem.message >= at for problem in self.problems)
            or any(by >= at for by in self.superseded.values())
            or any(step <= s and min(group) < step for s, group in self.ties.items())
        ):
            return None
        made = Grouping(lines_join=self.lines_join, stateful=self.stateful)
        made.kinds, made.step_of = self.kinds[:at], step_of[:at]
        made.first = self.first[:step]
        made.turn_first = self.turn_first[: bisect_left(self.turn_first, step)]
        made.late = {s: late for s, late in self.late.items() if s < step}
        made.displaced = {i: of for i, of in self.displaced.items() if i < at}
        made.displaced_run = {i for i in self.displaced_run if i < at}
        made.superseded, made.problems = {**self.superseded}, [*self.problems]
        made.ties = {s: group for s, group in self.ties.items() if s < step}
        made.shared = {s for s in self.shared if s < step}
        made.summaries = [i for i in self.summaries if i < at]
        for name, stack in self._open.items():
            if earlier := [call for call in stack if call.message < at]:
                made._open[name] = earlier
        made._closed = self._closed_until(at)
        made._reclosed = {
            name: before
            for name, indexes in self._reclosed.items()
            if (before := [i for i in indexes if i < made._closed.get(name, -1)])
        }
        return made, at

    def _is_hosted(self) -> bool:
        """Whether the provider does something itself, or keeps or has read it."""
        return bool(
            self.memories
            or self.references
            or self.settings
            or self.waiting
            or self._hosts
            or self.lost
            or self.stored
            or self.lines
        )

    def _closed_until(self, at: int) -> dict[str | None, int]:
        """By id, the result before *at* that closed a call of it last."""
        closed = {name: index for name, index in self._closed.items() if index < at}
        for name, indexes in self._reclosed.items():
            if name not in closed and indexes[0] < at:
                closed[name] = indexes[bisect_left(indexes, at) - 1]
        return closed

    def together(self, step: int) -> Collection[int]:
        """The steps that can only leave together with *step*, itself included."""
        return self.ties.get(step) or (step,)

    @property
    def memory(self) -> tuple[int, Memory] | None:
        """The message that holds the provider's newest memory, and its form."""
        return self.memories[-1] if self.memories else None

    def _note_place(self, index: int, carriers: list[int]) -> None:
        """Note where results stand that do not follow their calls, in *carriers*."""
        strays = [carrier for carrier in carriers if carrier != self._place]
        if not strays:
            return
        self.displaced[index] = max(carriers)
        self._place = -1
        if any(self.step_of[carrier] != self._run_results for carrier in strays):
            self.displaced_run.add(index)
            self._run_results = -1

    def _add_at_place(self, index: int, call: OpenCall, answer: Answer) -> int:
        """Add a result of the call message whose results are being read."""
        self.answered = (call,)
        if call.answer is not None:
            self.superseded[call.answer] = index
        call.answer = (index, 0)
        if answer.final:
            self._close(call, index, answer)
        step = self.step_of[call.message]
        self.step_of.append(step)
        return step

    def _match(self, answer: Answer, meant_for: int = -1) -> OpenCall | None:
        """The open call that *answer* belongs to."""
        if meant_for >= 0:
            name = answer.id if answer.id is not None else answer.name or ""
            there = [c for c in self.open_of(name) if c.message == meant_for]
            return pick(there, final=answer.final) if there else None
        if answer.id is None:
            return self._match_name(answer)
        stack = self._open.get(answer.id)
        if stack is None:
            return None
        return pick(stack, final=answer.final)

    def _match_name(self, answer: Answer) -> OpenCall | None:
        if self._names is None:
            # Only histories with results that have no id pay for this second index.
            self._names = {}
            calls = sorted(
                (call for stack in self._open.values() for call in stack),
                key=lambda call: (call.message, call.position),
            )
            for call in calls:
                self._names.setdefault(call.name, []).append(call)
        stack = self._names.get(answer.name or "")
        if stack is None:
            return None
        while stack and not stack[-1].open:
            stack.pop()
        return pick(stack, final=answer.final) if stack else None

    def _close(self, call: OpenCall, index: int, answer: Answer) -> None:
        call.open = False
        stack = self._open[call.id]
        if len(stack) == 1:
            del self._open[call.id]
        else:
            take_out(stack, call)
        if self._names is not None:
            take_out(self._names[call.name], call)
        if answer.id is None:
            self._closed[f"\0{call.name}"] = index
        if call.id in self._closed:
            self._reclosed.setdefault(call.id, []).append(self._closed[call.id])
        self._closed[call.id] = index

    def _share(self, left: int, right: int) -> None:
        """Tie steps that share a message."""
        self.shared |= {left, right}
        self._tie(left, right)

    def _tie(self, left: int, right: int) -> None:
        group = self.ties.get(left, {left}) | self.ties.get(right, {right})
        for step in group:
            self.ties[step] = group

    @property
    def open_calls(self) -> list[OpenCall]:
        """Calls without a final result, in their order. Costs their number."""
        if not self._open:
            return []
        calls = [call for stack in self._open.values() for call in stack]
        if len(calls) > 1:
            calls.sort(key=lambda call: (call.message, call.position))
        return calls

    def open_of(self, call_id: str) -> list[OpenCall]:
        """The open calls of that id (or, where calls have no ids, of that name)."""
        found = self._open.get(call_id, [])
        if found:
            return list(found)
        return [call for call in self._open.get(None, ()) if call.name == call_id]

    def was_closed(self, call_id: str) -> bool:
        """Whether a call of that id has had its final result."""
        return (
            self._closed_before(call_id, len(self.kinds)) is not None
            or f"\0{call_id}" in self._closed
        )

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.first)

    @property
    def turns(self) -> int:
        """Number of turns, the preamble included."""
        return len(self.turn_first)

    def step_at(self, index: int) -> int:
        """The step of a message: for a few of them, where `step_of` may be long."""
        return self.step_of[index]

    def turn_of(self, step: int) -> int:
        """The turn of a step. Logarithmic."""
        return bisect_right(self.turn_first, step) - 1

    def steps_of(self, turn: int) -> range:
        """The steps of a turn."""
        last = turn + 1 == len(self.turn_first)
        stop = len(self.first) if last else self.turn_first[turn + 1]
        return range(self.turn_first[turn], stop)

    def span(self, start: int, stop: int) -> range:
        """The messages from the beginning of step *start* up to that of step *stop*."""
        last = stop == len(self.first)
        return range(self.first[start], len(self.kinds) if last else self.first[stop])

    def members(self, step: int) -> list[int]:
        """The messages of a step, in order; costs their number and what is between."""
        span = self.span(step, step + 1)
        if not self.late:
            return list(span)
        if len(span) == 1 and step not in self.late:
            return [span.start]
        step_at = self.step_at
        return [i for i in span if step_at(i) == step] + self.late.get(step, [])

    def is_question(self, step: int) -> bool:
        """Whether the step is the user message that opens its turn."""
        return self.kinds[self.first[step]] == USER

    def question_of(self, turn: int) -> int | None:
        """The step of a turn's user message; the preamble has none."""
        step = self.steps_of(turn).start
        return step if self.is_question(step) else None

    def unread(self) -> list[int]:
        """The results that the model has said nothing after, in order.

        Those that were changed since it last spoke are among them.

        A look from the end, in C, and the results that it finds.
        """
        kinds = self.kinds
        found = list(self.renewed)
        at = kinds.find(RESULT, kinds.rfind(ASSISTANT) + 1)
        while at >= 0:
            found.append(at)
            at = kinds.find(RESULT, at + 1)
        return found

    @property
    def newest(self) -> int | None:
        """The step that holds the last message that is sent at all."""
        kinds, index = self.kinds, len(self.kinds) - 1
        while index >= 0 and kinds[index] == HIDDEN:
            index -= 1
        return self.step_at(index) if index >= 0 else None

    def round_in_progress(self, gone: Collection[int] = ()) -> int | None:
        """The step of the last messages of the assistant's, if they make calls.

        Whatever stands behind their results, and while those are still missing.
        Costs what stands behind, and the step.

        Args:
            gone:
                Messages that no window holds.
        """
        kinds = self.kinds
        at = kinds.rfind(ASSISTANT)
        while at >= 0 and at in gone:
            at = kinds.rfind(ASSISTANT, 0, at)
        if at < 0:
            return None
        step = self.step_at(at)
        calls = (
            step in self.shared
            or any(kinds[index] == RESULT for index in self.members(step))
            or any(self.step_at(call.message) == step for call in self.open_calls)
        )
        return step if calls else None

    def needs_stand_in(self, call: OpenCall, *, per_message: bool = True) -> bool:
        """Whether an open call cannot be sent bare.

        It can where nothing but its own step's results follows (the caller is about to
        answer), and needs nothing where an answer that is not final is there already.

        Args:
            call:
                The call.
            per_message:
                Whether results must follow the call's own message, rather than the
                whole run of assistant entries that it is part of.
        """
        return call.answer is None and self.is_followed(call, per_message=per_message)

    def is_followed(self, call: OpenCall, *, per_message: bool = True) -> bool:
        """Whether something stands behind a call that is not its own step's result."""
        step = self.step_at(call.message)
        kinds, step_of = self.kinds, self.step_at
        for index in range(call.message + 1, len(kinds)):
            kind = kinds[index]
            if kind == HIDDEN or (kind == RESULT and step_of(index) == step):
                continue
            if kind == ASSISTANT and step_of(index) == step and not per_message:
                continue
            return True
        return False
