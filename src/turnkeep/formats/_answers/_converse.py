from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._shape import as_object
from ._base import Found, added, index_of, inner, parts_of
from ._blocks import Blocks, check_input

_EVENTS: Final = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    }
)
_CUT: Final = ("max_tokens", "malformed_tool_use", None)
_NO_ROOM: Final = "model_context_window_exceeded"


class ConverseAnswers:
    """Answers of Bedrock's Converse API."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It has a message as its output."""
        output = response.get("output")
        return isinstance(output, Mapping) and "message" in output

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """It is an event of a message, under its name."""
        return not _EVENTS.isdisjoint(chunk)

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The answer that the events build."""
        answer: dict[str, Any] = {}
        blocks = Blocks()
        for nth, event in enumerate(chunks):
            path = f"$[{nth}]"
            if begun := inner(event, "contentBlockStart", path):
                start = inner(begun, "start", f"{path}.contentBlockStart")
                blocks.begin(_place(begun, path), _begun(start), path)
            if more := inner(event, "contentBlockDelta", path):
                path += ".contentBlockDelta"
                delta = inner(more, "delta", path)
                _add(blocks, _place(more, path), delta, f"{path}.delta")
            answer |= inner(event, "messageStop", path)
            answer |= inner(event, "metadata", path)
        content = [_finished(block, given) for block, given in blocks.finished()]
        message = {"role": "assistant", "content": [b for b in content if b]}
        answer["output"] = {"message": message}
        return answer

    def take(self, response: Mapping[str, Any]) -> Found:
        """The message of the output."""
        usage = dict(response) if response.get("usage") is not None else None
        reason = response.get("stopReason")
        message = response["output"].get("message")
        if reason == _NO_ROOM or message is None:
            return Found(usage=usage)
        path = "$.output.message"
        entry = dict(as_object(message, "a message", path))
        where = f"{path}.content"
        blocks = parts_of(entry, "content", path)
        calls = [
            (nth, call)
            for nth, block in enumerate(blocks)
            if isinstance(block, Mapping)
            and isinstance(call := block.get("toolUse"), Mapping)
        ]
        cut: tuple[str, ...] = ()
        if reason in _CUT and calls:
            # What the limit left of an input looks like a whole one.
            nth, call = calls[-1]
            is_last = reason == "max_tokens" and nth == len(blocks) - 1
            if is_last or isinstance(call.get("input"), str):
                cut = (str(call.get("toolUseId")),)
        if not cut:
            for nth, call in calls:
                check_input(call, "toolUseId", f"{where}[{nth}].toolUse")
        return Found(((path, entry),), usage, cut_off=cut)


def _place(event: Mapping[str, Any], path: str) -> int:
    return index_of(event, "contentBlockIndex", path)


def _begun(start: Mapping[str, Any]) -> dict[str, Any]:
    """A block of which only the beginning has come."""
    return {
        key: {**member} if isinstance(member, Mapping) else member
        for key, member in start.items()
    }


def _add(blocks: Blocks, index: int, delta: Mapping[str, Any], path: str) -> None:
    block = blocks.at(index)
    for key, said in delta.items():
        if key == "text":
            block["text"] = added(block.get("text"), said)
        elif key == "toolUse":
            blocks.add_input(index, inner(delta, key, path).get("input"))
        elif key == "toolResult":
            result = block.setdefault("toolResult", {})
            result["content"] = [
                *result.get("content", ()),
                *parts_of(delta, key, path),
            ]
        elif key == "reasoningContent":
            _add_reasoning(block.setdefault(key, {}), inner(delta, key, path))
        elif key == "citation":
            block["citations"] = [*block.get("citations", ()), said]
        elif isinstance(said, Mapping):
            block[key] = {**block.get(key, {}), **said}


def _add_reasoning(reasoning: dict[str, Any], said: Mapping[str, Any]) -> None:
    for key, value in said.items():
        if key != "redactedContent":
            text = reasoning.setdefault("reasoningText", {"text": ""})
            text[key] = added(text.get(key), value)
        elif isinstance(value, type(reasoning.get(key))):
            reasoning[key] += value
        else:
            reasoning[key] = value


def _finished(block: dict[str, Any], given: Any) -> dict[str, Any]:
    """A block as it stands in a whole answer."""
    if isinstance(call := block.get("toolUse"), Mapping):
        return {"toolUse": {**call, "input": {} if given is None else given}}
    if (citations := block.get("citations")) is not None:
        said = [{"text": block["text"]}] if "text" in block else []
        return {"citationsContent": {"content": said, "citations": citations}}
    return block
