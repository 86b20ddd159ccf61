"""The outline of a list of Anthropic's messages."""

from __future__ import annotations

from typing import Any

from turnkeep.turns import ASSISTANT, RESULT, SYSTEM, USER, CallKey

from .._block_outline import (
    NOTHING,
    REASONING,
    WORDS,
    BlockReader,
    Look,
    Says,
)
from .._outline import END, ONE_CALL, UNKNOWN, first_text, unmarked
from .._shape import MARKS

_TEXT = ("text",)
_THINKING = ("thinking", "redacted_thinking")
_SHOWN = ("image", "document", "search_result")
"""Blocks that are somebody's, and no more; any other may be of the provider's own
doing, so that its message is decoded."""


class ClaudeReader(BlockReader):
    """Reads lists of Anthropic's messages."""

    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, marks = self.codes, MARKS
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
                        if content.removeprefix(marks) is not content:
                            return entry
                        codes.append(USER)
                    elif len(content) == 1:
                        block = content[0]
                        kind = block["type"]
                        if kind == "tool_result":
                            call_id, said = block["tool_use_id"], block.get("content")
                            if type(said) is not str:
                                said = "" if said is None else first_text(said, _TEXT)
                            if (
                                type(call_id) is not str
                                or said.removeprefix(marks) is not said
                            ):
                                return entry
                            result_ids.append(call_id)
                            codes.append(RESULT)
                        elif kind == "text":
                            said = block["text"]
                            if said.removeprefix(marks) is not said:
                                return entry
                            codes.append(USER)
                        elif kind in _SHOWN:
                            codes.append(USER)
                        else:
                            return entry
                    else:
                        self.add_blocks(entry, content)
                        continue
                elif role == "assistant":
                    if not is_listed:
                        codes.append(ASSISTANT)
                    elif len(content) == 1 and content[0]["type"] == "tool_use":
                        call_id = content[0]["id"]
                        if type(call_id) is not str or "caller" in content[0]:
                            return entry
                        call_ids.append(call_id)
                        codes.append(ONE_CALL)
                    else:
                        self.add_answer(content)
                elif role == "system":
                    if is_listed and any(b["type"] != "text" for b in content):
                        return entry
                    codes.append(SYSTEM)
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
        kind = block["type"]
        if kind == "tool_use" and by_model and "caller" not in block:
            return Says.CALL, block["id"]
        if kind == "tool_result" and not by_model:
            said = block.get("content")
            if said is not None:
                unmarked(first_text(said, _TEXT) if type(said) is list else said)
            return Says.RESULT, block["tool_use_id"]
        if kind == "text":
            if not by_model:
                unmarked(block["text"])
            return WORDS
        if kind in _THINKING and by_model:
            return REASONING
        if kind not in _SHOWN:
            raise ValueError
        return NOTHING if by_model else WORDS

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(block["id"], name if type(name) is str else "")
            for block in entry["content"]
            if block["type"] == "tool_use"
            for name in [block.get("name")]
        ]
