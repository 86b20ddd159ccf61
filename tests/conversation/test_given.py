"""What a conversation takes: messages, dicts of its format; one error for the rest."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnkeep import (
    Budget,
    Conversation,
    FormatError,
    Message,
    Role,
    ToolCall,
    TurnkeepError,
)
from turnkeep.stores import JsonlStore, SqliteStore, Store

CALL: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ],
}


@pytest.fixture(params=["memory", "sqlite", "jsonl"])
def chat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Conversation]:
    """A conversation with one message, in memory and in stores."""
    options: dict[str, Any] = {"model": "gpt-4o", "budget": Budget(5_000)}
    if request.param == "memory":
        made = Conversation(**options)
        made.user("one")
        yield made
        return
    store: Store = (
        SqliteStore(tmp_path / "a.db")
        if request.param == "sqlite"
        else JsonlStore(tmp_path)
    )
    with store:
        made = Conversation.open(store, "x", **options)
        made.user("one")
        yield made
        assert Conversation.open(store, "x").messages == made.messages


def test_append_takes_the_formats_own_dicts(chat: Conversation) -> None:
    """As they come from a provider or a program."""
    chat.append(CALL)
    made = chat.append({"role": "tool", "tool_call_id": "c1", "content": "ok"})

    assert made.role is Role.TOOL_RESULT
    assert not chat.pending
    assert len(chat) == 3


def test_extend_takes_a_list_or_nothing_of_it(chat: Conversation) -> None:
    """A malformed entry is named by its path, and none is appended."""
    with pytest.raises(FormatError, match=r"\$\[1\]"):
        chat.extend([CALL, {"role": "user", "content": 5}])
    assert len(chat) == 1

    chat.extend([CALL, {"role": "tool", "tool_call_id": "c1", "content": "ok"}])

    assert len(chat) == 3


def test_replace_messages_takes_a_body(chat: Conversation) -> None:
    """A whole request of the conversation's format, system text included."""
    body = {"messages": [{"role": "system", "content": "s"}, CALL]}
    chat.replace_messages(body)

    assert [m.role for m in chat.messages] == [Role.SYSTEM, Role.ASSISTANT]
    with pytest.raises(TypeError, match="must be a list"):
        chat.replace_messages("hi")  # type: ignore[arg-type]


def test_mixed_entries_become_two_messages() -> None:
    """Claude's results and words of the user in one entry."""
    chat = Conversation(model="claude-sonnet-4-5", budget=Budget(5_000))
    chat.user("go")
    chat.assistant("", tool_calls=[ToolCall("toolu_1", "f", {})])

    made = chat.append(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"},
                {"type": "text", "text": "and now?"},
            ],
        }
    )

    assert made.text == "and now?"
    assert len(chat) == 4
    assert not chat.pending


def test_a_dict_as_a_result_is_sent_as_json(chat: Conversation) -> None:
    """Never iterated: its values count, not its keys."""
    chat.append(CALL)
    chat.tool_result("c1", {"temperature": 22, "city": "Lyon"})

    sent = json.dumps(chat.fit().encode())

    assert "22" in sent
    assert "Lyon" in sent


# Typed as anything: that is what programs without a type checker pass.
MISTAKES: list[Callable[[Any], object]] = [
    lambda c: c.user(b"x"),
    lambda c: c.user([5]),
    lambda c: c.user(None),
    lambda c: c.user({"role": "user"}),
    lambda c: c.user("two", priority="high"),
    lambda c: c.user("two", kind=5),
    lambda c: c.user("two", token_count=12.0),
    lambda c: c.user("two", token_count=2**63),
    lambda c: c.user("two", pin_scope="message"),
    lambda c: c.user("two", metadata="x"),
    lambda c: c.user("two", id=5),
    lambda c: c.user("two", timestamp="2026-01-01T00:00:00Z"),
    lambda c: c.assistant("", tool_calls=[5]),
    lambda c: c.assistant("", tool_calls=5),
    lambda c: c.append("hello"),
    lambda c: c.append(None),
    lambda c: c.append([Message.user("a")]),
    lambda c: c.append({"role": "nobody", "content": "x"}),
    lambda c: c.extend([Message.user("a"), 5]),
    lambda c: c.extend("ab"),
    lambda c: c.extend(5),
    lambda c: c.replace_messages(None),
    lambda c: c.edit("msg-1", "text"),
    lambda c: c.edit("msg-1", contnet="x"),
    lambda c: c.edit("msg-1", content=5),
    lambda c: c.edit("msg-1", priority="high"),
    lambda c: c.edit("msg-1", id="other"),
    lambda c: c.pin("msg-1", "trun"),
    lambda c: c.pin("msg-9"),
    lambda c: c.expire(None),
    lambda c: c.expire("2026-01-01"),
    lambda c: c.defer("c9", "x"),
    lambda c: c.resolve("c9", {1: 2}),
    lambda c: c[0],
    lambda c: c["msg-9"],
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_sentence_and_changes_nothing(
    chat: Conversation, mistake: Callable[[Any], object]
) -> None:
    """No crash inside, no trace left, and everything still opens."""
    with pytest.raises((TypeError, ValueError, KeyError, TurnkeepError)) as found:
        mistake(chat)

    words = str(found.value)
    for inside in (
        "NoneType' object",
        "has no attribute",
        "unreachable",
        "not iterable",
    ):
        assert inside not in words
    assert [m.text for m in chat.messages] == ["one"]
    chat.user("three")
    assert len(chat.fit().messages) == 2


def test_calls_that_are_open_refuse_odd_deadlines(chat: Conversation) -> None:
    """A date as text is no date."""
    chat.append(CALL)

    with pytest.raises(TypeError, match="expires_at"):
        chat.defer("c1", "x", expires_at="2026-01-01T00:00:00Z")  # type: ignore[arg-type]

    assert chat.pending[0].state.value == "open"
