"""What answers of built-in tools look like, where they are neither text nor parts."""

from __future__ import annotations

from typing import Any, Final

from turnkeep.model import Json, ToolResult, thaw

from .._shape import MARKS

CONSENT: Final = "mcp_approval_response"
"""The answer to a request for approval."""


def consent(result: ToolResult) -> dict[str, Any]:
    """What a person said to a request for approval, as the item says it.

    A truth value, an object as the API has it, or words: then a failure is a no, and
    the words are its reason.
    """
    said = result.content[0] if len(result.content) == 1 else None
    if isinstance(said, Json) and isinstance(said.value, bool):
        return {"approve": said.value and not result.is_error}
    if isinstance(said, Json) and isinstance(said.value, dict):
        given: dict[str, Any] = thaw(said.value)
        return {**given, "approve": given.get("approve") is True}
    words = {"reason": result.text} if result.text else {}
    return {"approve": not result.is_error, **words}


def chunks(text: str, result: ToolResult) -> list[dict[str, Any]]:
    """Text as the output of a shell.

    What is no final answer has not ended: to say so there is nothing but a timeout.
    """
    outcome: dict[str, Any] = {"type": "timeout"}
    if result.final:
        outcome = {"type": "exit", "exit_code": int(result.is_error)}
    return [{"stdout": text, "stderr": "", "outcome": outcome}]


def text_in(output: Any) -> str | None:
    """The text of ours that a shell's output is; none where it is somebody else's."""
    if not isinstance(output, list) or len(output) != 1:
        return None
    said = output[0].get("stdout") if isinstance(output[0], dict) else None
    if not isinstance(said, str) or not said.startswith(MARKS):
        return None
    return said


def patch_status(result: ToolResult) -> str:
    """Whether a patch was applied, as the item has to say."""
    return "completed" if result.final and not result.is_error else "failed"
