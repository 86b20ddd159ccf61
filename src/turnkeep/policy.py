"""What a provider demands of a window: one class, made by its profile, read by all.

Dropping whole steps keeps calls and results together; what is here are the other ways
in which a hole, an edit or an empty text can make a list that its provider refuses.
Profiles say which of them hold; planning, encoding and repairing heed them.

Not public: it may change in any release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import attrs

from turnkeep.turns import OURS, RESULT, UNSAID, Grouping

Results: TypeAlias = Literal["after-call", "after-run", "anywhere"]
"""Where the results of a call must stand: right after the message that made it, in the
user turn that follows the run of messages it is part of, or anywhere in the list."""

SystemPlaces: TypeAlias = Literal["anywhere", "start", "after-user", "outside", "never"]
"""Where system text may stand: anywhere in the list; only at its start; at the start
(beside the list) and after a user turn; only beside the list; nowhere."""

Joins: TypeAlias = Literal["nothing", "sides", "results"]
"""What a provider wants as one entry: nothing; neighbours of one side, because roles
must alternate; or results, and calls with what the model said before."""


@attrs.frozen(kw_only=True)
class Policy:
    """Plain data; what costs planning nothing is the default.

    Where the evidence differs, a policy asks for the form that is accepted either way.
    """

    results: Results = "after-call"
    joins_results: bool = False
    """All results of one turn stand in one message (Bedrock, Gemini)."""
    alternates: bool = False
    """User and assistant messages must alternate; equal neighbours are merged."""
    first_user: bool = False
    """The first message (system text aside) is better the user's."""
    opens_with: Literal["any", "user", "no-call"] = "any"
    """What the first message may be, system text aside, or the request is refused:
    anything, only the user's, or no message with calls. `first_user` is what is also
    accepted where the evidence differs."""
    needs_user: bool = False
    """At least one user message must be left."""
    ends_with_user: bool = False
    """A list that ends on an assistant message is refused."""
    user_after_tool_ok: bool = True
    """A user message may follow a tool result directly; else an assistant text must
    stand between (older Mistral servers, alternating templates)."""
    call_after_assistant_ok: bool = True
    """A message with calls may follow an assistant message (Gemini: it may not)."""
    system_places: SystemPlaces = "anywhere"
    system_joins_rounds: bool = False
    """System text right behind a tool round's results belongs to that step (AN-03)."""

    binds_thinking: bool = False
    """Kept thinking is only valid behind an unchanged prefix (AE-03)."""
    may_bind_thinking: bool = False
    """The model may do so, and nobody knows: what is older than the tool round in
    progress goes with the first change, which is valid either way (AE-s2)."""
    thinking_whole: bool = False
    """The tool round in progress keeps all of its thinking (AE-02), or, where
    `thinking_required` is false, none of it."""
    thinking_required: bool = False
    """None is not enough: thinking is switched on (AN-18)."""
    reasoning_with_calls: bool = False
    """Every kept message with calls keeps its reasoning (DeepSeek)."""
    signed_calls: bool = False
    """Calls of the current turn keep their signatures (Gemini)."""
    pairs_reasoning: bool = False
    """Reasoning items and what follows them go together (Responses)."""

    empty_refused: frozenset[str] = frozenset()
    """Roles whose messages may not be without content."""
    empty_text_is_empty: bool = False
    """A message of nothing but empty text counts as one without content."""
    text_refused: Literal["none", "empty", "blank"] = "none"
    """Which texts beside others are refused: none, empty ones, those of white space."""
    empty_arrays_refused: frozenset[str] = frozenset()
    """Keys (`tool_calls`, `content`) that may not hold an empty array."""
    blank_alone_refused: bool = False
    """A message of nothing but white space is refused."""
    compacts_as: str | None = None
    """The format whose blocks of compacted messages its requests take; none: no such
    thing is sent."""

    @cached_property
    def opener_stays(self) -> bool:
        """Whether a turn's first message is dropped last of its turn.

        What is kept of a turn then follows its question.
        """
        return (
            self.first_user
            or self.opens_with != "any"
            or self.alternates
            or not self.call_after_assistant_ok
        )

    @cached_property
    def closer_stays(self) -> bool:
        """Whether its last message does so too, because roles must alternate."""
        return self.alternates or not self.user_after_tool_ok

    def opens_for(self, *, calls: bool) -> bool:
        """Whether kept steps need their turn's first message; *calls*: some make any.

        A rule, where `opener_stays` is an order of going.
        """
        if self.opens_with == "user" or self.alternates:
            return True
        return calls and (self.opens_with != "any" or not self.call_after_assistant_ok)

    def closes_for(self, *, calls: bool) -> bool:
        """Whether they need its last message, so that the next one may follow."""
        return self.alternates or (calls and not self.user_after_tool_ok)

    @cached_property
    def core(self) -> bool:
        """Whether some steps of a turn go last of it."""
        return self.opener_stays or self.closer_stays

    @cached_property
    def answers_tools(self) -> bool:
        """Whether the model must speak between results and the next user message."""
        return not self.user_after_tool_ok

    @cached_property
    def results_lead(self) -> bool:
        """Whether nothing may stand before results in the user's turn (AN-12).

        Where entries are joined, joining sees to it.
        """
        return (
            self.results == "after-run"
            and not self.joins_results
            and not self.alternates
        )

    @cached_property
    def system_between(self) -> bool:
        """Whether system text in the list keeps the messages beside it.

        Only so does it stand right.
        """
        return self.system_places == "after-user"

    @cached_property
    def system_after_results(self) -> bool:
        """Whether it may also stand behind tool results there."""
        return self.results == "after-run"

    @cached_property
    def system_first(self) -> bool:
        """Whether system text may only stand in front of the list, or beside it."""
        return self.system_places in ("outside", "start")

    @cached_property
    def joins(self) -> Joins:
        """What its provider wants as one entry."""
        if not self.joins_results:
            return "nothing"
        return "sides" if self.alternates else "results"

    @cached_property
    def signs_prefix(self) -> bool:
        """Whether thinking may be signed together with all that stands before it."""
        return self.binds_thinking or self.may_bind_thinking

    @cached_property
    def thinking(self) -> bool:
        """Whether a change may make thinking invalid."""
        return self.signs_prefix or self.thinking_whole

    @cached_property
    def asks_nothing(self) -> bool:
        """Whether planning has nothing to heed beside whole steps."""
        return not (
            self.core
            or self.ends_with_user
            or self.system_between
            or self.system_after_results
            or self.system_first
            or self.joins_results
            or self.thinking
            or self.thinking_required
            or self.pairs_reasoning
            or self.reasoning_with_calls
            or self.signed_calls
        )


NO_DEMANDS = Policy()
"""Of a provider that wants whole steps and nothing else."""


def keeps_closers(grouping: Grouping, policy: Policy) -> bool:
    """Whether a turn's last message is dropped last of it, in this history.

    System text that is part of a round stands before the model's words, or at the end.
    """
    return policy.closer_stays or (policy.system_between and bool(grouping.lines))


def core_of(grouping: Grouping, turn: int, policy: Policy) -> tuple[int, ...]:
    """The steps of a turn that go last of it, and together.

    Costs the turn's system messages.
    """
    steps = grouping.steps_of(turn)
    core: list[int] = []
    if policy.opener_stays:
        core += _first_said(grouping, steps)
    if turn + 1 < grouping.turns and keeps_closers(grouping, policy):
        core += _first_said(grouping, reversed(steps), (*UNSAID, OURS))
    return tuple(sorted({*core}))


def _first_said(
    grouping: Grouping, steps: Iterable[int], unsaid: Sequence[int] = UNSAID
) -> list[int]:
    kinds, first = grouping.kinds, grouping.first
    for step in steps:
        if kinds[first[step]] not in unsaid:
            return [step]
    return []


def bound_to(
    grouping: Grouping, turn: int, held: Iterable[int], policy: Policy
) -> list[int]:
    """The steps of a turn that its *held* ones would be refused without."""
    calls = False
    if not policy.alternates:
        waiting = {grouping.step_at(call.message) for call in grouping.open_calls}
        calls = any(
            step in waiting
            or any(grouping.kinds[index] == RESULT for index in grouping.members(step))
            for step in held
        )
    steps = grouping.steps_of(turn)
    bound: list[int] = []
    if policy.opens_for(calls=calls):
        bound += _first_said(grouping, steps)
    closes = policy.closes_for(calls=calls) or keeps_closers(grouping, policy)
    if closes and turn + 1 < grouping.turns:
        bound += _first_said(grouping, reversed(steps), (*UNSAID, OURS))
    return bound
