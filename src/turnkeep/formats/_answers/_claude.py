from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._shape import as_array, as_object
from ._base import (
    Found,
    added,
    index_of,
    inner,
    kind_of,
    parts_of,
    stated,
    text_or_none,
)
from ._blocks import Blocks, check_input

_EVENTS: Final = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)
_TEXTS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Deltas that are more text of a block, and where it stands in both."""

_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

_SPELLED: Final = frozenset({"text", "thinking", "tool_use"})
"""Blocks in which a null says nothing; in others it may."""

_NO_ROOM: Final = "model_context_window_exceeded"


class ClaudeAnswers:
    """Messages of Anthropic's API."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It is an assistant message with a list as its content."""
        return response.get("role") == "assistant" and isinstance(
            response.get("content"), (list, tuple)
        )

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """It is an event of a message."""
        return kind_of(chunk) in _EVENTS

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The message that the events build."""
        message: dict[str, Any] = {"role": "assistant"}
        usage: dict[str, Any] = {}
        blocks = Blocks()
        for nth, event in enumerate(chunks):
            path = f"$[{nth}]"
            index = index_of(event, "index", path)
            match event.get("type"):
                case "message_start":
                    begun = as_object(event.get("message"), "a message", path)
                    message |= begun
                    usage |= stated(inner(begun, "usage", f"{path}.message"))
                case "content_block_start":
                    blocks.begin(index, event.get("content_block"), path)
                case "content_block_delta":
                    delta = as_object(event.get("delta"), "a delta", f"{path}.delta")
                    _add(blocks, index, delta)
                case "message_delta":
                    message |= stated(inner(event, "delta", path))
                    if (changed := event.get("context_management")) is not None:
                        message["context_management"] = changed
                    # Counts so far, not more of them.
                    usage |= stated(inner(event, "usage", path))
                case _:
                    pass  # ends, keep-alive lines, and what a client adds of its own
        message["content"] = [
            block if given is None else {**block, "input": given}
            for block, given in blocks.finished()
        ]
        if usage:
            message["usage"] = usage
        return message

    def take(self, response: Mapping[str, Any]) -> Found:
        """The message, without what only answers have."""
        usage = dict(response) if response.get("usage") is not None else None
        model = text_or_none(response.get("model"))
        reason = response.get("stop_reason")
        if reason == _NO_ROOM:
            return Found(usage=usage, model=model)
        content = as_array(response["content"], "content", "$.content")
        blocks = [
            _block(as_object(block, "a content block", f"$.content[{nth}]"))
            for nth, block in enumerate(content)
        ]
        cut: tuple[str, ...] = ()
        if reason in ("max_tokens", None):
            cut = _cut_off(blocks, ended=reason is None)
        if not cut:
            for nth, block in enumerate(blocks):
                if kind_of(block) in _CALLS:
                    check_input(block, "id", f"$.content[{nth}]")
        entry = {"role": "assistant", "content": blocks}
        return Found((("$", entry),), usage, model, cut)


def _add(blocks: Blocks, index: int, delta: Mapping[str, Any]) -> None:
    kind = kind_of(delta)
    block = blocks.at(index)
    if kind == "input_json_delta":
        blocks.add_input(index, delta.get("partial_json"))
    elif kind == "citations_delta":
        block["citations"] = [*parts_of(block, "citations", "$"), delta.get("citation")]
    elif (key := _TEXTS.get(kind)) is not None:
        block[key] = added(block.get(key), delta.get(key))
        more = {k: v for k, v in stated(delta).items() if k not in {"type", key}}
        block.update(more)


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block as a request has it."""
    made = stated(block) if kind_of(block) in _SPELLED else dict(block)
    made.pop("parsed_output", None)
    return made


def _cut_off(blocks: Sequence[Mapping[str, Any]], *, ended: bool) -> tuple[str, ...]:
    """The call that the limit cut off: the last block, whatever its input holds.

    Input comes as an object; what the limit left of one looks like a whole one. Where
    a stream *ended* without a reason, only its text tells.
    """
    last = blocks[-1] if blocks else {}
    if kind_of(last) in _CALLS and (not ended or isinstance(last.get("input"), str)):
        return (str(last.get("id")),)
    return ()
