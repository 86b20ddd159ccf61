"""A request behind the last one: what an append and `window.encode()` cost.

``pytest benchmarks/bench_encode.py`` prints a row for each format with its bound, 40 us
and 0.35 us an entry; ``--benchmark-disable`` checks the results of small histories.
"""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import Any

import pytest

from benchmarks._tools import promise
from turnkeep import Budget, Conversation, Message
from turnkeep.formats._sending import request_of
from turnkeep.model import Role, Text, ToolCall, ToolResult

MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "bedrock": "anthropic.claude-3-5-sonnet-20241022-v2:0",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-chat",
    "ollama": "llama3.1",
}
TOOLS = [{"name": "find", "input_schema": {"type": "object", "required": ["order"]}}]


def agent_step(nth: int) -> list[Message]:
    """A call and its result, seldom a question."""
    call = ToolCall(f"call_{nth}", "find", {"order": nth, "field": "status"})
    said = (Text(f"result {nth}: shipped"),)
    asked = [] if nth % 10 else [Message.user("And the next ones?", token_count=20)]
    return [
        *asked,
        Message.assistant("Let me look.", tool_calls=[call], token_count=20),
        Message(Role.TOOL_RESULT, (ToolResult(call.id, said),), token_count=20),
    ]


def chat_step(nth: int) -> list[Message]:
    """A question with a call and its result, and the answer."""
    call = ToolCall(f"call_{nth}", "find", {"order": nth})
    said = (Text(f"order {nth}: shipped"),)
    return [
        Message.user("Please fetch the status of my order.", token_count=20),
        Message.assistant("", tool_calls=[call], token_count=20),
        Message(Role.TOOL_RESULT, (ToolResult(call.id, said),), token_count=20),
        Message.assistant("It has been shipped.", token_count=20),
    ]


def entries_of(body: dict[str, Any]) -> list[Any]:
    """The list of a request."""
    key = next(key for key in ("messages", "contents", "input") if key in body)
    entries: list[Any] = body[key]
    return entries


@pytest.mark.parametrize("step", [chat_step, agent_step], ids=["chat", "agent"])
@pytest.mark.parametrize("name", MODELS)
def bench_encode(timed: bool, name: str, step: Any) -> None:
    """A window of some hundred entries, one message appended each time."""
    length, rounds = (50_000, 200) if timed else (300, 6)
    chat = Conversation(budget=Budget(8_000), model=MODELS[name], tools=TOOLS)
    chat.system("You are an agent.")
    nth = 0
    while len(chat) < length:
        for message in step(nth):
            chat.append(message)
        nth += 1
    chat.fit(format=name).encode()

    clock = time.process_time_ns
    new = [message for n in range(nth, nth + rounds) for message in step(n)]
    taken: list[int] = []
    gc.collect()
    for message in new[:rounds]:
        chat.append(message)
        window = chat.fit(format=name)
        start = clock()
        body = window.encode()
        taken.append(clock() - start)

    entries = len(entries_of(body))
    source = window._source  # noqa: SLF001 - what the whole is made from
    whole = request_of(name, window.messages, window.tools, source.demands)
    assert body == whole
    bound = 40 + 0.35 * entries
    what = f"encode {name} behind an append ({step.__name__}, {entries} entries)"
    promise(what, bound, median(taken) / 1_000, "us")
