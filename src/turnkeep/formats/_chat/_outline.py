"""The outline of chat messages in OpenAI's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, SYSTEM, USER, CallKey

from .._outline import END, MOST, ONE_CALL, UNKNOWN, Decode, Outline, OutlineReader
from .._shape import MARKS
from ._dialect import Dialect

_SYSTEMS = ("system", "developer")
_TEXTS = (str, list)


def outline_chat(
    entries: Sequence[Any], decode: Decode, path: str, dialect: Dialect
) -> Outline:
    """What a list of chat messages of *dialect* says; see `OutlineReader.read`."""
    return _Reader(entries, decode, path, dialect).read()


class _Reader(OutlineReader):
    def __init__(
        self, entries: Sequence[Any], decode: Decode, path: str, dialect: Dialect
    ) -> None:
        super().__init__(entries, decode, path)
        self._systems = [role for role in _SYSTEMS if role in dialect.roles]
        self._thinking_keys = dialect.thinking_keys
        self._thinks_in_parts = dialect.thinking == "part"

    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        # One loop over local names: a call for each message would cost as much as all
        # that is done here.
        codes, marks = self.codes, MARKS
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for entry in self.rest:
                if type(entry) is not dict:
                    return entry
                role = entry["role"]
                if role == "user":
                    said = entry["content"]
                    if type(said) is list:
                        if _may_be_ours(said):
                            return entry
                    elif said.removeprefix(marks) is not said:
                        return entry
                    codes.append(USER)
                    if len(entry) == 2:
                        continue
                elif role == "assistant":
                    content = entry.get("content")
                    if type(content) is str and len(entry) == 2:
                        codes.append(ASSISTANT)
                        continue
                    calls = entry.get("tool_calls")
                    if (
                        calls
                        and len(calls) == 1
                        and len(entry) == 3
                        and (content is None or type(content) is str)
                        and "content" in entry
                    ):
                        call_id = calls[0]["id"]
                        if type(call_id) is not str:
                            return entry
                        call_ids.append(call_id)
                        codes.append(ONE_CALL)
                        continue
                    if not self._add_assistant(entry, content, calls):
                        return entry
                elif role == "tool":
                    call_id, said = entry["tool_call_id"], entry["content"]
                    if type(said) is list:
                        if _may_be_ours(said):
                            return entry
                    elif said.removeprefix(marks) is not said:
                        return entry
                    if type(call_id) is not str:
                        return entry
                    result_ids.append(call_id)
                    codes.append(RESULT)
                    if len(entry) == 3:
                        continue
                elif role in self._systems:
                    if type(entry["content"]) not in _TEXTS:
                        return entry
                    codes.append(SYSTEM)
                else:
                    return entry
                if "id" in entry:
                    self.note_id(entry["id"])
        except UNKNOWN:
            return entry
        return END

    def _add_assistant(self, entry: dict[str, Any], content: Any, calls: Any) -> bool:
        """Note a message that is spelled in another way than most, if it is not odd."""
        if "function_call" in entry:
            return False
        if content is not None and type(content) not in _TEXTS:
            return False
        if self._thinks_in_parts and type(content) is list:
            for part in content:
                if part["type"] != "text":
                    return False
        thinks = False
        for key in self._thinking_keys:
            said = entry.get(key)
            if said is not None:
                if type(said) is not str:
                    return False
                thinks = True
        if calls is None or calls == []:
            self.codes.append(ASSISTANT)
        else:
            ids = [call["id"] for call in calls]
            if not 0 < len(ids) <= MOST or set(map(type, ids)) != {str}:
                return False
            self.add_calls(ids)
        if thinks:
            self.reasoning.append(len(self.codes) - 1)
        return True

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(
                call["id"],
                _name_of(call),
                "custom" if call.get("type") == "custom" else "",
            )
            for call in entry["tool_calls"]
        ]


def _may_be_ours(parts: list[Any]) -> bool:
    """Whether parts may be a message of ours, or are unusual."""
    if not parts:
        return False
    first = parts[0]
    if type(first) is not dict:
        return True
    kind = first.get("type")
    if kind == "text":
        text = first.get("text")
        return type(text) is not str or text.startswith(MARKS)
    return type(kind) is not str or kind == "refusal"


def _name_of(call: Any) -> str:
    """The tool of a call; empty where it is malformed, so that decoding says so."""
    tool = call.get("function") or call.get("custom")
    name = tool.get("name") if type(tool) is dict else None
    return name if type(name) is str else ""
