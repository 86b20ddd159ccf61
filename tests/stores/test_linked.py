"""A conversation in a store: what is written here is there, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.stores.keeping import opened, quick_folder
from turnkeep import (
    AlreadyResolvedError,
    Budget,
    ConflictError,
    Conversation,
    Message,
    ToolCall,
    UnknownCallError,
    UnknownMessageError,
)
from turnkeep.errors import FormatError, UnknownConversationError
from turnkeep.stores import Change, Pin, Row, Store

OPTIONS: dict[str, Any] = {"token_counter": "approximate", "budget": Budget(600)}


@pytest.fixture(params=["jsonl", "sqlite"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store; undamaged afterwards."""
    with quick_folder() as folder, opened(request.param, Path(folder)) as made:
        yield made
        assert made.check() == ()


def chat(store: Store, **options: Any) -> Conversation:
    """The conversation under test."""
    return Conversation.open(store, "chat", **{**OPTIONS, **options})


def long(store: Store, turns: int = 200) -> Conversation:
    """A long one with an instruction, a pin and an open call far back."""
    made = chat(store)
    made.system("Be brief.")
    made.user("Remember Orion.", pinned=True)
    made.user("Build.")
    made.assistant(tool_calls=[ToolCall("c1", "build")])
    made.defer("c1", waits_for={"who": "eve"})
    rows = []
    for nth in range(turns):
        rows.append(Message.user(f"question {nth} " + "why " * 10))
        rows.append(Message.assistant("because " * 10))
    made.extend(rows)
    return made


def ids(window: Any) -> list[str]:
    """Ids of the messages of a window."""
    return [message.id for message in window.messages]


def test_a_new_conversation_is_made_with_its_settings(store: Store) -> None:
    """And found again with them."""
    made = chat(store, model="gpt-4o", tools=[{"x": 1}])
    assert (made.version, made.is_whole, len(made)) == (1, True, 0)

    again = Conversation.open(store, "chat", create=False)

    assert (again.model, again.tools, again.budget) == (
        "gpt-4o",
        [{"x": 1}],
        Budget(600),
    )
    assert Conversation().version is None
    assert Conversation().refresh() == ()
    Conversation().flush()


def test_create_may_be_off(store: Store) -> None:
    """For whoever must not begin anew by mistake."""
    with pytest.raises(UnknownConversationError):
        chat(store, create=False)
    assert store.conversations() == ()


def test_two_may_make_it_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one reads what the first one made."""
    create = type(store).create

    def race(self: Store, name: str, change: Change) -> int:
        create(self, name, Change.of_messages([Message.user("first", id="m")]))
        return create(self, name, change)

    monkeypatch.setattr(type(store), "create", race)
    assert [m.text for m in chat(store)] == ["first"]


def test_every_change_is_there_at_once(store: Store) -> None:
    """Each of them is one version."""
    mine, theirs = chat(store), chat(store)
    mine.user("one")
    mine.extend([Message.assistant("two"), Message.user("three")])
    mine.set_pinned("msg-1")
    mine.edit("msg-2", content=Message.user("2").content)
    assert mine.set_pinned("nobody") is False

    assert theirs.refresh() == ("msg-1", "msg-2", "msg-3")

    assert mine.version == theirs.version == 5
    assert theirs.messages == mine.messages
    assert theirs.refresh() == ()
    mine.set_pinned("msg-1", False)
    mine.remove("msg-2")
    assert theirs.refresh() == ("msg-1", "msg-2")
    assert theirs.messages == mine.messages
    mine.rewind("msg-1")
    mine.replace_messages([Message.user("new"), Message.assistant("a", id="b")])
    theirs.refresh()
    assert theirs.messages == mine.messages == chat(store).messages
    mine.clear()
    theirs.refresh()
    assert len(theirs) == 0
    assert theirs.user("x").id == mine.fork().user("x").id


def test_a_conflict_changes_nothing_and_tells(store: Store) -> None:
    """What the other wrote is here then; trying again works."""
    mine, theirs = chat(store), chat(store)
    theirs.user("theirs")

    with pytest.raises(ConflictError, match="changed: msg-1") as caught:
        mine.user("mine")

    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert [m.text for m in mine] == ["theirs"]
    assert mine.user("mine").id == "msg-2"
    with pytest.raises(ConflictError):
        theirs.edit("msg-1", content=Message.user("x").content)
    assert theirs["msg-1"].text == "theirs"
    mine.user("more")
    with pytest.raises(ConflictError):
        theirs.remove("msg-1")
    assert [m.text for m in theirs] == ["theirs", "mine", "more"]


def test_rebasing_goes_behind_the_others(store: Store) -> None:
    """For one append, or for all of a conversation; ids are made anew."""
    mine, theirs = chat(store), chat(store, rebase=True)
    mine.user("one")
    theirs.user("two")
    made = mine.append(Message.user("three"), rebase=True)
    theirs.extend([Message.user("four")])
    mine.extend([Message.user("five")], rebase=True)
    with pytest.raises(ConflictError):
        theirs.append(Message.user("six"), rebase=False)

    assert made.id == "msg-3"
    assert [m.text for m in theirs] == ["one", "two", "three", "four", "five"]


def test_pins_and_calls_always_go_through(store: Store) -> None:
    """They stay right whatever was written in between."""
    mine, theirs = chat(store), chat(store)
    mine.user("go")
    mine.assistant(tool_calls=[ToolCall("c1", "f"), ToolCall("c2", "f")])
    theirs.refresh()
    mine.user("meanwhile")

    theirs.pin("msg-1")
    mine.defer("c1")
    theirs.unpin("msg-1")
    mine.interim("c1", "half")
    theirs.resolve("c1", "done")
    mine.abandon("c2")
    theirs.unpin("msg-1")

    mine.refresh()
    theirs.refresh()
    assert mine.messages == theirs.messages == chat(store).messages
    assert mine.pending == theirs.pending == chat(store).pending == ()
    assert theirs.call_state("c2") == "abandoned"


def test_a_compacted_store_is_read_anew(store: Store) -> None:
    """Where the version seen is too old to tell what happened since."""
    mine, theirs = chat(store), chat(store)
    mine.user("one")
    mine.assistant(tool_calls=[ToolCall("c1", "f")])
    mine.defer("c1", waits_for={"who": "eve"})
    store.compact("chat")

    theirs.append(Message.user("two"), rebase=True)

    assert [m.text for m in theirs][-1] == "two"
    assert theirs.pending[0].waits_for == {"who": "eve"}
    mine.refresh()
    assert mine.messages == theirs.messages


def test_the_cut_is_kept_in_the_store(store: Store) -> None:
    """Another process sends the same prefix; an edit forgets it there, too."""
    made = long(store)
    window = made.fit()
    assert window.plan.dropped

    assert ids(chat(store).fit()) == ids(window)
    assert "cut" in store.read("chat").state
    part = chat(store, tail=600)
    assert not part.is_whole
    assert ids(part.fit()) == ids(window)
    made.edit("msg-3", content=Message.user("Build it.").content)
    assert "cut" not in store.read("chat").state


def test_settings_are_written_on_request(store: Store) -> None:
    """`flush` writes what differs, and takes away what is gone."""
    made = chat(store, model="gpt-4o")
    made.metadata["owner"] = "eve"
    made.flush()
    assert chat(store).metadata == {"owner": "eve"}
    made.metadata.clear()
    made.flush()
    made.flush()
    assert chat(store).metadata == {}
    assert store.read("chat").version == 1


def test_a_window_needs_only_the_newest_part(store: Store) -> None:
    """Pins, instructions and open calls of any age are there."""
    whole = long(store)
    part = chat(store, tail=600)

    window = part.fit()

    assert not part.is_whole
    shown = ids(window)
    assert shown[:4] == ["msg-1", "msg-2", "msg-3", "msg-4"]
    assert shown[-1] == "msg-405"
    assert [call.id for call in part.pending] == ["c1"]
    assert part.pending[0].waits_for == {"who": "eve"}
    assert part.pinned == whole.pinned
    assert "405" not in repr(part)
    part.user("next")
    part.resolve("c1", "built")
    assert part.pending == ()
    assert not part.is_whole
    whole.refresh()
    assert [m.text for m in whole][-2:] == ["next", "built"]


@pytest.mark.parametrize(
    "need",
    [
        len,
        lambda part: part.messages,
        lambda part: part["msg-50"],
        lambda part: part.pin("msg-50"),
        lambda part: part.set_pinned("msg-50"),
        lambda part: part.remove("msg-50"),
        lambda part: part.rewind("msg-50"),
        lambda part: part.edit("msg-50", content=Message.user("x").content),
        lambda part: part.unpin("msg-50"),
        lambda part: part.to_json(),
        lambda part: part.fork(),
        lambda part: part.fit(Budget(3_000)),
        lambda part: part.clear(),
        lambda part: "msg-50" in part,
        lambda part: part.replace_messages([]),
    ],
    ids=str.split(
        "len messages item pin set_pinned remove rewind edit unpin json fork fit clear"
        " contains replace"
    ),
)
def test_what_needs_the_rest_reads_it(store: Store, need: Any) -> None:
    """And then it is as if everything had been read at once."""
    long(store)
    part, whole = chat(store, tail=100), chat(store)

    need(part)

    assert part.is_whole
    whole.refresh()
    assert part.messages == whole.messages
    assert part.pending == whole.pending
    assert part.pinned == whole.pinned


def test_an_unknown_message_is_unknown_at_last(store: Store) -> None:
    """After the rest was read."""
    long(store)
    part = chat(store, tail=100)
    with pytest.raises(UnknownMessageError):
        part.pin("nobody")


def test_a_part_follows_the_others(store: Store) -> None:
    """What is changed behind its back, and was never read, is read then."""
    whole, part = long(store), chat(store, tail=100)
    whole.user("more")
    assert part.refresh() == ("msg-406",)
    assert not part.is_whole

    whole.pin("msg-50")
    whole.user("again")
    assert part.refresh() == ("msg-50", "msg-407")

    assert part.is_whole
    assert part.messages == whole.messages
    assert part.pinned == whole.pinned


def test_a_cut_with_edits_survives_in_part(store: Store) -> None:
    """What was changed or added in a window, and is here, is so in the next."""
    made = long(store, 20)
    content = {"role": "user", "content": "[turnkeep:summary c65a48cd]\nIn short."}
    cut = {
        "available": 600,
        "dropped": [
            {"first": "msg-6", "last": "msg-7", "cause": "age"},
            {"first": "msg-8", "last": "msg-42", "cause": "age"},
        ],
        "edited": [
            {"id": "msg-7", "cause": "size", "content": content},
            {"id": "msg-44", "cause": "size", "content": content},
        ],
        "inserted": [
            {"after": None, "tokens": 9, "cause": "summary", "content": content},
            {"after": "msg-8", "tokens": 9, "cause": "summary", "content": content},
        ],
    }
    store.put_state("chat", {"cut": cut})

    part = chat(store, tail=100)
    memory = part._fitter.memory

    assert memory is not None
    assert [message.text for message, _ in memory.replaced.values()] == [
        "[turnkeep:summary c65a48cd]\nIn short."
    ]
    assert [item.after for item in memory.inserted] == [-1, 5]
    ledger = part._ledger
    kept = [
        ledger.id(ledger.grouping.first[step])
        for step, cause in enumerate(memory.dropped)
        if not cause
    ]
    assert kept == ["msg-1", "msg-2", "msg-3", "msg-4", "msg-43", "msg-44", "msg-45"]
    assert made.version == store.read("chat").version


def test_damaged_settings_name_the_place(store: Store) -> None:
    """With their path."""
    chat(store)
    store.put_state("chat", {"budget": {"max_tokens": "x"}})
    with pytest.raises(FormatError) as caught:
        chat(store)
    assert caught.value.path == "$.budget.max_tokens"


def test_threads_share_a_conversation(store: Store) -> None:
    """Every append of every thread is there, here and in the store."""
    made = chat(store)

    def work(name: str) -> None:
        for nth in range(10):
            made.user(f"{name}{nth}")
            made.fit()

    threads = [Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({m.id for m in made}) == 40
    assert made.messages == chat(store).messages


def test_counts_are_kept_for_the_counter_that_took_them(store: Store) -> None:
    """Another counter counts again."""
    made = chat(store)
    made.user("hello " * 50)
    [row] = store.read("chat").rows
    assert row.counter == "approximate/openai"
    assert row.tokens == made.fit().tokens or row.tokens > 0

    wrong = Row(row.message, 1, row.counter)
    store.write(
        "chat", Change(replace=[wrong], pins=[Pin("msg-1", "turn")]), expected=2
    )

    assert chat(store)._ledger.counts[0] == 1
    other = Conversation.open(store, "chat", token_counter="o200k_base")
    assert other._ledger.counts[0] == -1


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("how", ["expire", "cancel", "resolve"])
@pytest.mark.parametrize("away", ["rewind", "replace"])
def test_a_call_whose_answer_goes_is_awaited_in_the_store_again(
    store: Store, how: str, away: str
) -> None:
    """Its deadline counts again, and its next answer is what it is known by."""
    made = chat(store)
    asked = made.assistant(tool_calls=[ToolCall("c1", "build")])
    held = made.defer("c1", expires_at=NOON)
    if how == "expire":
        made.expire(NOON + timedelta(hours=1))
    elif how == "cancel":
        made.cancel("c1", "no longer wanted")
    else:
        made.resolve("c1", "built")
    assert store.due(NOON) == ()

    if away == "rewind":
        made.rewind(held.id or "")
    else:
        made.user("And the other one?")
        made.replace_messages(made.messages[:2])
        made.defer("c1", expires_at=NOON)

    ((name, record),) = store.due(NOON)
    assert (name, record.message, record.state) == ("chat", asked.id, None)
    again = chat(store)
    assert [call.id for call in again.pending] == ["c1"]
    assert again.call_state("c1") == made.call_state("c1") == "pending"
    again.resolve("c1", "built after all")
    assert chat(store).call_state("c1") == "resolved"


def test_a_result_that_answers_nothing_is_refused_in_a_store_too(store: Store) -> None:
    """Alone or among others; nothing is written."""
    made = chat(store)
    made.user("hi")
    hollow = Message("tool_result", "no result in it")
    for write in (made.append, lambda message: made.extend([message])):
        with pytest.raises(ValueError, match="needs a ToolResult"):
            write(hollow)
    assert [message.text for message in chat(store).messages] == ["hi"]


@pytest.mark.parametrize("others", ["pin", "edit", "remove", "answer"])
@pytest.mark.parametrize("mine", ["append", "extend", "pin", "resolve", "defer"])
def test_what_others_did_outside_the_part_that_is_here_stops_nobody(
    store: Store, others: str, mine: str
) -> None:
    """The rest is read, and the change made on top of theirs."""
    long(store, turns=40)
    part = chat(store, tail=100)
    assert not part.is_whole
    other = chat(store)
    old = other.messages[4].id or ""
    if others == "pin":
        other.pin(old)
    elif others == "edit":
        other.edit(old, content="something else")
    elif others == "remove":
        other.remove(other.messages[-1].id or "")
    else:
        other.resolve("c1", "built by somebody else")

    newest = part._ledger.messages[-1].id or ""
    try:
        if mine == "append":
            part.append(Message.user("mine"), rebase=True)
        elif mine == "extend":
            part.extend([Message.user("mine")], rebase=True)
        elif mine == "pin":
            part.pin(newest)
        elif mine == "resolve":
            part.resolve("c1", "built by me")
        else:
            part.defer("c1")
    except AlreadyResolvedError:
        assert others == "answer"
    except UnknownMessageError:
        assert (others, mine) == ("remove", "pin")

    assert part.messages == chat(store).messages
    assert [m.id for m in part.pinned] == [m.id for m in chat(store).pinned]


def test_a_call_that_others_removed_is_unknown_in_a_part_too(store: Store) -> None:
    """The rest was asked for it."""
    long(store, turns=40)
    part = chat(store, tail=100)
    other = chat(store)
    other.remove(next(m.id or "" for m in other.messages if m.tool_calls))

    with pytest.raises(UnknownCallError):
        part.resolve("c1", "built")

    assert part.messages == chat(store).messages


def test_a_tail_reads_the_question_behind_an_orphan(store: Store) -> None:
    """A large result that answers nothing is in no window, and takes nobody's place."""
    chat = Conversation.open(store, "orphan", model="gpt-4o", budget=Budget(2_000))
    for nth in range(40):
        chat.user(f"question {nth}")
        chat.assistant(f"answer {nth}")
    chat.user("the question")
    chat.append(Message.tool_result("nobody", "orphan " * 9_000))
    whole = chat.fit().encode()
    for tail in (1, 50, 2_000):
        part = Conversation.open(store, "orphan", tail=tail)
        assert part.fit().encode()["messages"][-1]["content"] == "the question"
    assert Conversation.open(store, "orphan", tail=2_000).fit().encode() == whole


@pytest.mark.parametrize("tail", [1, 40, 10_000])
def test_a_tail_shows_the_pending_calls_there_are(store: Store, tail: int) -> None:
    """A result may say whose call it answers, where an id is open several times."""
    chat = Conversation.open(store, "twins", model="gpt-4o")
    chat.user("q")
    first = chat.assistant("", tool_calls=[ToolCall("c1", "f"), ToolCall("c2", "f")])
    chat.resolve("c1", "one")
    second = chat.assistant("more", tool_calls=[ToolCall("c2", "f")])
    chat.resolve("c2", "of the first", message_id=first.id)
    chat.assistant("", tool_calls=[ToolCall("z", "f")])
    pending = [(call.id, call.message_id) for call in chat.pending]
    assert pending[0] == ("c2", second.id)
    part = Conversation.open(store, "twins", tail=tail)
    assert [(call.id, call.message_id) for call in part.pending] == pending
    assert store.check("twins") == ()
    chat.remove(second.id or "")
    part = Conversation.open(store, "twins", tail=tail)
    assert [call.id for call in part.pending] == [call.id for call in chat.pending]
    assert store.check("twins") == ()
