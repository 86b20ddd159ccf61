"""Exports and imports of stored conversations, and the names of the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.paths import DATA
from turnkeep import (
    Budget,
    CallState,
    Conversation,
    DuplicateIdError,
    FormatError,
    Message,
    Prices,
    stores,
)
from turnkeep.stores import Change, JsonlStore, Snapshot, changes_of, document_of
from turnkeep.stores._values import serial_of


def document(**fields: Any) -> dict[str, Any]:
    """A document with two messages."""
    messages = [
        {"role": "user", "content": "a"},
        {"id": "msg-7", "role": "user", "content": "b"},
    ]
    return {"turnkeep": 1, "messages": messages, **fields}


def test_messages_without_ids_get_new_ones() -> None:
    """Behind the highest number, and behind `next_id`."""
    assert [r.message.id for r in changes_of(document()).append] == ["msg-8", "msg-7"]
    later = changes_of(document(next_id=20)).append
    assert [row.message.id for row in later] == ["msg-20", "msg-7"]


def test_counts_go_with_their_counter() -> None:
    """Without a name they are worth nothing."""
    named = changes_of(document(counts=[3, -1], counter="x")).append
    nameless = changes_of(document(counts=[3, 4])).append

    assert [(row.tokens, row.counter) for row in named] == [(3, "x"), (-1, None)]
    assert [row.tokens for row in nameless] == [-1, -1]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"next_id": "x"}, "$.next_id"),
        ({"counts": [1]}, "$.counts"),
        ({"counts": [1, "x"]}, "$.counts[1]"),
        ({"counts": [1, 2**70]}, "$.counts[1]"),
        ({"calls": [{"message": "nobody"}]}, "$.calls[0].message"),
        ({"calls": 3}, "$.calls"),
        ({"turnkeep": 2}, "$.turnkeep"),
    ],
)
def test_a_bad_document_names_the_place(fields: dict[str, Any], path: str) -> None:
    """And nothing comes out of it."""
    with pytest.raises(FormatError) as caught:
        changes_of(document(**fields))
    assert caught.value.path.startswith(path)


def test_ids_are_unique() -> None:
    """The second use is named."""
    twice = document(messages=[{"id": "a", "role": "user"}] * 2)
    with pytest.raises(DuplicateIdError):
        changes_of(twice)


def test_an_export_is_what_a_conversation_saves() -> None:
    """Key for key."""
    chat = Conversation(model="gpt-4o", token_counter="approximate")
    chat.user("hello", pinned=True)
    saved = chat.to_json()
    change = changes_of(saved)

    snapshot = Snapshot("x", 1, 1, change.append, change.calls, change.state)

    assert document_of(snapshot) == saved


def test_counts_must_match_the_messages() -> None:
    """One for each."""
    with pytest.raises(ValueError, match="zip"):
        Change.of_messages([Message.user("a")], tokens=[1, 2])


@pytest.mark.parametrize(
    ("name", "number"),
    [("msg-12", 12), ("msg-", 0), ("msg-1x", 0), ("12", 0), ("msg-" + "9" * 16, 0)],
)
def test_the_number_of_an_id(name: str, number: int) -> None:
    """Of ours; of any other, 0."""
    assert serial_of(name) == number


def test_names_load_on_first_use() -> None:
    """Importing the package opens no database driver."""
    assert "SqliteStore" in dir(stores)
    for name in stores.__all__:
        assert getattr(stores, name)
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        stores.nobody  # noqa: B018
    code = (
        "import turnkeep.stores, sys;"
        "print({'turnkeep.stores._sqlite', 'psycopg', 'cattrs'} & set(sys.modules))"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert done.stdout.strip() == "set()"


def test_the_first_version_of_a_saved_conversation_loads() -> None:
    """For good: this file is never written again."""
    saved = DATA / "stores" / "conversation-1.json"

    chat = Conversation.load(saved, token_counter="approximate")

    assert len(chat) == 47
    assert [message.text for message in chat.pinned] == ["Remember Orion."]
    [call] = chat.pending
    assert (call.id, call.state, dict(call.waits_for)) == (
        "c1",
        CallState.PENDING,
        {"who": "eve"},
    )
    assert chat.call_state("c2") is CallState.CANCELLED
    assert chat.call_state("c3") is CallState.ABANDONED
    assert chat.budget == Budget(900, reserve=10, target=0.6, prices=Prices(0.1, 1.25))
    assert (chat.open_calls, chat.stand_in_text) == ("keep", "Wait.")
    assert chat.fit().plan.dropped
    assert chat.user("next").id == "msg-48"


def test_the_first_version_of_a_log_loads(tmp_path: Path) -> None:
    """With a base, changes of every kind, a torn line and a record about it."""
    with JsonlStore(tmp_path) as store:
        shutil.copy(DATA / "stores" / "log-1.jsonl", store.path("sample"))

        found = store.read("sample")
        chat = Conversation.open(store, "sample", token_counter="approximate")

        assert found.version == 4
        assert [damage.recovered for damage in store.check()] == [True]
        assert found.state["metadata"] == {"owner": "bob"}
        assert [message.id for message in chat.pinned] == ["msg-2", "m1"]
        assert chat["msg-3"].text == "edited"
        assert "m2" not in chat
        assert chat.pending[0].expires_at == datetime(2026, 1, 3, 12, tzinfo=UTC)
