"""History + budget + strategy -> plan. The only loop that spends.

The engine takes a strategy's edits until the window meets the target, skips any that
would break a promise, and raises when what must stay does not fit. It never changes
the history.
"""

from ._draft import Draft
from ._planner import left_out, make_plan, missed_target
from ._terms import Memory, OpenCalls, Overflow, Terms

__all__ = [
    "Draft",
    "Memory",
    "OpenCalls",
    "Overflow",
    "Terms",
    "left_out",
    "make_plan",
    "missed_target",
]
