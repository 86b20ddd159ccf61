"""Tool results that are too large for their budget lose their middle.

What has just been read stays whole while the limit allows it. Once older, a result that
alone takes more than half of the target is cut to a quarter of it before any step
goes, to the same bytes each time: so no step leaves for its size alone, only to be
fetched again. And where what must stay does not fit, results in it are cut, no further
than it takes, before anybody is told that it does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from turnkeep.model import CLEARED, OFFLOADED, Message, Role, ToolResult, marker_of
from turnkeep.plans import Cause
from turnkeep.strategies._results import with_result
from turnkeep.strategies._shorten import (
    has_text,
    measure_of,
    saying,
    shorten,
    shortest,
)
from turnkeep.turns import ASSISTANT, HIDDEN, RESULT, is_final_word

from ._case import Case
from ._draft import Draft
from ._terms import Memory

HEAD: Final = 0.5
"""Share of what is kept that is taken from the beginning."""

TRIES: Final = 4


class Long(NamedTuple):
    """A result that may be cut, and its tokens."""

    tokens: int
    step: int
    message: int
    position: int


class Shortening:
    """Cuts results of one plan."""

    def __init__(self, case: Case, memory: Memory | None = None) -> None:
        """Nothing is cut yet; what *memory* holds cut is cut alike."""
        self.case = case
        self.history = case.history
        self.half = case.target // 2
        self.quarter = case.target // 4
        self._known = {} if memory is None else memory.replaced
        self._recent: frozenset[int] | None = None
        self._looked: set[int] = set()
        self._cut: list[int] = []
        """The messages cut for their size, in the order of the cuts."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller wants results cut."""
        return self.case.terms.on_overflow == "shorten"

    @property
    def recent(self) -> frozenset[int]:
        """The newest step, and those with results that the model has yet to read."""
        if self._recent is None:
            grouping = self.history.grouping
            kinds, at = grouping.kinds, len(grouping) - 1
            found = set() if self.history.newest is None else {self.history.newest}
            while at >= 0 and kinds[at] != ASSISTANT:
                if kinds[at] == RESULT:
                    found.add(grouping.step_of[at])
                at -= 1
            self._recent = frozenset(found)
        return self._recent

    # -- for their size ----------------------------------------------------------------

    def size(self, draft: Draft, step: int) -> int:
        """Tokens of a step once its large results are cut, if it is an older one."""
        if (
            step not in self._looked
            and self.history.tokens(step) > self.half
            and self.is_wanted
        ):
            self._looked.add(step)
            if step not in self.recent:
                self._cut_step(draft, step, self.half, self.quarter)
        return draft.step_tokens(step)

    def cut_older(self, draft: Draft) -> None:
        """Cut the large results of all older steps. Costs the steps."""
        if self.is_wanted:
            for step in range(self.history.grouping.steps):
                if draft.is_kept(step):
                    self.size(draft, step)

    def cap(self, draft: Draft) -> bool:
        """No result, new or old, takes more than the model's window allows a text.

        Returns:
            Whether there was such a one.
        """
        before = len(self._cut)
        longest = self.case.terms.longest
        if longest is not None and self.is_wanted:
            for step in range(self.history.grouping.steps):
                if draft.is_kept(step) and self.history.tokens(step) > longest:
                    self._cut_step(draft, step, longest, longest)
        found = len(self._cut) > before
        del self._cut[before:]  # for good
        return found

    def bring_back(self, draft: Draft) -> None:
        """Where nothing else had to go, the newest that fit whole come back."""
        for index in reversed(self._cut):
            if draft.tokens + draft.freed_by(index) <= self.case.target:
                draft.undo(index)

    def _cut_step(self, draft: Draft, step: int, above: int, limit: int) -> None:
        for index in self.history.visible(step):
            if draft.sent_tokens(index) <= above or not self._may_cut(step, index):
                continue
            message, known = self._now(draft, index), self._known.get(index)
            if draft.replaced.get(index, ("", ""))[1] == Cause.SHORTENED:
                message = self._original(index)
            made = message
            if (
                known is not None
                and known[1] == Cause.SHORTENED
                and self.history.source.cost(known[0]) <= above
            ):
                made = known[0]
            else:
                for position, result in enumerate(message.tool_results):
                    short = self._shorter(result, above, limit)
                    if short is not None:
                        made = with_result(made, position, saying(result, short))
            if made is not message and (freed := draft.would_free(index, made)) > 0:
                draft.replace(index, made, Cause.SHORTENED, freed)
                self._cut.append(index)

    def _shorter(self, result: ToolResult, above: int, limit: int) -> str | None:
        """What is left of a result of more than *above* tokens; none: all of it."""
        text = result.text
        if not _is_answer(result) or marker_of(text) == OFFLOADED:
            return None
        # No token is shorter than a byte, so most results need no counting.
        if len(text) * 4 <= above:
            return None
        measure = measure_of(self.history.source.cost, result)
        whole = measure(text)
        if whole <= above:
            return None
        return shorten(text, whole, limit, HEAD, measure)

    # -- because the limit demands it --------------------------------------------------

    def cut_to_limit(self, draft: Draft) -> int:
        """Cut results of what is kept, largest first, until it fits; how many.

        Those that have just come are the last. Costs what is kept.
        """
        count = 0
        found = sorted(
            self._long(draft),
            key=lambda one: (
                one.step == self.history.newest,
                one.step in self.recent,
                -one.tokens,
                one.message,
                one.position,
            ),
        )
        for one in found:
            if draft.tokens <= self.case.available:
                break
            count += self._cut_one(draft, one)
        return count

    def _long(self, draft: Draft) -> Iterator[Long]:
        cost = self.history.source.cost
        for step in range(self.history.grouping.steps):
            if not draft.is_kept(step):
                continue
            for index in self.history.visible(step):
                if not self._may_cut(step, index):
                    continue
                before = self._original(index).tool_results
                for position, result in enumerate(self._now(draft, index).tool_results):
                    # What a strategy cleared may be said in fewer words than that.
                    if _is_answer(result) or _is_answer(before[position]):
                        tokens = measure_of(cost, result)(result.text)
                        yield Long(tokens, step, index, position)

    def _cut_one(self, draft: Draft, one: Long) -> bool:
        """Cut one result so that the window fits, or as far as it goes."""
        message = self._now(draft, one.message)
        result = message.tool_results[one.position]
        # As much of the original as there is room for, however it was cut before.
        before = self._original(one.message).tool_results[one.position]
        if marker_of(result.text) == OFFLOADED:
            before = result  # its reference stays
        text = before.text
        measure = measure_of(self.history.source.cost, before)
        whole = measure(text)
        limit = one.tokens - (draft.tokens - self.case.available)
        made: Message | None = None
        for _ in range(TRIES):
            short = shorten(text, whole, limit, HEAD, measure) if limit > 0 else None
            made = None
            if short is None:
                break
            made = with_result(message, one.position, saying(result, short))
            over = draft.tokens - draft.would_free(one.message, made)
            over -= self.case.available
            if over <= 0:
                break
            limit -= over
            made = None
        if made is None:
            least = saying(result, shortest(text, measure))
            made = with_result(message, one.position, least)
        freed = draft.would_free(one.message, made)
        if freed <= 0:
            return False
        draft.replace(one.message, made, Cause.LIMIT, freed)
        return True

    # -- what may be cut ---------------------------------------------------------------

    def _may_cut(self, step: int, index: int) -> bool:
        """Whether a message's results may be cut: tools', and not pinned or bound."""
        history = self.history
        kind = history.grouping.kinds[index]
        if kind == HIDDEN or index in history.rules.pins:
            return False
        if history.rules.demands.binds_thinking and step in history.sealed:
            return False
        message = history.source.message(index)
        # What stands in the model's own message is the provider's.
        theirs = message.role is Role.ASSISTANT or is_final_word(message)
        return bool(message.tool_results) and not theirs

    def _original(self, index: int) -> Message:
        return self.history.mended.get(index) or self.history.source.message(index)

    def _now(self, draft: Draft, index: int) -> Message:
        return draft.edited(index) or self._original(index)


def _is_answer(result: ToolResult) -> bool:
    """Whether a result is a tool's last word, in words."""
    return result.final and has_text(result) and marker_of(result.text) != CLEARED
