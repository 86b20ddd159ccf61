"""A callable `token_counter`, asked about entries that hold several messages."""

from typing import Any

import turnkeep

QUESTION = {"role": "user", "content": "count the lines"}
CALL = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "call_1", "name": "wc", "input": {}}],
}
BOTH = {
    "role": "user",
    "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "42"},
        {"type": "text", "text": "and the words?"},
    ],
}
ANSWER = {"role": "assistant", "content": "about 300"}
LAST = {"role": "user", "content": "thank you"}
CHAT = [QUESTION, CALL, BOTH, ANSWER, LAST]


def one(entry: Any) -> int:
    """Every entry is one, however many messages it holds."""
    assert entry["content"]
    return 1


def spelt(entry: Any) -> int:
    """The length of what the entry says, with its own frame."""
    return len(repr(entry))


def test_a_whole_entry_costs_what_the_caller_says() -> None:
    """A result and a text in one entry are one entry to him: all of it fits."""
    assert turnkeep.fit(CHAT, 5, token_counter=one, format="anthropic") == CHAT

    size = sum(map(spelt, CHAT))
    assert turnkeep.fit(CHAT, size, token_counter=spelt, format="anthropic") == CHAT
    assert turnkeep.plan(CHAT, size, token_counter=spelt).tokens == size


def test_a_part_left_alone_is_counted_as_what_it_will_be() -> None:
    """The first part of an entry is not free once the second one has gone."""
    plan = turnkeep.plan(
        CHAT, 4, token_counter=one, format="anthropic", strategy=turnkeep.OldestTurns()
    )
    assert [drop.index for drop in plan.dropped] == [0, 1, 2]

    kept = turnkeep.fit(
        CHAT,
        sum(map(spelt, CHAT)) - 60,
        token_counter=spelt,
        format="anthropic",
        pinned=[0],
        strategy=turnkeep.OldestTurns(),
    )
    assert kept[0] == QUESTION
    assert kept[-1] == LAST
    assert len(kept) < len(CHAT)
    assert sum(map(spelt, kept)) <= sum(map(spelt, CHAT)) - 60


def test_no_window_exceeds_what_its_entries_cost() -> None:
    """At every budget that can be met, by the caller's own count of the result."""
    for counter in (one, spelt):
        for pinned in ([], [0], [2], [3]):
            for budget in range(1, sum(map(counter, CHAT)) + 1):
                try:
                    kept = turnkeep.fit(
                        CHAT,
                        budget,
                        token_counter=counter,
                        format="anthropic",
                        pinned=pinned,
                    )
                except turnkeep.BudgetExceededError as refused:
                    assert refused.needed > budget
                else:
                    assert sum(map(counter, kept)) <= budget
