"""Keeps LLM conversations inside their token budget without breaking them.

```python
import turnkeep

request = turnkeep.fit(history, max_tokens=8_000, model="gpt-4o")
```

Names load on first use, so that `import turnkeep` costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnkeep.api import (
        Fitted,
        Repair,
        TokenCount,
        ToolTokens,
        check,
        convert,
        count,
        fit,
        fit_many,
        plan,
        repair,
        trim_messages,
    )
    from turnkeep.budgets import Budget, Prices
    from turnkeep.conversation import (
        AsyncConversation,
        CallState,
        Conversation,
        Conversations,
        Observation,
        PendingCall,
        ResponseStream,
        Synced,
        Window,
    )
    from turnkeep.errors import (
        AlreadyResolvedError,
        AmbiguousCallError,
        AmbiguousFormatError,
        BudgetExceededError,
        ConflictError,
        CorruptStoreError,
        CutOffError,
        DuplicateIdError,
        FormatError,
        Held,
        InvalidHistoryError,
        NaiveTimestampError,
        OpenCallError,
        StalePlanError,
        StrategyError,
        TokenizerUnavailableError,
        TurnkeepError,
        UnknownCallError,
        UnknownConversationError,
        UnknownMessageError,
        Violation,
    )
    from turnkeep.formats import FORMATS
    from turnkeep.model import (
        Document,
        Image,
        Json,
        Message,
        Opaque,
        Role,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
    )
    from turnkeep.plans import Cause, Drop, Edit, Plan
    from turnkeep.strategies import (
        ClearToolResults,
        Digest,
        KeepEnds,
        KeepRecent,
        LargestFirst,
        LeastRecentlyReferenced,
        LowestPriority,
        Offload,
        OlderThan,
        OldestSteps,
        OldestTurns,
        Relevance,
        Strategy,
        StripImages,
        StripThinking,
        Summarize,
        Superseded,
        TruncateToolResults,
    )
    from turnkeep.tokens import (
        ApproximateCounter,
        CallableCounter,
        FastCounter,
        HuggingFaceCounter,
        MistralCounter,
        TiktokenCounter,
        Usage,
    )

_PLACES = {
    "turnkeep.api": (
        "Fitted",
        "Repair",
        "TokenCount",
        "ToolTokens",
        "check",
        "convert",
        "count",
        "fit",
        "fit_many",
        "plan",
        "repair",
        "trim_messages",
    ),
    "turnkeep.budgets": ("Budget", "Prices"),
    "turnkeep.conversation": (
        "AsyncConversation",
        "CallState",
        "Conversation",
        "Conversations",
        "Observation",
        "PendingCall",
        "ResponseStream",
        "Synced",
        "Synced",
        "Window",
    ),
    "turnkeep.errors": (
        "AlreadyResolvedError",
        "AmbiguousCallError",
        "AmbiguousFormatError",
        "BudgetExceededError",
        "ConflictError",
        "CorruptStoreError",
        "CutOffError",
        "DuplicateIdError",
        "FormatError",
        "Held",
        "InvalidHistoryError",
        "NaiveTimestampError",
        "OpenCallError",
        "StalePlanError",
        "StrategyError",
        "TokenizerUnavailableError",
        "TurnkeepError",
        "UnknownCallError",
        "UnknownConversationError",
        "UnknownMessageError",
        "Violation",
    ),
    "turnkeep.formats": ("FORMATS",),
    "turnkeep.model": (
        "Document",
        "Image",
        "Json",
        "Message",
        "Opaque",
        "Role",
        "Text",
        "Thinking",
        "ToolCall",
        "ToolResult",
    ),
    "turnkeep.plans": ("Cause", "Drop", "Edit", "Plan"),
    "turnkeep.strategies": (
        "ClearToolResults",
        "Digest",
        "KeepEnds",
        "KeepRecent",
        "LargestFirst",
        "LeastRecentlyReferenced",
        "LowestPriority",
        "Offload",
        "OlderThan",
        "OldestSteps",
        "OldestTurns",
        "Relevance",
        "Strategy",
        "StripImages",
        "StripThinking",
        "Summarize",
        "Superseded",
        "TruncateToolResults",
    ),
    "turnkeep.tokens": (
        "ApproximateCounter",
        "CallableCounter",
        "FastCounter",
        "HuggingFaceCounter",
        "MistralCounter",
        "TiktokenCounter",
        "Usage",
    ),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}

__version__ = "0.1.0"

# Written out, because type checkers read it.
__all__ = [
    "FORMATS",
    "AlreadyResolvedError",
    "AmbiguousCallError",
    "AmbiguousFormatError",
    "ApproximateCounter",
    "AsyncConversation",
    "Budget",
    "BudgetExceededError",
    "CallState",
    "CallableCounter",
    "Cause",
    "ClearToolResults",
    "ConflictError",
    "Conversation",
    "Conversations",
    "CorruptStoreError",
    "CutOffError",
    "Digest",
    "Document",
    "Drop",
    "DuplicateIdError",
    "Edit",
    "FastCounter",
    "Fitted",
    "FormatError",
    "Held",
    "HuggingFaceCounter",
    "Image",
    "InvalidHistoryError",
    "Json",
    "KeepEnds",
    "KeepRecent",
    "LargestFirst",
    "LeastRecentlyReferenced",
    "LowestPriority",
    "Message",
    "MistralCounter",
    "NaiveTimestampError",
    "Observation",
    "Offload",
    "OlderThan",
    "OldestSteps",
    "OldestTurns",
    "Opaque",
    "OpenCallError",
    "PendingCall",
    "Plan",
    "Prices",
    "Relevance",
    "Repair",
    "ResponseStream",
    "Role",
    "StalePlanError",
    "Strategy",
    "StrategyError",
    "StripImages",
    "StripThinking",
    "Summarize",
    "Superseded",
    "Synced",
    "Text",
    "Thinking",
    "TiktokenCounter",
    "TokenCount",
    "TokenizerUnavailableError",
    "ToolCall",
    "ToolResult",
    "ToolTokens",
    "TruncateToolResults",
    "TurnkeepError",
    "UnknownCallError",
    "UnknownConversationError",
    "UnknownMessageError",
    "Usage",
    "Violation",
    "Window",
    "__version__",
    "check",
    "convert",
    "count",
    "fit",
    "fit_many",
    "plan",
    "repair",
    "trim_messages",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    place = _HOME.get(name)
    if place is None:
        msg = f"module 'turnkeep' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
