"""From our messages to Ollama's chat messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from turnkeep.model import (
    DISPLAY_KINDS,
    Block,
    Document,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    join_text,
    thaw,
)

from ._base import is_own, layout_of, origin_of
from ._chat_encode import join_runs
from ._ollama_decode import NAME
from ._shape import ResultText

_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
}


def encode_ollama(messages: Sequence[Message]) -> list[Any]:
    """Entries that say *messages*. Linear in their size."""
    names: dict[str | None, str] = {
        call.id: call.name
        for message in messages
        for call in message.tool_calls
        if call.id is not None
    }
    entries: list[Any] = []
    order: dict[str | None, int] = {}
    results: list[tuple[int, Any]] = []
    for message in join_runs(messages, _is_foreign):
        foreign = _is_foreign(message)
        if foreign and message.kind in DISPLAY_KINDS:
            continue
        if message.tool_results:
            for result in message.tool_results:
                place = order.get(result.tool_call_id, len(order)) if foreign else -1
                made = _result(result, message, names)
                results.append((place, made))
            if message.role is Role.TOOL_RESULT:
                continue
        entries += _in_order(results)
        results = []
        if message.role in {Role.ASSISTANT, Role.TOOL_CALL}:
            order = {call.id: nth for nth, call in enumerate(message.tool_calls)}
        if len(message.tool_results) < max(len(message.content), 1):
            entries.append(_entry(message))
    return entries + _in_order(results)


def _in_order(results: list[tuple[int, Any]]) -> list[Any]:
    """Results in the order of their calls: nothing else tells them apart."""
    if all(place >= 0 for place, _ in results):
        results = sorted(results, key=lambda pair: pair[0])
    return [entry for _, entry in results]


def _is_foreign(message: Message) -> bool:
    return origin_of(message) != NAME


def _entry(message: Message) -> dict[str, Any]:
    detail = layout_of(message, NAME)
    if detail:
        raw: dict[str, Any] = json.loads(detail)
        return raw
    entry: dict[str, Any] = {
        "role": _ROLES[message.role],
        "content": text_of(message.content),
    }
    thinking = [block.text for block in message.content if isinstance(block, Thinking)]
    if any(thinking) or (thinking and not _is_foreign(message)):
        entry["thinking"] = "\n".join(thinking)
    if images := _images(message.content):
        entry["images"] = images
    own = is_own(message, NAME)
    if calls := message.tool_calls:
        native = not _is_foreign(message)
        entry["tool_calls"] = [_call(call, own=own, native=native) for call in calls]
    if own:
        for key, value in message.extra.items():
            if key != "role":
                entry.setdefault(key, thaw(value))
    return entry


def text_of(blocks: Sequence[Block]) -> str:
    """The text of *blocks*, that of text documents included."""
    pieces = []
    for block in blocks:
        if isinstance(block, Document) and block.text is not None:
            pieces.append(f"{block.title or ''}\n{block.text}".lstrip("\n"))
        elif isinstance(block, Text):
            pieces.append(block.text)
        elif text := join_text((block,) if not isinstance(block, ToolResult) else ()):
            pieces.append(text)
    return "\n".join(pieces)


def _images(blocks: Sequence[Block]) -> list[str]:
    return [b.data for b in blocks if isinstance(b, Image) and b.data is not None]


def _call(call: ToolCall, *, own: bool, native: bool) -> dict[str, Any]:
    arguments = thaw(call.arguments)
    if not isinstance(arguments, dict):
        # The server takes objects only (rule OL-03).
        arguments = {"input": arguments}
    made: dict[str, Any] = {"function": {"name": call.name, "arguments": arguments}}
    if native and call.id is not None:
        made["id"] = call.id
    if own:
        extra = thaw(call.extra)
        made["function"] |= extra.pop("function", {})
        made |= {key: v for key, v in extra.items() if key not in made}
    return made


def _result(
    result: ToolResult, message: Message, names: dict[str | None, str]
) -> dict[str, Any]:
    detail = layout_of(message, NAME)
    if detail:
        raw: dict[str, Any] = json.loads(detail)
        return raw
    text = ResultText(
        text_of(result.content), result.pending, result.interim, result.is_error
    )
    entry: dict[str, Any] = {"role": "tool", "content": text.write()}
    name = result.tool_name
    if name is None and _is_foreign(message):
        name = names.get(result.tool_call_id)
    if name is not None:
        entry["tool_name"] = name
    if not _is_foreign(message) and result.tool_call_id is not None:
        entry["tool_call_id"] = result.tool_call_id
    if images := _images(result.content):
        entry["images"] = images
    if is_own(message, NAME):
        for key, value in message.extra.items():
            entry.setdefault(key, thaw(value))
    return entry
