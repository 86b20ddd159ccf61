"""Many conversations by id: each once, the least recently used one goes."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.chats import call, result, say, user
from turnkeep import Budget, Conversation, Conversations
from turnkeep.stores import SqliteStore

OPTIONS: dict[str, Any] = {"model": "gpt-4o", "budget": Budget(1_000, target=0.6)}


def test_the_one_not_asked_for_longest_goes() -> None:
    """And begins anew, where no store has it."""
    chats = Conversations(2, **OPTIONS)
    for name in "ab":
        chats[name].user(name)
    assert len(chats["a"]) == 1
    chats["c"].user("c")
    gc.collect()

    assert list(chats) == ["a", "c"]
    assert "b" not in chats
    assert len(chats["b"]) == 0


def test_what_waits_for_an_answer_stays() -> None:
    """Without a store it would be lost."""
    chats = Conversations(1, **OPTIONS)
    chats["a"].sync([user(), call("c")])
    chats["b"].user("b")
    assert [c.id for c in chats["a"].pending] == ["c"]
    chats["a"].resolve("c", "42")
    chats["b"].user("b")
    chats["c"].user("c")
    gc.collect()

    assert list(chats) == ["c"]


def test_who_holds_one_that_was_put_out_shares_it() -> None:
    """There are never two of one id."""
    chats = Conversations(1, **OPTIONS)
    held = chats["a"]
    chats["b"].user("b")

    assert chats["a"] is held
    assert chats.discard("a")
    assert not chats.discard("a")
    assert chats["a"] is not held


def test_another_process_goes_on_with_the_same_prefix(tmp_path: Path) -> None:
    """Messages, pins, calls and the cut are in the store."""
    theirs: list[Any] = []
    for nth in range(40):
        theirs += [user(f"question {nth} " * 9), call(f"c{nth}")]
        theirs += [result(f"c{nth}", "found " * 30), say("so")]
    stores = [SqliteStore(tmp_path / "chats.db") for _ in range(2)]
    first, second = (Conversations(5, store, **OPTIONS) for store in stores)
    first["a"].sync(theirs)
    sent = first["a"].fit().apply(theirs)

    theirs += [user("and?")]
    chat = second["a"]
    assert chat.sync(theirs).appended == ("msg-161",)
    assert chat.fit().apply(theirs)[: len(sent)] == sent
    theirs += [say("yes")]
    assert first["a"].sync(theirs).kept == 161
    for store in stores:
        store.close()


def test_threads_that_ask_at_once_get_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is read once for all of them."""
    opened = [0]
    with SqliteStore(tmp_path / "chats.db") as store:
        Conversation.open(store, "a", **OPTIONS)
        read = store.read

        def counted(conversation_id: str) -> Any:
            opened[0] += 1
            return read(conversation_id)

        monkeypatch.setattr(store, "read", counted)
        chats = Conversations(5, store, **OPTIONS)
        barrier = Barrier(8)

        def ask(_: int) -> Conversation:
            barrier.wait()
            return chats["a"]

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))

    assert len({id(chat) for chat in found}) == 1
    assert opened == [1]


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_a_limit_is_a_number_of_conversations(limit: Any) -> None:
    """At least one."""
    with pytest.raises(ValueError, match="at least 1"):
        Conversations(limit)
    with pytest.raises(TypeError, match="text"):
        Conversations().get(3)  # type: ignore[arg-type]
