"""Refusals in the words of each provider, so that programs know what to do."""

from __future__ import annotations

from typing import Any

from turnkeep.errors import BudgetExceededError

from ._bodies import printed


def too_long(form: str, error: BudgetExceededError, shown: int) -> tuple[int, bytes]:
    """Status and body of "the context is too long", as the API of *form* says it.

    Programs take it as the sign to compact by themselves.

    Args:
        form: The format of the request.
        error: What does not fit.
        shown: The tokens that there are.
    """
    way = (
        f"turnkeep: {error.smallest} tokens would do" if error.smallest else str(error)
    )
    told: dict[str, Any]
    if form == "anthropic":
        text = f"prompt is too long: {error.needed} tokens > {shown} maximum ({way})"
        told = {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": text},
        }
    elif form == "gemini":
        text = (
            f"The input token count ({error.needed}) exceeds the maximum number of "
            f"tokens allowed ({shown}). {way}"
        )
        told = {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}
    elif form == "bedrock":
        text = f"Input is too long for requested model: {error.needed} > {shown}. {way}"
        told = {"message": text}
    else:
        text = (
            f"This model's maximum context length is {shown} tokens. However, your "
            f"messages resulted in {error.needed} tokens. {way}"
        )
        told = {
            "error": {
                "message": text,
                "type": "invalid_request_error",
                "param": "messages" if form == "openai" else "input",
                "code": "context_length_exceeded",
            }
        }
    return 400, printed(told)


def refused(status: int, text: str) -> tuple[int, bytes]:
    """Status and body of what the proxy itself refuses."""
    return status, printed({"error": {"type": "turnkeep_proxy", "message": text}})
