"""Several processes write to one conversation at once."""

from __future__ import annotations

import os

import pytest

from tests.stores.keeping import KINDS, open_at, place, quick_folder
from tests.stores.working import CHAT, append_many, context, resolve_all, together
from turnkeep import CallState, Conversation, ToolCall

WORKERS = 8
APPENDS = int(os.environ.get("TURNKEEP_APPENDS", "25"))
"""How many each of them appends; 1,000 in the nightly run."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_append_of_any_worker_is_lost(kind: str) -> None:
    """All of them are there, once each, in one order; every conflict was told."""
    with quick_folder() as folder, place(kind, folder) as address:
        with open_at(address) as store:
            Conversation.open(store, CHAT)

        jobs = [(address, worker, APPENDS) for worker in range(WORKERS)]
        conflicts = together(append_many, jobs)

        with open_at(address) as store:
            found = store.read(CHAT)
            messages = [row.message for row in found.rows]
            assert store.check() == ()
        assert len(messages) == WORKERS * APPENDS
        assert len({message.id for message in messages}) == len(messages)
        assert found.version == 1 + len(messages)
        for worker in range(WORKERS):
            mine = [m.text for m in messages if m.text.startswith(f"w{worker}-")]
            assert mine == [f"w{worker}-{nth}" for nth in range(APPENDS)]
        # Those that go behind whatever is there never hear of a conflict.
        assert not any(conflicts[::2])
        assert any(conflicts[1::2])


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_one_of_two_workers_resolves_a_call(kind: str) -> None:
    """The other is told that it was late, and both see the same answer."""
    calls = [f"call_{nth}" for nth in range(10)]
    with quick_folder() as folder, place(kind, folder) as address:
        with open_at(address) as store:
            chat = Conversation.open(store, CHAT)
            chat.user("All of them, please.")
            chat.assistant(tool_calls=[ToolCall(call, "ask") for call in calls])
            for call in calls:
                chat.defer(call)

        barrier = context().Barrier(2)
        jobs = [(address, worker, calls, barrier) for worker in range(2)]
        won = together(resolve_all, jobs)

        assert sorted(won[0] + won[1]) == calls
        with open_at(address) as store:
            chat = Conversation.open(store, CHAT)
        assert chat.pending == ()
        for worker, winner in enumerate(won):
            for call in winner:
                assert chat.call_state(call) is CallState.RESOLVED
                [answer] = [
                    result.text
                    for message in chat
                    for result in message.tool_results
                    if result.tool_call_id == call and result.final
                ]
                assert answer == f"by {worker}"
