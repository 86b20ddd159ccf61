from __future__ import annotations

from turnkeep.engine._limits import images_in
from turnkeep.errors import BudgetExceededError, Held, OpenCallError
from turnkeep.plans import Cause

from ._case import Case
from ._draft import Draft
from ._shortening import Shortening


class Refusal:
    """What cannot go: the last steps before an error, and the error."""

    def __init__(self, case: Case, shortening: Shortening | None = None) -> None:
        self.case = case
        self.shortening = shortening or Shortening(case)

    def last_resort(self, draft: Draft) -> None:
        """Our own messages, the rest of pinned turns, the middle of tool results."""
        withdrawn = 0
        while draft.inserted and draft.tokens > self.case.available:
            draft.withdraw()
            withdrawn += 1
        if withdrawn:
            draft.warnings.append(
                f"{withdrawn} summaries or other additions had to be left out: there "
                "is no room for them"
            )
        soft = sorted(self.case.history.soft)
        gone = 0
        for step in soft:
            if draft.tokens <= self.case.available:
                break
            gone += len(draft.drop([step], Cause.LIMIT))
        if gone:
            draft.warnings.append(
                f"{gone} steps that go last had to go: earlier summaries, and of "
                "pinned turns all but the pinned step, the question and the last step"
            )
        if draft.tokens > self.case.available and self.case.to_the_bone:
            cut = self.shortening.cut_to_limit(draft)
            if cut:
                draft.warnings.append(
                    f"{cut} tool results that cannot go had to be shortened"
                )
        if draft.tokens > self.case.available:
            self.overflow(draft)

    def overflow(self, draft: Draft) -> None:
        """Too many tokens, and none of them may go."""
        if not self.case.within_limits(draft):
            # No max_tokens would do: the other limit is in the way as well.
            self.over_limit(draft)
        needed = draft.tokens + self.case.fixed
        smallest = self.case.budget.smallest(needed, margin=self.case.terms.margin)
        if self.case.terms.on_overflow == "send":
            draft.warnings.append(
                f"over budget by {draft.tokens - self.case.available} tokens and sent "
                f"all the same; max_tokens would have to be {smallest}"
            )
            return
        raise BudgetExceededError(
            needed=needed,
            available=self.case.available + self.case.fixed,
            smallest=smallest,
            limit="tokens",
            held=self._blame(draft),
        )

    def over_limit(self, draft: Draft) -> None:
        """Too many turns or messages, and none of them may go."""
        budget, grouping = self.case.budget, self.case.history.grouping
        turns, messages = draft.census.turns, draft.census.messages
        by_turns = budget.max_turns is not None and turns > budget.max_turns
        limit = "turns" if by_turns else "messages"
        needed = turns if by_turns else messages
        allowed = (budget.max_turns if by_turns else budget.max_messages) or 0
        if self.case.terms.on_overflow == "send":
            draft.warnings.append(f"{needed} {limit} sent, though max is {allowed}")
            return
        held: dict[int, Held] = {}
        for step in range(grouping.steps):
            if draft.is_kept(step):
                cause = self.case.history.held.get(step, "not_offered")
                key = grouping.turn_of(step) if by_turns else step
                size = 1 if by_turns else len(self.case.history.visible(step))
                name = self.case.history.source.id(grouping.first[step])
                held.setdefault(key, Held(name, cause, size))
        raise BudgetExceededError(
            needed=needed,
            available=allowed,
            smallest=needed,
            limit=limit,
            held=tuple(held.values()),
        )

    def _blame(self, draft: Draft) -> tuple[Held, ...]:
        history, grouping = self.case.history, self.case.history.grouping
        blamed = [item for item in self.case.terms.fixed if item.tokens]
        for step in range(grouping.steps):
            if not draft.is_kept(step):
                continue
            cause = history.held.get(step, "not_offered")
            indexes = history.visible(step)
            for nth, index in enumerate(indexes):
                tokens = draft.sent_tokens(index)
                if not nth:
                    tokens += history.added_tokens(step)
                blamed.append(Held(history.source.id(index), cause, tokens))
        blamed += [
            Held(item.cause, "not_offered", item.tokens) for item in draft.inserted
        ]
        return tuple(blamed)

    def too_many_images(self, draft: Draft, limit: int) -> None:
        """What is left is pinned."""
        history, needed = self.case.history, draft.images()
        if self.case.terms.on_overflow == "send":
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

    def open_calls(self) -> None:
        grouping = self.case.history.grouping
        per_message = self.case.terms.placement == "after-call"
        open_ids = [
            call.key
            for call in self.case.history.open_calls
            if not call.is_hosted
            and grouping.needs_stand_in(call, per_message=per_message)
        ]
        if open_ids:
            raise OpenCallError(tuple(open_ids))
