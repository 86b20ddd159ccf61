"""Replaying a recorded session call by call, under one strategy after the other.

Each assistant message was one call of the model; its request is the history before it.
What a strategy would have sent, what that would have cost with the provider's prompt
cache, and whether what the next tool calls used was still there: no model is asked.

Not public as a whole: the names of the reference ("Functions") are, no more.
"""

from ._expected import Expected, read_expected
from ._log import Log
from ._replay import named, replay
from ._report import FULL, SLIDING, Call, Lost, Outcome, ReplayReport, Report, total

__all__ = [
    "FULL",
    "SLIDING",
    "Call",
    "Expected",
    "Log",
    "Lost",
    "Outcome",
    "ReplayReport",
    "Report",
    "named",
    "read_expected",
    "replay",
    "total",
]
