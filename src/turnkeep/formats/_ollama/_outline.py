"""The outline of Ollama's chat messages, whose results may name only their tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, SYSTEM, USER, CallKey, LinkId

from .._outline import END, MOST, ONE_CALL, UNKNOWN, Decode, Outline, OutlineReader
from .._shape import MARKS


def outline_ollama(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
    """What a list of messages says; see `OutlineReader.read`."""
    return _Reader(entries, decode, path).read()


class _Reader(OutlineReader):
    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, marks = self.codes, MARKS
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for entry in self.rest:
                if type(entry) is not dict:
                    return entry
                role = entry["role"]
                if role == "tool":
                    said, linked = entry["content"], entry.get("tool_call_id")
                    if said.removeprefix(marks) is not said:
                        return entry
                    if linked is None:
                        name = entry["tool_name"]
                        if type(name) is not str:
                            return entry
                        linked = (name,)
                    elif type(linked) is not str:
                        return entry
                    result_ids.append(linked)
                    codes.append(RESULT)
                    if len(entry) == 3:
                        continue
                elif type(said := entry["content"]) is not str or (
                    role == "user" and said.removeprefix(marks) is not said
                ):
                    return entry
                elif len(entry) == 2:
                    if role == "user":
                        codes.append(USER)
                    elif role == "assistant":
                        codes.append(ASSISTANT)
                    elif role == "system":
                        codes.append(SYSTEM)
                    else:
                        return entry
                    continue
                elif role == "assistant":
                    calls = entry.get("tool_calls")
                    if calls and len(calls) == 1 and len(entry) == 3:
                        call = calls[0]
                        name = call["function"]["name"]
                        call_id = call.get("id")
                        if type(name) is not str:
                            return entry
                        if call_id is None:
                            call_ids.append((name,))
                        elif type(call_id) is str:
                            call_ids.append(call_id)
                        else:
                            return entry
                        codes.append(ONE_CALL)
                        continue
                    if not self._add_assistant(entry, calls):
                        return entry
                elif role in ("user", "system") and "thinking" not in entry:
                    if type(entry.get("images", [])) is not list:
                        return entry
                    codes.append(USER if role == "user" else SYSTEM)
                else:
                    return entry
                if "id" in entry:
                    self.note_id(entry["id"])
        except UNKNOWN:
            return entry
        return END

    def _add_assistant(self, entry: dict[str, Any], calls: Any) -> bool:
        """Note a message that is spelled in another way than most, if it is not odd."""
        said = entry.get("thinking")
        if said is not None and type(said) is not str:
            return False
        if type(entry.get("images", [])) is not list:
            return False
        if calls is None or calls == []:
            self.codes.append(ASSISTANT)
        else:
            ids = list(map(_linked, calls))
            if not 0 < len(ids) <= MOST or None in ids:
                return False
            self.add_calls(ids)  # type: ignore[arg-type] # none is None
        if said is not None:
            self.reasoning.append(len(self.codes) - 1)
        return True

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(call.get("id"), call["function"]["name"])
            for call in entry["tool_calls"]
        ]


def _linked(call: Any) -> LinkId | None:
    """What links a call to its result; none where it is unusual."""
    name, call_id = call["function"]["name"], call.get("id")
    if type(name) is not str:
        return None
    if call_id is None:
        return (name,)
    return call_id if type(call_id) is str else None
