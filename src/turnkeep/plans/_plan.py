from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from turnkeep.errors import StalePlanError, UnknownMessageError
from turnkeep.model import Message

from ._decisions import Action, Decision, Decisions, Inserted, Refused, Run

Order: TypeAlias = Sequence[int | Inserted]
"""A window: indexes of messages, and messages of ours."""


class Edited(NamedTuple):
    """What is sent instead of a message."""

    message: Message
    cause: str
    tokens: int


class PlanSource(Protocol):
    """What a plan asks the history it was made for."""

    def count(self, index: int) -> int:
        """Tokens of a message; counted now if they have not been."""
        ...

    def message(self, index: int) -> Message:
        """A message as it was when the plan was made."""
        ...

    def id(self, index: int) -> str:
        """Id of a message."""
        ...

    def fingerprint(self) -> Any:
        """Changes when the history does."""
        ...

    def apply(self, plan: Plan, messages: Any) -> Any:
        """The window that *plan* leaves of *messages*, in their shape."""
        ...


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Plan:
    """What the engine decided about each message, and what it adds up to.

    `print(plan)` shows a short table; `plan.explain(id)` says in a sentence what became
    of one message. A plan never changes, and can be pickled.
    """

    tokens: int
    """Tokens of the window: messages, stand-ins, system, tools and overhead."""

    available: int
    """Tokens the budget leaves for messages."""

    fixed: int
    """Tokens of tools, system text beside the list, and per-request overhead."""

    inserted: tuple[Inserted, ...]
    """Stand-ins and other messages of ours, in their order."""

    warnings: tuple[str, ...]
    """What the caller should know: a missed target, a mended history, ..."""

    refused: tuple[Refused, ...]
    """Edits that were proposed and not taken."""

    exact: bool
    """Whether *tokens* is the provider's own count."""

    margin: float
    """Share by which the true count may be higher."""

    pruned: bool
    """Whether anything had to go."""

    _edits: Mapping[int, tuple[Message, str, int]]
    _source: PlanSource
    _fingerprint: Any
    _memory: Any
    _make_runs: Callable[[], tuple[Run, ...]]
    _make_order: Callable[[], tuple[Order, tuple[int, ...]]]
    _joins: Callable[[Order], Sequence[int]] | None = None
    """Finds the places of the window that its provider wants joined."""
    _hand_over: Callable[[], None] | None = None
    """What is to be done before the window is handed out."""

    @cached_property
    def edits(self) -> Mapping[int, Edited]:
        """Messages that are sent changed, by index; nobody can write to it."""
        edits = self._edits
        sent = self.order if edits else ()  # some are edited first, and dropped later
        return MappingProxyType(
            {
                item: Edited(*edits[item])
                for item in sent
                if isinstance(item, int) and item in edits
            }
        )

    @cached_property
    def _placed(self) -> tuple[Order, tuple[int, ...]]:
        return self._make_order()

    @property
    def order(self) -> Order:
        """The window: indexes of messages, and messages of ours."""
        return self._placed[0]

    @property
    def moved(self) -> tuple[int, ...]:
        """Results that are placed right behind their call, by index."""
        return self._placed[1]

    @cached_property
    def joined(self) -> tuple[int, ...]:
        """Places in *order* whose entry is joined with the one before it on the wire.

        Only where a hole or a message of ours made neighbours that the provider wants
        as one.
        """
        return () if self._joins is None else tuple(self._joins(self.order))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every message's decision, neighbours with the same one taken together."""
        return self._make_runs()

    def _decision(self, index: int, action: Action, cause: str) -> Decision:
        tokens = self._source.count(index)
        after = 0 if action == "drop" else tokens
        if index in self._edits and action != "drop":
            after = self._edits[index][2]
        return Decision(index, self._source.id(index), action, cause, tokens, after)

    def _select(self, action: Action) -> Decisions:
        return Decisions([r for r in self.runs if r.action == action], self._decision)

    @property
    def decisions(self) -> Decisions:
        """Every message's decision, in the order of the history."""
        return Decisions(self.runs, self._decision)

    @property
    def kept(self) -> Decisions:
        """Messages sent as they are."""
        return self._select("keep")

    @property
    def dropped(self) -> Decisions:
        """Messages left out."""
        return self._select("drop")

    @property
    def edited(self) -> Decisions:
        """Messages sent changed."""
        return self._select("edit")

    @property
    def tokens_before(self) -> int:
        """Tokens of the whole history; counts what has not been counted yet."""
        return self.fixed + sum(map(self._source.count, range(self._total)))

    @property
    def _total(self) -> int:
        """Number of messages in the history."""
        return self.runs[-1].stop if self.runs else 0

    def message(self, index: int) -> Message:
        """A message of the history as it was when the plan was made."""
        return self._source.message(index)

    def span(self, run: Run) -> str:
        """Ids of a run's messages: of the first and, where there are more, the last."""
        first = self._source.id(run.start)
        if len(run) == 1:
            return first
        return f"{first} .. {self._source.id(run.stop - 1)}"

    def tokens_of(self, run: Run) -> tuple[int, int]:
        """Tokens of a run's messages in the history and in the window; counts them."""
        before = sum(map(self._source.count, range(run.start, run.stop)))
        if run.action == "drop":
            return before, 0
        if run.action == "keep":
            return before, before
        indexes = range(run.start, run.stop)
        return before, sum(self._edits[index][2] for index in indexes)

    def explain(self, message: str | int) -> str:
        """What became of a message, and why, in a sentence; costs a look at each id.

        Args:
            message:
                Its id, or its index (negative ones count from the end).

        Raises:
            UnknownMessageError: The history has no such message.
        """
        from ._words import explained  # noqa: PLC0415 - rarely asked for

        return explained(self, self.decisions[self._index_of(message)])

    def _index_of(self, message: str | int) -> int:
        total = self._total
        if isinstance(message, str):
            for index in range(total):
                if self._source.id(index) == message:
                    return index
            raise UnknownMessageError(message)
        is_index = not isinstance(message, bool) and isinstance(message, int)
        if not is_index or not -total <= message < total:
            raise UnknownMessageError(message)
        return message % total

    def apply(self, messages: Any) -> Any:
        """The window that this plan leaves of *messages*, in their own shape.

        What `Offload` left out is written to its store first.

        Raises:
            StalePlanError: These are not the messages that the plan was made for.
        """
        if self._source.fingerprint() != self._fingerprint:
            reason = "it has changed since"
            raise StalePlanError(reason)
        hand_over(self)
        return self._source.apply(self, messages)

    def __str__(self) -> str:
        """A short table: what is kept, what went, and why, with tokens."""
        from ._words import table  # noqa: PLC0415 - for people only

        return table(self)

    def __repr__(self) -> str:
        """Show the figures."""
        return (
            f"Plan({self.tokens:,} of {self.available + self.fixed:,} tokens: "
            f"{len(self.kept):,} kept, {len(self.edited):,} edited, "
            f"{len(self.dropped):,} dropped, {len(self.inserted):,} added)"
        )

    def _repr_html_(self) -> str:
        """For notebooks: figures, runs and causes."""
        from ._notebook import plan_html  # noqa: PLC0415 - rarely shown

        return plan_html(self)

    def __copy__(self) -> Plan:
        """The same plan: it never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Plan:
        """The same plan: it never changes."""
        return self

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[dict[str, Any]]]:
        """Everything it says, worked out: what made it need not cross processes.

        Whoever gets it can apply it, so what that demands is done here.
        """
        hand_over(self)
        from ._saved import source_of  # noqa: PLC0415 - rarely pickled

        figures = {
            field.name: getattr(self, field.name)
            for field in attrs.fields(Plan)
            if not field.name.startswith("_")
        }
        told: dict[str, Any] = {
            "edits": dict(self._edits),
            "runs": self.runs,
            "order": list(self.order),
            "moved": self.moved,
            "joined": self.joined,
            "source": source_of(self._source, self._total),
        }
        return _restored, ({**figures, **told},)


def _restored(told: dict[str, Any]) -> Plan:
    """A plan that was pickled; its history is the one that it was made for."""
    told = dict(told)
    placed = told.pop("order"), told.pop("moved")
    runs, joined = told.pop("runs"), told.pop("joined")
    return Plan(
        **told,
        fingerprint=told["source"].fingerprint(),
        memory=None,
        make_runs=lambda: runs,
        make_order=lambda: placed,
        joins=lambda _order: joined,
    )


def memory_of(plan: Plan) -> Any:
    """What a conversation keeps of a plan, so that its next window begins alike."""
    return plan._memory  # noqa: SLF001 - for the engine's callers, not for users


def handover_of(plan: Plan) -> Callable[[], None] | None:
    """What puts the texts that a plan's window only refers to where they can be read.

    To be called before the window is handed out; none where nothing is to be done.
    """
    return plan._hand_over  # noqa: SLF001 - for whoever makes windows of plans


def hand_over(plan: Plan) -> None:
    """Do what `handover_of` says."""
    before = handover_of(plan)
    if before is not None:
        before()
