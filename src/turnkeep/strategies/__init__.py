"""What goes first: each strategy ranks, the engine spends.

Only the default is loaded with the engine; the others come on first use (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from turnkeep.index import HistoryView, StepView, TurnView

from ._base import Alternating, Composable, Strategy, Then
from ._base import strategy_of as strategy_of
from ._oldest import OldestSteps, OldestTurns

if TYPE_CHECKING:
    from ._clear import ClearToolResults
    from ._digest import Digest
    from ._ends import KeepEnds
    from ._images import StripImages
    from ._largest import LargestFirst
    from ._offload import Offload
    from ._older import OlderThan
    from ._passage import Passage
    from ._priority import LowestPriority
    from ._recent import KeepRecent
    from ._referenced import LeastRecentlyReferenced
    from ._registry import by_name, names
    from ._relevance import Relevance
    from ._shelf import TextStore
    from ._summarize import Summarize
    from ._superseded import Superseded
    from ._thinking import StripThinking
    from ._transcript import transcript
    from ._truncate import TruncateToolResults

DEFAULT = OldestTurns() | OldestSteps()
"""Old turns go whole; a single long tool loop is then cut inside its turn."""

_PLACES = {
    "ClearToolResults": "_clear",
    "Digest": "_digest",
    "KeepEnds": "_ends",
    "KeepRecent": "_recent",
    "LargestFirst": "_largest",
    "LeastRecentlyReferenced": "_referenced",
    "LowestPriority": "_priority",
    "Offload": "_offload",
    "OlderThan": "_older",
    "Passage": "_passage",
    "Relevance": "_relevance",
    "StripImages": "_images",
    "StripThinking": "_thinking",
    "Summarize": "_summarize",
    "TextStore": "_shelf",
    "Superseded": "_superseded",
    "TruncateToolResults": "_truncate",
    "by_name": "_registry",
    "names": "_registry",
    "transcript": "_transcript",
}

__all__ = [
    "DEFAULT",
    "Alternating",
    "ClearToolResults",
    "Composable",
    "Digest",
    "HistoryView",
    "KeepEnds",
    "KeepRecent",
    "LargestFirst",
    "LeastRecentlyReferenced",
    "LowestPriority",
    "Offload",
    "OlderThan",
    "OldestSteps",
    "OldestTurns",
    "Passage",
    "Relevance",
    "StepView",
    "Strategy",
    "StripImages",
    "StripThinking",
    "Summarize",
    "Superseded",
    "TextStore",
    "Then",
    "TruncateToolResults",
    "TurnView",
    "by_name",
    "names",
    "transcript",
]


def __getattr__(name: str) -> object:
    """Load a strategy on first use."""
    place = _PLACES.get(name)
    if place is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value
