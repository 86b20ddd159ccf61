"""What a model said, as each provider answers it: whole, and in chunks.

Written from the providers' documentation, so that reading is tested against something
that it was not made from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from hypothesis import strategies as st

JsonObject = dict[str, Any]


@attrs.frozen
class Said:
    """What a model said in one answer: reasoning, then words, then calls."""

    thinking: str = ""
    text: str = "Hello"
    calls: tuple[tuple[str, str], ...] = ()
    """Names and JSON arguments."""
    size: int = 3
    """Characters in a chunk."""

    def pieces(self, text: str) -> Iterator[str]:
        """*text* in pieces."""
        for start in range(0, len(text), self.size):
            yield text[start : start + self.size]


_WORDS = st.text(max_size=12)
_ARGUMENTS = st.dictionaries(
    st.text(max_size=4), st.one_of(st.none(), st.integers(), _WORDS), max_size=3
)
_CALLS = st.tuples(
    st.sampled_from(["build", "read_file"]),
    st.one_of(
        _ARGUMENTS.map(json.dumps),
        _ARGUMENTS.map(lambda given: json.dumps(given, indent=1, ensure_ascii=False)),
    ),
)

said = st.builds(
    Said,
    thinking=_WORDS,
    text=_WORDS,
    calls=st.lists(_CALLS, max_size=3).map(tuple),
    size=st.integers(1, 9),
)
"""Anything that a model could say, reasoning alone and nothing at all included."""


def _chat_usage() -> JsonObject:
    return {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _chat_call(nth: int, call: tuple[str, str]) -> JsonObject:
    name, arguments = call
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{nth}", "type": "function", "function": function}


def chat(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """A chat completion, reasoning where DeepSeek has it."""
    head = {"id": "chatcmpl-1", "model": "gpt-4o", "created": 1}
    message: JsonObject = {"role": "assistant", "content": told.text or None}
    message |= {"refusal": None, "annotations": []}
    if told.thinking:
        message["reasoning_content"] = told.thinking
    if told.calls:
        message["tool_calls"] = [_chat_call(n, c) for n, c in enumerate(told.calls)]
    reason = "tool_calls" if told.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"usage": _chat_usage()}
    whole = {**head, "object": "chat.completion", "choices": [choice], **usage}

    def chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        kind = "chat.completion.chunk"
        return {**head, "object": kind, "choices": [choice], "usage": None}

    chunks = [chunk({"role": "assistant", "content": None})]
    pieces = told.pieces
    chunks += [chunk({"reasoning_content": p}) for p in pieces(told.thinking)]
    chunks += [chunk({"content": p}) for p in pieces(told.text)]
    for nth, call in enumerate(told.calls):
        begun = _chat_call(nth, (call[0], ""))
        chunks.append(chunk({"tool_calls": [{"index": nth, **begun}]}))
        for piece in pieces(call[1]):
            more = {"index": nth, "function": {"arguments": piece}}
            chunks.append(chunk({"tool_calls": [more]}))
    kind = "chat.completion.chunk"
    last = {**head, "object": kind, "choices": [], **usage}
    return whole, [*chunks, chunk({}, reason), last]


def responses(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """A response: reasoning, a message and calls as items."""
    items: list[JsonObject] = []
    if told.thinking:
        summary = [{"type": "summary_text", "text": told.thinking}]
        sealed = {"encrypted_content": "Z0FBQQ==", "status": None, "content": None}
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, **sealed})
    if told.text:
        part = {"type": "output_text", "text": told.text, "annotations": []}
        state = {"id": "msg_1", "status": "completed"}
        message = {"type": "message", "role": "assistant", "content": [part], **state}
        items.append(message)
    for nth, (name, arguments) in enumerate(told.calls):
        call = {"type": "function_call", "id": f"fc_{nth}", "call_id": f"call_{nth}"}
        items.append({**call, "name": name, "arguments": arguments})
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    whole: JsonObject = {"id": "resp_1", "object": "response", "model": "gpt-5"}
    whole |= {"status": "completed", "output": items, "usage": usage}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[JsonObject] = [{"type": "response.created", "response": begun}]
    for nth, item in enumerate(items):
        place = {"output_index": nth}
        events.append({"type": "response.output_item.added", "item": item, **place})
        for piece in told.pieces(told.text):
            delta = {"type": "response.output_text.delta", "delta": piece}
            events.append({**delta, **place})
        events.append({"type": "response.output_item.done", "item": item, **place})
    return whole, [*events, {"type": "response.completed", "response": whole}]


def anthropic(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """A message of Anthropic's API: signed reasoning, citations of nothing."""
    usage = {"input_tokens": 11, "cache_read_input_tokens": 2}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
    reason = "tool_use" if told.calls else "end_turn"
    ended = {"stop_reason": reason, "stop_sequence": None}
    begun: JsonObject = {**head, "content": [], "usage": {**usage, "output_tokens": 1}}
    begun |= {"stop_reason": None, "stop_sequence": None}
    events: list[JsonObject] = [
        {"type": "message_start", "message": begun},
        {"type": "ping"},
    ]
    content: list[JsonObject] = []

    def block(whole: JsonObject, begun: JsonObject, deltas: list[JsonObject]) -> None:
        place = {"index": len(content)}
        content.append(whole)
        start = {"type": "content_block_start", "content_block": begun, **place}
        kind = "content_block_delta"
        events.append(start)
        events.extend({"type": kind, "delta": delta, **place} for delta in deltas)
        events.append({"type": "content_block_stop", **place})

    if told.thinking:
        thought = {"type": "thinking", "thinking": told.thinking, "signature": "c2ln"}
        deltas: list[JsonObject] = [
            {"type": "thinking_delta", "thinking": piece}
            for piece in told.pieces(told.thinking)
        ]
        deltas.append({"type": "signature_delta", "signature": "c2ln"})
        block(thought, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
    if told.text:
        text = {"type": "text", "citations": None}
        deltas = [{"type": "text_delta", "text": p} for p in told.pieces(told.text)]
        block({**text, "text": told.text}, {**text, "text": ""}, deltas)
    for nth, (name, arguments) in enumerate(told.calls):
        call = {"type": "tool_use", "id": f"toolu_{nth}", "name": name}
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in ["", *told.pieces(arguments)]
        ]
        block({**call, "input": json.loads(arguments)}, {**call, "input": {}}, deltas)
    more = {"usage": {"output_tokens": 7}}
    events.append({"type": "message_delta", "delta": ended, **more})
    whole = {**head, "content": content, **ended, "usage": {**usage, **more["usage"]}}
    return whole, [*events, {"type": "message_stop"}]


def gemini(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """An answer of Gemini: thoughts, words and signed calls as parts."""
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    parts: list[JsonObject] = []
    pieces: list[JsonObject] = []
    if told.thinking:
        parts.append({"text": told.thinking, "thought": True})
        pieces += [{"text": p, "thought": True} for p in told.pieces(told.thinking)]
    if told.text:
        parts.append({"text": told.text})
        pieces += [{"text": p} for p in told.pieces(told.text)]
    for name, arguments in told.calls:
        call = {"name": name, "args": json.loads(arguments)}
        part = {"functionCall": call, "thoughtSignature": "+/8="}
        parts.append(part)
        pieces.append(part)

    def answer(parts: list[JsonObject], reason: str | None) -> JsonObject:
        candidate: JsonObject = {"index": 0}
        if parts:
            candidate["content"] = {"role": "model", "parts": parts}
        if reason is not None:
            candidate["finishReason"] = reason
        head = {"candidates": [candidate], "modelVersion": "gemini-2.5-pro"}
        return {**head, "usageMetadata": usage}

    chunks = [answer([piece], None) for piece in pieces]
    return answer(parts, "STOP"), [*chunks, answer([], "STOP")]


def bedrock(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """An answer of Converse."""
    content: list[JsonObject] = []
    events: list[JsonObject] = [{"messageStart": {"role": "assistant"}}]

    def block(
        whole: JsonObject, start: JsonObject | None, deltas: list[JsonObject]
    ) -> None:
        place = {"contentBlockIndex": len(content)}
        content.append(whole)
        if start is not None:
            events.append({"contentBlockStart": {"start": start, **place}})
        events.extend(
            {"contentBlockDelta": {"delta": delta, **place}} for delta in deltas
        )
        events.append({"contentBlockStop": place})

    if told.thinking:
        reasoning = {"reasoningText": {"text": told.thinking, "signature": "c2ln"}}
        deltas: list[JsonObject] = [
            {"reasoningContent": {"text": p}} for p in told.pieces(told.thinking)
        ]
        deltas.append({"reasoningContent": {"signature": "c2ln"}})
        block({"reasoningContent": reasoning}, None, deltas)
    if told.text:
        deltas = [{"text": piece} for piece in told.pieces(told.text)]
        block({"text": told.text}, None, deltas)
    for nth, (name, arguments) in enumerate(told.calls):
        call = {"toolUseId": f"tooluse_{nth}", "name": name}
        deltas = [{"toolUse": {"input": piece}} for piece in told.pieces(arguments)]
        whole = {"toolUse": {**call, "input": json.loads(arguments)}}
        block(whole, {"toolUse": call}, deltas)
    ended = {"stopReason": "tool_use" if told.calls else "end_turn"}
    usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    told_of = {"usage": usage, "metrics": {"latencyMs": 5}}
    message = {"role": "assistant", "content": content}
    answer = {"output": {"message": message}, **ended, **told_of}
    return answer, [*events, {"messageStop": ended}, {"metadata": told_of}]


def ollama(told: Said) -> tuple[JsonObject, list[JsonObject]]:
    """An answer of Ollama: calls come whole."""
    head = {"model": "qwen3", "created_at": "2026-11-30T00:00:00Z"}
    counts = {"prompt_eval_count": 11, "eval_count": 7, "total_duration": 5}
    ended = {"done": True, "done_reason": "stop", **counts}
    calls = [
        {"function": {"name": name, "arguments": json.loads(arguments)}}
        for name, arguments in told.calls
    ]
    message: JsonObject = {"role": "assistant", "content": told.text}
    empty: JsonObject = {"role": "assistant", "content": ""}
    if told.thinking:
        message["thinking"] = told.thinking
    if calls:
        message["tool_calls"] = calls
    deltas = [{**empty, "thinking": p} for p in told.pieces(told.thinking)]
    deltas += [{**empty, "content": p} for p in told.pieces(told.text)]
    deltas += [{**empty, "tool_calls": [call]} for call in calls]
    chunks = [{**head, "message": delta, "done": False} for delta in deltas]
    whole = {**head, "message": message, **ended}
    return whole, [*chunks, {**head, "message": empty, **ended}]


PROVIDERS: dict[
    str, tuple[str, Callable[[Said], tuple[JsonObject, list[JsonObject]]]]
] = {
    "openai": ("gpt-4o", chat),
    "deepseek": ("deepseek-reasoner", chat),
    "openai-responses": ("gpt-5", responses),
    "anthropic": ("claude-sonnet-4-5", anthropic),
    "gemini": ("gemini-2.5-pro", gemini),
    "bedrock": ("us.amazon.nova-pro-v1:0", bedrock),
    "ollama": ("qwen3", ollama),
}
"""A model and the shape of its answers, by format."""
