"""History + budget + strategy -> plan. The only loop that spends.

The engine takes a strategy's edits until the window meets the target, skips any that
would break a promise, and raises when what must stay does not fit. It never changes
the history.

Not public: it may change in any release.
"""

from ._choices import (
    CACHE_MARKS,
    ON_INVALID,
    OPEN_CALLS,
    OVERFLOW,
    CacheMarking,
    OnInvalid,
    OpenCalls,
    Overflow,
    check_choice,
    check_text,
)
from ._draft import Draft
from ._planner import left_bare, left_out, make_plan, missed_target, not_counted
from ._terms import Memory, Terms

__all__ = [
    "CACHE_MARKS",
    "ON_INVALID",
    "OPEN_CALLS",
    "OVERFLOW",
    "CacheMarking",
    "Draft",
    "Memory",
    "OnInvalid",
    "OpenCalls",
    "Overflow",
    "Terms",
    "check_choice",
    "check_text",
    "left_bare",
    "left_out",
    "make_plan",
    "missed_target",
    "not_counted",
]
