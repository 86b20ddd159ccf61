"""What every store must do; one suite over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.generators import histories
from tests.stores.keeping import KINDS, open_at, opened, place, quick_folder
from turnkeep.errors import (
    ConflictError,
    DuplicateIdError,
    FormatError,
    UnknownConversationError,
    UnknownMessageError,
)
from turnkeep.model import Message, Opaque, Role, Text, ToolCall
from turnkeep.stores import (
    CallRecord,
    Change,
    Pin,
    Row,
    Store,
    changes_of,
    document_of,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

Said = list[Message]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of each kind; undamaged when the test is over."""
    with quick_folder() as folder, opened(request.param, folder) as made:
        yield made
        assert made.check() == ()


def say(*texts: str, start: int = 1) -> Said:
    """User messages `msg-N`."""
    return [Message.user(t, id=f"msg-{n}") for n, t in enumerate(texts, start)]


def ids(snapshot: Any) -> list[str]:
    """Ids of the messages of a snapshot."""
    return [row.message.id for row in snapshot.rows]


def said(*texts: str) -> Change:
    """A change that appends user messages `msg-N`."""
    return Change.of_messages(say(*texts))


def run() -> Said:
    """A turn with a call that is answered late, after another turn."""
    return [
        Message.system("Be brief.", id="s"),
        Message.user("Build it.", id="q1"),
        Message.assistant("", tool_calls=[ToolCall("c1", "build")], id="a1"),
        Message.user("Meanwhile?", id="q2"),
        Message.assistant("Nothing.", id="a2"),
        Message.tool_result("c1", "built", id="r1"),
    ]


def test_what_is_written_is_read(store: Store) -> None:
    """Messages, counts, calls and settings come back as they were."""
    message = Message.user("hi", id="m1", pinned=True, metadata={"a": [1, None]})
    call = Message.assistant("", tool_calls=[ToolCall("c", "f")], id="m2")
    record = CallRecord("m2", 0, None, NOON, NOON, None, {"who": "eve"})
    state = {"model": "gpt-4o", "tools": [{"x": 1.5}]}
    change = Change([Row(message, 7, "o200k_base"), Row(call)], calls=[record])

    version = store.create("chat", change)
    store.put_state("chat", state)
    found = store.read("chat")

    assert version == found.version == 1
    assert found.rows == (Row(message, 7, "o200k_base"), Row(call))
    assert found.calls == (record,)
    assert found.state == state
    assert found.whole


def test_an_empty_conversation_exists(store: Store) -> None:
    """It can be made without a message, and only once."""
    assert store.create("chat") == 1
    assert store.read("chat").rows == ()
    with pytest.raises(ConflictError, match="at version 1, not 0"):
        store.create("chat")


@pytest.mark.parametrize("act", ["read", "delete", "compact", "check", "write"])
@pytest.mark.parametrize("name", ["nobody", "a\0b", "\ud800", "x" * 501, ""])
def test_an_unknown_conversation_is_named(store: Store, act: str, name: str) -> None:
    """Whatever its id looks like."""
    if act == "delete":
        assert store.delete(name) is False
        return
    arguments: dict[str, Any] = {}
    if act == "write":
        arguments = {"change": Change(), "expected": 1}

    with pytest.raises((UnknownConversationError, FormatError)):
        getattr(store, act)(name, **arguments)


@pytest.mark.parametrize("bad", ["", "a\0b", "half \ud83d", "x" * 501])
def test_ids_that_no_database_keeps_are_refused(store: Store, bad: str) -> None:
    """Of conversations and of messages; nothing is written."""
    with pytest.raises(FormatError, match="cannot be stored"):
        store.create(bad)
    store.create("chat")
    with pytest.raises(FormatError, match="message id"):
        store.write("chat", Change.of_messages([Message.user("x", id=bad)]), expected=1)
    with pytest.raises(ValueError, match="needs an id"):
        store.write("chat", Change.of_messages([Message.user("x")]), expected=1)
    assert store.read("chat").version == 1


@pytest.mark.parametrize(
    "odd", ["../../etc/passwd", "a/b", "'; DROP TABLE x", "ü 🙂 %s ?"]
)
def test_ids_are_never_paths_or_statements(store: Store, odd: str) -> None:
    """They are data, and come back as they were."""
    store.create(odd, Change.of_messages([Message.user("x", id=odd)]))

    assert ids(store.read(odd)) == [odd]
    assert [info.id for info in store.conversations()] == [odd]
    assert len(store.search("x", conversation_id=odd)) == 1


def test_a_stale_write_says_what_changed(store: Store) -> None:
    """It carries the version it was made for; nothing of it is written."""
    store.create("chat", said("one"))
    store.write("chat", Change.of_messages(say("two", start=2)), expected=1)
    store.write("chat", Change(pins=[Pin("msg-1", "step")]), expected=2)

    with pytest.raises(ConflictError) as caught:
        store.write("chat", Change.of_messages(say("late", start=2)), expected=1)

    error = caught.value
    assert (error.expected, error.actual) == (1, 3)
    assert error.changed == ("msg-2", "msg-1")
    assert ids(store.read("chat")) == ["msg-1", "msg-2"]


def test_a_change_is_done_whole_or_not_at_all(store: Store) -> None:
    """One bad message in the middle, and nothing has happened."""
    store.create("chat", said("one"))
    batch = [*say("two", "three", start=2), Message.user("again", id="msg-1")]

    with pytest.raises(DuplicateIdError, match="msg-1"):
        store.write("chat", Change.of_messages(batch), expected=1)
    with pytest.raises(DuplicateIdError, match="msg-2"):
        store.write("chat", Change.of_messages(say("a", start=2) * 2), expected=1)
    for change in (
        Change(say_rows("two", start=2), pins=[Pin("nobody", "turn")]),
        Change(say_rows("two", start=2), remove=["nobody"]),
        Change(say_rows("two", start=2), calls=[CallRecord("nobody")]),
        Change(replace=[Row(Message.user("x", id="nobody"))]),
        Change(remove=["msg-1"], pins=[Pin("msg-1", "turn")]),
        Change(remove=["msg-1"], calls=[CallRecord("msg-1")]),
    ):
        with pytest.raises(UnknownMessageError):
            store.write("chat", change, expected=1)

    found = store.read("chat")
    assert (found.version, ids(found)) == (1, ["msg-1"])


def say_rows(*texts: str, start: int = 1) -> list[Row]:
    """The same as rows."""
    return [Row(message) for message in say(*texts, start=start)]


def test_pins_replacements_and_removals(store: Store) -> None:
    """Each changes what it says, and no more."""
    store.create("chat", said("one", "two", "three"))
    changed = Message.user("2", id="msg-2", timestamp=NOON, pinned=True)
    store.write("chat", Change(pins=[Pin("msg-1", "step")]), expected=1)
    store.write("chat", Change(replace=[Row(changed, 5, "x")]), expected=2)
    store.write("chat", Change(remove=["msg-3"]), expected=3)

    first, second = store.read("chat").rows

    assert first.message == say("one")[0].evolve(pinned=True, pin_scope="step")
    assert second == Row(changed, 5, "x")

    store.write("chat", Change(pins=[Pin("msg-1", None)]), expected=4)
    assert store.read("chat").rows[0].message == say("one")[0]


def test_an_id_may_come_again_after_its_removal(store: Store) -> None:
    """Replacing the whole history is one change."""
    store.create("chat", said("one", "two"))
    change = Change(say_rows("new"), remove=["msg-1", "msg-2"])

    store.write("chat", change, expected=1)

    assert [row.message.text for row in store.read("chat").rows] == ["new"]
    delta = store.read_since("chat", 1).changes
    assert set(delta.remove) == {"msg-1", "msg-2"}
    assert [row.message.text for row in delta.append] == ["new"]


def test_ids_go_on_behind_the_highest_ever_used(store: Store) -> None:
    """Removal, restart and compaction do not bring a number back."""
    store.create("chat", said("one", "two", "three"))
    store.write("chat", Change(remove=["msg-2", "msg-3"]), expected=1)
    assert store.read("chat").serial == 3

    store.compact("chat")
    assert store.read("chat").serial == 3
    store.write("chat", Change(state={"next_id": 10}), expected=2)
    assert store.read("chat").serial == 9
    store.write(
        "chat", Change.of_messages([Message.user("x", id="msg-12")]), expected=3
    )
    assert store.read_tail("chat", messages=1).serial == 12


def test_news_lead_from_one_version_to_the_next(store: Store) -> None:
    """What another worker did, and nothing else."""
    store.create("chat", said("one", "two", "three"))
    before = store.read_since("chat", 1)
    store.write("chat", Change.of_messages(run()), expected=1)
    record = CallRecord("a1", 0, None, expires_at=NOON)
    store.write("chat", Change(pins=[Pin("msg-1", "turn")], calls=[record]), expected=2)
    store.write("chat", Change(remove=["msg-2", "q1"]), expected=3)

    delta = store.read_since("chat", 1)

    assert (before.version, before.changes) == (1, Change())
    assert delta.version == 4
    assert not delta.reset
    new = [row.message.id for row in delta.changes.append]
    assert new == ["s", "a1", "q2", "a2", "r1"]
    assert [row.message.pinned for row in delta.changes.replace] == [True]
    assert set(delta.changes.remove) == {"msg-2", "q1"}
    assert delta.changes.calls == (record,)


def test_too_old_a_version_gets_everything(store: Store) -> None:
    """After compaction what happened before is not told apart any more."""
    store.create("chat", said("one"))
    store.write("chat", Change.of_messages(say("two", start=2)), expected=1)
    store.compact("chat")

    delta = store.read_since("chat", 1)

    assert delta.reset
    assert [row.message.id for row in delta.changes.append] == ["msg-1", "msg-2"]
    assert not store.read_since("chat", 2).reset
    assert store.read_since("chat", 99).reset


def test_update_holds_the_others_off(store: Store) -> None:
    """It sees what is new, and writes to that."""
    store.create("chat", said("one"))
    store.write("chat", Change.of_messages(say("two", start=2)), expected=1)
    seen: list[Any] = []

    def make(delta: Any) -> Change:
        seen.extend(row.message.id for row in delta.changes.append)
        return Change.of_messages(say("three", start=3))

    delta = store.update("chat", make, since=1)

    assert seen == ["msg-2"]
    assert delta.version == 3
    assert ids(store.read("chat")) == ["msg-1", "msg-2", "msg-3"]


def test_an_update_that_fails_writes_nothing(store: Store) -> None:
    """Its error comes out as it is."""
    store.create("chat", said("one"))

    def refuse(_delta: Any) -> Change:
        msg = "no"
        raise KeyError(msg)

    with pytest.raises(KeyError, match="no"):
        store.update("chat", refuse, since=1)
    assert store.write("chat", said(), expected=1) == 2


def test_settings_are_merged(store: Store) -> None:
    """With a change or without a new version; `None` takes one away."""
    store.create("chat", Change(state={"a": 1, "b": 2}))
    store.write("chat", Change(state={"b": None, "c": {"d": [3]}}), expected=1)
    store.put_state("chat", {"e": "5"})

    found = store.read("chat")

    assert found.state == {"a": 1, "c": {"d": [3]}, "e": "5"}
    assert found.version == 2


def test_the_newest_messages(store: Store) -> None:
    """By number or by tokens, and no more than that is read."""
    messages = say(*(f"text {n}" for n in range(300)))
    store.create("chat", Change.of_messages(messages, tokens=[10] * 300, counter="c"))

    by_number = store.read_tail("chat", messages=5)
    by_tokens = store.read_tail("chat", tokens=95)
    everything = store.read_tail("chat", messages=1000)

    assert ids(by_number) == [f"msg-{n}" for n in range(296, 301)]
    assert len(by_tokens.rows) == 10
    assert by_number.rows_read == 5
    assert by_tokens.rows_read <= 64
    assert not by_number.whole
    assert everything.whole
    assert len(everything.rows) == 300


@pytest.mark.parametrize("wanted", [{}, {"messages": 1, "tokens": 1}, {"tokens": -1}])
def test_how_much_to_read_must_be_said(store: Store, wanted: dict[str, int]) -> None:
    """Once, and not less than nothing."""
    store.create("chat")
    with pytest.raises(ValueError, match="read"):
        store.read_tail("chat", **wanted)  # type: ignore[arg-type]


def test_a_tail_holds_what_a_window_must(store: Store) -> None:
    """System text, pins with their turns, open calls with their questions."""
    filler = [
        m
        for n in range(200)
        for m in (Message.user(f"q{n}", id=f"u{n}"), Message.assistant("a", id=f"w{n}"))
    ]
    waiting = Message.assistant("", tool_calls=[ToolCall("c9", "wait")], id="open")
    pinned = Message.assistant("keep", id="keep", pinned=True)
    middle = [*filler[:100], Message.user("go", id="go"), waiting]
    middle += [*filler[100:200], Message.user("why", id="why"), pinned]
    late = Message.tool_result("c1", "built", id="late")
    head = run()[:5]
    everything = [*head, *middle, *filler[200:], late]
    store.create("chat", Change.of_messages(everything, tokens=[10] * len(everything)))

    found = store.read_tail("chat", tokens=40, held=True)

    assert ids(found)[:7] == ["s", "q1", "a1", "go", "open", "why", "keep"]
    # The newest three, and the question of the first of them.
    assert ids(found)[-4:] == ["w198", "u199", "w199", "late"]
    assert not found.whole
    assert found.rows_read < 200


def test_notes_on_calls_come_with_their_messages(store: Store) -> None:
    """A tail holds the notes of the calls that it shows."""
    store.create("chat", Change.of_messages(run()[:3]))
    record = CallRecord("a1", 0, None, waits_for={"who": "eve"})
    store.write("chat", Change(say_rows("x"), calls=[record]), expected=1)

    assert store.read_tail("chat", messages=1).calls == ()
    assert store.read_tail("chat", messages=1, held=True).calls == (record,)

    store.write("chat", Change(remove=["a1"]), expected=2)
    assert store.read("chat").calls == ()


def test_messages_by_id(store: Store) -> None:
    """In the order of the history; unknown ids are left out."""
    store.create("chat", said("one", "two", "three"))

    found = store.read_messages("chat", ["msg-3", "nobody", "a\0", "msg-1"])

    assert [row.message.text for row in found] == ["one", "three"]


def test_conversations_are_listed(store: Store) -> None:
    """The last changed one first, with figures; found by a part of the id."""
    started = datetime.now(UTC) - timedelta(minutes=1)
    counted = Change.of_messages(say("x", "y"), tokens=[3, 4], counter="c")
    store.create("alpha-1", counted)
    store.create("beta", Change.of_messages(run()[:3]))
    store.create("alpha-2")
    store.write("alpha-1", Change(pins=[Pin("msg-1", "turn")]), expected=1)

    listed = store.conversations()

    assert [info.id for info in listed] == ["alpha-1", "alpha-2", "beta"]
    assert (listed[0].messages, listed[0].tokens, listed[0].version) == (2, 7, 2)
    assert [info.open_calls for info in listed] == [0, 0, 1]
    assert started < listed[0].created_at <= listed[0].updated_at
    assert [i.id for i in store.conversations(contains="alpha")] == [
        "alpha-1",
        "alpha-2",
    ]
    assert [i.id for i in store.conversations(limit=1)] == ["alpha-1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("orion", ["msg-3", "msg-1"]),
        ("ORION called", ["msg-1"]),
        ("ori", []),
        ("", []),
        ("' OR \" * ( NEAR", []),
        ("größe", ["msg-2"]),
        ("数据", ["msg-2"]),
        ("build", ["a"]),
        ("all", ["a"]),
        ("secret", ["r"]),
        ("-orion", ["msg-3", "msg-1"]),
    ],
)
def test_every_word_is_found(store: Store, query: str, found: list[str]) -> None:
    """Texts, tools, arguments and results; whole words, in any case."""
    calls = [ToolCall("c", "build", {"target": "all"})]
    messages = [
        *say("The project is called Orion.", "Größe: 大数据\0 \ud800", "orion ok"),
        Message.assistant("", tool_calls=calls, id="a"),
        Message.tool_result("c", "a SECRET of 1.5 kg", id="r"),
    ]
    store.create("chat", Change.of_messages(messages))
    store.create("other", said("nothing here"))

    hits = store.search(query)

    assert [hit.message.id for hit in hits] == found
    assert {hit.conversation for hit in hits} <= {"chat"}
    assert store.search(query, conversation_id="other") == ()


def test_search_follows_every_change(store: Store) -> None:
    """What is edited or gone is not found by its old words."""
    store.create("chat", said("old words", "old too", "old still"))
    store.write("chat", Change([Row(Message.user("old", id="new"))]), expected=1)
    change = Change(replace=[Row(Message.user("fresh", id="msg-1"))], remove=["msg-2"])
    store.write("chat", change, expected=2)

    assert [hit.message.id for hit in store.search("old")] == ["new", "msg-3"]
    assert [hit.message.id for hit in store.search("old", limit=1)] == ["new"]
    assert [hit.message.id for hit in store.search("fresh")] == ["msg-1"]
    store.delete("chat")
    assert store.search("old") == ()


def test_calls_that_are_due(store: Store) -> None:
    """Of all conversations, the earliest first; only those still awaited."""
    late = timezone(timedelta(hours=14))
    for nth, name in enumerate(["one", "two", "three", "four"]):
        when = (NOON - timedelta(minutes=nth)).astimezone(late)
        record = CallRecord("a1", 0, "cancelled" if nth == 2 else None, expires_at=when)
        store.create(name, Change([Row(m) for m in run()[:3]], calls=[record]))
    store.write("two", Change.of_messages(run()[5:]), expected=1)

    due = store.due(NOON)

    assert [(name, call.message) for name, call in due] == [
        ("four", "a1"),
        ("one", "a1"),
    ]
    assert store.due(NOON - timedelta(minutes=3, seconds=1)) == ()


def test_deleting(store: Store) -> None:
    """Everything of it goes, and its id is free again."""
    store.create("chat", Change.of_messages(run()))
    store.create("other", said("x"))

    assert store.delete("chat") is True
    assert store.delete("chat") is False
    with pytest.raises(UnknownConversationError, match="no conversation 'chat'"):
        store.read("chat")
    assert store.create("chat", said("anew")) == 1
    assert ids(store.read("chat")) == ["msg-1"]
    assert ids(store.read("other")) == ["msg-1"]


def test_export_and_import(store: Store) -> None:
    """A document of ours holds everything, and makes the same conversation again."""
    record = CallRecord("a1", 0, None, expires_at=NOON, waits_for={"who": "eve"})
    rows = Change.of_messages(run(), tokens=range(6), counter="o200k_base").append
    state = {"counter": "o200k_base", "model": "gpt-4o", "x": [1]}
    store.create("chat", Change(rows, calls=[record], state=state))
    store.write("chat", Change(pins=[Pin("q1", "step")]), expected=1)

    document = json.loads(json.dumps(document_of(store.read("chat"))))
    store.create("copy", changes_of(document))

    assert document["turnkeep"] == 1
    assert document_of(store.read("copy")) == document_of(store.read("chat"))
    assert store.read("copy").rows == store.read("chat").rows


def test_compacting_changes_nothing(store: Store) -> None:
    """What is there stays, and is written to as before."""
    store.create("chat", Change.of_messages(run()))
    store.write(
        "chat", Change(say_rows("x"), remove=["q2"], state={"a": 1}), expected=1
    )
    before = store.read("chat")

    store.compact("chat")

    assert document_of(store.read("chat")) == document_of(before)
    assert store.read("chat").version == before.version
    assert store.write("chat", Change.of_messages(say("y", start=2)), expected=2) == 3
    assert [hit.message.id for hit in store.search("y")] == ["msg-2"]


def test_odd_texts_survive(store: Store) -> None:
    """Half a character, NUL, a megabyte of one word, deep JSON, huge numbers."""
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    odd = ["half \ud83d", "nul \0", "x" * 1_000_000, "数" * 200_000]
    messages = say(*odd)
    messages.append(Message.user("", id="deep", metadata={"n": 10**40, "d": deep}))

    store.create("chat", Change.of_messages(messages))

    assert [row.message for row in store.read("chat").rows] == messages


def test_a_message_has_a_greatest_size(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clear error, and nothing is written."""
    monkeypatch.setattr("turnkeep.stores._checks.MAX_MESSAGE_BYTES", 1_000)
    store.create("chat")
    with pytest.raises(
        FormatError, match=r"1,0\d\d bytes of JSON; a store takes 1,000"
    ):
        store.write("chat", said("x" * 1_000), expected=1)
    assert store.read("chat").rows == ()


def test_threads_share_a_store(store: Store) -> None:
    """Every append of every thread is there, and every conflict was told."""
    store.create("chat")
    conflicts: list[ConflictError] = []

    def work(name: str) -> None:
        version, nth = 1, 0
        while nth < 20:
            message = Message.user("x", id=f"{name}-{nth}")
            try:
                version = store.write(
                    "chat", Change.of_messages([message]), expected=version
                )
                nth += 1
            except ConflictError as error:
                conflicts.append(error)
                version = error.actual

    threads = [Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = ids(store.read("chat"))
    for name in "abc":
        mine = [i for i in found if i.startswith(name)]
        assert mine == [f"{name}-{n}" for n in range(20)]
    assert len(found) == 60
    assert store.read("chat").version == 61


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_closes_itself(kind: str, tmp_path: Path) -> None:
    """When its block is left; closing twice is fine, and what was written stays."""
    with place(kind, tmp_path) as address:
        with open_at(address) as store:
            assert isinstance(store, Store)
            store.create("chat")
        store.close()
        with open_at(address) as again:
            assert again.read("chat").version == 1
        assert "Store(" in repr(store)


@given(history=histories(most=5))
@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_history_is_always_kept(store: Store, history: tuple[Message, ...]) -> None:
    """Whole, one by one, and in part; placed as the messages say."""
    messages = [m if m.id else m.evolve(id=f"x{n}") for n, m in enumerate(history)]
    store.delete("whole")
    store.delete("single")
    store.create("whole", Change.of_messages(messages))
    store.create("single")
    for version, message in enumerate(messages, 1):
        store.write("single", Change.of_messages([message]), expected=version)

    assert [row.message for row in store.read("whole").rows] == messages
    assert store.read("single").rows == store.read("whole").rows
    tail = store.read_tail("single", messages=2, held=True)
    assert tail.rows == store.read_tail("whole", messages=2, held=True).rows
    held = {row.message.id for row in tail.rows}
    for message in messages:
        if message.pinned or message.role is Role.SYSTEM:
            assert message.id in held
    assert store.check() == ()


def test_a_message_that_answers_and_asks(store: Store) -> None:
    """Results and a user's own words in one message tie two steps together."""
    both = Message(
        Role.USER, [*Message.tool_result("c1", "ok").content, Text("and?")], id="both"
    )
    messages = [*run()[:3], both, *say(*"abcdefgh")]
    store.create("chat", Change.of_messages(messages))

    found = store.read_tail("chat", messages=1, held=True)
    assert ids(found) == ["s", "msg-8"]

    store.write("chat", Change(pins=[Pin("both", "step")]), expected=1)
    found = store.read_tail("chat", messages=1, held=True)
    assert ids(found) == ["s", "q1", "a1", "both", "msg-8"]
    store.write("chat", Change(pins=[Pin("both", None), Pin("a1", "step")]), expected=2)
    assert ids(store.read_tail("chat", messages=1, held=True)) == ids(found)


def test_a_providers_own_pair_in_two_messages(store: Store) -> None:
    """One by one or all at once: it is filed alike, and a tail has both halves."""
    asks = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"}
    answers = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"}
    messages = [
        *say("q", start=0),
        Message("assistant", [Opaque(asks, "anthropic"), ToolCall("c1", "f")], id="a"),
        Message.tool_result("c1", "r", id="r"),
        Message("assistant", [Opaque(answers, "anthropic"), Text("found")], id="b"),
        *say(*"cdef"),
    ]
    store.create("whole", Change.of_messages(messages))
    store.create("single")
    for version, message in enumerate(messages, 1):
        store.write("single", Change.of_messages([message]), expected=version)

    assert store.check() == ()
    for name in ("whole", "single"):
        found = ids(store.read_tail(name, messages=1, held=True))
        assert {"a", "b"} <= set(found) or not {"a", "b"} & set(found)


def test_an_edit_may_change_what_a_message_is(store: Store) -> None:
    """A call taken out, a result added, a note for people only: all is filed anew."""
    note = Message.assistant("Saved 3 files.", id="note", kind="run_summary")
    store.create("chat", Change.of_messages([*run(), note, *say(*"abc")]))
    assert store.conversations()[0].open_calls == 0

    bare = Message.assistant("No tools.", id="a1")
    store.write("chat", Change(replace=[Row(bare)]), expected=1)
    assert store.check() == ()
    asked = Message.assistant("", tool_calls=[ToolCall("c9", "f")], id="a2")
    store.write("chat", Change(replace=[Row(asked)]), expected=2)

    assert store.conversations()[0].open_calls == 1
    tail = store.read_tail("chat", messages=1, held=True)
    assert ids(tail) == ["s", "q2", "a2", "msg-3"]


def test_texts_stand_beside_a_conversation(store: Store) -> None:
    """By name, in a conversation of their own; what is there already stays."""
    keeper: Any = store
    store.create("chat", Change.of_messages(say("hi")))

    keeper.put_text("chat", "one", "first\r\nlines\ud800")
    keeper.put_text("chat", "two", "second")
    keeper.put_text("chat", "one", "another")

    assert keeper.read_text("chat", "one") == "first\r\nlines\ud800"
    assert keeper.read_text("chat", "two") == "second"
    assert keeper.read_text("chat", "three") is None
    assert keeper.read_text("other", "one") is None
    assert ids(store.read("chat")) == ["msg-1"]
    assert {info.id for info in store.conversations()} == {"chat", "offloaded:chat"}


def test_texts_are_put_by_several_at_once(store: Store) -> None:
    """Writers of the same conversation do not stand in each other's way."""
    keeper: Any = store

    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda n: keeper.put_text("c", f"t{n % 6}", f"{n % 6}"), range(24))
        )

    assert [keeper.read_text("c", f"t{n}") for n in range(6)] == list("012345")


def test_a_deleted_conversation_of_texts_is_made_again(store: Store) -> None:
    """Whoever clears them away breaks nothing but old references."""
    keeper: Any = store
    keeper.put_text("chat", "one", "first")
    assert store.delete("offloaded:chat")

    assert keeper.read_text("chat", "one") is None
    keeper.put_text("chat", "one", "again")
    assert keeper.read_text("chat", "one") == "again"
