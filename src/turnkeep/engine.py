"""History + budget + strategy -> plan. The only loop that spends.

The engine takes a strategy's edits until the window meets the target, skips any that
would break a promise, and raises when what must stay does not fit. It never changes
the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from turnkeep.budgets import Budget, share_of
from turnkeep.census import Census, images_in
from turnkeep.errors import BudgetExceededError, Held, OpenCallError, StrategyError
from turnkeep.finishing import (
    Frame,
    Last,
    adds_reasoning,
    frame_of,
    keeps_reasoning,
    keeps_seals,
    open_round,
    thoughts,
)
from turnkeep.index import History
from turnkeep.model import Message
from turnkeep.placing import Placement, joined_in, place, runs_of
from turnkeep.plans import (
    Batch,
    Cause,
    Drop,
    Edit,
    Insert,
    Inserted,
    Note,
    Plan,
    Refused,
    Replace,
    Reserve,
    Summarise,
)
from turnkeep.strategies import DEFAULT, OldestTurns, Strategy
from turnkeep.turns import HIDDEN, SYSTEM

OLDEST: Final = OldestTurns()

Overflow: TypeAlias = Literal["raise", "send"]
OpenCalls: TypeAlias = Literal["stand-in", "keep", "raise"]


@attrs.frozen
class Terms:
    """What a plan is made under, beside history, budget and strategy."""

    fixed: tuple[Held, ...] = ()
    """What the request costs beyond its messages: tools, system text, overhead."""

    default_target: float = 1.0
    """The target of a budget that names none."""

    placement: Placement = "after-call"
    """Where the target format wants results."""

    exact: bool = True
    margin: float = 0.0
    """Share by which true counts may exceed ours."""

    on_overflow: Overflow = "raise"
    open_calls: OpenCalls = "stand-in"

    trigger_at: int | None = None
    """Tokens from which to prune, instead of the budget's trigger."""

    grid: bool = False
    """Whether the depth of a cut is a pure function of the log, so that two processes
    with the same history send the same prefix (plain lists with a target below 1)."""


@attrs.frozen
class Memory:
    """What a conversation keeps of its last plan, so that the next window begins alike.

    Holds as long as the history only grows.
    """

    dropped: bytes
    """One byte a step: 0 kept, else the place of its cause in *causes*."""
    causes: tuple[str, ...]
    replaced: Mapping[int, tuple[Message, str]]
    inserted: tuple[Inserted, ...]
    frame: Frame | None = None
    """What else was changed, where reasoning is bound to it; none when not known."""

    @property
    def only_drops(self) -> bool:
        """Whether nothing was edited or added."""
        return not self.replaced and not self.inserted


class Draft:
    """A window in the making: what is dropped, changed and added so far."""

    __slots__ = (
        "_census",
        "_changes",
        "causes",
        "dropped",
        "history",
        "inserted",
        "refused",
        "replaced",
        "reserved",
        "returnable",
        "tokens",
        "warnings",
    )

    def __init__(self, history: History, tokens: int = 0) -> None:
        """Everything kept, at *tokens* in all."""
        self.history = history
        self.dropped: bytearray | None = None
        """One byte a step: 0 kept, else the place of its cause in *causes*."""
        self.causes: list[str] = [""]
        self.replaced: dict[int, tuple[Message, str]] = {}
        """Messages sent changed: what is sent, and why."""
        self.inserted: list[Inserted] = []
        """Messages of ours other than stand-ins."""
        self.refused: list[Refused] = []
        self.warnings: list[str] = []
        self.reserved: Reserve | None = None
        """Room kept for a message that is written when the cut is known."""
        self.returnable: list[Sequence[int]] = []
        """Steps that went together and may come back where there is room."""
        self.tokens = tokens
        self._changes: dict[int, int] = {}
        self._census: Census | None = None

    def resume(self, memory: Memory) -> None:
        """Begin where the last plan ended; what is held by now comes back.

        Costs what is kept.
        """
        history, steps = self.history, self.history.grouping.steps
        dropped = bytearray(memory.dropped[:steps])
        dropped.extend(bytes(steps - len(dropped)))
        for step in (*history.held, *history.soft):
            dropped[step] = 0
        for group in history.grouping.ties.values():
            if not all(dropped[step] for step in group):
                for step in group:
                    dropped[step] = 0
        self.dropped = dropped
        self.causes = list(memory.causes)
        pins = history.rules.pins
        for index, (content, cause) in memory.replaced.items():
            if cause == Cause.PROFILE:
                continue  # lost before planning began
            if index not in pins and index not in history.gone:
                self.replaced[index] = (content, cause)
                cost = history.source.cost(content)
                self._changes[index] = cost - history.message_tokens(index)
        self.inserted = list(memory.inserted)
        self.tokens = sum(item.tokens for item in self.inserted)
        self.tokens += sum(
            self.step_tokens(step) for step in range(steps) if not dropped[step]
        )

    def memory(self) -> Memory | None:
        """What the next plan may begin with."""
        history = self.history
        replaced = dict(self.replaced)
        frame: Frame | None = None
        if history.rules.demands.binds_thinking:
            frame = frame_of(history)
        for index in history.stripped:
            source = history.mended.get(index) or history.source.message(index)
            replaced.setdefault(index, (source, Cause.PROFILE))
        changed = self.dropped is not None or replaced or self.inserted
        if not changed and not any(frame or ()):
            return None
        dropped = self.dropped or bytes(history.grouping.steps)
        return Memory(
            bytes(dropped), tuple(self.causes), replaced, tuple(self.inserted), frame
        )

    def code(self, cause: str) -> int:
        """The byte that stands for *cause* (the 255th and later share the last)."""
        if cause in self.causes:
            return self.causes.index(cause)
        if len(self.causes) < 256:
            self.causes.append(cause)
        return len(self.causes) - 1

    def drop(self, steps: Iterable[int], cause: str) -> list[int]:
        """Drop *steps* and what is tied to them; returns those that went."""
        if self.dropped is None:
            self.dropped = bytearray(self.history.grouping.steps)
        code, ties = self.code(cause), self.history.grouping.ties
        gone: list[int] = []
        for asked in steps:
            for step in ties.get(asked, (asked,)):
                if not self.dropped[step]:
                    self.tokens -= self.step_tokens(step)
                    self.dropped[step] = code
                    gone.append(step)
        if self._census is not None:
            for step in gone:
                self._census.move(step, -1)
        return gone

    def drop_step(self, step: int, cause: str) -> bool:
        """Drop one step that is tied to no other; whether it was still there."""
        if self.dropped is None:
            self.dropped = bytearray(self.history.grouping.steps)
        if self.dropped[step]:
            return False
        self.tokens -= self.step_tokens(step)
        self.dropped[step] = self.code(cause)
        if self._census is not None:
            self._census.move(step, -1)
        return True

    def restore(self, steps: Sequence[int]) -> str:
        """Take *steps* back that a drop had let go; returns why they had gone."""
        dropped = self.dropped or bytearray()
        cause = self.causes[dropped[steps[0]]]
        for step in steps:
            dropped[step] = 0
            self.tokens += self.step_tokens(step)
            if self._census is not None:
                self._census.move(step, 1)
        return cause

    def is_kept(self, step: int) -> bool:
        """Whether the step is still in the window."""
        return self.dropped is None or not self.dropped[step]

    def step_tokens(self, step: int) -> int:
        """Tokens of a step with the changes made so far."""
        tokens = self.history.tokens(step)
        if self._changes:
            changes = self._changes
            tokens += sum(changes.get(i, 0) for i in self.history.visible(step))
        return tokens

    def replace(self, index: int, content: Message, cause: str) -> int:
        """Send *content* for a message; returns the tokens that this frees."""
        history = self.history
        change = history.source.cost(content) - history.message_tokens(index)
        freed = self._changes.get(index, 0) - change
        self._changes[index] = change
        self.replaced[index] = (content, cause)
        if self.is_kept(history.grouping.step_of[index]):
            self.tokens -= freed
        return freed

    def would_free(self, index: int, content: Message) -> int:
        """Tokens that sending *content* instead would free, as the message is now."""
        history = self.history
        change = history.source.cost(content) - history.message_tokens(index)
        return self._changes.get(index, 0) - change

    def edited(self, index: int) -> Message | None:
        """What is sent for a message that an edit has replaced."""
        return self.replaced[index][0] if index in self.replaced else None

    def insert(self, content: Message, after: int, cause: str) -> None:
        """Add a message of ours behind the message *after*."""
        cost = self.history.source.cost(content)
        self.inserted.append(Inserted(after, content, cost, cause))
        self.tokens += cost
        if self._census is not None:
            self._census.messages += 1

    def withdraw(self) -> None:
        """Leave the newest addition out again."""
        self.tokens -= self.inserted.pop().tokens
        if self._census is not None:
            self._census.messages -= 1

    @property
    def census(self) -> Census:
        """Turns and messages of the window, followed from the first look on."""
        if self._census is None:
            steps = self.history.grouping.steps
            dropped = self.dropped or bytes(steps)
            self._census = Census(self.history, [not code for code in dropped])
            self._census.messages += len(self.inserted)
        return self._census

    def images(self) -> int:
        """Pictures that the window holds; costs what is kept."""
        history = self.history
        return sum(
            images_in((self.edited(index) or history.source.message(index)).content)
            for step in range(history.grouping.steps)
            if self.is_kept(step)
            for index in history.visible(step)
        )


def make_plan(
    history: History,
    budget: Budget,
    strategy: Strategy | None = None,
    terms: Terms | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Decide what of *history* is sent under *budget*.

    With *memory* it begins where an earlier plan of the same history ended.

    With the default strategy it counts about what is kept, from the newest end; with
    any other it counts the history once. Planning itself is linear in the steps.

    Raises:
        BudgetExceededError: What must stay does not fit.
        OpenCallError: A call is open and the terms say `open_calls="raise"`.
        StrategyError: The strategy proposed something that is not an edit.
    """
    planner = _Planner(history, budget, strategy or DEFAULT, terms or Terms())
    return planner.plan(memory)


def _links(message: Message) -> tuple[object, ...]:
    """What ties a message to others: its role, its calls and its results."""
    return (
        message.role,
        tuple((call.id, call.name) for call in message.tool_calls),
        tuple((r.tool_call_id, r.final) for r in message.tool_results),
    )


class _Planner:
    """One plan in the making."""

    def __init__(
        self, history: History, budget: Budget, strategy: Strategy, terms: Terms
    ) -> None:
        self.history = history
        self.budget = budget
        self.strategy = strategy
        self.terms = terms
        self.fixed = sum(item.tokens for item in terms.fixed)
        self.available = budget.available(tools=self.fixed, margin=terms.margin)
        self.trigger = share_of(self.available, budget.trigger)
        if terms.trigger_at is not None:
            self.trigger = terms.trigger_at
        self.target = share_of(self.available, budget.goal(terms.default_target))
        self._aim = self.target
        self.demands = history.rules.demands
        self._last = Last(history)
        self._claims: set[str] = set()

    def plan(self, memory: Memory | None) -> Plan:
        """Decide."""
        history = self.history
        if self.terms.open_calls == "raise":
            self._refuse_open_calls()
        if history.is_empty:
            draft = Draft(history)
            if self.available < 0:
                self._overflow(draft)
            return self._finish(draft, pruned=False)
        if self.demands.thinking:
            draft, pruned = self._decide_with_reasoning(memory)
        else:
            draft, pruned = self._decide(memory)
        return self._finish(draft, pruned=pruned)

    # -- reasoning that a change makes invalid ---------------------------------------

    def _decide_with_reasoning(self, memory: Memory | None) -> tuple[Draft, bool]:
        history = self.history
        if memory is not None:
            lost = (i for i, (_, c) in memory.replaced.items() if c == Cause.PROFILE)
            history.strip(index for index in lost if index not in history.gone)
        found = thoughts(history)
        if not found:
            return self._decide(memory)
        if self.demands.binds_thinking:
            return self._decide_bound(memory, found)
        return self._decide_whole(memory, found)

    def _decide_bound(
        self, memory: Memory | None, found: list[int]
    ) -> tuple[Draft, bool]:
        """Any change makes all reasoning behind it invalid, so all of it goes first.

        Counted without it, so that no more goes than has to. Where the round in
        progress must keep its own, nothing before that can change.
        """
        history, step_of = self.history, self.history.grouping.step_of
        due, changed = self._is_due(memory)
        if not due and not changed:
            return self._decide(memory)
        now = open_round(history)
        needed = [i for i in found if step_of[i] in now]
        if self.demands.thinking_required and needed:
            history.seal(range(step_of[needed[-1]] + 1))
            draft, pruned = self._decide(memory)
            draft.warnings.append(
                "nothing before the tool round in progress can change while thinking "
                "is enabled: its reasoning is signed together with all of it"
            )
            return draft, pruned
        history.strip(found)
        if due:
            self.trigger = min(self.trigger, self.target)
        draft, pruned = self._decide(memory)
        draft.warnings.append(
            f"the reasoning of {len(found)} messages is left out: it is only valid "
            "behind an unchanged history"
        )
        return draft, pruned or due

    def _is_due(self, memory: Memory | None) -> tuple[bool, bool]:
        """Whether something has to go, and whether something changes all the same."""
        history = self.history
        draft = Draft(history)
        frame = frame_of(history)
        if memory is None:
            changed = any(frame)
            draft.tokens = 0
            # From the newest end, and no further than it takes: those are counted for
            # the window anyway.
            for step in range(history.grouping.steps - 1, -1, -1):
                draft.tokens += history.tokens(step)
                if draft.tokens > self.trigger:
                    break
        else:
            draft.resume(memory)
            now = bytes(draft.dropped or b"")
            changed = now[: len(memory.dropped)] != memory.dropped
            changed = changed or memory.frame not in (None, frame)
        due = draft.tokens > self.trigger or not self._within_limits(draft)
        return due, changed

    def _decide_whole(
        self, memory: Memory | None, found: list[int]
    ) -> tuple[Draft, bool]:
        """The round in progress keeps its reasoning whole, or, if need be, none."""
        history, step_of = self.history, self.history.grouping.step_of
        now = open_round(history)
        needed = [i for i in found if step_of[i] in now]
        history.seal(step_of[i] for i in needed)
        if self.demands.thinking_required or not needed:
            return self._decide(memory)
        try:
            draft, pruned = self._decide(memory)
        except BudgetExceededError:
            pass
        else:
            if draft.tokens <= self.available:
                return draft, pruned
        history.seal(())
        history.strip(needed)
        self._last = Last(history)
        draft, pruned = self._decide(memory)
        draft.warnings.append(
            f"the reasoning of {len(needed)} messages of the tool round in progress is "
            "left out: it must stay whole or go, and there is no room for it"
        )
        return draft, True

    def _decide(self, memory: Memory | None) -> tuple[Draft, bool]:
        history = self.history
        draft = Draft(history)
        if memory is not None:
            draft.resume(memory)
        else:
            draft.tokens = -1
        by_edits = self._limited or self.budget.max_images is not None
        if by_edits or self.strategy not in (DEFAULT, OLDEST):
            earlier = tuple(item.message for item in draft.inserted)
            if memory is not None and self._is_over(draft):
                # The prefix changes anyway, so the strategy chooses anew: what is
                # needed again may come back, and additions are written anew.
                draft = Draft(history, -1)
            pruned = self._prune_by_edits(draft, earlier)
        elif memory is not None and draft.tokens <= self.trigger:
            pruned = False
        else:
            draft = Draft(history)
            pruned = self._prune_from_newest(draft)
        if draft.tokens > self.available:
            self._last_resort(draft)
        if not self._within_limits(draft):
            self._over_limit(draft)
        if pruned and self._aim < draft.tokens <= self.available:
            draft.warnings.append(
                f"the target of {self.target} tokens was missed: {draft.tokens} cannot "
                "go under this strategy"
            )
        return draft, pruned

    @property
    def _limited(self) -> bool:
        budget = self.budget
        return budget.max_turns is not None or budget.max_messages is not None

    def _strip_images(self, draft: Draft) -> bool:
        """Let old pictures go while there are too many; whether any went."""
        from turnkeep.strategies import StripImages  # noqa: PLC0415 - loads it

        limit = self.budget.max_images
        if limit is None or (left := draft.images()) <= limit:
            return False
        view = self.history.view(
            available=self.available, target=self.target, progress=draft
        )
        for edit in StripImages(keep=0).propose(view):
            self._take(draft, edit)
            if isinstance(edit, Replace) and draft.edited(edit.message) == edit.content:
                left -= 1
            if left <= limit:
                return True
        self._too_many_images(draft, limit)
        return True

    def _too_many_images(self, draft: Draft, limit: int) -> None:
        """What is left is pinned."""
        history, needed = self.history, draft.images()
        if self.terms.on_overflow == "send":
            draft.warnings.append(f"{needed} images sent, though max is {limit}")
            return
        held = [
            Held(history.source.id(index), Cause.PINNED, found)
            for index in sorted(history.rules.pins)
            if (found := images_in(history.source.message(index).content))
        ]
        raise BudgetExceededError(
            needed=needed,
            available=limit,
            smallest=needed,
            limit="images",
            held=tuple(held),
        )

    def _refuse_open_calls(self) -> None:
        grouping = self.history.grouping
        per_message = self.terms.placement == "after-call"
        open_ids = [
            call.key
            for call in self.history.open_calls
            if grouping.needs_stand_in(call, per_message=per_message)
        ]
        if open_ids:
            raise OpenCallError(tuple(open_ids))

    # -- the default strategy, from the newest end ---------------------------------

    def _prune_from_newest(self, draft: Draft) -> bool:
        """What `OldestTurns()`, or `OldestTurns() | OldestSteps()`, leaves.

        Dropping the oldest turns until the rest fits is keeping the newest while they
        fit; so the count starts at the newest end and stops at the first turn that no
        longer does.
        """
        history, grouping = self.history, self.history.grouping
        held = sum(map(history.tokens, history.held))
        held += sum(map(history.tokens, history.soft))
        total, whole = self._count_down(held, self.trigger)
        if whole:
            draft.tokens = total
            return False
        if self.terms.grid and self.target < self.trigger:
            # The window may be larger than the target by design.
            self._aim = max(self.target, self._grid_target(held))
        total, within = self._find_cut(held, self._aim)
        draft.tokens = total
        draft.dropped = dropped = bytearray(grouping.steps)
        code = draft.code(Cause.AGE)
        dropped[:within] = bytes([code]) * within
        for step in (*history.held, *history.soft):
            dropped[step] = 0
        for group in grouping.ties.values():
            if any(not dropped[step] for step in group):
                for step in group:
                    if dropped[step]:
                        dropped[step] = 0
                        draft.tokens += history.tokens(step)
        return True

    def _free_of(self, turn: int) -> Iterator[int]:
        """The free steps of a turn, newest first."""
        history = self.history
        held, soft = history.held, history.soft
        for step in reversed(history.grouping.steps_of(turn)):
            if step not in held and step not in soft:
                yield step

    def _count_down(self, held: int, limit: int) -> tuple[int, bool]:
        """Tokens in all, and whether that is everything (it stops above *limit*)."""
        history, total = self.history, held
        fixed = {*history.held, *history.soft}
        for step in range(history.grouping.steps - 1, -1, -1):
            if step not in fixed:
                if total > limit:
                    return total, False
                total += history.tokens(step)
        return total, total <= limit

    def _find_cut(self, held: int, target: int) -> tuple[int, int]:
        """Tokens kept, and the first step that is not dropped unless held."""
        grouping, tokens = self.history.grouping, self.history.tokens
        current = grouping.turns - 1
        total = held
        # Inside the current turn the oldest steps go first, or stay.
        inside = self.strategy != OLDEST
        for step in self._free_of(current):
            if inside and total + tokens(step) > target:
                return total, step + 1
            total += tokens(step)
        fixed = {*self.history.held, *self.history.soft}
        stop = grouping.turn_first[current]
        for turn in range(current - 1, -1, -1):
            start, size = grouping.turn_first[turn], 0
            for step in range(stop - 1, start - 1, -1):
                if step not in fixed:
                    size += tokens(step)
                    if total + size > target:
                        return total, stop
            total += size
            stop = start
        return total, 0

    def _grid_target(self, held: int) -> int:
        """The target as a pure function of the log.

        The depth of the cut moves in steps of D = trigger - target tokens of the log:
        cut = D * ceil((T - trigger) / D). Between two steps the same history prefix is
        dropped, however the caller's process came to it.
        """
        history = self.history
        free = sum(
            history.tokens(step)
            for turn in range(history.grouping.turns)
            for step in self._free_of(turn)
        )
        total = held + free
        depth = self.trigger - self.target
        cut = depth * -(-(total - self.trigger) // depth)
        return total - cut

    # -- any strategy ------------------------------------------------------------

    def _is_over(self, draft: Draft) -> bool:
        return draft.tokens > self.trigger or not self._within_limits(draft)

    def _prune_by_edits(self, draft: Draft, earlier: Sequence[Message] = ()) -> bool:
        history = self.history
        if draft.tokens < 0:
            draft.tokens = sum(map(history.tokens, range(history.grouping.steps)))
        stripped = self._strip_images(draft)
        if not self._is_over(draft):
            return stripped
        view = history.view(
            available=self.available, target=self.target, progress=draft
        )
        view.claims = self._claims
        view.earlier = tuple(earlier)
        # A strategy that never ends must not hang the caller.
        limit = 1_000 + 20 * len(history.grouping)
        target = self.target
        for nth, edit in enumerate(self.strategy.propose(view)):
            if nth >= limit:
                draft.warnings.append(f"the strategy was stopped after {nth} edits")
                break
            self._take(draft, edit)
            if (
                draft.tokens <= target
                and draft.tokens <= self._goal(draft)
                and self._within_limits(draft)
            ):
                break
        self._fill(draft)
        self._write_reserved(draft)
        return True

    def _fill(self, draft: Draft) -> None:
        """Take back what fits again, what was given up last first.

        A ranking that ends with a large drop leaves room for small ones before it.
        """
        goal = self._goal(draft)
        size_of = draft.step_tokens
        for steps in reversed(draft.returnable):
            room = goal - draft.tokens
            if room <= 0:
                break
            size = size_of(steps[0]) if len(steps) == 1 else sum(map(size_of, steps))
            if size <= room and self._may_return(draft, steps):
                cause = draft.restore(steps)
                if not self._within_limits(draft):
                    draft.drop(steps, cause)

    def _may_return(self, draft: Draft, steps: Sequence[int]) -> bool:
        if not self.demands.core or draft.dropped is None:
            return True
        return self._last.may_return(steps, draft.dropped)

    def _goal(self, draft: Draft) -> int:
        """The target, less the room that is kept for a message to come."""
        reserved = draft.reserved.tokens if draft.reserved is not None else 0
        return self.target - reserved

    def _write_reserved(self, draft: Draft) -> None:
        """Add the message that room was kept for, if there is room and reason."""
        reserve, room = draft.reserved, self.target - draft.tokens
        if reserve is None or draft.dropped is None or room <= 0:
            return
        history, grouping = self.history, self.history.grouping
        gone = [
            index
            for index, step in enumerate(grouping.step_of)
            if draft.dropped[step] and grouping.kinds[index] != HIDDEN
        ]
        message = reserve.write(gone, min(room, reserve.tokens)) if gone else None
        if message is not None and history.source.cost(message) <= room:
            turn = grouping.turn_of(grouping.step_of[gone[0]])
            draft.insert(message, self._place_before(turn), reserve.cause)

    def _place_before(self, turn: int) -> int:
        """The message behind which an insertion in front of *turn* stands.

        Never in front of the system messages that lead the history.
        """
        grouping = self.history.grouping
        turn = min(turn, grouping.turns - 1)
        lead = 0
        while lead < len(grouping) and grouping.kinds[lead] in (SYSTEM, HIDDEN):
            lead += 1
        return max(grouping.first[grouping.turn_first[turn]], lead) - 1

    def _within_limits(self, draft: Draft) -> bool:
        if not self._limited:
            return True
        budget = self.budget
        if budget.max_turns is not None and draft.census.turns > budget.max_turns:
            return False
        return (
            budget.max_messages is None or draft.census.messages <= budget.max_messages
        )

    def _take(self, draft: Draft, edit: Edit) -> None:
        if type(edit) is Drop:  # thousands of these; a match would look further
            self._take_drop(draft, edit)
            return
        match edit:
            case Drop():
                self._take_drop(draft, edit)
            case Replace():
                self._take_replace(draft, edit)
            case Batch():
                self._take_batch(draft, edit)
            case Reserve():
                if draft.reserved is None and 0 < edit.tokens < self.target:
                    draft.reserved = edit
                else:
                    reason = "there is no room for it, or room is kept already"
                    draft.refused.append(Refused(f"reserve {edit.tokens}", reason))
            case Note():
                draft.warnings.append(edit.text)
            case Insert():
                self._take_insert(draft, edit)
            case Summarise():
                self._take_summary(draft, edit)
            case _:  # a third-party strategy is not type-checked
                reason = f"proposed {edit!r}, which is not an edit"
                raise StrategyError(type(self.strategy).__name__, reason)

    def _take_drop(self, draft: Draft, edit: Drop) -> None:
        grouping, history = self.history.grouping, self.history
        unit = edit.unit
        held, soft = history.held, history.soft
        if not unit.is_turn and not grouping.ties and not self.demands.core:
            # Rankings of single steps offer thousands; the general way is below.
            step = unit.index
            if step not in held and step not in soft:
                if draft.drop_step(step, edit.cause) and edit.may_return:
                    draft.returnable.append((step,))
                return
        steps = grouping.steps_of(unit.index) if unit.is_turn else [unit.index]
        free = [s for s in steps if s not in held and s not in soft]
        if grouping.ties:
            free = [
                s
                for s in free
                if not any(t in held or t in soft for t in grouping.ties.get(s, ()))
            ]
        if not free and not unit.is_turn:
            cause = held.get(unit.index, Cause.PINNED)
            draft.refused.append(Refused(f"drop step {unit.index}", f"held: {cause}"))
            return
        if self.demands.core and free:
            free = self._last.ready(free, draft.dropped)
        gone = draft.drop(free, edit.cause)
        if edit.may_return and gone:
            draft.returnable.append(gone)

    def _take_replace(self, draft: Draft, edit: Replace) -> None:
        if self._may_replace(draft, edit):
            draft.replace(edit.message, edit.content, edit.cause)

    def _may_replace(self, draft: Draft, edit: Replace) -> bool:
        """Whether a replacement breaks no promise; notes it where it does."""
        history = self.history
        index = edit.message
        name = f"edit message {history.source.id(index)}"
        if not draft.is_kept(history.grouping.step_of[index]) or index in history.gone:
            return False
        old = history.mended.get(index) or history.source.message(index)
        if index in history.rules.pins:
            reason = "it is pinned"
        elif _links(old) != _links(edit.content):
            reason = "it would cut calls from their results"
        elif draft.would_free(index, edit.content) <= 0:
            reason = "it would not get smaller"
        else:
            found = self._objection(index, old, edit.content)
            if found is None:
                return True
            reason = found
        draft.refused.append(Refused(name, reason))
        return False

    def _objection(self, index: int, old: Message, new: Message) -> str | None:
        """What the provider would have against *new* in place of *old*, if anything."""
        demands, step = self.demands, self.history.grouping.step_of[index]
        if demands.binds_thinking and step in self.history.sealed:
            return "signed reasoning behind it is bound to it"
        if demands.thinking and (
            adds_reasoning(old, new)
            or (step in self.history.sealed and not keeps_reasoning(old, new))
        ):
            return "the provider wants the reasoning of the tool round in progress back"
        if (
            demands.reasoning_with_calls
            and old.tool_calls
            and not keeps_reasoning(old, new)
        ):
            return "the provider wants the reasoning behind calls back"
        if demands.pairs_reasoning and not keeps_reasoning(old, new):
            return "the provider wants reasoning and what follows it together"
        if demands.signed_calls and not keeps_seals(old, new):
            return "the provider wants the signatures of calls back"
        return None

    def _take_batch(self, draft: Draft, batch: Batch) -> None:
        """As many of the edits as the target and the batch's own minimum demand."""
        goal = self._goal(draft)
        chosen: dict[int, Replace] = {}
        freed = 0
        for edit in batch.edits:
            if freed >= batch.at_least and draft.tokens - freed <= goal:
                break
            if edit.message not in chosen and self._may_replace(draft, edit):
                freed += draft.would_free(edit.message, edit.content)
                chosen[edit.message] = edit
        if freed < batch.at_least:
            reason = f"they would free {freed} tokens, not {batch.at_least}"
            draft.refused.append(Refused(f"a batch of {len(chosen)} edits", reason))
            return
        for edit in chosen.values():
            draft.replace(edit.message, edit.content, edit.cause)

    def _take_insert(self, draft: Draft, edit: Insert) -> None:
        if self.demands.binds_thinking and self.history.sealed:
            reason = "signed reasoning behind it is bound to what stands there"
            draft.refused.append(Refused("insert a message", reason))
            return
        draft.insert(edit.content, self._place_before(edit.before_turn), edit.cause)

    def _take_summary(self, draft: Draft, edit: Summarise) -> None:
        """The covered turns' free steps go together, if that makes it smaller."""
        history, grouping = self.history, self.history.grouping
        free = [
            step
            for turn in sorted(edit.turns)
            for step in self._free_of(turn)
            if draft.is_kept(step)
        ]
        free += [
            step
            for step in edit.steps
            if draft.is_kept(step)
            and step not in history.held
            and (step not in history.soft or step in history.summaries)
        ]
        free = sorted({*free})
        name = f"summarise {len(edit.turns)} turns and {len(edit.steps)} steps"
        if not free:
            draft.refused.append(Refused(name, "nothing of them is free to go"))
            return
        freed = sum(map(draft.step_tokens, free))
        cost = history.source.cost(edit.content)
        if cost >= freed:
            reason = f"the summary has {cost} tokens, what it covers {freed}"
            draft.refused.append(Refused(name, reason))
            draft.warnings.append(f"summary refused: {reason}")
            return
        after = grouping.first[free[0]] - 1
        draft.drop(free, edit.cause)
        draft.insert(edit.content, after, edit.cause)

    # -- what cannot go -------------------------------------------------------------

    def _last_resort(self, draft: Draft) -> None:
        """Our own messages, then the rest of pinned turns, then nothing is left."""
        withdrawn = 0
        while draft.inserted and draft.tokens > self.available:
            draft.withdraw()
            withdrawn += 1
        if withdrawn:
            draft.warnings.append(
                f"{withdrawn} summaries or other additions had to be left out: there "
                "is no room for them"
            )
        soft = sorted(self.history.soft)
        gone = 0
        for step in soft:
            if draft.tokens <= self.available:
                break
            gone += len(draft.drop([step], Cause.LIMIT))
        if gone:
            draft.warnings.append(
                f"{gone} steps that go last had to go: earlier summaries, and of "
                "pinned turns all but the pinned step, the question and the last step"
            )
        if draft.tokens > self.available:
            self._overflow(draft)

    def _overflow(self, draft: Draft) -> None:
        needed = draft.tokens + self.fixed
        smallest = self.budget.smallest(needed, margin=self.terms.margin)
        if self.terms.on_overflow == "send":
            draft.warnings.append(
                f"over budget by {draft.tokens - self.available} tokens and sent all "
                f"the same; max_tokens would have to be {smallest}"
            )
            return
        raise BudgetExceededError(
            needed=needed,
            available=self.available + self.fixed,
            smallest=smallest,
            limit="tokens",
            held=self._blame(draft),
        )

    def _over_limit(self, draft: Draft) -> None:
        """Too many turns or messages, and none of them may go."""
        budget, grouping = self.budget, self.history.grouping
        turns, messages = draft.census.turns, draft.census.messages
        by_turns = budget.max_turns is not None and turns > budget.max_turns
        limit = "turns" if by_turns else "messages"
        needed = turns if by_turns else messages
        allowed = (budget.max_turns if by_turns else budget.max_messages) or 0
        if self.terms.on_overflow == "send":
            draft.warnings.append(f"{needed} {limit} sent, though max is {allowed}")
            return
        held: dict[int, Held] = {}
        for step in range(grouping.steps):
            if draft.is_kept(step):
                cause = self.history.held.get(step, "not_offered")
                key = grouping.turn_of(step) if by_turns else step
                size = 1 if by_turns else len(self.history.visible(step))
                name = self.history.source.id(grouping.first[step])
                held.setdefault(key, Held(name, cause, size))
        raise BudgetExceededError(
            needed=needed,
            available=allowed,
            smallest=needed,
            limit=limit,
            held=tuple(held.values()),
        )

    def _blame(self, draft: Draft) -> tuple[Held, ...]:
        history, grouping = self.history, self.history.grouping
        blamed = [item for item in self.terms.fixed if item.tokens]
        for step in range(grouping.steps):
            if not draft.is_kept(step):
                continue
            cause = history.held.get(step, "not_offered")
            indexes = history.visible(step)
            for nth, index in enumerate(indexes):
                tokens = history.message_tokens(index)
                if index in draft.replaced:
                    tokens = history.source.cost(draft.replaced[index][0])
                if not nth:
                    tokens += history.added_tokens(step)
                blamed.append(Held(history.source.id(index), cause, tokens))
        blamed += [
            Held(item.cause, "not_offered", item.tokens) for item in draft.inserted
        ]
        return tuple(blamed)

    # -- the plan -----------------------------------------------------------------

    def _finish(self, draft: Draft, *, pruned: bool) -> Plan:
        history, terms = self.history, self.terms
        added = [
            item
            for step in history.with_additions()
            if draft.is_kept(step)
            for item in history.additions(step)
        ]
        added += draft.inserted
        edits = {
            index: (message, cause, history.source.cost(message))
            for index, (message, cause) in draft.replaced.items()
        }
        for index, message in history.mended.items():
            why = Cause.PROFILE if index in history.stripped else Cause.REPAIR
            edits.setdefault(index, (message, why, history.source.cost(message)))
        if history.gone or history.mended:
            self._note_repairs(draft)
        return Plan(
            tokens=draft.tokens + self.fixed,
            available=self.available,
            fixed=self.fixed,
            inserted=tuple(added),
            edits=edits,
            warnings=tuple(draft.warnings),
            refused=tuple(draft.refused),
            exact=terms.exact,
            margin=terms.margin,
            pruned=pruned,
            source=history.source,
            fingerprint=history.source.fingerprint(),
            memory=draft.memory(),
            joins=lambda order: joined_in(history, order),
            make_order=lambda: place(history, draft.dropped, added, terms.placement),
            make_runs=lambda: runs_of(
                history,
                draft.dropped,
                draft.causes,
                {index: cause for index, (_, cause, _) in edits.items()},
            ),
        )

    def _note_repairs(self, draft: Draft) -> None:
        bad = [
            f"{p.kind.replace('_', ' ')} {p.call_id} "
            f"({self.history.source.id(p.message)})"
            for p in self.history.grouping.problems
        ]
        if bad:
            draft.warnings.append(f"left out: {', '.join(bad[:10])}")
