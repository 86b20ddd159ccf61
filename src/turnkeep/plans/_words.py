"""Plans in words: a table for `print(plan)`, a sentence for `plan.explain(id)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from turnkeep.errors import FormatError

from ._decisions import Decision, Run
from ._edits import Cause
from ._plan import Plan

_SHOWN_RUNS: Final = 20
_SHOWN_EDITS: Final = 20

_STAYS: Final[Mapping[str, str]] = {
    Cause.ROOM: "there was room for it",
    Cause.SYSTEM: "system messages stay (drop_system=True lets later ones go)",
    Cause.QUESTION: "it is the question that the model is to answer",
    Cause.NEWEST: "it belongs to the newest step",
    Cause.UNREAD: "the model has not read this tool's answer yet",
    Cause.PINNED: "it is pinned, or its turn is",
    Cause.PENDING: "a tool call of its step or turn still waits for its answer",
    Cause.MEMORY: "the provider put it in place of earlier messages",
    Cause.STATEFUL: "it belongs to what the provider keeps under an id",
    Cause.SIGNATURE: "signed reasoning that is kept is only valid with it",
    Cause.PROFILE: "the provider demands it where it stands",
}
_GOES: Final[Mapping[str, str]] = {
    Cause.AGE: "it was among the oldest of what could go",
    Cause.SIZE: "it was among the largest of what could go",
    Cause.PRIORITY: "it had the lowest priority of what could go",
    Cause.UNUSED: "nothing that came later refers to it",
    Cause.RELEVANCE: "it had the least to do with the question",
    Cause.LIMIT: "only the hard budget demanded it: its turn is pinned",
    Cause.SUMMARY: "a summary stands for it",
    Cause.DIGEST: "a list of its ids and names stands for it",
    Cause.REPAIR: "a provider would have refused it: an orphan or a duplicate",
    Cause.RESOLVED: "it was a placeholder, and the answer has come",
    Cause.MEMORY: "the provider's own memory stands for it",
    Cause.DISPLAY: "it is shown to people only and never sent",
    Cause.PROFILE: "the provider would not take it where it stands",
}
_CHANGES: Final[Mapping[str, str]] = {
    Cause.CLEARED: "its tool results or arguments were cleared",
    Cause.SHORTENED: "it was shortened",
    Cause.OFFLOADED: "it is in a store, and a reference stands for it",
    Cause.STRIPPED: "reasoning or images were taken out",
    Cause.REPAIR: "a result that a provider would refuse was taken out",
    Cause.PROFILE: "the provider demands it",
}


def explained(plan: Plan, decision: Decision) -> str:
    """What became of one message, and why, in a sentence."""
    name, tokens = decision.id, decision.tokens
    cause = str(decision.cause)
    if decision.action == "drop":
        why = _GOES.get(cause, f"the strategy gave it up ({cause})")
        return f"{name} was dropped ({tokens:,} tokens): {why}."
    if decision.action == "edit":
        why = _CHANGES.get(cause, f"the strategy changed it ({cause})")
        after = decision.tokens_after
        return f"{name} is sent changed ({tokens:,} to {after:,} tokens): {why}."
    if cause == Cause.ROOM and not plan.pruned:
        room = plan.available + plan.fixed
        why = f"everything fits ({plan.tokens:,} of {room:,} tokens)"
    else:
        why = _STAYS.get(cause, f"it is held ({cause})")
    placed = ""
    if decision.index in plan.moved:
        placed = " It is placed right behind its call."
    return f"{name} stays: {why}.{placed}"


def table(plan: Plan) -> str:
    """A short table of the runs with their tokens, of the edits, and all warnings."""
    return "\n".join((*_head(plan), *_rows(plan), *_rest(plan)))


def _head(plan: Plan) -> Iterator[str]:
    about = "" if plan.exact else f" (estimated, up to {max(plan.margin, 0):.0%} more)"
    verb = "pruned to fit" if plan.pruned else "kept"
    yield (
        f"{plan.tokens:,} tokens{about} of {plan.available + plan.fixed:,} available, "
        f"{verb}: {len(plan.kept):,} messages kept, {len(plan.edited):,} edited, "
        f"{len(plan.dropped):,} dropped, {len(plan.inserted):,} added"
    )


def _rows(plan: Plan) -> Iterator[str]:
    if not plan.runs:
        return
    yield f"  {'':<5} {'messages':<28} {'count':>6} {'tokens':>16}  why"
    for run in plan.runs[:_SHOWN_RUNS]:
        yield (
            f"  {run.action:<5} {plan.span(run):<28} {len(run):>6,} "
            f"{_tokens(plan, run):>16}  {run.cause}"
        )
    if len(plan.runs) > _SHOWN_RUNS:
        left = plan.runs[_SHOWN_RUNS:]
        yield f"  ... and {len(left):,} more runs ({sum(map(len, left)):,} messages)"


def _tokens(plan: Plan, run: Run) -> str:
    """The tokens of a run; of edited messages, before and after."""
    try:
        before, after = plan.tokens_of(run)
    except FormatError:
        # What goes is not looked into before somebody asks for its tokens.
        return "malformed"
    return f"{before:,} -> {after:,}" if run.action == "edit" else f"{before:,}"


def _rest(plan: Plan) -> Iterator[str]:
    for item in plan.inserted[:_SHOWN_EDITS]:
        name = item.call_id or ""
        yield f"  add   {name:<28} {1:>6} {item.tokens:>16,}  {item.cause}"
    if len(plan.inserted) > _SHOWN_EDITS:
        yield f"  ... and {len(plan.inserted) - _SHOWN_EDITS:,} more added"
    if plan.moved:
        ids = ", ".join(plan.decisions[index].id for index in plan.moved[:5])
        yield f"  move  {len(plan.moved)} results to their call: {ids}"
    if plan.joined:
        yield f"  join  {len(plan.joined)} entries with the one before"
    for warning in plan.warnings:
        yield f"  note  {warning}"
