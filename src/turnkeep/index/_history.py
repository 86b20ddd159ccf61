from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

import attrs

from turnkeep.model import STAND_IN_TEXT, Message, PinScope, Role, Thinking
from turnkeep.plans import Cause, Inserted
from turnkeep.policy import NO_DEMANDS, Policy
from turnkeep.tokens._old_thinking import lean_cost
from turnkeep.turns import (
    HIDDEN,
    SYSTEM,
    Grouping,
    OpenCall,
    early_answers,
    without_answers,
)

from ._additions import (
    bridge_behind,
    bridge_end,
    ends_on_call,
    left_of,
    misfits,
    next_word,
    stand_in,
)
from ._holds import (
    held_now,
    kept_with,
    last_said,
    leading_steps,
    leading_systems,
    newest_step,
)
from ._memory import (
    PIN_COPY,
    Forgotten,
    first_to_go,
    forgotten_in,
    is_open,
    memory_steps,
    put_away,
    said_again,
)
from ._views import HistoryView, Progress


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

    def leaves_out(self, index: int) -> bool:
        """Whether the provider leaves a message's reasoning out: it counts nothing."""
        ...

    def in_front(self) -> Sequence[int]:
        """The user's messages before or between the results of their entry.

        Nothing where whoever encodes them puts the results in front anyway.
        """
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
    kept: tuple[str, ...] = ()
    """Keys of the request under which the provider keeps what stands before it."""


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
        """Messages that lose one of several results, or stood before results."""
        self.stripped: set[int] = set()
        """Messages that lose their reasoning: a change before them makes it invalid."""
        self.sealed: set[int] = set()
        """Steps that stay as they are because signed reasoning behind them does."""
        self.forgotten: Forgotten = forgotten_in(grouping)
        """What a memory of the provider's has replaced: it counts nothing."""
        self._tokens: dict[int, int] = {}
        self._sizes: list[int] | None = None
        self._stand_ins: dict[int, list[tuple[OpenCall, Inserted]]] = {}
        if rules.repair and (grouping.problems or grouping.superseded):
            self._mend()
        if rules.repair and grouping.lost and not grouping.stateful:
            self._drop_lost()
        if rules.repair:
            for index in put_away(grouping):
                self.gone.setdefault(index, Cause.MEMORY)
        self.early: dict[int, OpenCall] = {}
        """Results that stood before their call: a window has them behind it."""
        if rules.repair and grouping.problems:
            for index, (position, call) in early_answers(grouping).items():
                self._put_behind(index, position, call)
        answered = {*self.early.values()}
        self.open_calls: list[OpenCall] = [
            call for call in grouping.open_calls if call not in answered
        ]
        if rules.repair and rules.demands.results_lead:
            for index in source.in_front():
                if index not in self.gone:
                    message = self.mended.get(index) or source.message(index)
                    self.mended[index] = message.evolve(layout=None)
        if rules.stand_ins:
            for call in self.open_calls:
                if call.takes_stand_in and self._needs_answer(call):
                    self._add_stand_in(call)
        self._bridges: dict[int, list[Inserted]] = {}
        if rules.demands.answers_tools or rules.demands.ends_with_user:
            self._bridge()
        self._copy: tuple[int, Inserted] | None = None
        if self.forgotten and rules.pins:
            self._say_again()

    def _needs_answer(self, call: OpenCall) -> bool:
        per_message = self.rules.per_message
        return self.grouping.needs_stand_in(call, per_message=per_message)

    @property
    def bare(self) -> list[OpenCall]:
        """Calls behind which others stand, and for whose answer nothing can stand."""
        calls = [*self.open_calls, *self.grouping.waiting.values()]
        return [c for c in calls if not c.takes_stand_in and self._needs_answer(c)]

    def _bridge(self) -> None:
        """Let sides take turns behind stand-ins, and at the end."""
        grouping, cost, demands = self.grouping, self.source.cost, self.rules.demands
        for step, waiting in self._stand_ins.items() if demands.answers_tools else ():
            at = next_word(grouping, step, waiting[-1][0])
            bridge = bridge_behind(grouping, step, at, cost)
            if bridge is not None:
                self._bridges.setdefault(step, []).append(bridge)
        newest, per_message = grouping.newest, self.rules.per_message
        if (
            demands.ends_with_user
            and newest is not None
            and ends_on_call(
                grouping, self.gone, self._stand_ins, per_message=per_message
            )
        ):
            last = bridge_end(len(grouping) - 1, cost)
            self._bridges.setdefault(newest, []).append(last)

    def _say_again(self) -> None:
        """Say what is pinned before the provider's memory once more behind it."""
        grouping, source = self.grouping, self.source
        pinned = [i for i in sorted(self.rules.pins) if i in self.forgotten]
        if not pinned or is_open(grouping):
            return
        said = said_again(
            grouping, [source.message(i) for i in pinned], source.message, source.cost
        )
        if said is not None:
            step = grouping.step_at(said.after)
            self._copy = step, said
            for index in grouping.members(step):
                if source.message(index).kind == PIN_COPY:
                    self.gone[index] = Cause.REPAIR  # it says what was pinned then

    def additions(self, step: int) -> Iterator[Inserted]:
        """The messages of ours that are sent when the step is."""
        for _, item in self._stand_ins.get(step, ()):
            yield item
        yield from self._bridges.get(step, ())
        if self._copy is not None and self._copy[0] == step:
            yield self._copy[1]

    def with_additions(self) -> list[int]:
        """The steps that have such messages, in order."""
        copied = () if self._copy is None else self._copy[:1]
        return sorted({*self._stand_ins, *self._bridges, *copied})

    def added_tokens(self, step: int) -> int:
        """Tokens of those messages."""
        return sum(item.tokens for item in self.additions(step))

    def _mend(self) -> None:
        """Find what is left of messages whose results are orphans, twice or late."""
        for index, bad in misfits(self.grouping).items():
            left = left_of(self.source.message(index), bad)
            if left is None:
                self.gone[index] = next(iter(bad.values()))
            else:
                self.mended[index] = left

    def _drop_lost(self) -> None:
        """Leave the provider's answers out that answer no call."""
        for index, ids in self.grouping.lost.items():
            message = self.mended.get(index) or self.source.message(index)
            left = without_answers(message, ids)
            if left is None:
                self.gone[index] = Cause.REPAIR
            else:
                self.mended[index] = left

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
        forgotten = call.message in self.forgotten
        cost = 0 if forgotten else self.source.cost(message)
        item = Inserted(call.message, message, cost, Cause.REPAIR, call.key)
        self._stand_ins.setdefault(step, []).append((call, item))

    def _add_stand_in(self, call: OpenCall) -> None:
        cost = _nothing if call.message in self.forgotten else self.source.cost
        item = stand_in(call, self.rules.stand_in_text, cost)
        step = self.grouping.step_at(call.message)
        self._stand_ins.setdefault(step, []).append((call, item))

    def size_up(self, sizes: Iterable[int]) -> None:
        """Take over the tokens of all steps, stand-ins included, from who knows them.

        They must be known under the same rules; nothing is counted then.
        """
        known = list(sizes)
        for step, added in self._bridges.items():
            if added[-1].message.role is Role.USER:
                known[step] += added[-1].tokens  # of the moment: in no sum
        self._sizes = known

    @property
    def total(self) -> int:
        """Tokens of all steps; counts what has not been counted."""
        if self._sizes is not None:
            return sum(self._sizes)
        return sum(map(self.tokens, range(self.grouping.steps)))

    @cached_property
    def free_before(self) -> list[int]:
        """Tokens of the free steps before each step, and of all. Linear, once."""
        held, soft, tokens = self.held, self.soft, self.tokens
        every = range(self.grouping.steps)
        sizes = (0 if s in held or s in soft else tokens(s) for s in every)
        return list(accumulate(sizes, initial=0))

    @cached_property
    def fixed_before(self) -> list[int]:
        """How many steps before each one may not be dropped. Linear, once."""
        fixed = bytearray(self.grouping.steps)
        for step in (*self.held, *self.soft):
            fixed[step] = 1
        return list(accumulate(fixed, initial=0))

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
        self._sizes = None
        self._forget_holds()

    def seal(self, steps: Iterable[int]) -> None:
        """Hold these steps unchanged; replaces what was sealed before."""
        self.sealed = {*steps}
        self._forget_holds()

    def _forget_holds(self) -> None:
        for name in ("_holds", "held", "soft", "free_before", "fixed_before"):
            self.__dict__.pop(name, None)

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
        if mended is None:
            return self.source.count(index)
        return self.cost_at(index, mended)

    def cost_at(self, index: int, message: Message) -> int:
        """Tokens of what is sent in place of a message of the history."""
        if index in self.forgotten:
            return 0
        if self.source.leaves_out(index):
            return lean_cost(message, self.source.cost)
        return self.source.cost(message)

    def tokens(self, step: int) -> int:
        """Tokens a step has in a window, its stand-ins included; counted once."""
        if self._sizes is not None:
            return self._sizes[step]
        known = self._tokens.get(step)
        if known is None:
            known = sum(map(self.message_tokens, self.visible(step)))
            known += self.added_tokens(step)
            self._tokens[step] = known
        return known

    def total_of(self, counts: Sequence[int]) -> int:
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
                total += self.cost_at(index, message) - counts[index]
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
        for step in memory_steps(grouping):
            held.setdefault(step, Cause.MEMORY)
        for index in (*grouping.stored, *grouping.references):
            held.setdefault(grouping.step_at(index), Cause.STATEFUL)
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
            last = last_said(grouping, self.gone, steps)
            if last is not None:
                held.setdefault(last, Cause.PINNED)
            soft.update(steps)
        for call in self.pending:
            step = grouping.step_at(call.message)
            held.setdefault(step, Cause.PENDING)
            question = grouping.question_of(grouping.turn_of(step))
            if question is not None:
                held.setdefault(question, Cause.PENDING)
        # What a summary stands for is gone from the list, so it is dropped last of all.
        soft.update(self.summaries)
        self._hold_current(held)
        for step in self.sealed:
            held.setdefault(step, Cause.SIGNATURE)
        self._hold_besides(held)
        if soft and (grouping.ties or rules.demands.core):
            soft, _ = kept_with(grouping, soft, rules.demands, leading_steps(grouping))
        return held, frozenset(soft - held.keys())

    def _hold_besides(self, held: dict[int, str]) -> None:
        """Hold what must stay because of what is held."""
        grouping, demands = self.grouping, self.rules.demands
        ties = grouping.ties
        if not (ties or demands.core or demands.system_between):
            return
        leading = leading_steps(grouping) if demands.system_between else 0
        kept, _ = kept_with(grouping, held, demands, leading)
        more: dict[int, str] = {}
        for step in sorted(kept.difference(held)):
            tied = grouping.together(step)
            causes = (held[other] for other in tied if other in held)
            more[step] = next(causes, Cause.PROFILE)
        held.update(more)

    @cached_property
    def first_to_go(self) -> list[int]:
        """The free steps that go before all others where something has to go."""
        fixed = {*self.held, *self.soft}
        return [step for step in first_to_go(self.grouping) if step not in fixed]

    @cached_property
    def newest(self) -> int | None:
        """The step of the last message that a window can hold."""
        return newest_step(self.grouping, self.gone)

    def _hold_current(self, held: dict[int, str]) -> None:
        grouping, newest = self.grouping, self.newest
        if newest is None:
            return
        question = grouping.question_of(grouping.turns - 1)
        for step in held_now(grouping, newest, self.gone):
            why = Cause.UNREAD
            if step == question:
                why = Cause.QUESTION
            elif step == newest or question is None:
                why = Cause.NEWEST
            held.setdefault(step, why)

    def _system_steps(self) -> list[int]:
        grouping = self.grouping
        kinds = grouping.kinds
        found: list[int] = []
        if self.rules.drop_system:
            return list(range(leading_systems(grouping)))
        # bytes.find: systems are few and histories long.
        at = kinds.find(SYSTEM)
        while at >= 0:
            if at not in self.gone:
                found.append(grouping.step_at(at))
            at = kinds.find(SYSTEM, at + 1)
        return found

    @cached_property
    def pending(self) -> list[OpenCall]:
        """Open calls that somebody still waits for."""
        calls = self.open_calls
        if self.grouping.waiting:
            calls = [*calls, *self.grouping.waiting.values()]
        awaited = self.rules.awaited
        if awaited is None:
            return calls
        return [call for call in calls if awaited(call)]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return self.grouping.newest is None

    def view(
        self,
        *,
        available: int,
        target: int,
        progress: Progress | None = None,
        steps: int | None = None,
    ) -> HistoryView:
        """What a strategy may see: all of it, or the first *steps*."""
        return HistoryView(
            self, available=available, target=target, progress=progress, steps=steps
        )


def _nothing(_message: Message) -> int:
    """What is added before a memory that replaces it costs nothing."""
    return 0
