"""The same work by everybody: OpenAI messages and a limit in, OpenAI messages out.

Each adapter is what its documentation shows, with exact counting by tiktoken where it
takes a counter. What has to be converted first is converted outside the timed call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

Entry = dict[str, Any]
Chat = list[Entry]
Fit = Callable[[], Chat]
Prepare = Callable[[Chat, int], Fit]
"""Takes a history and a limit; returns the call that is timed."""


def encoder() -> Callable[[str], list[int]]:
    """The tokenizer of all: o200k_base by tiktoken, from local files."""
    from turnkeep.tokens._tiktoken import encoding

    return encoding("o200k_base").encode_ordinary


def count_entry(encode: Callable[[str], list[int]], entry: Entry) -> int:
    """Tokens of one message by OpenAI's cookbook; the judge counts with it, too."""
    tokens = 3 + len(encode(entry["role"])) + len(encode(entry.get("content") or ""))
    for call in entry.get("tool_calls") or ():
        made = call["function"]
        tokens += 1 + len(encode(call["id"])) + len(encode(made["name"]))
        tokens += len(encode(made["arguments"]))
    if "tool_call_id" in entry:
        tokens += len(encode(entry["tool_call_id"]))
    return tokens


def turnkeep(chat: Chat, limit: int) -> Fit:
    """This library."""
    from turnkeep import fit
    from turnkeep.tokens import TiktokenCounter

    counter = TiktokenCounter("o200k_base")
    return lambda: fit(chat, limit, model="gpt-4o", token_counter=counter)


def floor(chat: Chat, limit: int) -> Fit:
    """By hand: count from the newest end until it is full. Knows no pairs."""
    encode = encoder()

    def fit() -> Chat:
        left = limit - 3
        for at in range(len(chat) - 1, -1, -1):
            left -= count_entry(encode, chat[at])
            if left < 0:
                return chat[at + 1 :]
        return chat

    return fit


def langchain(chat: Chat, limit: int) -> Fit:
    """langchain-core `trim_messages`, tiktoken counter, start on a user message."""
    from langchain_core.messages import convert_to_messages, trim_messages
    from langchain_core.messages.utils import convert_to_openai_messages

    encode = encoder()
    messages: Any = convert_to_messages(chat)

    def count(batch: Any) -> int:
        return 3 + sum(
            count_entry(encode, entry) for entry in convert_to_openai_messages(batch)
        )

    def fit() -> Any:
        return trim_messages(
            messages,
            max_tokens=limit,
            token_counter=count,
            strategy="last",
            start_on="human",
            include_system=True,
        )

    convert: Any = convert_to_openai_messages
    return lambda: convert(fit())


def litellm(chat: Chat, limit: int) -> Fit:
    """`trim_messages` of litellm."""
    from litellm.utils import trim_messages

    def fit() -> Chat:
        made: Chat = trim_messages(
            list(chat), model="gpt-4o", max_tokens=limit, trim_ratio=1.0
        )
        return made

    return fit


def turnsafe(chat: Chat, limit: int) -> Fit:
    """`fit` of turnsafe, with a tiktoken counter."""
    import turnsafe as peer

    encode = encoder()

    def count(entry: Any) -> int:
        return count_entry(encode, entry)

    return lambda: peer.fit(chat, limit - 3, provider="openai", counter=count)


def ctx_compact(chat: Chat, limit: int) -> Fit:
    """ctx-compact `compact` with a tiktoken counter."""
    from ctx_compact import compact

    encode = encoder()

    def count(entry: Any) -> int:
        return count_entry(encode, entry)

    return lambda: compact(chat, max_tokens=limit, count_tokens=count).messages


def chatfit(chat: Chat, limit: int) -> Fit:
    """`fit` of chatfit, which counts with tiktoken itself."""
    from chatfit import fit

    return lambda: fit(chat, max_tokens=limit, model="gpt-4o").messages


def agent_framework(chat: Chat, limit: int) -> Fit:
    """agent-framework `TruncationStrategy` with a tiktoken tokenizer."""
    from agent_framework import (
        Content,
        Message,
        TruncationStrategy,
        apply_compaction,
    )

    encode = encoder()

    class Tokenizer:
        def count_tokens(self, text: str) -> int:
            return len(encode(text))

    names: dict[int, Entry] = {}

    def convert() -> list[Any]:
        made = []
        for entry in chat:
            contents: list[Any] = []
            if entry.get("tool_calls"):
                contents = [
                    Content.from_function_call(
                        call["id"],
                        call["function"]["name"],
                        arguments=call["function"]["arguments"],
                    )
                    for call in entry["tool_calls"]
                ]
            elif entry["role"] == "tool":
                contents = [
                    Content.from_function_result(
                        entry["tool_call_id"], result=entry["content"]
                    )
                ]
            else:
                contents = [Content.from_text(entry["content"])]
            message = Message(entry["role"], contents)
            names[id(message)] = entry
            made.append(message)
        return made

    kept = convert()

    def fit() -> Chat:
        strategy = TruncationStrategy(
            max_n=limit, compact_to=limit, tokenizer=Tokenizer()
        )
        left = asyncio.run(
            apply_compaction(kept, strategy=strategy, tokenizer=Tokenizer())
        )
        return [names[id(message)] for message in left]

    return fit


ADAPTERS: dict[str, tuple[str | None, Prepare]] = {
    "turnkeep": (None, turnkeep),
    "by hand (no pairs)": (None, floor),
    "langchain-core": ("langchain-core", langchain),
    "litellm": ("litellm", litellm),
    "turnsafe": ("turnsafe", turnsafe),
    "ctx-compact": ("ctx-compact", ctx_compact),
    "chatfit": ("chatfit", chatfit),
    "agent-framework": ("agent-framework-core", agent_framework),
}
"""By name: the distribution (none: ours) and how it does it."""


def faults(window: Chat, chat: Chat, limit: int) -> list[str]:
    """What is wrong with *window*, by rules that share no code with the library."""
    found: list[str] = []
    waiting: list[str] = []
    for entry in window:
        if entry["role"] == "tool":
            if entry["tool_call_id"] in waiting:
                waiting.remove(entry["tool_call_id"])
            else:
                found.append("a result without its call")
        else:
            if waiting:
                found.append("a call without its result")
            waiting = [call["id"] for call in entry.get("tool_calls") or ()]
    asked = [entry for entry in chat if entry["role"] == "user"]
    said = [json.dumps(entry.get("content")) for entry in window]
    if asked and json.dumps(asked[-1]["content"]) not in said:
        found.append("the question is lost")
    system = [entry for entry in chat if entry["role"] == "system"]
    if system and json.dumps(system[0]["content"]) not in said:
        found.append("the system message is lost")
    encode = encoder()
    tokens = 3 + sum(count_entry(encode, entry) for entry in window)
    if tokens > limit:
        found.append(f"{tokens - limit} tokens over")
    return list(dict.fromkeys(found))
