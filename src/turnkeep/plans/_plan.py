from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import attrs

from turnkeep.errors import StalePlanError
from turnkeep.model import Message

from ._decisions import Action, Decision, Decisions, Inserted, Refused, Run


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


@attrs.frozen(eq=False, repr=False)
class Plan:
    """What the engine decided about each message, and what it adds up to.

    `print(plan)` shows a short table.
    """

    tokens: int
    """Tokens of the window: messages, stand-ins, system, tools and overhead."""

    available: int
    """Tokens the budget leaves for messages."""

    fixed: int
    """Tokens of tools, system text beside the list, and per-request overhead."""

    inserted: tuple[Inserted, ...]
    """Stand-ins and other messages of ours, in their order."""

    edits: dict[int, tuple[Message, str, int]]
    """Messages that are sent changed: index -> (what is sent, cause, its tokens)."""

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

    source: PlanSource
    fingerprint: Any
    memory: Any
    make_runs: Callable[[], tuple[Run, ...]]
    make_order: Callable[[], tuple[Sequence[int | Inserted], tuple[int, ...]]]

    joins: Callable[[Sequence[int | Inserted]], Sequence[int]] | None = None
    """Finds the places of the window that its provider wants joined."""

    @cached_property
    def _placed(self) -> tuple[Sequence[int | Inserted], tuple[int, ...]]:
        return self.make_order()

    @property
    def order(self) -> Sequence[int | Inserted]:
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
        return () if self.joins is None else tuple(self.joins(self.order))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every message's decision, neighbours with the same one taken together."""
        return self.make_runs()

    def _decision(self, index: int, action: Action, cause: str) -> Decision:
        tokens = self.source.count(index)
        after = 0 if action == "drop" else tokens
        if index in self.edits and action != "drop":
            after = self.edits[index][2]
        return Decision(index, self.source.id(index), action, cause, tokens, after)

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
        stop = self.runs[-1].stop if self.runs else 0
        return self.fixed + sum(map(self.source.count, range(stop)))

    def apply(self, messages: Any) -> Any:
        """The window that this plan leaves of *messages*, in their own shape.

        Raises:
            StalePlanError: These are not the messages that the plan was made for.
        """
        if self.source.fingerprint() != self.fingerprint:
            reason = "it has changed since"
            raise StalePlanError(reason)
        return self.source.apply(self, messages)

    def __str__(self) -> str:
        """A short table: what is kept, what went, and why."""
        verb = "kept" if not self.pruned else "pruned to fit"
        more = max(self.margin, 0)
        about = "" if self.exact else f" (estimated, up to {more:.0%} more)"
        head = (
            f"{self.tokens} tokens{about} of {self.available + self.fixed} available, "
            f"{verb}: {len(self.kept)} messages kept, {len(self.edited)} edited, "
            f"{len(self.dropped)} dropped, {len(self.inserted)} added"
        )
        lines = [head]
        for run in self.runs[:_SHOWN_RUNS]:
            first, last = self.source.id(run.start), self.source.id(run.stop - 1)
            name = first if len(run) == 1 else f"{first} .. {last}"
            lines.append(f"  {run.action:<5} {name:<28} {len(run):>6}  {run.cause}")
        if len(self.runs) > _SHOWN_RUNS:
            lines.append(f"  ... and {len(self.runs) - _SHOWN_RUNS} more runs")
        lines += [
            f"  add   {item.cause} {item.call_id or ''}".rstrip()
            for item in self.inserted
        ]
        if self.moved:
            names = ", ".join(map(self.source.id, self.moved[:5]))
            lines.append(f"  move  {len(self.moved)} results to their call: {names}")
        if self.joined:
            lines.append(f"  join  {len(self.joined)} entries with the one before")
        lines += [f"  note  {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Show the figures."""
        return (
            f"Plan(tokens={self.tokens}, kept={len(self.kept)}, "
            f"edited={len(self.edited)}, dropped={len(self.dropped)})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: figures, runs and causes."""
        from turnkeep.plans._notebook import plan_html  # noqa: PLC0415 - rarely shown

        return plan_html(self)


_SHOWN_RUNS = 20
