from __future__ import annotations

from collections.abc import Sequence

from turnkeep.engine._reasoning import adds_reasoning, keeps_reasoning, keeps_seals
from turnkeep.errors import StrategyError
from turnkeep.index._memory import behind_memory
from turnkeep.model import Message, ToolCall, ToolResult
from turnkeep.plans import (
    Batch,
    Cause,
    Cover,
    Drop,
    Edit,
    Insert,
    Note,
    Refused,
    Replace,
    Reserve,
)
from turnkeep.strategies._base import drops_first, is_stable
from turnkeep.turns import HIDDEN, UNSAID, is_final_word

from ._case import Case
from ._draft import Draft
from ._newest import last_of
from ._refusal import Refusal
from ._shortening import Shortening


def _links_alike(old: Message, new: Message) -> bool:
    """Whether what ties a message to others is the same in both."""
    return old.role is new.role and _links(old) == _links(new)


def _links(message: Message) -> list[object]:
    """Its calls and results, in order."""
    links: list[object] = []
    for block in message.content:
        if type(block) is ToolResult:
            links.append((block.tool_call_id, block.final))
        elif type(block) is ToolCall:
            links.append((block.id, block.name))
    return links


class Spending:
    """Any strategy: takes its edits until the target is met."""

    def __init__(self, case: Case, shortening: Shortening | None = None) -> None:
        self.case = case
        self.shortening = shortening or Shortening(case)
        self._uncut = False
        """Whether large results are still to be cut before a step goes."""

    def prune(self, draft: Draft, earlier: Sequence[Message] = ()) -> bool:
        draft.count_all()
        stripped = self._strip_images(draft)
        if not self.case.is_over(draft):
            return stripped
        if self._forget(draft):
            return True
        # What large results are cut to comes before any step goes, but not before
        # what a strategy makes smaller in its own way.
        self._uncut = True
        if drops_first(self.case.strategy) and self._cut_older(draft):
            return True
        # The log as it was at the last line of the grid; then as it is, if need be.
        seen = self._grid(draft)
        for steps in (seen, None) if seen is not None else (None,):
            self._spend(draft, earlier, steps)
            if not self.case.is_over(draft):
                break
        self._fill(draft)
        self._write_reserved(draft)
        return True

    def _forget(self, draft: Draft) -> bool:
        """Let go what stands before the provider's memory; whether that is enough.

        What it has replaced frees no tokens, and goes all at once.
        """
        case, history = self.case, self.case.history
        steps = history.first_to_go
        if history.forgotten:
            draft.drop(steps, Cause.MEMORY)
            return not case.is_over(draft)
        for step in steps:
            draft.drop([step], Cause.MEMORY)
            if draft.tokens <= self._goal(draft) and case.within_limits(draft):
                return True
        return False

    def _cut_older(self, draft: Draft) -> bool:
        """Cut large results, once; whether nothing more has to go."""
        if not self._uncut:
            return False
        self._uncut = False
        before = draft.tokens
        self.shortening.cut_older(draft)
        done = draft.tokens <= self._goal(draft) and self.case.within_limits(draft)
        if done and draft.tokens < before:
            self.shortening.bring_back(draft)
        return done

    def _grid(self, draft: Draft) -> int | None:
        """The first steps of a growing log to look at, so that its prefix stays.

        What is cut is a pure function of the log (see `Case.lines`) under a strategy
        that does not change its mind about old steps. None: look at all of them.
        """
        case = self.case
        if not (case.terms.counts is not None and is_stable(case.strategy)):
            return None
        if case.target >= case.trigger:
            return None
        total, lines = draft.tokens, case.lines(draft.tokens)
        if not lines:
            return None
        case.aim = max(case.target, total - lines * (case.trigger - case.target))
        line = case.trigger + (lines - 1) * (case.trigger - case.target)
        step = 0
        while line >= 0 and step < case.history.grouping.steps:
            line -= draft.step_tokens(step)
            step += 1
        return step

    def _spend(
        self, draft: Draft, earlier: Sequence[Message], steps: int | None
    ) -> None:
        """Take the strategy's edits until the target is met.

        Args:
            draft:
                The window in the making.
            earlier:
                Messages of ours that the last window held.
            steps:
                How many of the first steps the strategy is shown; none: all.
        """
        history = self.case.history
        view = history.view(
            available=self.case.available,
            target=self.case.target,
            progress=draft,
            steps=steps,
        )
        view.claims = self.case.claims
        view.earlier = tuple(earlier)
        # A strategy that never ends must not hang the caller.
        limit = 1_000 + 20 * len(history.grouping)
        fixed = {*history.held, *history.soft}
        # Steps that no other one is bound to, by a tie or by its turn's shape.
        single = not history.grouping.ties and not self.case.demands.core
        steps_of, free_before = history.grouping.steps_of, history.free_before
        goal = self._goal
        for nth, edit in enumerate(self.case.strategy.propose(view)):
            if nth >= limit:
                draft.warnings.append(f"the strategy was stopped after {nth} edits")
                break
            if (
                self._uncut
                and isinstance(edit, (Drop, Cover))
                and self._cut_older(draft)
            ):
                break
            if type(edit) is Drop:  # thousands of these
                unit = edit.unit
                if not single:
                    self._take_drop(draft, edit)
                elif unit.is_turn:
                    whole, returns = steps_of(unit.index), edit.may_return
                    freed = free_before[whole.stop] - free_before[whole.start]
                    # Whether it frees too much is only asked where it may.
                    if draft.tokens - freed < goal(draft) or not draft.drop_whole(
                        whole, edit.cause, may_return=returns
                    ):
                        self._take_drop(draft, edit)
                elif unit.index not in fixed:
                    draft.drop_step(unit.index, edit.cause, edit.may_return)
                else:
                    self._take_drop(draft, edit)
            else:
                self._take(draft, edit)
            if draft.tokens <= goal(draft) and self.case.within_limits(draft):
                break

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
                if not self.case.within_limits(draft):
                    draft.drop(steps, cause)

    def _may_return(self, draft: Draft, steps: Sequence[int]) -> bool:
        if not self.case.demands.core or draft.dropped is None:
            return True
        return self.case.last.may_return(steps, draft.dropped)

    def _goal(self, draft: Draft) -> int:
        """The target, less the room that is kept for a message to come."""
        reserved = draft.reserved.tokens if draft.reserved is not None else 0
        return self.case.aim - reserved

    def _write_reserved(self, draft: Draft) -> None:
        """Add the message that room was kept for, if there is room and reason."""
        reserve, room = draft.reserved, self.case.target - draft.tokens
        if reserve is None or draft.dropped is None or room <= 0:
            return
        history, grouping = self.case.history, self.case.history.grouping
        gone = [
            index
            for index, step in enumerate(grouping.step_of)
            if draft.dropped[step]
            and grouping.kinds[index] != HIDDEN
            and index not in history.forgotten
        ]
        message = reserve.write(gone, min(room, reserve.tokens)) if gone else None
        if message is not None and history.source.cost(message) <= room:
            turn = grouping.turn_of(grouping.step_of[gone[0]])
            draft.insert(message, self._place_before(turn), reserve.cause)

    def _place_before(self, turn: int) -> int:
        """The message behind which an insertion in front of *turn* stands.

        Never in front of the system messages that lead the history.
        """
        grouping = self.case.history.grouping
        turn = min(turn, grouping.turns - 1)
        lead = 0
        while lead < len(grouping) and grouping.kinds[lead] in UNSAID:
            lead += 1
        first = max(grouping.first[grouping.turn_first[turn]], lead) - 1
        return max(first, behind_memory(grouping))

    def _take(self, draft: Draft, edit: Edit) -> None:
        match edit:
            case Replace():
                self._take_replace(draft, edit)
            case Drop():
                self._take_drop(draft, edit)
            case Batch():
                self._take_batch(draft, edit)
            case Reserve():
                if draft.reserved is None and 0 < edit.tokens < self.case.target:
                    draft.reserved = edit
                else:
                    reason = "there is no room for it, or room is kept already"
                    draft.refused.append(Refused(f"reserve {edit.tokens}", reason))
            case Note():
                draft.warnings.append(edit.text)
            case Insert():
                self._take_insert(draft, edit)
            case Cover():
                self._take_summary(draft, edit)
            case _:  # a third-party strategy is not type-checked
                reason = f"proposed {edit!r}, which is not an edit"
                raise StrategyError(type(self.case.strategy).__name__, reason)

    def _take_drop(self, draft: Draft, edit: Drop) -> None:
        grouping, history = self.case.history.grouping, self.case.history
        unit = edit.unit
        held, soft = history.held, history.soft
        steps = grouping.steps_of(unit.index) if unit.is_turn else [unit.index]
        free = [s for s in steps if s not in held and s not in soft]
        if grouping.ties:
            free = [
                s
                for s in free
                if not any(t in held or t in soft for t in grouping.together(s))
            ]
        if not free and not unit.is_turn:
            cause = held.get(unit.index, Cause.PINNED)
            draft.refused.append(Refused(f"drop step {unit.index}", f"held: {cause}"))
            return
        if unit.is_turn and self._frees_too_much(draft, edit, free):
            self._drop_inside(draft, edit, free)
        else:
            self._drop(draft, edit, free)

    def _drop(self, draft: Draft, edit: Drop, free: list[int]) -> None:
        if self.case.demands.core and free:
            free = self.case.last.ready(free, draft.dropped)
        gone = draft.drop(free, edit.cause)
        if edit.may_return and gone:
            draft.returnable.append(gone)

    def _frees_too_much(self, draft: Draft, edit: Drop, free: list[int]) -> bool:
        """Whether a large turn's *free* steps are more than has to go."""
        together = self.case.history.grouping.together
        going = {t for s in free for t in together(s) if draft.is_kept(t)}
        freed = sum(map(draft.step_tokens, going))
        return (
            draft.tokens - freed < self._goal(draft)
            and len(going) > 1
            and self.case.is_large(freed, edit.split_above)
        )

    def _drop_inside(self, draft: Draft, edit: Drop, free: list[int]) -> None:
        """Give up a turn's *free* steps, oldest first, until that is enough.

        Its question, and what its provider wants to go last, go with the last of them.
        """
        last = last_of(self.case, edit.unit.index)
        inner = [s for s in free if s not in last and draft.is_kept(s)]
        together = self.case.history.grouping.together
        for step in inner:
            going = together(step)
            if not any(s not in going and draft.is_kept(s) for s in inner):
                break  # the last of them: the question would stay alone
            self._drop(draft, edit, [step])
            if draft.tokens <= self._goal(draft) and self.case.within_limits(draft):
                return
        self._drop(draft, edit, free)

    def _take_replace(self, draft: Draft, edit: Replace) -> None:
        freed = self._freed_by(draft, edit)
        if freed:
            draft.replace(edit.message, edit.content, edit.cause, freed)

    def _freed_by(self, draft: Draft, edit: Replace) -> int:
        """Tokens that a replacement frees; none, and why noted, if it may not be."""
        if not self._is_there(draft, edit.message):
            return 0
        reason = self._forbids(draft, edit)
        freed = draft.would_free(edit.message, edit.content)
        if reason is None and freed <= 0:
            reason = "it would not get smaller"
        if reason is None:
            return freed
        self._refuse(draft, edit, reason)
        return 0

    def _is_there(self, draft: Draft, index: int) -> bool:
        history = self.case.history
        step = history.grouping.step_of[index]
        return draft.is_kept(step) and index not in history.gone

    def _forbids(self, draft: Draft, edit: Replace) -> str | None:
        """Why a message that is there may not be replaced, whatever that frees."""
        history, index = self.case.history, edit.message
        if not self._is_there(draft, index):
            return "it is not in the window"
        old = history.mended.get(index) or history.source.message(index)
        if index in history.rules.pins:
            return "it is pinned"
        if is_final_word(old) and old.tool_results != edit.content.tool_results:
            return "it is somebody's consent, or the provider's own answer"
        if not _links_alike(old, edit.content):
            return "it would cut calls from their results"
        return self._objection(index, old, edit.content)

    def _refuse(self, draft: Draft, edit: Replace, reason: str) -> None:
        name = f"edit message {self.case.history.source.id(edit.message)}"
        draft.refused.append(Refused(name, reason))

    def _objection(self, index: int, old: Message, new: Message) -> str | None:
        """What the provider would have against *new* in place of *old*, if anything."""
        demands, step = self.case.demands, self.case.history.grouping.step_of[index]
        if demands.binds_thinking and step in self.case.history.sealed:
            return "signed reasoning behind it is bound to it"
        if demands.thinking and (
            adds_reasoning(old, new)
            or (step in self.case.history.sealed and not keeps_reasoning(old, new))
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
        chosen: dict[int, tuple[Replace, int]] = {}
        freed = 0
        for edit in batch.edits:
            if freed >= batch.at_least and draft.tokens - freed <= goal:
                break
            if edit.message in chosen:
                continue
            less = self._freed_by(draft, edit)
            if less:
                freed += less
                chosen[edit.message] = (edit, less)
        if freed < batch.at_least:
            reason = f"they would free {freed} tokens, not {batch.at_least}"
            draft.refused.append(Refused(f"a batch of {len(chosen)} edits", reason))
            return
        for edit, less in chosen.values():
            draft.replace(edit.message, edit.content, edit.cause, less)

    def _take_insert(self, draft: Draft, edit: Insert) -> None:
        if self.case.demands.binds_thinking and self.case.history.sealed:
            reason = "signed reasoning behind it is bound to what stands there"
            draft.refused.append(Refused("insert a message", reason))
            return
        draft.insert(edit.content, self._place_before(edit.before_turn), edit.cause)

    def _take_summary(self, draft: Draft, edit: Cover) -> None:
        """The covered turns' free steps go together, if that makes it smaller."""
        history, grouping = self.case.history, self.case.history.grouping
        free = [
            step
            for turn in sorted(edit.turns)
            for step in self.case.free_of(turn)
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
        if edit.place == "front":
            after = self._place_before(0)
        elif edit.place == "behind":
            after = max(grouping.members(free[-1]))
        else:
            after = grouping.first[free[0]] - 1
        draft.drop(free, edit.cause)
        draft.insert(edit.content, max(after, behind_memory(grouping)), edit.cause)

    def _strip_images(self, draft: Draft) -> bool:
        """Let old pictures go while there are too many; whether any went."""
        from turnkeep.strategies import StripImages  # noqa: PLC0415 - loads it

        limit = self.case.budget.max_images
        if limit is None or (left := draft.images()) <= limit:
            return False
        view = self.case.history.view(
            available=self.case.available, target=self.case.target, progress=draft
        )
        for edit in StripImages(keep=0).propose(view):
            if isinstance(edit, Replace) and self._give_up_picture(draft, edit):
                left -= 1
            if left <= limit:
                return True
        Refusal(self.case).too_many_images(draft, limit)
        return True

    def _give_up_picture(self, draft: Draft, edit: Replace) -> bool:
        """Take a replacement for the sake of its number of pictures, whatever it costs.

        The line that stands for a small picture may be the longer of the two.
        """
        reason = self._forbids(draft, edit)
        if reason is not None:
            self._refuse(draft, edit, reason)
            return False
        freed = draft.would_free(edit.message, edit.content)
        draft.replace(edit.message, edit.content, edit.cause, freed)
        return True
