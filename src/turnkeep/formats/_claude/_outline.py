"""The outline of a list of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, SYSTEM, USER, CallKey, LinkId

from .._outline import (
    END,
    MOST,
    ONE_CALL,
    UNKNOWN,
    Decode,
    Outline,
    OutlineReader,
    first_text,
)
from .._shape import MARKS

_TEXT = ("text",)
_THINKING = ("thinking", "redacted_thinking")
_MEDIA = ("image", "document")


def outline_claude(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
    """What a list of messages says; see `OutlineReader.read`."""
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
                role, content = entry["role"], entry["content"]
                is_listed = type(content) is list
                if not is_listed and type(content) is not str:
                    return entry
                if role == "user":
                    if not is_listed:
                        asked.append(content)
                        codes.append(USER)
                    elif len(content) == 1:
                        block = content[0]
                        kind = block["type"]
                        if kind == "tool_result":
                            call_id, said = block["tool_use_id"], block.get("content")
                            if type(said) is not str:
                                said = "" if said is None else first_text(said, _TEXT)
                            if type(call_id) is not str:
                                return entry
                            result_ids.append(call_id)
                            told.append(said)
                            codes.append(RESULT)
                        elif type(kind) is str:
                            asked.append(block["text"] if kind == "text" else "")
                            codes.append(USER)
                        else:
                            return entry
                    elif self._add_blocks(entry, content):
                        continue
                    else:
                        return entry
                elif role == "assistant":
                    if not is_listed:
                        codes.append(ASSISTANT)
                    elif len(content) == 1 and content[0]["type"] == "tool_use":
                        call_id = content[0]["id"]
                        if type(call_id) is not str:
                            return entry
                        call_ids.append(call_id)
                        codes.append(ONE_CALL)
                    elif not self._add_assistant(content):
                        return entry
                elif role == "system":
                    codes.append(SYSTEM)
                else:
                    return entry
                if len(entry) != 2 and "id" in entry:
                    self.note_id(entry["id"])
        except UNKNOWN:
            return entry
        return END

    def _add_assistant(self, content: list[Any]) -> bool:
        """Note a message of several blocks, if it is not odd."""
        ids: list[LinkId] = []
        thinks = False
        for block in content:
            kind = block["type"]
            if kind == "tool_use":
                ids.append(block["id"])
            elif kind in _THINKING:
                thinks = True
            elif type(kind) is not str:
                return False
        if ids and (len(ids) > MOST or set(map(type, ids)) != {str}):
            return False
        if thinks:
            self.reasoning.append(len(self.codes))
        self.add_calls(ids)
        return True

    def _add_blocks(self, entry: dict[str, Any], content: list[Any]) -> bool:
        """Note a user's entry of several blocks, if it is not odd."""
        ids: list[LinkId] = []
        words = False
        for block in content:
            kind = block["type"]
            if kind == "tool_result":
                said = block.get("content")
                if type(said) is list:
                    said = first_text(said, _TEXT)
                if said is not None and said.startswith(MARKS):
                    return False
                ids.append(block["tool_use_id"])
            elif kind == "text":
                if block["text"].startswith(MARKS):
                    return False
                words = True
            elif kind in _MEDIA:
                words = True
            elif type(kind) is not str:
                return False
        if ids and (len(ids) > MOST or set(map(type, ids)) != {str}):
            return False
        self.add_results(ids, entry.get("id"), words=words)
        return True

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(block["id"], name if type(name) is str else "")
            for block in entry["content"]
            if block["type"] == "tool_use"
            for name in [block.get("name")]
        ]
