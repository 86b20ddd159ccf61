from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

import attrs

from turnkeep.model import (
    BRIDGE,
    STAND_IN_TEXT,
    Message,
    PinScope,
    Role,
    Thinking,
    ToolResult,
    mark,
)
from turnkeep.plans import Cause, Inserted
from turnkeep.policy import NO_DEMANDS, Policy, held_besides
from turnkeep.turns import (
    ASSISTANT,
    HIDDEN,
    OURS,
    RESULT,
    SYSTEM,
    USER,
    Grouping,
    OpenCall,
    early_answers,
)

from ._views import HistoryView, Progress

BRIDGE_ANSWER: Final = mark(BRIDGE, "The tools have answered; the user went on.")
"""Stands between a stand-in and a user message where the model must speak first."""


BRIDGE_END: Final = mark(
    BRIDGE, "A tool has answered since: its result stands with its call above. Go on."
)
"""Stands last where the list would end on the assistant's side."""


_AFTERTHOUGHTS: Final = (bytes([RESULT]), bytes([HIDDEN]), bytes([SYSTEM]))
"""Kinds of a last message that may leave the end to what stands before it."""


class Source(Protocol):
    """Where the messages of a history come from, and what they cost."""

    def count(self, index: int) -> int:
        """Tokens of a message; counted now if they have not been."""
        ...

    def message(self, index: int) -> Message:
        """The message itself; decoded now if it has not been."""
        ...

    def reasoning(self) -> Sequence[int]:
        """The assistant's messages that hold reasoning, in order."""
        ...

    def id(self, index: int) -> str:
        """Id of a message: its own, or its index."""
        ...

    def cost(self, message: Message) -> int:
        """Tokens of a message that is not in the history."""
        ...

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        ...

    def apply(self, plan: Any, messages: Any) -> Any:
        """The window that *plan* leaves of *messages*, in their shape."""
        ...


@attrs.frozen
class Rules:
    """What the caller asked for, beside budget and strategy."""

    pins: Mapping[int, PinScope] = {}
    """Pinned messages by index."""
    awaited: Callable[[OpenCall], bool] | None = None
    """Whether an open call is still waited for; `None`: all of them are."""
    drop_system: bool = False
    repair: bool = True
    """Whether orphans, duplicates and replaced placeholders are left out."""
    stand_ins: bool = True
    """Whether open calls that others follow get a stand-in."""
    stand_in_text: str = STAND_IN_TEXT
    per_message: bool = True
    """Whether results must follow their call's own message (see `needs_stand_in`)."""
    demands: Policy = NO_DEMANDS
    """What the provider demands of a window."""


class History:
    """Steps, their tokens, and what holds them, for one plan.

    Making one costs the number of pins, systems and open calls, not of messages.
    """

    def __init__(self, grouping: Grouping, source: Source, rules: Rules) -> None:
        """See the class; nothing is counted yet."""
        self.grouping = grouping
        self.source = source
        self.rules = rules
        self.gone: dict[int, str] = {}
        """Messages that no window holds, and why."""
        self.mended: dict[int, Message] = {}
        """Messages that lose one of several results."""
        self.stripped: set[int] = set()
        """Messages that lose their reasoning: a change before them makes it invalid."""
        self.sealed: set[int] = set()
        """Steps that stay as they are because signed reasoning behind them does."""
        self._tokens: dict[int, int] = {}
        self._stand_ins: dict[int, list[tuple[OpenCall, Message, int]]] = {}
        if rules.repair and (grouping.problems or grouping.superseded):
            self._mend()
        self.early: dict[int, OpenCall] = {}
        """Results that stood before their call: a window has them behind it."""
        if rules.repair and grouping.problems:
            for index, (position, call) in early_answers(grouping).items():
                self._put_behind(index, position, call)
        answered = {*self.early.values()}
        self.open_calls: list[OpenCall] = [
            call for call in grouping.open_calls if call not in answered
        ]
        if rules.stand_ins:
            for call in self.open_calls:
                if grouping.needs_stand_in(call, per_message=rules.per_message):
                    self._add_stand_in(call)
        self._bridges: dict[int, list[tuple[int, Message, int]]] = {}
        if rules.demands.answers_tools and self._stand_ins:
            self._bridge_tools()
        if rules.demands.ends_with_user and grouping.kinds[-1:] in _AFTERTHOUGHTS:
            self._bridge_end()

    def _bridge_tools(self) -> None:
        """Let the model say a word between a stand-in and the user's next message."""
        grouping = self.grouping
        kinds, step_of, total = grouping.kinds, grouping.step_of, len(grouping)
        for step, waiting in self._stand_ins.items():
            at = waiting[-1][0].message + 1
            while at < total and (step_of[at] == step or kinds[at] == HIDDEN):
                at += 1
            # Words that come with another result of the step follow that one.
            answers = at < total and step_of[at] in grouping.ties.get(step, ())
            if at < total and kinds[at] in (USER, OURS) and not answers:
                said = Message.assistant(BRIDGE_ANSWER, kind="bridge")
                self._add_bridge(step, at - 1, said)

    def _bridge_end(self) -> None:
        """Let the list end on the user's side where its last result moves away."""
        grouping, newest = self.grouping, self.grouping.newest
        kinds = grouping.kinds
        moved = grouping.displaced if self.rules.per_message else grouping.displaced_run
        last = len(grouping) - 1
        leaves = False
        while last >= 0:
            if last in moved or last in self.gone:
                leaves = True
            elif kinds[last] not in (SYSTEM, HIDDEN):
                break
            last -= 1
        if (
            newest is not None
            and leaves
            and last >= 0
            and kinds[last] == ASSISTANT
            and grouping.step_of[last] not in self._stand_ins
        ):
            said = Message.user(BRIDGE_END, kind="bridge")
            self._add_bridge(newest, len(grouping) - 1, said)

    def _add_bridge(self, step: int, after: int, message: Message) -> None:
        cost = self.source.cost(message)
        self._bridges.setdefault(step, []).append((after, message, cost))

    def additions(self, step: int) -> Iterator[Inserted]:
        """The messages of ours that are sent when the step is."""
        for call, message, cost in self.stand_ins(step):
            early = call in self.early.values()
            cause = Cause.REPAIR if early else Cause.OPEN_CALL
            yield Inserted(call.message, message, cost, cause, call.key)
        for after, message, cost in self._bridges.get(step, ()):
            yield Inserted(after, message, cost, Cause.PROFILE)

    def with_additions(self) -> list[int]:
        """The steps that have such messages, in order."""
        return sorted({*self._stand_ins, *self._bridges})

    def added_tokens(self, step: int) -> int:
        """Tokens of those messages."""
        total = sum(cost for _, _, cost in self._stand_ins.get(step, ()))
        if self._bridges:
            total += sum(cost for _, _, cost in self._bridges.get(step, ()))
        return total

    def _mend(self) -> None:
        """Find what is left of messages whose results are orphans, twice or late."""
        bad: dict[int, dict[int, str]] = {}
        for problem in self.grouping.problems:
            bad.setdefault(problem.message, {})[problem.position] = Cause.REPAIR
        for replaced, position in self.grouping.superseded:
            bad.setdefault(replaced, {})[position] = Cause.RESOLVED
        for index, positions in bad.items():
            message = self.source.message(index)
            kept = []
            nth = -1
            for block in message.content:
                if isinstance(block, ToolResult):
                    nth += 1
                    if nth in positions:
                        continue
                kept.append(block)
            if kept:
                self.mended[index] = message.evolve(content=tuple(kept))
            else:
                self.gone[index] = next(iter(positions.values()))

    def _put_behind(self, index: int, position: int, call: OpenCall) -> None:
        """Send a result that stands before its call behind it."""
        message = self.source.message(index)
        result = message.tool_results[position]
        if not result.final:
            return
        self.early[index] = call
        if len(message.content) > 1:
            message = message.evolve(
                id=None, role=Role.TOOL_RESULT, content=(result,), layout=None
            )
        step = self.grouping.step_at(call.message)
        cost = self.source.cost(message)
        self._stand_ins.setdefault(step, []).append((call, message, cost))

    def _add_stand_in(self, call: OpenCall) -> None:
        message = Message.tool_result(
            call.id, self.rules.stand_in_text, pending=True, tool_name=call.name
        )
        step = self.grouping.step_at(call.message)
        cost = self.source.cost(message)
        self._stand_ins.setdefault(step, []).append((call, message, cost))

    def strip(self, indexes: Iterable[int]) -> None:
        """Send these messages without their reasoning; what is only that goes."""
        for index in indexes:
            message = self.mended.get(index) or self.source.message(index)
            left = tuple(b for b in message.content if not isinstance(b, Thinking))
            if left:
                self.mended[index] = message.evolve(content=left)
            else:
                self.gone[index] = Cause.PROFILE
            self.stripped.add(index)
        self._tokens.clear()
        self._forget_holds()

    def seal(self, steps: Iterable[int]) -> None:
        """Hold these steps unchanged; replaces what was sealed before."""
        self.sealed = {*steps}
        self._forget_holds()

    def _forget_holds(self) -> None:
        for name in ("_holds", "held", "soft"):
            self.__dict__.pop(name, None)

    def stand_ins(self, step: int) -> list[tuple[OpenCall, Message, int]]:
        """The stand-ins a step needs when it is sent: call, message, tokens."""
        return self._stand_ins.get(step, [])

    def visible(self, step: int) -> list[int]:
        """The step's messages that a window would hold."""
        members = self.grouping.members(step)
        kinds, gone = self.grouping.kinds, self.gone
        return [i for i in members if i not in gone and kinds[i] != HIDDEN]

    def is_visible(self, index: int) -> bool:
        """Whether a window that keeps the message's step would hold it."""
        return index not in self.gone and self.grouping.kinds[index] != HIDDEN

    def message_tokens(self, index: int) -> int:
        """Tokens a message has in a window, mended but not otherwise edited."""
        if not self.is_visible(index):
            return 0
        mended = self.mended.get(index)
        return self.source.count(index) if mended is None else self.source.cost(mended)

    def tokens(self, step: int) -> int:
        """Tokens a step has in a window, its stand-ins included; counted once."""
        known = self._tokens.get(step)
        if known is None:
            known = sum(map(self.message_tokens, self.visible(step)))
            known += self.added_tokens(step)
            self._tokens[step] = known
        return known

    def total(self, counts: Sequence[int]) -> int:
        """Tokens of all steps, from the *counts* of all messages.

        Costs a sum, and what a window would hold otherwise.
        """
        total = sum(counts)
        hidden = set(self.gone)
        at = self.grouping.kinds.find(HIDDEN)
        while at >= 0:
            hidden.add(at)
            at = self.grouping.kinds.find(HIDDEN, at + 1)
        for index in hidden:
            total -= counts[index]
        for index, message in self.mended.items():
            if index not in hidden:
                total += self.source.cost(message) - counts[index]
        return total + sum(map(self.added_tokens, self.with_additions()))

    @cached_property
    def held(self) -> dict[int, str]:
        """Steps that no strategy may drop, and the first cause that holds them."""
        return self._holds[0]

    @cached_property
    def soft(self) -> frozenset[int]:
        """Steps that go last, and only when the hard budget demands it."""
        return self._holds[1]

    @cached_property
    def summaries(self) -> frozenset[int]:
        """Steps that stand for earlier ones; only another summary replaces them."""
        return frozenset(self.grouping.step_of[i] for i in self.grouping.summaries)

    @cached_property
    def _holds(self) -> tuple[dict[int, str], frozenset[int]]:
        grouping, rules = self.grouping, self.rules
        held: dict[int, str] = {}
        soft: set[int] = set()
        for step in self._system_steps():
            held[step] = Cause.SYSTEM
        turns: set[int] = set()
        for index, scope in sorted(rules.pins.items()):
            step = grouping.step_at(index)
            held.setdefault(step, Cause.PINNED)
            if scope == "turn":
                turns.add(grouping.turn_of(step))
        for turn in sorted(turns):
            steps = grouping.steps_of(turn)
            question = grouping.question_of(turn)
            if question is not None:
                held.setdefault(question, Cause.PINNED)
            last = self._last_said(steps)
            if last is not None:
                held.setdefault(last, Cause.PINNED)
            soft.update(steps)
        for call in self.pending:
            step = grouping.step_at(call.message)
            held.setdefault(step, Cause.PENDING)
            question = grouping.question_of(grouping.turn_of(step))
            if question is not None:
                held.setdefault(question, Cause.PENDING)
        # What a summary stands for is gone from the list, so it goes last of all.
        soft.update(self.summaries)
        self._hold_current(held)
        for step in self.sealed:
            held.setdefault(step, Cause.SIGNATURE)
        for step in held_besides(grouping, held, rules.demands):
            held.setdefault(step, Cause.PROFILE)
        for group in grouping.ties.values():
            causes = [held[step] for step in group if step in held]
            for step in group if causes else ():
                held.setdefault(step, causes[0])
        return held, frozenset(soft - held.keys())

    @cached_property
    def newest(self) -> int | None:
        """The step of the last message that a window can hold."""
        grouping, gone = self.grouping, self.gone
        if not gone:
            return grouping.newest
        for index in range(len(grouping) - 1, -1, -1):
            if index not in gone and grouping.kinds[index] != HIDDEN:
                return grouping.step_at(index)
        return None

    def _hold_current(self, held: dict[int, str]) -> None:
        grouping, newest = self.grouping, self.newest
        if newest is None:
            return
        question = grouping.question_of(grouping.turns - 1)
        if question is not None:
            held.setdefault(question, Cause.QUESTION)
        held.setdefault(newest, Cause.NEWEST)
        for index in grouping.unread():
            if index not in self.gone:
                held.setdefault(grouping.step_at(index), Cause.UNREAD)
        if question is None and grouping.kinds[grouping.first[newest]] == SYSTEM:
            last = self._last_said(range(grouping.steps))
            if last is not None:
                held.setdefault(last, Cause.NEWEST)

    def _last_said(self, steps: range) -> int | None:
        kinds, first = self.grouping.kinds, self.grouping.first
        for step in reversed(steps):
            if kinds[first[step]] in (SYSTEM, HIDDEN):
                continue
            if not self.gone or self.visible(step):
                return step
        return None

    def _system_steps(self) -> list[int]:
        grouping = self.grouping
        kinds = grouping.kinds
        found: list[int] = []
        if self.rules.drop_system:
            for step, index in enumerate(grouping.first):
                if kinds[index] != SYSTEM:
                    break
                found.append(step)
            return found
        # bytes.find: systems are few and histories long.
        at = kinds.find(SYSTEM)
        while at >= 0:
            found.append(grouping.step_at(at))
            at = kinds.find(SYSTEM, at + 1)
        return found

    @cached_property
    def pending(self) -> list[OpenCall]:
        """Open calls that somebody still waits for."""
        awaited = self.rules.awaited
        if awaited is None:
            return self.open_calls
        return [call for call in self.open_calls if awaited(call)]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return self.grouping.newest is None

    def view(
        self, *, available: int, target: int, progress: Progress | None = None
    ) -> HistoryView:
        """What a strategy may see."""
        return HistoryView(self, available=available, target=target, progress=progress)
