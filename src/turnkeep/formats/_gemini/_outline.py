"""The outline of a list of Gemini's contents, whose calls may have no ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, USER, CallKey, LinkId

from .._outline import END, MOST, ONE_CALL, UNKNOWN, Decode, Outline, OutlineReader
from .._shape import MARKS
from ._decode import DATA

_USERS = ("user", "function")
_MEDIA = ("inlineData", "fileData")


def outline_gemini(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
    """What a list of contents says; see `OutlineReader.read`."""
    return _Reader(entries, decode, path).read()


class _Reader(OutlineReader):
    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, asked, told = self.codes, self.asked, self.told
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for entry in self.rest:
                if type(entry) is not dict:
                    return entry
                role, parts = entry["role"], entry["parts"]
                if type(parts) is not list:
                    return entry
                part = parts[0] if len(parts) == 1 and len(parts[0]) == 1 else ()
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
                    elif not self._add_model(parts):
                        return entry
                elif role == "user":
                    if "text" in part:
                        asked.append(part["text"])
                        codes.append(USER)
                    elif "functionResponse" in part:
                        inner = part["functionResponse"]
                        name, call_id = inner["name"], inner.get("id")
                        said = _said_in(inner)
                        if type(name) is not str:
                            return entry
                        if call_id is None:
                            result_ids.append((name,))
                        elif type(call_id) is str:
                            result_ids.append(call_id)
                        else:
                            return entry
                        told.append(said)
                        codes.append(RESULT)
                    elif self._add_parts(entry, parts):
                        continue
                    else:
                        return entry
                elif role == "function" and self._add_parts(entry, parts):
                    continue
                else:
                    return entry
                if len(entry) != 2 and "id" in entry:
                    self.note_id(entry["id"])
        except UNKNOWN:
            return entry
        return END

    def _add_model(self, parts: list[Any]) -> bool:
        """Note what the model says in several parts, if it is not odd."""
        ids: list[LinkId] = []
        thinks = False
        for part in parts:
            key = _data_in(part)
            if DATA.get(key) == "functionCall":
                ids.append(_linked(part[key]))
            elif key == "text" and part.get("thought") is True:
                thinks = True
        if len(ids) > MOST:
            return False
        if thinks:
            self.reasoning.append(len(self.codes))
        self.add_calls(ids)
        return True

    def _add_parts(self, entry: dict[str, Any], parts: list[Any]) -> bool:
        """Note a user's content of several parts, if it is not odd."""
        ids: list[LinkId] = []
        words = False
        for part in parts:
            key = _data_in(part)
            kind = DATA.get(key)
            if kind == "functionResponse":
                said = _said_in(part[key])
                if said.startswith(MARKS):
                    return False
                ids.append(_linked(part[key]))
            elif kind == "text":
                if part[key].startswith(MARKS):
                    return False
                words = True
            elif kind in _MEDIA:
                words = True
        if len(ids) > MOST:
            return False
        self.add_results(ids, entry.get("id"), words=words)
        return True

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(part[key].get("id"), part[key]["name"])
            for part in entry["parts"]
            for key in ("functionCall", "function_call")
            if part.get(key) is not None
        ]


def _data_in(part: Any) -> str:
    """The data field of a part; empty where it has none.

    Raises:
        ValueError: There are several.
    """
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
