"""Exceptions that come out of a signal, at any moment of an append."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from time import perf_counter

import pytest

from tests.stores.keeping import KINDS, Alarm, alarm, opened, quick_folder
from turnkeep import Budget, Conversation, Message, ToolCall
from turnkeep.stores import Store

ALARMS = int(os.environ.get("TURNKEEP_ALARMS", "150"))
"""How many appends are struck for each store."""


def change(chat: Conversation, nth: int, random: Random) -> None:
    """Append, pin, ask and answer, edit, or go back."""
    match random.randrange(8):
        case 0:
            chat.pin(f"q{nth - 1}")
        case 1:
            call = ToolCall(f"c{nth}", "f", {"n": nth})
            chat.append(Message.assistant("", tool_calls=[call], id=f"a{nth}"))
            chat.resolve(f"c{nth}", "done")
        case 2:
            chat.edit(f"q{nth - 1}", content="other words")
        case 3:
            chat.extend([Message.user("x", id=f"x{nth}"), Message.user("y")])
        case _:
            chat.user("some text " * 20)


def seconds(chat: Conversation) -> float:
    """About how long an append takes."""
    start = perf_counter()
    for nth in range(10):
        chat.user("warm", id=f"warm{nth}")
    return (perf_counter() - start) / 10


def struck(
    chat: Conversation, trials: int, check: Callable[[Conversation], None]
) -> int:
    """Changes that an alarm strikes at random moments; how many of them."""
    random, hits = Random(7), 0
    each = seconds(chat)
    for nth in range(trials):
        chat.user("question", id=f"q{nth - 1}")
        done = len(chat)
        try:
            with alarm(max(random.random() * each * 2, 2e-6)):
                change(chat, nth, random)
        except Alarm:
            hits += 1
        assert len(chat) >= done
        check(chat)
    return hits


# A file that was being opened is closed by whoever collects it, who warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_memory_log_and_pool_agree(kind: str) -> None:
    """They are as before the append or as after it, all of them alike."""
    with quick_folder() as folder, opened(kind, folder) as store:
        chat = Conversation.open(store, "chat", model="gpt-4o", budget=Budget(9_000))

        def agree(chat: Conversation) -> None:
            kept = store.read("chat")
            assert chat.messages == tuple(row.message for row in kept.rows)
            assert chat.version == kept.version

        hits = struck(chat, ALARMS, agree)

        assert hits > ALARMS / 20
        assert_like_another(chat, store)
        assert store.check() == () or kind == "jsonl"
        assert all(damage.recovered for damage in store.check())


def assert_like_another(chat: Conversation, store: Store) -> None:
    """What is here is what another process opens, and it goes on."""
    other = Conversation.open(store, "chat")
    assert other.messages == chat.messages
    assert other.pending == chat.pending
    assert other.fit().encode() == chat.fit().encode()
    chat.user("after all")
    other.refresh()
    assert other.messages == chat.messages


def test_memory_alone() -> None:
    """A history without a store is whole, too."""
    chat = Conversation(model="gpt-4o", budget=Budget(9_000))
    states: list[tuple[Message, ...]] = []

    def whole(chat: Conversation) -> None:
        again = Conversation.from_json(chat.to_json())
        assert again.messages == chat.messages
        assert [m.id for m in chat.pinned] == [m.id for m in again.pinned]
        if len(states) % 10 == 0:
            assert chat.fit().encode() == again.fit().encode()
        states.append(chat.messages)

    assert struck(chat, 4 * ALARMS, whole) > ALARMS / 20
