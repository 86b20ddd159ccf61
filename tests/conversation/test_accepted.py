"""What a conversation sends is accepted, whatever happens in it (P11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeep import Budget, BudgetExceededError, Conversation, Thinking, ToolCall
from turnkeep.model import Message, Text
from turnkeep.profiles import check_request

TARGETS = {
    "openai": ("gpt-4o", None),
    "openai-responses": ("gpt-5.2", None),
    "anthropic": ("claude-opus-4-6", [{"name": "look", "input_schema": {}}]),
    "gemini": ("gemini-3.6-flash", None),
    "bedrock": (
        "anthropic.claude-sonnet-4-5",
        [{"toolSpec": {"name": "look", "inputSchema": {"json": {}}}}],
    ),
    "mistral": ("mistral-large-latest", None),
    "deepseek": ("deepseek-v4", None),
}

MOVES = ("user", "say", "think", "call", "calls", "system", "resolve", "defer", "pin")


def play(chat: Conversation, data: st.DataObject) -> None:
    """One thing that may happen in a conversation."""
    move = data.draw(st.sampled_from(MOVES))
    waiting = [call.id for call in chat.unanswered if call.id]
    if move == "system":
        chat.system("And stay calm.")
    elif move in ("call", "calls") and not waiting:
        made = [ToolCall(f"call{len(chat):05d}", "look", {"nth": len(chat)})]
        if move == "calls":
            made.append(ToolCall(f"more{len(chat):05d}", "look", {}))
        _ask(chat)
        # DeepSeek wants the reasoning behind every call.
        hum = (Thinking("hm"),) if chat.format == "deepseek" else ()
        chat.append(Message("assistant", (*hum, Text("I look."), *made)))
    elif move in ("resolve", "defer") and waiting:
        call_id = data.draw(st.sampled_from(waiting))
        open_ids = [call.id for call in chat.pending]
        if move == "resolve":
            chat.resolve(call_id, "found it")
        elif call_id in open_ids:
            chat.defer(call_id, "started")
    elif move == "pin" and len(chat):
        nth = data.draw(st.integers(0, len(chat) - 1))
        chat.pin(chat.messages[nth].id or "", data.draw(st.sampled_from(SCOPES)))
    elif move == "think":
        _ask(chat)
        thought = Thinking("hm " * 20, signature=f"sign{len(chat)}")
        chat.append(Message("assistant", (thought, Text("So be it."))))
    elif move == "say":
        _ask(chat)
        chat.assistant("It is so. " * data.draw(st.integers(1, 8)))
    else:
        chat.user("What about this? " * data.draw(st.integers(1, 8)))


SCOPES = ("turn", "step")

_OPEN = ("OC-12", "OR-05", "AN-10", "GE-07", "BR-06", "MI-04", "DS-12")
"""A call without its result."""


def _ask(chat: Conversation) -> None:
    """Models speak when they were asked."""
    said = [m for m in chat.messages if m.role != "system"]
    if not said or said[-1].role == "assistant":
        chat.user("Go on.")


def send(chat: Conversation, name: str, model: str, data: st.DataObject) -> None:
    """Fit, encode and check, as before every request."""
    budget = Budget(data.draw(st.integers(60, 600)), target=0.6)
    try:
        window = chat.fit(budget)
    except BudgetExceededError:
        return
    body: dict[str, Any] = window.encode()
    found = [
        v
        for v in check_request(body, format=name, model=model)
        # An open call may stand last: the caller is about to answer it. And nobody
        # sends a conversation before the user has said something.
        if not _unready(chat, v.rule)
    ]
    assert found == [], f"{window.plan}\n{body}"


def _unready(chat: Conversation, rule: str) -> bool:
    last = next((m for m in reversed(chat.messages) if m.role != "system"), None)
    if last is None or last.role == "assistant":
        return True
    return bool(chat.unanswered) and rule in _OPEN


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=30)
@given(data=st.data())
def test_every_request_of_a_conversation_is_accepted(
    name: str, data: st.DataObject
) -> None:
    """Calls wait, results come late, pins come and go, system text is added."""
    model, tools = TARGETS[name]
    chat = Conversation(model=model, format=name, tools=tools)
    if data.draw(st.booleans()):
        chat.system("You are a helper.")
    for _ in range(data.draw(st.integers(1, 12))):
        play(chat, data)
        if data.draw(st.booleans()):
            send(chat, name, model, data)
    send(chat, name, model, data)
