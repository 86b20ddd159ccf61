"""The outline of a list of Bedrock's messages."""

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
)
from .._shape import MARKS

_REASONING = ({"reasoningText"}, {"redactedContent"})
_MEDIA = ("image", "document")


def outline_bedrock(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
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
                if type(content) is not list:
                    return entry
                block = content[0] if len(content) == 1 else None
                if role == "user":
                    if block is None or len(block) != 1:
                        if not self._add_blocks(entry, content):
                            return entry
                        continue
                    if "text" in block:
                        asked.append(block["text"])
                        codes.append(USER)
                    elif "toolResult" in block:
                        inner = block["toolResult"]
                        call_id, said = inner["toolUseId"], _said_in(inner)
                        if type(call_id) is not str:
                            return entry
                        result_ids.append(call_id)
                        told.append(said)
                        codes.append(RESULT)
                    else:
                        asked.append("")
                        codes.append(USER)
                elif role == "assistant":
                    if block is not None and len(block) == 1 and "text" in block:
                        codes.append(ASSISTANT)
                    elif block is not None and len(block) == 1 and "toolUse" in block:
                        inner = block["toolUse"]
                        call_id = inner["toolUseId"]
                        if type(call_id) is not str or "type" in inner:
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
            (member,) = block
            if member == "toolUse":
                inner = block[member]
                if "type" in inner:
                    return False
                ids.append(inner["toolUseId"])
            elif member == "reasoningContent":
                if block[member].keys() not in _REASONING:
                    return False
                thinks = True
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
            (member,) = block
            if member == "toolResult":
                inner = block[member]
                if _said_in(inner).startswith(MARKS):
                    return False
                ids.append(inner["toolUseId"])
            elif member == "text":
                if block[member].startswith(MARKS):
                    return False
                words = True
            elif member in _MEDIA:
                words = True
        if ids and (len(ids) > MOST or set(map(type, ids)) != {str}):
            return False
        self.add_results(ids, entry.get("id"), words=words)
        return True

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
