"""Windows and requests that are made from the last ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.test_pieces import spoil
from turnkeep import Budget, Conversation, Message, ToolCall, ToolResult
from turnkeep.formats._sending import request_of
from turnkeep.model import Image, Role, Text

MOVES = st.lists(
    st.tuples(
        st.sampled_from(
            ["user", "say", "call", "picture", "nameless", "pin", "edit", "late"]
        ),
        st.integers(1, 40),
    ),
    max_size=25,
)


def play(chat: Conversation, move: str, size: int) -> None:
    """One change of a conversation."""
    number = len(chat)
    match move:
        case "user":
            chat.user("u", token_count=size)
        case "say":
            chat.assistant("s", token_count=size)
        case "call" | "picture":
            made = [
                ToolCall(f"{move}{number}", "f", {}),
                ToolCall(f"x{number}", "g", {}),
            ]
            chat.assistant("so", tool_calls=made, token_count=size)
            block: Any = Text("done")
            if move == "picture":
                block = Image(data="aGVsbG8=", media_type="image/png")
            for call in made:
                chat.append(
                    Message(
                        Role.TOOL_RESULT,
                        (ToolResult(call.id, (block,)),),
                        token_count=size,
                    )
                )
        case "nameless":
            chat.assistant("", tool_calls=[ToolCall(None, "f", {})], token_count=size)
            chat.append(
                Message(
                    Role.TOOL_RESULT,
                    (ToolResult(None, "ok", tool_name="f"),),
                    token_count=size,
                )
            )
        case "late":
            chat.assistant("", tool_calls=[ToolCall("late", "f", {})], token_count=3)
            chat.user("meanwhile", token_count=size)
            chat.resolve("late", "here")
        case _ if number:
            identity = chat.messages[size % number].id or ""
            if move == "pin":
                chat.pin(identity)
            else:
                chat.edit(identity, priority=size)
        case _:
            pass


MODELS = ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "llama3.1"]


@pytest.mark.parametrize("model", MODELS)
@given(moves=MOVES, room=st.integers(60, 300), target=st.sampled_from([0.5, 1.0]))
def test_requests_are_always_those_of_the_whole_window(
    model: str, moves: list[tuple[str, int]], room: int, target: float
) -> None:
    """However it was put together, it is what encoding all of it gives."""
    budget = Budget(room, target=target)
    chat = Conversation(budget=budget, model=model, token_counter="approximate")
    for move, size in moves:
        play(chat, move, size)
        window = chat.fit(on_overflow="send")

        plain = [
            item.message if not isinstance(item, int) else chat.messages[item]
            for item in window.plan.order
        ]
        assert list(window.messages) == plain
        demands = window._source.demands
        request = window.encode()
        assert request == request_of(window.format, plain, None, demands)
        spoil(request)
        assert window.encode() == request_of(window.format, plain, None, demands)


def test_requests_are_the_callers_to_change() -> None:
    """A key added to an entry or a tool is in no later request."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    chat = Conversation(budget=Budget(1_000), model="gpt-4o", tools=tools)
    chat.user("hello")
    before = chat.fit()
    request = before.encode()
    request["messages"][0]["name"] = "me"
    request["tools"][0]["function"]["strict"] = True
    assert before.encode()["tools"] == tools
    chat.assistant("hi")

    window = chat.fit()
    window.messages[:0] = []  # type: ignore[index]

    assert window.encode()["messages"] == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
    ]


def test_older_windows_stay_as_they_are() -> None:
    """Windows read late, or after newer ones, hold what was there at their time."""
    chat = Conversation(budget=Budget(1_000), model="gpt-4o")
    chat.user("one")
    first = chat.fit()
    chat.assistant("two")
    second = chat.fit()
    chat.user("three")

    assert [len(w.messages) for w in (second, first, chat.fit())] == [2, 1, 3]
    assert [len(w.encode()["messages"]) for w in (second, first, chat.fit())] == [
        2,
        1,
        3,
    ]
