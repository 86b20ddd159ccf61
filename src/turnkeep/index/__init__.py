"""A history as the engine sees it: steps with their tokens, and who holds them.

Counting is lazy: a message is counted when somebody needs its tokens, once. The views
at the end are what strategies get to see.

Not public: it may change in any release.
"""

from ._additions import BRIDGE_ANSWER
from ._history import History, Rules, Source
from ._views import HistoryView, StepView, TurnView

__all__ = [
    "BRIDGE_ANSWER",
    "History",
    "HistoryView",
    "Rules",
    "Source",
    "StepView",
    "TurnView",
]
