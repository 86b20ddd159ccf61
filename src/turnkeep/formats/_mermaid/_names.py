from __future__ import annotations

from turnkeep.model import Role

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
KNOWN = frozenset(
    {
        "role",
        "content",
        "timestamp",
        "kind",
        "metadata",
        "actions",
        "thinking",
        "images",
        "image_numbers",
        "tool_calls",
        "tool_call_id",
        "tool_name",
        "provider_continuation",
    }
)
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
