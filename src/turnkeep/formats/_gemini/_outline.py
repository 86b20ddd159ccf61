"""The outline of a list of Gemini's contents, whose calls may have no ids."""

from __future__ import annotations

from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, USER, CallKey, LinkId

from .._block_outline import (
    NOTHING,
    REASONING,
    WORDS,
    BlockReader,
    Look,
    Says,
)
from .._outline import END, ONE_CALL, UNKNOWN, unmarked
from .._shape import MARKS
from ._decode import DATA

_NOTHING: dict[str, Any] = {}
_MEDIA = ("inlineData", "fileData")
_HOSTED = ("toolCall", "toolResponse", "executableCode", "codeExecutionResult")
"""What the provider does itself: its message is decoded."""


class GeminiReader(BlockReader):
    """Reads lists of Gemini's contents."""

    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, marks = self.codes, MARKS
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for entry in self.rest:
                if type(entry) is not dict:
                    return entry
                role, parts = entry["role"], entry["parts"]
                if type(parts) is not list:
                    return entry
                part = parts[0] if len(parts) == 1 else _NOTHING
                # Newer models sign their calls.
                if len(part) != 1 and not (
                    len(part) == 2 and "thoughtSignature" in part
                ):
                    part = _NOTHING
                if role == "model":
                    if "text" in part and type(part["text"]) is str:
                        codes.append(ASSISTANT)
                    elif "functionCall" in part:
                        inner = part["functionCall"]
                        name, call_id = inner["name"], inner.get("id")
                        if type(name) is not str:
                            return entry
                        if call_id is None:
                            call_ids.append((name,))
                        elif type(call_id) is str:
                            call_ids.append(call_id)
                        else:
                            return entry
                        codes.append(ONE_CALL)
                    else:
                        self.add_answer(parts)
                elif role == "user":
                    if "text" in part:
                        said = part["text"]
                        if said.removeprefix(marks) is not said:
                            return entry
                        codes.append(USER)
                    elif "functionResponse" in part:
                        inner = part["functionResponse"]
                        name, call_id = inner["name"], inner.get("id")
                        said = _said_in(inner)
                        if type(name) is not str or (
                            said.removeprefix(marks) is not said
                        ):
                            return entry
                        if call_id is None:
                            result_ids.append((name,))
                        elif type(call_id) is str:
                            result_ids.append(call_id)
                        else:
                            return entry
                        codes.append(RESULT)
                    else:
                        self.add_blocks(entry, parts)
                        continue
                elif role == "function":
                    self.add_blocks(entry, parts)
                    continue
                else:
                    return entry
                if len(entry) != 2 and "id" in entry:
                    self.note_id(entry["id"])
        except UNKNOWN:
            return entry
        return END

    @staticmethod
    def look(block: Any, *, by_model: bool) -> Look:
        """See `BlockReader.look`."""
        key = _data_in(block)
        kind = DATA.get(key)
        if kind == "text":
            if not by_model:
                unmarked(block[key])
            elif block.get("thought") is True:
                return REASONING
            return WORDS
        if kind == "functionCall" and by_model:
            return Says.CALL, _linked(block[key])
        if kind == "functionResponse" and not by_model:
            unmarked(_said_in(block[key]))
            return Says.RESULT, _linked(block[key])
        if kind in _HOSTED:
            raise ValueError
        return WORDS if kind in _MEDIA else NOTHING

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(part[key].get("id"), part[key]["name"])
            for part in entry["parts"]
            for key in ("functionCall", "function_call")
            if part.get(key) is not None
        ]


def _data_in(part: dict[str, Any]) -> str:
    """The data field of a part; empty where it has none.

    Raises:
        TypeError: It is no part.
        ValueError: There are several.
    """
    if type(part) is not dict:
        raise TypeError
    found = [key for key in part if key in DATA and part[key] is not None]
    if not found:
        return ""
    (key,) = found
    if key != DATA[key] and DATA[key] in part:
        raise ValueError
    if key == "text" and type(part[key]) is not str:
        raise TypeError
    return key


def _linked(inner: Any) -> LinkId:
    """What links a call or a response to the other.

    Raises:
        TypeError: It is no text.
    """
    name, call_id = inner["name"], inner.get("id")
    if type(name) is not str:
        raise TypeError
    if call_id is None:
        return (name,)
    if type(call_id) is not str:
        raise TypeError
    return call_id


def _said_in(inner: Any) -> str:
    """The only text of a response; empty where there is more, or none."""
    response = inner.get("response", {})
    if len(response) == 1:
        for said in response.values():
            if type(said) is str:
                return said
    return ""
