"""What logs and traces are told about a prune: figures and causes, never a message."""

from __future__ import annotations

import logging
from collections import Counter

from turnkeep.plans import Plan

logger: logging.Logger = logging.getLogger("turnkeep")
"""Prunes are logged at INFO. It writes nothing unless the application says where to."""
logger.addHandler(logging.NullHandler())


def prune_event(plan: Plan) -> dict[str, bool | int | float]:
    """A plan as flat attributes, for a span's event or a metric.

    Keys begin with `turnkeep.`; values are numbers. No id, no text. Costs the number of
    runs.

    >>> from turnkeep import plan
    >>> event = prune_event(plan([{"role": "user", "content": "hi"}], max_tokens=50))
    >>> event["turnkeep.messages.kept"], event["turnkeep.messages.kept.question"]
    (1, 1)
    """
    event: dict[str, bool | int | float] = {
        "turnkeep.tokens": plan.tokens,
        "turnkeep.tokens.available": plan.available,
        "turnkeep.tokens.fixed": plan.fixed,
        "turnkeep.tokens.exact": plan.exact,
        "turnkeep.tokens.margin": plan.margin,
        "turnkeep.pruned": plan.pruned,
        "turnkeep.messages.added": len(plan.inserted),
        "turnkeep.warnings": len(plan.warnings),
        "turnkeep.refused": len(plan.refused),
    }
    names = {"keep": "kept", "edit": "edited", "drop": "dropped"}
    sizes: Counter[str] = Counter()
    for run in plan.runs:
        sizes[names[run.action]] += len(run)
        sizes[f"{names[run.action]}.{run.cause}"] += len(run)
    event |= {f"turnkeep.messages.{name}": sizes[name] for name in names.values()}
    event |= {f"turnkeep.messages.{name}": size for name, size in sorted(sizes.items())}
    return event


def log_prune(plan: Plan) -> None:
    """Log a prune at INFO; the event is the record's `turnkeep` attribute."""
    if not logger.isEnabledFor(logging.INFO):
        return
    event = prune_event(plan)
    causes = ", ".join(
        f"{name.removeprefix(_DROPPED)} {size}"
        for name, size in event.items()
        if name.startswith(_DROPPED)
    )
    logger.info(
        "pruned to %d of %d tokens: %d messages kept, %d edited, %d dropped (%s)",
        plan.tokens,
        plan.available + plan.fixed,
        event["turnkeep.messages.kept"],
        event["turnkeep.messages.edited"],
        event["turnkeep.messages.dropped"],
        causes or "none",
        extra={"turnkeep": event},
    )


_DROPPED = "turnkeep.messages.dropped."
