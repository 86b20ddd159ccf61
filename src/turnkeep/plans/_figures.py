from __future__ import annotations

from typing import Any

from ._plan import Plan


def plan_figures(plan: Plan) -> dict[str, Any]:
    """A plan for programs: figures, and the decisions as runs."""
    return {
        "tokens": plan.tokens,
        "tokens_before": plan.tokens_before,
        "available": plan.available,
        "fixed": plan.fixed,
        "exact": plan.exact,
        "margin": plan.margin,
        "pruned": plan.pruned,
        "kept": len(plan.kept),
        "edited": len(plan.edited),
        "dropped": len(plan.dropped),
        "runs": [
            {
                "start": run.start,
                "stop": run.stop,
                "action": run.action,
                "cause": str(run.cause),
            }
            for run in plan.runs
        ],
        "inserted": [
            {
                "after": item.after,
                "cause": str(item.cause),
                "tokens": item.tokens,
                "call_id": item.call_id,
            }
            for item in plan.inserted
        ],
        "warnings": list(plan.warnings),
    }
