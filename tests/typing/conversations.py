"""What type checkers know of conversations."""

import copy
from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

from turnkeep import (
    Budget,
    CallState,
    Conversation,
    Message,
    Observation,
    PendingCall,
    Plan,
    ResponseStream,
    Window,
)


class Desk(Conversation):
    """Somebody's own kind."""


def makes(history: list[dict[str, Any]]) -> None:
    """Every keyword; the class of whoever makes it."""
    chat = Conversation(
        budget=128_000,
        model="gpt-4o",
        format="openai",
        profile="alternating/gemma2",
        tools=[{"type": "function", "function": {"name": "f"}}],
        strategy="digest | chat",
        token_counter="approximate",
        stand_in_text="Still running.",
        on_invalid="raise",
        open_calls="keep",
        on_overflow="send",
        on_prune=lambda plan: plan.dropped.ids,
    )
    assert_type(chat.fork(), Conversation)
    assert_type(copy.copy(chat), Conversation)
    assert_type(Desk.from_messages(history, budget=Budget(9_000)), Desk)
    assert_type(Desk.load("chat.json", strategy="agent"), Desk)
    Desk.from_messages(history, budgt=9_000)  # type: ignore[call-arg]
    Desk.load("chat.json", open_calls="answer")  # type: ignore[arg-type]
    Conversation(pending_policy="answer")  # type: ignore[call-arg]
    Conversation(open_calls="answer")  # type: ignore[arg-type]


def uses(chat: Conversation) -> None:
    """A window, its request, and what comes back."""
    window = chat.fit(8_000)
    assert_type(window, Window)
    assert_type(window.plan, Plan)
    assert_type(window.encode(), dict[str, Any])
    assert_type(chat.observe({"prompt_tokens": 9}, window=window), Observation)
    for message in chat:
        assert_type(message, Message)
    assert_type(chat.pending, tuple[PendingCall, ...])
    assert_type(chat.pending[0].state, CallState)
    chat.budget = 9_000
    chat.strategy = "agent"


class Answer:
    """A client's object that can be iterated over, as pydantic's models can."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Its fields."""
        yield "id", 1

    def model_dump(self, *, mode: str = "python") -> dict[str, Any]:
        """As JSON."""
        return {"mode": mode}


async def takes(
    chat: Conversation,
    answer: Answer,
    chunks: Iterator[bytes],
    arriving: AsyncIterator[bytes],
) -> None:
    """Answers, whole and streamed; chunks come out as what they went in."""
    assert_type(chat.add_response({"choices": []}), tuple[Message, ...])
    assert_type(chat.add_response(answer), tuple[Message, ...])
    assert_type(chat.add_response(chunks), ResponseStream[bytes])
    stream = chat.add_response(arriving)
    assert_type(stream, ResponseStream[bytes])
    async for chunk in stream:
        assert_type(chunk, bytes)
    assert_type(stream.messages, tuple[Message, ...])
    chat.add_response(5)  # type: ignore[call-overload]


async def waits(chat: Conversation) -> Window:
    """The same without blocking."""
    return await chat.afit(8_000)
