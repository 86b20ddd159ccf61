"""What a provider answered, as the end of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._shape import as_array
from ._format import Session
from ._notes import Notes


def answer_mark(value: Any) -> str | None:
    """What shows that *value* is a provider's whole answer, in words."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("choices"), list) and value.get("object") in (
        "chat.completion",
        None,
    ):
        if any(isinstance(c, dict) and "message" in c for c in value["choices"][:5]):
            return "'choices' with a message"
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return "an object of type 'response' with its output"
    if value.get("type") == "message" and value.get("role") == "assistant":
        if isinstance(value.get("content"), list) and "stop_reason" in value:
            return "a message with a stop_reason"
    if isinstance(value.get("candidates"), list):
        if any(isinstance(c, dict) and "content" in c for c in value["candidates"][:5]):
            return "'candidates' with a content"
    output = value.get("output")
    if isinstance(output, dict) and "message" in output and "stopReason" in value:
        return "an output with a message and a stopReason"
    if isinstance(value.get("message"), dict) and isinstance(value.get("done"), bool):
        return "a message with 'done'"
    return None


def read_answer(value: Mapping[str, Any], path: str, notes: Notes) -> Session:
    """The messages of an answer that has a mark, in the format of its provider.

    Of several choices the first one counts.

    Raises:
        FormatError: Its list is no list.
    """
    model = value.get("model", value.get("modelVersion"))
    model = model if isinstance(model, str) else None
    if "choices" in value:
        found = as_array(value["choices"], "choices", f"{path}.choices")
        notes.left_out("choice | the first one counts", len(found) - 1)
        return Session([found[0].get("message")], model=model, wire="openai")
    if "candidates" in value:
        found = as_array(value["candidates"], "candidates", f"{path}.candidates")
        notes.left_out("candidate | the first one counts", len(found) - 1)
        return Session([found[0].get("content")], model=model, wire="gemini")
    output = value.get("output")
    if isinstance(output, dict):
        return Session([output["message"]], model=model, wire="bedrock")
    if isinstance(output, (list, tuple)):
        return Session(list(output), model=model, wire="openai-responses")
    if "done" in value:
        return Session([value["message"]], model=model, wire="ollama")
    message = {"role": "assistant", "content": value["content"]}
    return Session([message], model=model, wire="anthropic")
