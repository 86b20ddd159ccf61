from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from turnkeep.model import Message, Role
from turnkeep.plans import Cause
from turnkeep.turns import HIDDEN, MEMORY, NOTE, OURS, SYSTEM, UNSAID, USER

if TYPE_CHECKING:
    from ._history import History


class Progress(Protocol):
    """How far the engine is, for strategies that look before they go on."""

    @property
    def tokens(self) -> int:
        """Tokens of the window with the edits taken so far."""
        ...

    def is_kept(self, step: int) -> bool:
        """Whether the step is still in the window."""
        ...

    def edited(self, index: int) -> Message | None:
        """What is sent for a message that an edit has replaced."""
        ...


class StepView:
    """One step, read-only."""

    __slots__ = ("_history", "index")
    is_turn = False

    def __init__(self, history: History, index: int) -> None:
        """The step *index* of *history*."""
        self._history = history
        self.index: int = index

    @property
    def turn(self) -> int:
        """Index of its turn."""
        return self._history.grouping.turn_of(self.index)

    @property
    def indexes(self) -> list[int]:
        """Indexes of its messages."""
        return self._history.visible(self.index)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its messages, in order."""
        return tuple(map(self._history.source.message, self.indexes))

    @property
    def tokens(self) -> int:
        """Tokens it occupies."""
        return self._history.tokens(self.index)

    @property
    def held(self) -> str | None:
        """What holds it (a `Cause`), or nothing."""
        held = self._history.held.get(self.index)
        if held is None and self.index in self._history.soft:
            is_summary = self.index in self._history.summaries
            return Cause.SUMMARY if is_summary else Cause.PINNED
        return held

    @property
    def is_free(self) -> bool:
        """Whether a strategy may drop it."""
        return self.held is None

    @property
    def role(self) -> Role:
        """Role of its first message."""
        return _ROLES[self._history.grouping.kinds[self._first]]

    @property
    def is_question(self) -> bool:
        """Whether it is the user message that opens its turn."""
        return self._history.grouping.is_question(self.index)

    @property
    def _first(self) -> int:
        return self._history.grouping.first[self.index]

    def __repr__(self) -> str:
        """Show where it stands."""
        return f"StepView({self.index})"


class TurnView:
    """One turn, read-only."""

    __slots__ = ("_history", "index")
    is_turn = True

    def __init__(self, history: History, index: int) -> None:
        """The turn *index* of *history*."""
        self._history = history
        self.index: int = index

    @property
    def range(self) -> range:
        """The indexes of its steps."""
        return self._history.grouping.steps_of(self.index)

    @property
    def steps(self) -> Sequence[StepView]:
        """Its steps, in order."""
        steps = self._history.grouping.steps_of(self.index)
        return [StepView(self._history, step) for step in steps]

    @property
    def free_steps(self) -> Sequence[StepView]:
        """The steps that a strategy may drop."""
        return [step for step in self.steps if step.is_free]

    @property
    def tokens(self) -> int:
        """Tokens it occupies."""
        steps = self._history.grouping.steps_of(self.index)
        return sum(map(self._history.tokens, steps))

    @property
    def free_tokens(self) -> int:
        """Tokens that dropping it would free."""
        steps, before = self.range, self._history.free_before
        return before[steps.stop] - before[steps.start]

    @property
    def is_current(self) -> bool:
        """Whether it is the last turn."""
        return self.index == self._history.grouping.turns - 1

    @property
    def is_free(self) -> bool:
        """Whether anything of it may be dropped."""
        steps, before = self.range, self._history.fixed_before
        return before[steps.stop] - before[steps.start] < len(steps)

    @property
    def question(self) -> Message | None:
        """Its user message; the preamble has none."""
        step = self._history.grouping.question_of(self.index)
        if step is None:
            return None
        return self._history.source.message(self._history.grouping.first[step])

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its messages, step by step."""
        return tuple(m for step in self.steps for m in step.messages)

    def __repr__(self) -> str:
        """Show where it stands."""
        return f"TurnView({self.index})"


class HistoryView:
    """What a strategy may see of a history: turns and steps, read-only.

    Counting happens when `tokens` is asked for, so a strategy that does not rank by
    size leaves it to the engine.
    """

    def __init__(
        self,
        history: History,
        *,
        available: int,
        target: int,
        progress: Progress | None = None,
        steps: int | None = None,
    ) -> None:
        """A view of *history*, or of its first *steps*; see the class."""
        self._history = history
        self._progress = progress
        self._stop = history.grouping.steps if steps is None else steps
        self.claims: set[str] = set()
        """Names of what may happen once a plan, such as a call of a summariser."""
        self.earlier: tuple[Message, ...] = ()
        """Messages of ours that a conversation's last window held: a summary, ..."""
        self.available = available
        """Tokens the budget leaves for messages."""
        self.target = target
        """Tokens the engine prunes down to."""

    @cached_property
    def turns(self) -> Sequence[TurnView]:
        """All turns, oldest first; the last one is the current turn."""
        grouping, stop = self._history.grouping, self._stop
        turns = grouping.turns
        if stop < grouping.steps:
            turns = grouping.turn_of(stop - 1) + 1
        return [TurnView(self._history, turn) for turn in range(turns)]

    @cached_property
    def steps(self) -> Sequence[StepView]:
        """All steps, oldest first."""
        return [StepView(self._history, step) for step in range(self._stop)]

    @property
    def step_count(self) -> int:
        """Number of steps."""
        return self._stop

    @cached_property
    def free_steps(self) -> Sequence[StepView]:
        """The steps that may go, oldest first."""
        history = self._history
        fixed = {*history.held, *history.soft}
        return [
            StepView(history, step) for step in range(self._stop) if step not in fixed
        ]

    @property
    def message_steps(self) -> Sequence[int]:
        """The step of each message."""
        return self._history.grouping.step_of

    @property
    def question(self) -> Message | None:
        """The user message of the current turn."""
        turns = self._history.grouping.turns
        return TurnView(self._history, turns - 1).question if turns else None

    def message(self, index: int) -> Message:
        """One message."""
        return self._history.source.message(index)

    @cached_property
    def messages(self) -> Sequence[Message]:
        """All messages, in order; costs their number, once."""
        return list(map(self._history.source.message, range(len(self))))

    def __len__(self) -> int:
        """Number of messages."""
        grouping = self._history.grouping
        if self._stop == grouping.steps:
            return len(grouping)
        return grouping.span(self._stop, self._stop + 1).start

    def current(self, index: int) -> Message:
        """A message as the window has it by now: mended, and as edits left it.

        Edits build on this, so that a second one does not undo the first.
        """
        edited = self._progress and self._progress.edited(index)
        history = self._history
        return edited or history.mended.get(index) or history.source.message(index)

    def is_shown(self, index: int) -> bool:
        """Whether a window that keeps its step would hold the message."""
        return self._history.is_visible(index)

    def is_kept(self, step: int) -> bool:
        """Whether the step is still in the window by now."""
        return self._progress is None or self._progress.is_kept(step)

    @property
    def tokens(self) -> int:
        """Tokens of the window by now, edits taken so far included.

        Costs the number of steps where no plan is in the making.
        """
        if self._progress is None:
            return self._history.total
        return self._progress.tokens

    def id(self, index: int) -> str:
        """Id of a message."""
        return self._history.source.id(index)

    def step_of(self, index: int) -> int:
        """The step of a message."""
        return self._history.grouping.step_of[index]

    def step_tokens(self, step: int) -> int:
        """Tokens of one step."""
        return self._history.tokens(step)

    def is_said(self, step: int) -> bool:
        """Whether somebody speaks in a step: it is not system text."""
        grouping = self._history.grouping
        return grouping.kinds[grouping.first[step]] not in UNSAID

    def message_tokens(self, index: int) -> int:
        """Tokens of one message."""
        return self._history.message_tokens(index)

    def cost(self, message: Message) -> int:
        """Tokens that a message of your own would occupy."""
        return self._history.source.cost(message)

    @property
    def compacts_as(self) -> str | None:
        """The format whose blocks of compacted messages a window may hold, if any."""
        return self._history.rules.demands.compacts_as

    def pinned(self, index: int) -> bool:
        """Whether the message itself is pinned, and so never edited."""
        return index in self._history.rules.pins


_ROLES = {
    SYSTEM: Role.SYSTEM,
    USER: Role.USER,
    2: Role.ASSISTANT,
    3: Role.TOOL_RESULT,
    HIDDEN: Role.SYSTEM,
    NOTE: Role.USER,
    OURS: Role.USER,
    MEMORY: Role.ASSISTANT,
}
