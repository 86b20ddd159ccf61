from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnkeep.budgets import Budget
from turnkeep.engine._order import joined_in, place, runs_of
from turnkeep.engine._reasoning import (
    Last,
    ends_in_bare_round,
    first_change,
    frame_of,
    rounds_in_progress,
    sealed_in,
    thoughts,
)
from turnkeep.errors import BudgetExceededError
from turnkeep.index import History
from turnkeep.plans import Cause, Plan
from turnkeep.strategies import DEFAULT, OldestTurns, Strategy
from turnkeep.strategies._keeping import handover_of
from turnkeep.turns import ASSISTANT, HIDDEN, Problem

from ._case import Case
from ._draft import Draft
from ._newest import NewestEnd
from ._refusal import Refusal
from ._shortening import Shortening
from ._spending import Spending
from ._terms import Memory, Terms

OLDEST: Final = OldestTurns()


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
    case = Case(history, budget, strategy or DEFAULT, terms or Terms())
    return Planner(case).plan(memory)


class Planner:
    """Decides in which order things are tried, and says what came of it."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def plan(self, memory: Memory | None) -> Plan:
        """Decide."""
        history = self.case.history
        if self.case.terms.open_calls == "raise":
            Refusal(self.case).open_calls()
        if history.is_empty:
            draft = Draft(history)
            if self.case.available < 0:
                Refusal(self.case).overflow(draft)
            return self._finish(draft, pruned=False)
        if self.case.demands.thinking:
            draft, pruned = self._decide_with_reasoning(memory)
        else:
            draft, pruned = self._decide(memory)
        return self._finish(draft, pruned=pruned)

    def _decide_with_reasoning(self, memory: Memory | None) -> tuple[Draft, bool]:
        history = self.case.history
        if memory is not None:
            lost = (i for i, (_, c) in memory.replaced.items() if c == Cause.PROFILE)
            history.strip(index for index in lost if index not in history.gone)
        found = thoughts(history)
        if not found:
            return self._decide(memory)
        if self.case.demands.binds_thinking:
            return self._decide_bound(memory, found)
        if self.case.demands.may_bind_thinking:
            return self._decide_either_way(memory, found)
        return self._decide_whole(memory, found)

    def _decide_either_way(
        self, memory: Memory | None, found: list[int]
    ) -> tuple[Draft, bool]:
        """Nobody knows whether a change makes reasoning invalid: the old goes with it.

        What the round in progress holds is wanted back by those that do not bind it,
        and what its loop does where thinking is enabled.
        """
        history = self.case.history
        rounds = rounds_in_progress(history.grouping, history.gone)
        if not self.case.demands.thinking_required:
            rounds = rounds[-1:]
        step_of = history.grouping.step_of
        kept = {*rounds, *self._continued()}
        due, changed = self._is_due(memory)
        old = [i for i in found if i > changed and step_of[i] not in kept]
        if not old:
            return self._decide_whole(memory, found)
        history.strip(old)
        if due:
            self.case.trigger = min(self.case.trigger, self.case.target)
        draft, pruned = self._decide_whole(memory, thoughts(history))
        draft.warnings.append(
            f"the reasoning of {len(old)} messages is left out: the model may bind it "
            "to an unchanged history"
        )
        return draft, pruned or due

    def _continued(self) -> list[int]:
        """The step of an answer that the model goes on with: it opens as it did."""
        grouping = self.case.history.grouping
        newest = grouping.newest
        if newest is None or not self.case.demands.thinking_required:
            return []
        said = grouping.kinds.rfind(ASSISTANT)
        last = len(grouping.kinds.rstrip(bytes([HIDDEN]))) - 1
        return [newest] if said == last else []

    def _decide_bound(
        self, memory: Memory | None, found: list[int]
    ) -> tuple[Draft, bool]:
        """Any change makes all reasoning behind it invalid, so all of that goes first.

        Counted without it, so that no more goes than has to. Where the round in
        progress must keep its own, nothing before that can change.
        """
        history, step_of = self.case.history, self.case.history.grouping.step_of
        due, changed = self._is_due(memory)
        lost = [index for index in found if index > changed]
        if not due and not lost:
            return self._decide(memory)
        rounds = rounds_in_progress(history.grouping, history.gone)
        needed = [i for i in found if step_of[i] in rounds]
        if self.case.demands.thinking_required and needed:
            history.seal(range(step_of[needed[-1]] + 1))
            draft, pruned = self._decide(memory)
            draft.warnings.append(
                "nothing before the tool round in progress can change while thinking "
                "is enabled: its reasoning is signed together with all of it"
            )
            return draft, pruned
        history.strip(lost)
        if due:
            self.case.trigger = min(self.case.trigger, self.case.target)
        draft, pruned = self._decide_without_reasoning(memory)
        draft.warnings.append(
            f"the reasoning of {len(lost)} messages is left out: it is only valid "
            "behind an unchanged history"
        )
        return draft, pruned or due

    def _decide_without_reasoning(self, memory: Memory | None) -> tuple[Draft, bool]:
        """Where reasoning was stripped: no older round may pass for one in progress.

        The answer behind it says that it is not, so that stays where such a round does.
        """
        history, draft, pruned = self.case.history, None, False
        try:
            draft, pruned = self._decide(memory)
            left = draft.dropped
        except BudgetExceededError:
            # What must stay, and nothing else.
            steps = range(history.grouping.steps)
            left = bytearray(step not in history.held for step in steps)
            if not self._is_bare(left):
                raise
        if draft is not None and not self._is_bare(left):
            return draft, pruned
        kinds, step_of = history.grouping.kinds, history.grouping.step_of
        history.seal([step_of[kinds.rfind(ASSISTANT)]])
        self.case.last = Last(history)
        return self._decide(memory)

    def _is_bare(self, dropped: bytearray | None) -> bool:
        required = self.case.demands.thinking_required
        return required and ends_in_bare_round(self.case.history, dropped)

    def _is_due(self, memory: Memory | None) -> tuple[bool, int]:
        """Whether something has to go, and behind which message all is changed.

        The number of messages where nothing is.
        """
        history = self.case.history
        draft = Draft(history)
        frame = frame_of(history)
        if memory is None:
            changed = first_change(history.grouping, None, frame)
            draft.tokens = 0
            # From the newest end, and no further than it takes: those are counted for
            # the window anyway.
            for step in range(history.grouping.steps - 1, -1, -1):
                draft.tokens += history.tokens(step)
                if draft.tokens > self.case.trigger:
                    break
        else:
            draft.resume(memory)
            now = bytes(draft.dropped or b"")
            changed = first_change(history.grouping, memory.frame, frame)
            if now[: len(memory.dropped)] != memory.dropped:
                changed = -1
        due = draft.tokens > self.case.trigger or not self.case.within_limits(draft)
        return due, -1 if due else changed

    def _decide_whole(
        self, memory: Memory | None, found: list[int]
    ) -> tuple[Draft, bool]:
        """The round in progress keeps its reasoning whole, or, if need be, none."""
        history, step_of = self.case.history, self.case.history.grouping.step_of
        rounds = rounds_in_progress(history.grouping, history.gone)
        sealed = sealed_in(history.grouping, history.gone, found)
        history.seal(sealed)
        if self.case.demands.thinking_required or not sealed:
            return self._decide(memory)
        # Reasoning goes before results are cut for the limit's sake, and nobody may
        # have asked for more than the newest round's.
        to_the_bone, self.case.to_the_bone = self.case.to_the_bone, False
        try:
            for steps in [sealed, sealed[-1:]] if len(sealed) > 1 else [sealed]:
                history.seal(steps)
                try:
                    draft, pruned = self._decide(memory)
                except BudgetExceededError:
                    self.case.last = Last(history)
                else:
                    if draft.tokens <= self.case.available:
                        return draft, pruned
        finally:
            self.case.to_the_bone = to_the_bone
        lost = [index for index in found if step_of[index] in rounds]
        history.seal(())
        history.strip(lost)
        self.case.last = Last(history)
        draft, pruned = self._decide(memory)
        draft.warnings.append(
            f"the reasoning of {len(lost)} messages of the tool round in progress is "
            "left out: it must stay whole or go, and there is no room for it"
        )
        return draft, True

    def _decide(self, memory: Memory | None) -> tuple[Draft, bool]:
        history = self.case.history
        draft = Draft(history)
        if memory is not None:
            draft.resume(memory)
        else:
            draft.tokens = -1
        shortening = Shortening(self.case, memory)
        capped = shortening.cap(draft)
        by_edits = self.case.limited or self.case.budget.max_images is not None
        # Counting from the newest end takes one step after the other; steps that leave
        # together need a choice.
        if (
            by_edits
            or history.grouping.ties
            or history.first_to_go
            or self.case.strategy not in (DEFAULT, OLDEST)
        ):
            earlier = tuple(item.message for item in draft.inserted)
            if memory is not None and self.case.is_over(draft):
                # The prefix changes anyway, so the strategy chooses anew: what is
                # needed again may come back, and additions are written anew.
                draft = Draft(history, -1)
                shortening.cap(draft)
            pruned = Spending(self.case, shortening).prune(draft, earlier)
        elif memory is not None and draft.tokens <= self.case.trigger:
            pruned = False
        else:
            draft = Draft(history)
            shortening.cap(draft)
            pruned = NewestEnd(self.case, shortening).prune(draft)
        if draft.tokens > self.case.available:
            Refusal(self.case, shortening).last_resort(draft)
        if not self.case.within_limits(draft):
            Refusal(self.case).over_limit(draft)
        if pruned and self.case.aim < draft.tokens <= self.case.available:
            draft.warnings.append(missed_target(self.case.target, draft.tokens))
        return draft, pruned or capped

    def _finish(self, draft: Draft, *, pruned: bool) -> Plan:
        history, terms = self.case.history, self.case.terms
        added = [
            item
            for step in history.with_additions()
            if draft.is_kept(step)
            for item in history.additions(step)
        ]
        added += draft.inserted
        edits = {
            index: (message, cause, draft.sent_tokens(index))
            for index, (message, cause) in draft.replaced.items()
        }
        for index, message in history.mended.items():
            why = Cause.PROFILE if index in history.stripped else Cause.REPAIR
            edits.setdefault(index, (message, why, history.cost_at(index, message)))
        hand_over = None
        if draft.replaced:
            mended, was = history.mended, history.source.message
            hand_over = handover_of(
                self.case.strategy,
                (
                    (mended.get(nth) or was(nth), sent)
                    for nth, (sent, _) in draft.replaced.items()
                ),
            )
        if history.gone or history.mended:
            early = history.early
            bad = [p for p in history.grouping.problems if p.message not in early]
            draft.warnings += left_out(bad, history.source.id)
        draft.warnings += lost_answers(history)
        draft.warnings += [*not_counted(history), *left_bare(history)]
        return Plan(
            tokens=draft.tokens + self.case.fixed,
            available=self.case.available,
            fixed=self.case.fixed,
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
            hand_over=hand_over,
            joins=lambda order: joined_in(history, order),
            make_order=lambda: place(history, draft.dropped, added, terms.placement),
            make_runs=lambda: runs_of(
                history,
                draft.dropped,
                draft.causes,
                {index: cause for index, (_, cause, _) in edits.items()},
            ),
        )


def missed_target(target: int, tokens: int) -> str:
    """The warning about a window that is within the budget and above its target."""
    return (
        f"the target of {target} tokens was missed: "
        f"{tokens} cannot go under this strategy"
    )


def lost_answers(history: History) -> list[str]:
    """The warning about the provider's answers to calls that are not there, if any."""
    if not history.rules.repair or history.grouping.stateful:
        return []
    ids = [name for names in history.grouping.lost.values() for name in names][:10]
    said = f"left out: answers to {', '.join(ids)}, which are not in the history"
    return [said] if ids else []


def not_counted(history: History) -> list[str]:
    """The warning about what the provider keeps, if it keeps anything."""
    names = list(history.rules.kept)
    if history.grouping.references:
        names.append("item_reference")
    if not names:
        return []
    said = f"what the provider keeps under {' and '.join(names)} is neither counted nor"
    return [f"{said} cut: the request may be larger than it says"]


def left_bare(history: History) -> list[str]:
    """The warning about calls that wait and get no stand-in, if there are any."""
    calls = [f"{call.key} ({call.name})" for call in history.bare[:10]]
    if not calls:
        return []
    return [
        f"sent without an answer: {', '.join(calls)}; nothing of ours can stand for it"
    ]


def left_out(problems: Sequence[Problem], id_of: Callable[[int], str]) -> list[str]:
    """The warning about what the provider would refuse, if there is any."""
    bad = [
        " ".join(filter(None, (*p.kind.split("_"), p.call_id, f"({id_of(p.message)})")))
        for p in problems[:10]
    ]
    return [f"left out: {', '.join(bad)}"] if bad else []
