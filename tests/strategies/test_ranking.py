"""Tests for what ranks by use and by relevance, and for what they read."""

from __future__ import annotations

import gc
import pickle
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.strategies.views import decide, gone, sized, tool, turns
from turnkeep import Document, Json, Message, Text, ToolCall, ToolResult
from turnkeep.strategies import KeepRecent, LeastRecentlyReferenced, Relevance
from turnkeep.strategies._bm25 import bm25
from turnkeep.strategies._memory import Memory
from turnkeep.strategies._referenced import ReferentIndex
from turnkeep.strategies._referents import (
    ByObject,
    Referents,
    referents_in,
    referents_of,
)
from turnkeep.strategies._words import stem, terms_in, terms_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing to see here, well-known words", set()),
        ("see packages/tui/src/app.ts:12:3.", {"packages/tui/src/app.ts", "app.ts"}),
        ("under src/ lives main", {"src/"} - {"src/"}),
        ("user_id, camelCase, CODE, ab", {"user_id", "camelCase", "CODE"}),
        ("it costs 4711 or 12", {"4711"}),
        ("HAT136 on 2024-05-20", {"HAT136", "2024-05-20"}),
        ('{"name": "Mia Li", "k": "x"}', {"Mia Li"}),
        ("run `npm test` now", {"npm test"}),
        ("mail mia.li@example.org", {"mia.li@example.org"}),
        ("y" * 300 + "1", set()),
        ("", set()),
    ],
)
def test_referents_are_ids_paths_names_numbers_and_quoted_values(
    text: str, found: set[str]
) -> None:
    assert referents_in(text) == found


def test_a_message_names_uses_and_shows() -> None:
    message = Message.user(
        [
            Text("see a_b"),
            ToolCall("c", "f", {"x": ["one two", 4711, True, None], "n": 1.5}),
            ToolResult("c", [Text("c_d"), Json({"k": "some value"})]),
            Document(text="e_f"),
            Document(data="eHg="),
        ]
    )

    named, used, shown = referents_of(message)

    assert used == {"one two", "4711", "1.5"}
    assert shown == {"c_d", "some value"}
    assert named == {"a_b", "e_f", *used, *shown}


def test_long_texts_in_arguments_count_by_what_they_name() -> None:
    message = Message.assistant(
        tool_calls=[ToolCall("c", "f", {"t": "word " * 60 + "a_b"})]
    )

    assert referents_of(message).used == {"a_b"}


def test_what_is_read_is_read_once_for_each_object() -> None:
    calls: list[Message] = []

    def read(message: Message) -> int:
        calls.append(message)
        return len(message.text)

    seen = ByObject(read)
    one, same = Message.user("hello"), Message.user("hello")

    assert [seen.get(one), seen.get(one), seen.get(same)] == [5, 5, 5]
    assert len(calls) == 2
    assert len(seen) == 2
    calls.clear()
    del one, same
    gc.collect()
    assert len(seen) == 0


def test_appending_costs_the_new_text_only() -> None:
    """The promise of an index: a message is learnt once while its history grows."""
    learnt: list[Message] = []

    class Index:
        def add(self, message: Message) -> None:
            learnt.append(message)

    memory = Memory(Index)
    history = [Message.user(str(n)) for n in range(100)]
    for stop in (50, 99, 100, 100):
        with memory.reading(history[:stop]):
            pass

    assert learnt == history
    with memory.reading(history[:10]):
        assert len(learnt) == 110
    assert isinstance(pickle.loads(pickle.dumps(Memory(ReferentIndex))), Memory)  # noqa: S301 - our own


def test_threads_may_share_a_strategy() -> None:
    strategy = KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced())
    histories = [
        [
            *turns(3),
            *(m for c in range(12) for m in tool(f"{n}{c}", f"id_{n}_{c} " * 9)),
        ]
        for n in range(4)
    ]
    alone = [
        gone(history, 80, KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced()))
        for history in histories
    ]
    found: dict[int, list[str]] = {}
    threads = [
        threading.Thread(
            target=lambda n=n: found.update({n: gone(histories[n % 4], 80, strategy)})
        )
        for n in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {n: alone[n % 4] for n in range(16)}


def test_what_was_least_recently_used_by_a_later_call_goes_first() -> None:
    history = [
        *turns(3),
        *tool("a", "order_1 " + sized(20)),
        *tool("b", "order_2 " + sized(20)),
        *tool("c", "order_3 " + sized(20)),
        *tool("d", "ok", {"order": "order_1"}),
        Message.user("now"),
    ]

    assert gone(history, 75, LeastRecentlyReferenced()) == ["a-b", "r-b"]


def test_a_use_counts_for_the_newest_message_that_names_it() -> None:
    index = ReferentIndex()
    for message in (
        *tool("a", "order_1"),
        *tool("b", "", {"order": "order_1"}),
        *tool("c", "", {"order": "order_1", "note": "note_2"}),
    ):
        index.add(message)

    assert index.used == {1: 2, 2: 4}


def test_small_steps_come_back_when_a_large_one_made_room() -> None:
    history = [
        *turns(3),
        *tool("a", sized(5)),
        *tool("b", sized(80)),
        *tool("c", sized(5)),
        Message.user("now"),
    ]

    assert gone(history, 40, LeastRecentlyReferenced()) == ["a-b", "r-b"]


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("cancelled", "cancell"),
        ("stopped", "stop"),
        ("flights", "flight"),
        ("class", "class"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("queries", "query"),
        ("making", "mak"),
        ("make", "make"),
        ("charge", "charg"),
        ("charging", "charg"),
        ("red", "red"),
        ("bus", "bus"),
    ],
)
def test_stems_are_light(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_terms_leave_stop_words_out_and_take_names_apart() -> None:
    assert list(terms_in("What is the getUserName of HTTPServer, URL and Paris?")) == [
        "getusernam",
        "get",
        "user",
        "name",
        "httpserver",
        "http",
        "server",
        "url",
        "paris",
    ]


def test_speaker_date_calls_and_results_are_indexed() -> None:
    at = datetime(2026, 5, 3, tzinfo=UTC)
    asked = Message.user("hi", timestamp=at, extra={"name": "Mia"})
    answer = Message.assistant(
        [Text("sure"), ToolCall("c", "search", {"q": "ships"}), Document(text="x")]
    )
    result = Message.tool_result("c", [Text("found"), Json({"port": "Kiel"})])
    rest = Message.user([Json({"k": "value"})])

    assert set(terms_of(asked)) == {
        "user",
        "hi",
        "mia",
        "may",
        "5-3",
        "2026-5-3",
        "2026",
        "3",
    }
    assert set(terms_of(answer)) == {"assistant", "sure", "search", "q", "ship"}
    assert set(terms_of(result)) == {"tool_result", "found", "port", "kiel"}
    assert set(terms_of(rest)) == {"user", "k", "valu"}


def test_rare_terms_and_short_documents_weigh_more() -> None:
    common, rare = (
        bm25([{0: 1, 1: 1, 2: 1}], [4, 4, 4, 4]),
        bm25([{0: 1}], [4, 4, 4, 4]),
    )
    long = bm25([{0: 1, 1: 1}], [2, 8])

    assert rare[0] > common[0] > 0
    assert long[0] > long[1]
    assert bm25([], []) == []


def test_the_plan_names_the_cause() -> None:
    history = [*turns(3), *tool("a", sized(50))]
    history += [Message.assistant("so"), Message.user("now")]

    causes: dict[Any, set[str]] = {
        strategy: {d.cause for d in decide(history, 10, strategy).dropped}
        for strategy in (Relevance(), LeastRecentlyReferenced())
    }

    assert causes == {Relevance(): {"relevance"}, LeastRecentlyReferenced(): {"unused"}}


def test_referents_are_three_sets() -> None:
    assert Referents._fields == ("named", "used", "shown")
