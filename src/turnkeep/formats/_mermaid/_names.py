from __future__ import annotations

from turnkeep.model import Role

from .._table import ANY, ARRAY, AS_IS, OBJECT, TEXT, TIME, Field, Table

NAME = "mermaid"
"""Also the key of a message's metadata that holds what we have no field for.

That is: `actions`, the original `role` where it is unknown, `image_numbers` where files
have some, and `metadata` where that is no object.
"""

ROLES = {
    "User": Role.USER,
    "Assistant": Role.ASSISTANT,
    "System": Role.SYSTEM,
    "Tool": Role.TOOL_RESULT,
}
WIRE_ROLES = {role: name for name, role in ROLES.items()} | {
    Role.TOOL_CALL: "Assistant"
}
MESSAGE = Table(
    Field("role", TEXT),
    Field("content", TEXT),
    Field("timestamp", TIME),
    Field("kind", TEXT, "normal"),
    Field("metadata", AS_IS, None),
    Field("actions", ARRAY, []),
    Field("thinking", TEXT, None),
    Field("images", ARRAY, None),
    Field("image_numbers", ARRAY, None),
    Field("tool_calls", ARRAY, None),
    Field("tool_call_id", TEXT, None),
    Field("tool_name", TEXT, None),
    Field("provider_continuation", OBJECT, None),
)
CALL = Table(Field("id", TEXT, None), Field("function", OBJECT))
FUNCTION = Table(Field("name", TEXT), Field("arguments", ANY))
CARRIED_FIELDS = ("id", "token_count", "pinned", "pin_scope", "kind", "priority")
KINDS = frozenset(
    {
        "context_checkpoint",
        "run_summary",
        "continuation",
        "recovery_nudge",
        "context_marker",
    }
)
SEALED = frozenset({NAME, "anthropic", "claude-code", None})
"""Origins whose signatures are Anthropic's."""
