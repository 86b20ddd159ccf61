"""What a history is made of: messages, their roles and their blocks."""

from ._audience import Audience, audience_of, count_images, sent, shown
from ._blocks import (
    BLOCK_TYPES as BLOCK_TYPES,
)
from ._blocks import (
    Block,
    Content,
    Document,
    Image,
    Json,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ._blocks import (
    as_blocks as as_blocks,
)
from ._blocks import (
    join_text as join_text,
)
from ._builders import (
    by_priority,
    reasoned,
    run_summary,
    with_cache,
    with_images,
    with_tool_calls,
)
from ._bulk import paused_gc as paused_gc
from ._display import display_text
from ._frozen import (
    EMPTY as EMPTY,
)
from ._frozen import (
    MAX_DEPTH as MAX_DEPTH,
)
from ._frozen import (
    FrozenDict,
    FrozenList,
    UnfitValueError,
    freeze,
    thaw,
)
from ._frozen import (
    same as same,
)
from ._frozen import (
    walk_text as walk_text,
)
from ._markers import (
    BRIDGE as BRIDGE,
)
from ._markers import (
    CLEARED as CLEARED,
)
from ._markers import (
    DIGEST as DIGEST,
)
from ._markers import (
    INTERIM as INTERIM,
)
from ._markers import (
    OFFLOADED as OFFLOADED,
)
from ._markers import (
    PENDING as PENDING,
)
from ._markers import (
    PINNED as PINNED,
)
from ._markers import (
    SHORTENED as SHORTENED,
)
from ._markers import (
    STAND_IN_TEXT as STAND_IN_TEXT,
)
from ._markers import (
    SUMMARY as SUMMARY,
)
from ._markers import (
    mark as mark,
)
from ._markers import (
    marker_of as marker_of,
)
from ._markers import (
    unmark as unmark,
)
from ._markers import (
    without_line as without_line,
)
from ._message import DISPLAY_KINDS as DISPLAY_KINDS
from ._message import Message, PinScope, Role
from ._results import extract_tool_calls, is_tool_error, result_from, tool_call_id
from ._sent import as_sent as as_sent
from ._stats import GenerationStats, GenerationTotals
from ._thinking import Extracted, extract_thinking
from ._trusted import (
    trusted_call as trusted_call,
)
from ._trusted import (
    trusted_message as trusted_message,
)
from ._trusted import (
    trusted_result as trusted_result,
)
from ._trusted import (
    trusted_text as trusted_text,
)
from ._validate import validate

__all__ = [
    "Audience",
    "Block",
    "Content",
    "Document",
    "Extracted",
    "FrozenDict",
    "FrozenList",
    "GenerationStats",
    "GenerationTotals",
    "Image",
    "Json",
    "Message",
    "Opaque",
    "PinScope",
    "Role",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "UnfitValueError",
    "audience_of",
    "by_priority",
    "count_images",
    "display_text",
    "extract_thinking",
    "extract_tool_calls",
    "freeze",
    "is_tool_error",
    "reasoned",
    "result_from",
    "run_summary",
    "sent",
    "shown",
    "thaw",
    "tool_call_id",
    "validate",
    "with_cache",
    "with_images",
    "with_tool_calls",
]
