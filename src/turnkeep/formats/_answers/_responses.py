from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from turnkeep.errors import FormatError

from .._shape import as_array, as_object
from ._base import Found, index_of, is_json, kind_of, stated, text_or_none

_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.done"}
)
"""Events that hold the whole answer."""

_ITEM: Final = "response.output_item.done"

_TO_SEND: Final = ("completed", "incomplete", None)
"""States of an answer that can be sent back."""

_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesAnswers:
    """Answers of OpenAI's Responses API: a list of items."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It has a list of items as its output."""
        return isinstance(response.get("output"), (list, tuple))

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """It is an event of a response."""
        return kind_of(chunk).startswith("response.")

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The answer of the last event; its items, where that leaves them out."""
        items: dict[int, Any] = {}
        whole: dict[str, Any] = {"status": "incomplete"}
        for nth, chunk in enumerate(chunks):
            kind = kind_of(chunk)
            if kind in _ENDS:
                path = f"$[{nth}].response"
                whole = dict(as_object(chunk.get("response"), "a response", path))
            elif kind == _ITEM:
                place = index_of(chunk, "output_index", f"$[{nth}]", nth)
                items[place] = chunk.get("item")
        if not whole.get("output"):
            whole["output"] = [items[place] for place in sorted(items)]
        return whole

    def take(self, response: Mapping[str, Any]) -> Found:
        """The items of the output, each of which is an entry."""
        usage = dict(response) if response.get("usage") is not None else None
        model = text_or_none(response.get("model"))
        status = response.get("status")
        if status not in _TO_SEND:
            return Found(usage=usage, model=model)
        items = []
        for nth, item in enumerate(as_array(response["output"], "output", "$.output")):
            path = f"$.output[{nth}]"
            items.append((path, _entry(as_object(item, "an item", path))))
        cut: tuple[str, ...] = ()
        if status == "incomplete":
            cut = _cut_off([item for _, item in items])
            # Reasoning is refused where what it led to does not follow (OR-08).
            while items and items[-1][1].get("type") == "reasoning":
                items.pop()
        return Found(tuple(items), usage, model, cut)


def _entry(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as a request has it: nulls of an answer are refused there."""
    if not isinstance(item.get("type"), str):
        reason = f"an item must have a type, not {item.get('type')!r}"
        raise FormatError(reason, "$.output")
    entry = stated(item)
    entry.pop("parsed_arguments", None)
    return entry


def _cut_off(items: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    cut = []
    for item in items:
        key = _ARGUMENTS.get(kind_of(item))
        if key is None:
            continue
        free = key != "arguments"
        whole = item is not items[-1] if free else is_json(item.get(key))
        if not whole:
            cut.append(str(item.get("call_id")))
    return tuple(cut)
