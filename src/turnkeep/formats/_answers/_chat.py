from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._shape import as_object
from ._base import Found, is_json, parts_of, stated, text_or_none
from ._deltas import Merged

_CUT: Final = ("length", None)
"""Why an answer ended before its calls were whole: no room, or the line broke."""

_NO_ROOM: Final = ("model_length", "model_context_window_exceeded")
"""The window was full before the answer was."""

_ANSWERED: Final = frozenset({"index", "parsed", "prefix"})
"""Keys that a request does not have, or only for something else."""

_EMPTY: Final[tuple[Any, ...]] = (None, [], {})
"""What the keys of an answer hold that has nothing to say there."""


class ChatAnswers:
    """Chat completions: OpenAI, Azure, Mistral, DeepSeek, litellm, local servers."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It has choices."""
        return isinstance(response.get("choices"), (list, tuple))

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """It has choices, if only an empty list beside the usage."""
        return isinstance(chunk.get("choices"), (list, tuple))

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Deltas of the first choice, merged."""
        joined: dict[str, Any] = {}
        choice: dict[str, Any] = {"index": None, "finish_reason": None}
        message = Merged()
        for nth, chunk in enumerate(chunks):
            given = stated({k: v for k, v in chunk.items() if k != "choices"})
            joined |= given
            where = f"$[{nth}].choices"
            for place, one in enumerate(parts_of(chunk, "choices", f"$[{nth}]")):
                found = as_object(one, "a choice", f"{where}[{place}]")
                index = found.get("index") or 0
                if choice["index"] is None:
                    choice["index"] = index
                if index != choice["index"]:
                    continue
                delta = found.get("delta") or found.get("message") or {}
                message.add(as_object(delta, "a delta", f"{where}[{place}].delta"))
                if (reason := found.get("finish_reason")) is not None:
                    choice["finish_reason"] = reason
        choice["message"] = message.value
        joined["choices"] = [choice] if choice["index"] is not None else []
        return joined

    def take(self, response: Mapping[str, Any]) -> Found:
        """The message of the first choice."""
        usage = dict(response) if response.get("usage") is not None else None
        model = text_or_none(response.get("model"))
        choices = response["choices"]
        if not choices:
            return Found(usage=usage, model=model)
        choice = as_object(choices[0], "a choice", "$.choices[0]")
        path = "$.choices[0].message"
        reason = choice.get("finish_reason")
        if reason in _NO_ROOM or choice.get("message") is None:
            return Found(usage=usage, model=model)
        entry = _entry(as_object(choice["message"], "a message", path))
        cut = _cut_off(entry) if reason in _CUT else ()
        return Found(((path, entry),), usage, model, cut)


def _entry(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as a request has it."""
    entry: dict[str, Any] = {"role": message.get("role") or "assistant"}
    entry["content"] = message.get("content")
    entry |= {
        key: said
        for key, said in message.items()
        if key not in _ANSWERED and said not in _EMPTY
    }
    if isinstance(calls := entry.get("tool_calls"), (list, tuple)):
        entry["tool_calls"] = [_call(call) for call in calls]
    return entry


def _call(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    made = {k: v for k, v in stated(call).items() if k != "index"}
    if isinstance(inner := made.get("function"), Mapping):
        made["function"] = stated(inner)
        made["function"].pop("parsed_arguments", None)
    return made


def _cut_off(entry: Mapping[str, Any]) -> tuple[str, ...]:
    calls = entry.get("tool_calls") or []
    cut = []
    for call in calls:
        if not isinstance(call, Mapping):
            continue
        inner = call.get("function")
        if isinstance(inner, Mapping):
            whole = is_json(inner.get("arguments"))
        else:
            # Free text does not show whether it is whole; what came last was cut.
            whole = call is not calls[-1]
        if not whole:
            name = inner.get("name") if isinstance(inner, Mapping) else None
            cut.append(str(call.get("id") or name))
    legacy = entry.get("function_call")
    if isinstance(legacy, Mapping) and not is_json(legacy.get("arguments")):
        cut.append(str(legacy.get("name")))
    return tuple(cut)
