"""OpenAI Chat Completions: what it refuses, and how it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.strict.api import (
    Api,
    Body,
    Event,
    Fault,
    Usage,
    entries,
    fresh,
    text_of,
    words,
)
from tests.strict.scripts import Answer, Call, Result, Said, Seen

ROLES: Final = ("developer", "system", "user", "assistant", "tool", "function")
PARTS: Final = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SHORTER: Final = "empty array. Expected an array with minimum length 1"


def faults(body: Body, model: str) -> Iterator[Fault]:
    """The rules that a request breaks."""
    del model
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Fault("OC-01", "[] is too short - 'messages'", "messages")
        return
    for n, message in enumerate(messages):
        yield from _content(n, message)
        yield from _calls(n, message)
        name = message.get("name")
        if name is not None and re.search(r"[\s<|\\/>]", name):
            yield Fault(
                "OC-16",
                f"Invalid 'messages[{n}].name': string does not match pattern. "
                "Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.",
                f"messages[{n}].name",
            )
    yield from _pairs(messages)
    for n, tool in enumerate(entries(body.get("tools"))):
        function = tool.get("function")
        if isinstance(function, dict) and not NAME.fullmatch(function.get("name", "")):
            yield Fault(
                "OC-17",
                f"Invalid 'tools[{n}].function.name': string does not match pattern.",
                f"tools[{n}].function.name",
            )


def _content(n: int, message: dict[str, Any]) -> Iterator[Fault]:
    role, content = message.get("role"), message.get("content")
    where = f"messages.[{n}].content"
    if role not in ROLES:
        supported = ", ".join(f"'{r}'" for r in ROLES)
        words = f"Invalid value: {role!r}. Supported values are: {supported}."
        yield Fault("OC-02", words, f"messages[{n}].role")
        return
    if role == "function":
        if not message.get("name"):
            yield Fault("OC-18", f"Missing parameter 'messages[{n}].name'.", where)
        return
    if content is None:
        instead = ("tool_calls", "function_call", "audio", "refusal")
        if role == "assistant" and any(message.get(key) for key in instead):
            return
        rule = "OC-04" if role == "assistant" else "OC-03"
        expected = "Invalid value for 'content': expected a string, got null."
        yield Fault(rule, expected, where)
    elif content == []:
        yield Fault("OC-05", f"Invalid 'messages[{n}].content': {SHORTER}", where)
    elif isinstance(content, list):
        for part in content:
            yield from _part(n, role, part)
    elif not isinstance(content, str):
        kind = type(content).__name__
        expected = f"Invalid type for 'messages[{n}].content': got {kind}."
        yield Fault("OC-03", expected, where)


def _part(n: int, role: str, part: Any) -> Iterator[Fault]:
    kind = part.get("type") if isinstance(part, dict) else None
    where = f"messages[{n}].content"
    if kind not in PARTS.get(role, ("text",)):
        yield Fault(
            "OC-06",
            f"Invalid 'messages[{n}]'. Image URLs are only allowed for messages with "
            f"role 'user', but this message with role '{role}' contains {kind!r}.",
            where,
        )
        return
    shape = {
        "text": lambda: isinstance(part.get("text"), str),
        "refusal": lambda: isinstance(part.get("refusal"), str),
        "image_url": lambda: isinstance((part.get("image_url") or {}).get("url"), str),
        "input_audio": lambda: "data" in (part.get("input_audio") or {}),
        "file": lambda: _is_file(part.get("file")),
    }
    if not shape[kind]():
        yield Fault("OC-07", f"Missing required parameter in '{where}'.", where)


def _is_file(file: Any) -> bool:
    if not isinstance(file, dict):
        return False
    return bool(file.get("file_id") or (file.get("file_data") and file.get("filename")))


def _calls(n: int, message: dict[str, Any]) -> Iterator[Fault]:
    if "tool_calls" not in message or message["tool_calls"] is None:
        return
    where = f"messages[{n}].tool_calls"
    calls = message["tool_calls"]
    if not calls:
        yield Fault(
            "OC-08",
            f"Invalid '{where}': {SHORTER}, but got an empty array instead.",
            where,
        )
        return
    for k, call in enumerate(calls):
        kind = call.get("type")
        inner = call.get(kind) if kind in ("function", "custom") else None
        key = "arguments" if kind == "function" else "input"
        whole = (
            isinstance(inner, dict)
            and isinstance(call.get("id"), str)
            and isinstance(inner.get("name"), str)
            and isinstance(inner.get(key), str)
        )
        if not whole:
            yield Fault("OC-09", f"Invalid type for '{where}[{k}]'.", where)


def _pairs(messages: list[dict[str, Any]]) -> Iterator[Fault]:
    """Calls and results: an unbroken run of results behind each message with calls."""
    open_ids: list[str] = []
    answered: dict[str, int] = {}
    opener: int | None = None
    for n, message in enumerate([*messages, {"role": "end"}]):
        if message.get("role") == "tool":
            yield from _result(n, message, opener, open_ids, answered)
            continue
        missing = [call for call in open_ids if call not in answered]
        if missing:
            yield Fault(
                "OC-12",
                "An assistant message with 'tool_calls' must be followed by tool "
                "messages responding to each 'tool_call_id'. The following "
                "tool_call_ids did not have response messages: " + ", ".join(missing),
                f"messages.[{n}].role",
            )
        calls = message.get("tool_calls") or []
        open_ids = [str(call.get("id")) for call in calls]
        opener, answered = (n if calls else None), {}


def _result(
    n: int,
    message: dict[str, Any],
    opener: int | None,
    open_ids: list[str],
    answered: dict[str, int],
) -> Iterator[Fault]:
    call, where = str(message.get("tool_call_id")), f"messages.[{n}].role"
    if opener is None:
        yield Fault(
            "OC-10",
            "Invalid parameter: messages with role 'tool' must be a response to a "
            "preceeding message with 'tool_calls'.",
            where,
        )
    elif call not in open_ids:
        yield Fault(
            "OC-11",
            f"Invalid parameter: 'tool_call_id' of '{call}' not found in 'tool_calls' "
            "of previous message.",
            where,
        )
    elif call in answered:
        yield Fault(
            "OC-13",
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in "
            f"messages[{answered[call]}] and messages[{n}].",
            where,
        )
    answered.setdefault(call, n)


def seen(body: Body) -> Seen:
    """What a request shows."""
    said = []
    for message in body["messages"]:
        role = message["role"]
        text = text_of(message.get("content"))
        if role == "tool":
            result = Result(message["tool_call_id"], text)
            said.append(Said("tool", results=(result,)))
            continue
        calls = tuple(
            Call(
                call["function"]["name"],
                json.loads(call["function"]["arguments"] or "{}"),
                call["id"],
            )
            for call in message.get("tool_calls") or ()
            if call["type"] == "function"
        )
        role = {"developer": "system", "function": "tool"}.get(role, role)
        said.append(Said(role, text, calls))
    tools = [tool.get("function") or {} for tool in body.get("tools") or ()]
    return Seen(tuple(said), tuple(str(tool.get("name")) for tool in tools))


def whole(answer: Answer, body: Body, model: str, usage: Usage) -> Body:
    """A chat completion."""
    del body
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or None,
        "refusal": None,
        "annotations": [],
    }
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": call.id or fresh("call_"),
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.arguments)),
                },
            }
            for call in answer.calls
        ]
    reason = "tool_calls" if answer.calls else "stop"
    return {
        "id": fresh("chatcmpl-"),
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": model,
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        ],
        "usage": {
            "prompt_tokens": usage.read,
            "completion_tokens": usage.written,
            "total_tokens": usage.read + usage.written,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
    }


def events(made: Body, body: Body) -> Iterator[Event]:
    """The same as chunks: arguments in pieces, usage where it was asked for."""
    usage = made["usage"]
    asked = bool((body.get("stream_options") or {}).get("include_usage"))
    chunk = {k: made[k] for k in ("id", "created", "model", "service_tier")}
    chunk["object"] = "chat.completion.chunk"
    if asked:
        chunk["usage"] = None

    def with_delta(delta: Body, reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return None, {**chunk, "choices": [choice]}

    choice = made["choices"][0]
    message = choice["message"]
    yield with_delta({"role": "assistant", "content": "", "refusal": None})
    for piece in words(message.get("reasoning_content", "")):
        yield with_delta({"reasoning_content": piece})
    for piece in words(message["content"] or ""):
        yield with_delta({"content": piece})
    for n, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        start = {**call, "index": n, "function": {**function, "arguments": ""}}
        yield with_delta({"tool_calls": [start]})
        text = function["arguments"]
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            more = {"index": n, "function": {"arguments": piece}}
            yield with_delta({"tool_calls": [more]})
    yield with_delta({}, choice["finish_reason"])
    if asked:
        yield None, {**chunk, "choices": [], "usage": usage}
    yield None, "[DONE]"


def refusal(fault: Fault) -> Body:
    """An error of OpenAI's."""
    return {
        "error": {
            "message": fault.message,
            "type": "invalid_request_error",
            "param": fault.param,
            "code": fault.code,
        }
    }


def too_long(tokens: int, limit: int) -> Fault:
    """The context is exceeded."""
    return Fault(
        "context",
        f"This model's maximum context length is {limit} tokens. However, your "
        f"messages resulted in {tokens} tokens. Please reduce the length of the "
        "messages.",
        "messages",
        "context_length_exceeded",
    )


CHAT: Final = Api(
    name="chat",
    counted=("messages", "tools"),
    rules=(
        *(f"OC-{n:02d}" for n in range(1, 14)),
        "OC-16",
        "OC-17",
        "OC-18",
    ),
    faults=faults,
    seen=seen,
    whole=whole,
    events=events,
    refusal=refusal,
    too_long=too_long,
)
