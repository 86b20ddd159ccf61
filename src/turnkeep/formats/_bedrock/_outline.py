"""The outline of a list of Bedrock's messages."""

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
from .._outline import END, ONE_CALL, UNKNOWN, unmarked
from .._shape import MARKS

_REASONING = ({"reasoningText"}, {"redactedContent"})
_SETTINGS = ("toolAddition", "toolRemoval")
_NOTHING: dict[str, Any] = {}


class BedrockReader(BlockReader):
    """Reads lists of Bedrock's messages."""

    def scan(self) -> Any:
        """See `OutlineReader.scan`."""
        codes, marks = self.codes, MARKS
        call_ids, result_ids = self.call_ids, self.result_ids
        try:
            for entry in self.rest:
                if type(entry) is not dict:
                    return entry
                role, content = entry["role"], entry["content"]
                if type(content) is not list:
                    return entry
                block = content[0] if len(content) == 1 else _NOTHING
                if type(block) is not dict:
                    return entry
                if role == "user":
                    if len(block) != 1:
                        self.add_blocks(entry, content)
                        continue
                    if "text" in block:
                        said = block["text"]
                        if said.removeprefix(marks) is not said:
                            return entry
                        codes.append(USER)
                    elif "toolResult" in block:
                        inner = block["toolResult"]
                        call_id, said = inner["toolUseId"], _said_in(inner)
                        if (
                            type(call_id) is not str
                            or said.removeprefix(marks) is not said
                        ):
                            return entry
                        result_ids.append(call_id)
                        codes.append(RESULT)
                    else:
                        codes.append(USER)
                elif role == "assistant":
                    if len(block) == 1 and "text" in block:
                        codes.append(ASSISTANT)
                    elif len(block) == 1 and "toolUse" in block:
                        inner = block["toolUse"]
                        call_id = inner["toolUseId"]
                        if type(call_id) is not str or "type" in inner:
                            return entry
                        call_ids.append(call_id)
                        codes.append(ONE_CALL)
                    else:
                        self.add_answer(content)
                elif role == "system":
                    if not all("text" in block for block in content):
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
        if type(block) is not dict:
            raise TypeError
        (member,) = block
        if member == "text":
            if not by_model:
                unmarked(block[member])
            return WORDS
        if member == "toolUse" and by_model:
            inner = block[member]
            if "type" in inner:
                # A call of the server's own.
                raise ValueError
            return Says.CALL, inner["toolUseId"]
        if member in _SETTINGS or (member == "toolResult" and by_model):
            # Of the server's own doing.
            raise ValueError
        if member == "toolResult":
            unmarked(_said_in(block[member]))
            return Says.RESULT, block[member]["toolUseId"]
        if member == "reasoningContent" and by_model:
            if block[member].keys() not in _REASONING:
                raise ValueError
            return REASONING
        return NOTHING if by_model or member == "cachePoint" else WORDS

    @staticmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """See `OutlineReader.keys_in`."""
        return [
            CallKey(block["toolUse"]["toolUseId"], name if type(name) is str else "")
            for block in entry["content"]
            if "toolUse" in block
            for name in [block["toolUse"].get("name")]
        ]


def _said_in(result: Any) -> Any:
    """What the first block of a result says: empty if it is no text.

    Raises:
        TypeError: There is no list of blocks.
    """
    content = result["content"]
    if type(content) is not list:
        raise TypeError
    return content[0].get("text", "") if content else ""
