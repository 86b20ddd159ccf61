"""The outline of a list of Responses items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, SYSTEM, USER, CallKey

from .._outline import (
    END,
    ONE_CALL,
    UNKNOWN,
    Decode,
    Outline,
    OutlineReader,
    first_text,
)
from .._shape import MARKS

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def outline_items(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
    """What a list of items says; see `OutlineReader.read`."""
    return _Reader(entries, decode, path).read()


class _Reader(OutlineReader):
    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, marks = self.codes, MARKS
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for item in self.rest:
                if type(item) is not dict:
                    return item
                kind = item.get("type")
                if kind == "function_call":
                    call_id = item["call_id"]
                    if not (
                        type(call_id) is type(item["name"]) is str
                        and type(item["arguments"]) is str
                    ):
                        return item
                    if len(item) > 4 and "caller" in item:
                        return item
                    call_ids.append(call_id)
                    codes.append(ONE_CALL)
                    if len(item) == 4:
                        continue
                elif kind == "function_call_output":
                    call_id, said = item["call_id"], item["output"]
                    if type(said) is list:
                        said = _said_in(said)
                    if type(call_id) is not str or said.removeprefix(marks) is not said:
                        return item
                    result_ids.append(call_id)
                    codes.append(RESULT)
                    if len(item) == 3:
                        continue
                elif kind == "message" or (kind is None and "type" not in item):
                    role, content = item["role"], item["content"]
                    is_listed = type(content) is list
                    if not is_listed and type(content) is not str:
                        return item
                    if role == "user":
                        said = _said_in(content) if is_listed else content
                        if said.removeprefix(marks) is not said:
                            return item
                        codes.append(USER)
                    elif role == "assistant":
                        codes.append(ASSISTANT)
                    elif role in ("system", "developer"):
                        codes.append(SYSTEM)
                    else:
                        return item
                    if len(item) == 2:
                        continue
                elif kind == "reasoning":
                    if not _is_usual(item):
                        return item
                    self.reasoning.append(len(codes))
                    codes.append(ASSISTANT)
                else:
                    return item
                if "id" in item:
                    self.note_id(item["id"])
        except UNKNOWN:
            return item
        return END

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [CallKey(entry["call_id"], entry["name"])]


def _said_in(parts: list[Any]) -> Any:
    """What the first of some parts says; `None`, which no text is, if it is unusual."""
    if parts and parts[0].get("type") == "refusal":
        return None
    return first_text(parts, _TEXTS)


def _is_usual(item: dict[str, Any]) -> bool:
    """Whether the fields of reasoning are of the types that they must have."""
    return (
        type(item.get("summary", [])) is list
        and type(item.get("content") or []) is list
        and type(item.get("encrypted_content") or "") is str
    )
