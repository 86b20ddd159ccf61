"""What kinds of items a Responses list has, and what they are to us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeep.model import EMPTY

from .._shape import names_call
from ._outputs import CONSENT

CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
}
"""Calls of the caller's own tools, and the key of their arguments (text)."""

BUILT_IN_CALLS = (
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "program",
)
"""Calls of OpenAI's tools that the caller answers, when they have a `call_id`."""

REQUEST = "mcp_approval_request"
"""A call whose answer is a person's consent; its own id links the two."""

SHELL = "shell_call_output"

PATCH = "apply_patch_call_output"

OUTPUTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "computer_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "tool_search_output": "tools",
    "program_output": "result",
    "mcp_approval_response": "approve",
}
"""Answers, and the key of what they say."""

OUTPUT_OF = {
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
    "program": "program_output",
    "mcp_approval_request": "mcp_approval_response",
}
"""The type of the answer to each type of call; a function's is the default."""

SETTINGS = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})
"""Items that set something up from there on: they stay, as system messages do."""

OTHERS = frozenset(
    {
        "item_reference",
        "compaction",
        "web_search_call",
        "file_search_call",
        "image_generation_call",
        "code_interpreter_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_call",
    }
)
"""Items that nobody has to answer, and requests for approval, whose id is their
call's."""

KNOWN = frozenset(
    {"message", "reasoning", *CALLS, *BUILT_IN_CALLS, *OUTPUTS, *SETTINGS, *OTHERS}
)
"""Every type of the official SDK's union (openai 3.57, `ResponseInputItemParam`)."""


def call_id_key(kind: str, item: Mapping[str, Any] = EMPTY) -> str:
    """Where an answer names its call.

    Consent names its request. A local shell's output does it in `id`, as the types of
    the official SDK have it; some send it in `call_id`, as all others do.
    """
    if kind == CONSENT:
        return "approval_request_id"
    return "id" if names_call({**item, "type": kind}) else "call_id"
