"""A plan in words and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from rich.text import Text

from turnkeep.plans import Decisions, Inserted, Plan
from turnkeep.tokens import RequestCounter

from ._draw import Glyphs, counted

_NAMED = 3
"""How many ids to name before it gets long."""


class Counted(Protocol):
    """Anything that was counted."""

    @property
    def counter(self) -> RequestCounter:
        """Whose count it is."""
        ...


def accuracy(counted: Counted) -> str:
    """Whose count it is and how far it may be off."""
    counter = counted.counter
    if counter.exact:
        return f"{counter.name}, exact"
    return f"{counter.name}, estimated: up to {counter.margin:.0%} more"


def outcome(plan: Plan, glyphs: Glyphs) -> Iterator[Text]:
    """What a plan keeps, edits, drops and adds, by cause, and its warnings."""
    yield _line("keeps", plan.kept, "green", glyphs)
    if len(plan.edited):
        yield _line("edits", plan.edited, "yellow", glyphs)
    if len(plan.dropped):
        yield _line("drops", plan.dropped, "red", glyphs)
    if plan.inserted:
        text = Text()
        text.append(f"{'adds':<6}", "cyan")
        text.append(f"{sum(item.tokens for item in plan.inserted):>8,} tokens  ")
        text.append(_inserted(plan.inserted, glyphs))
        yield text
    for warning in plan.warnings:
        yield Text.assemble(("note  ", "bold yellow"), warning)


def _inserted(items: Sequence[Inserted], glyphs: Glyphs) -> str:
    calls = [_call(item) for item in items if item.call_id is not None]
    words = [
        f"{item.cause}: {' '.join(item.message.text.split())[:60]}"
        for item in items
        if item.call_id is None
    ]
    if len(calls) == 1:
        words.append(f"a stand-in for the open call {calls[0]}")
    elif calls:
        named = ", ".join(calls[:_NAMED])
        more = f", {glyphs.ellipsis}" if len(calls) > _NAMED else ""
        words.append(f"{len(calls)} stand-ins for open calls: {named}{more}")
    return f" {glyphs.dot} ".join(words)


def _call(item: Inserted) -> str:
    """A call's tool and id."""
    name = next((r.tool_name for r in item.message.tool_results if r.tool_name), "")
    return f"{name} ({item.call_id})" if name else str(item.call_id)


def _line(verb: str, decisions: Decisions, style: str, glyphs: Glyphs) -> Text:
    tokens: Counter[str] = Counter()
    for decision in decisions:
        tokens[decision.cause] += (
            decision.tokens if verb == "drops" else decision.tokens_after
        )
    causes = f" {glyphs.dot} ".join(
        f"{cause} {count:,}" for cause, count in tokens.most_common()
    )
    text = Text()
    text.append(f"{verb:<6}", style)
    text.append(f"{sum(tokens.values()):>8,} tokens  ")
    text.append(counted(len(decisions), "message"))
    text.append(f": {causes}" if causes else "")
    return text
