"""Following a host's list: the conversation says what it says, and keeps its cut."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import call, placeholder, result, say, user
from tests.generators import histories
from tests.test_what_is_said import MODELS, WIRE, entries
from turnkeep import (
    Budget,
    BudgetExceededError,
    Conversation,
    FormatError,
    Message,
    StalePlanError,
    Synced,
    Text,
    UnknownMessageError,
)
from turnkeep.conversation import _following, _host, _taking
from turnkeep.stores import SqliteStore

HUGE = 10**9
KEYS = ("messages", "contents", "input")


def listed(chat: Conversation) -> list[Any]:
    """What a window that holds everything sends."""
    body = chat.fit(HUGE).encode()
    return next(body[key] for key in KEYS if key in body)


def system_of(chat: Conversation) -> Any:
    """The system text of the same window."""
    body = chat.fit(HUGE).encode()
    return {key: value for key, value in body.items() if key not in KEYS}


@st.composite
def changes(draw: st.DrawFn, form: str) -> Callable[[list[Any]], list[Any]]:
    """One thing that a host may do to its list; most are done in place."""
    more = entries(form, list(draw(histories(most=2))))
    at, size = draw(st.integers(0, 12)), draw(st.integers(1, 4))

    def append(now: list[Any]) -> list[Any]:
        now += more
        return now

    def insert(now: list[Any]) -> list[Any]:
        now[at:at] = more
        return now

    def cut(now: list[Any]) -> list[Any]:
        del now[at : at + size]
        return now

    def behead(now: list[Any]) -> list[Any]:
        return now[size:]

    def branch(now: list[Any]) -> list[Any]:
        return now[:at] + more

    def swap(now: list[Any]) -> list[Any]:
        now[at : at + 2] = now[at : at + 2][::-1]
        return now

    def reload(now: list[Any]) -> list[Any]:
        loaded: list[Any] = json.loads(json.dumps(now))
        return loaded

    def rewrite(now: list[Any]) -> list[Any]:
        if now:
            reword(now[at % len(now)])
        return now

    todo = (append, insert, cut, behead, branch, swap, reload, rewrite)
    chosen: Callable[[list[Any]], list[Any]] = draw(st.sampled_from(todo))
    return chosen


def reword(entry: Any) -> None:
    """Change the first text somewhere in an entry, in place."""
    for key in ("content", "parts", "output", "text"):
        value = entry.get(key)
        if isinstance(value, str) and value:
            entry[key] = value + " again"
            return
        if isinstance(value, list):
            for part in value:
                if isinstance(part, dict):
                    reword(part)
            return


@pytest.mark.parametrize("form", WIRE)
@given(st.data())
def test_whatever_a_host_does_the_conversation_says_its_list(
    form: str, data: st.DataObject
) -> None:
    """Window, pending calls and index are those of a conversation made of the list."""
    options: dict[str, Any] = {"format": form, "model": MODELS[form]}
    chat = Conversation(**options)
    theirs: list[Any] = []
    small = Budget(data.draw(st.integers(60, 400)), target=0.6)
    for _ in range(data.draw(st.integers(1, 5))):
        theirs = data.draw(changes(form))(theirs)
        before = copy.deepcopy(theirs)
        try:
            new = Conversation.from_messages(theirs, **options)
        except FormatError:
            return
        done = chat.sync(theirs)

        assert theirs == before
        assert done.kept + len(done.appended) + len(done.edited) == len(new)
        assert listed(chat) == listed(new)
        assert system_of(chat) == system_of(new)
        assert [c.id for c in chat.pending] == [c.id for c in new.pending]
        assert chat.sync(theirs) == Synced(len(new))
        again = Conversation.from_json(chat.to_json())
        assert again.sync(theirs) == Synced(len(new))
        try:
            window = chat.fit(small)
        except BudgetExceededError:
            continue
        sent = window.apply(theirs)
        assert theirs == before
        known = {id(entry) for entry in theirs}
        assert all(e not in theirs for e in sent if id(e) not in known)


def test_entries_that_are_kept_are_the_hosts_own() -> None:
    """In their order; the host's list is not touched."""
    theirs = [user("one " * 90), say(), user("two " * 90), say(), user("three")]
    before = copy.deepcopy(theirs)
    chat = Conversation(model="gpt-4o", budget=Budget(150, target=1.0))
    chat.sync(theirs)

    sent = chat.fit().apply(theirs)

    assert [next(n for n, own in enumerate(theirs) if own is e) for e in sent] == [
        2,
        3,
        4,
    ]
    assert all(any(e is own for own in theirs) for e in sent)
    assert theirs == before


def test_a_body_comes_back_as_one() -> None:
    """With its other keys; its tools and system text are taken over."""
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Be brief.",
        "tools": tools,
        "messages": [user("one " * 900), say(), user("two")],
    }
    chat = Conversation(model="claude-sonnet-4-5", budget=Budget(900, target=1.0))
    assert chat.sync(body).appended == ("msg-1", "msg-2", "msg-3", "msg-4")

    sent = chat.fit().apply(body)

    assert chat.tools == tools
    assert sent == {**body, "messages": [user("two")]}
    assert chat.sync({**body, "system": "Be long."}).edited == ("msg-1",)


def test_a_list_other_than_the_followed_one_is_stale() -> None:
    """Longer, shorter or changed."""
    theirs = [user("one"), say(), user("two")]
    chat = Conversation(model="gpt-4o", budget=900)
    chat.sync(theirs)
    window = chat.fit()

    assert window.apply(copy.deepcopy(theirs)) == theirs
    for other in (theirs[:2], [*theirs, say()], [*theirs[:2], user("2")]):
        with pytest.raises(StalePlanError):
            window.apply(other)
    theirs.append(say())
    chat.sync(theirs)
    with pytest.raises(StalePlanError):
        window.apply(theirs)
    with pytest.raises(ValueError, match="sync"):
        Conversation(model="gpt-4o", budget=9).fit().apply([])


def agent(rounds: int) -> list[Any]:
    """A history of one tool loop a turn."""
    theirs = []
    for nth in range(rounds):
        theirs += [user(f"question {nth} " * 9), call(f"c{nth}")]
        theirs += [result(f"c{nth}", "found it " * 40), say("so it is")]
    return theirs


def cut_of(chat: Conversation) -> int:
    """The first entry that the window holds."""
    return min(d.index for d in chat.fit().plan.decisions if d.action == "keep")


def following(theirs: list[Any], limit: int = 2_000) -> Conversation:
    """A conversation that has cut."""
    chat = Conversation(model="gpt-4o", budget=Budget(limit, target=0.6))
    chat.sync(theirs)
    assert chat.fit().plan.dropped
    return chat


@pytest.mark.parametrize("what", ["append", "regenerate", "answer", "shorten", "head"])
def test_the_cut_stays_with_what_is_kept(what: str) -> None:
    """So that the provider's cache goes on with the same beginning."""
    theirs = agent(40)
    chat = following(theirs)
    first = chat.fit().encode()["messages"]
    match what:
        case "append":
            theirs += [user("more?")]
        case "regenerate":
            theirs[-1] = call("other")
        case "answer":
            theirs[-1] = say("or so")
        case "shorten":
            del theirs[-2:]
        case _:
            del theirs[:8]

    chat.sync(theirs)

    again = chat.fit().encode()["messages"]
    same = next(
        (n for n, (a, b) in enumerate(zip(first, again, strict=False)) if a != b),
        min(len(first), len(again)),
    )
    assert same >= len(first) - 2


def test_what_was_decided_here_stays() -> None:
    """Pins, deferred and resolved calls, until the list answers or lacks them."""
    theirs = [user("rule"), say(), user("do"), call("c"), user("meanwhile")]
    chat = Conversation(model="gpt-4o", budget=10_000)
    chat.sync(theirs)
    chat.pin("msg-1")
    placed = chat.defer("c", "started").id or ""
    theirs += [say("well"), user("and?")]
    chat.sync(theirs)

    assert [m.id for m in chat.pinned] == ["msg-1"]
    assert [c.id for c in chat.pending] == ["c"]
    assert "started" in json.dumps(listed(chat))

    answer = chat.resolve("c", "42").id or ""
    assert chat.sync(theirs).kept == 7
    assert not chat.pending

    theirs.insert(4, result("c", "43"))
    done = chat.sync(theirs)
    assert set(done.removed) == {placed, answer}
    assert listed(chat) == theirs


def test_an_answer_said_here_is_the_one_that_the_list_holds_then() -> None:
    """Nothing is there twice, whoever appended it first."""
    theirs = [user("do"), call("c")]
    chat = Conversation(model="gpt-4o", budget=10_000)
    chat.sync(theirs)
    chat.resolve("c", "42")
    chat.append(say("done"))
    theirs += [result("c", "42"), say("done")]

    assert chat.sync(theirs) == Synced(4)
    assert len(chat) == 4


def test_results_that_were_said_here_go_with_their_call() -> None:
    """The list no longer makes it."""
    theirs = [user("do"), call("c"), user("so?")]
    chat = Conversation(model="gpt-4o", budget=10_000)
    chat.sync(theirs)
    chat.defer("c", "started")
    del theirs[1]
    chat.sync(theirs)

    assert listed(chat) == theirs
    assert not chat.pending


def test_an_answer_in_a_placeholders_place_is_new() -> None:
    """It is held until the model has answered, wherever it stands."""
    theirs = [user("do"), call("c"), placeholder("c", "started"), say("it runs")]
    for nth in range(30):
        theirs += [user(f"question {nth} " * 30), say("so it is")]
    chat = Conversation(model="gpt-4o", budget=Budget(1_500, target=0.6))
    chat.sync(theirs)
    chat.fit()
    theirs[2] = result("c", "finished: 0 errors")

    done = chat.sync(theirs)

    assert done.edited == ("msg-3",)
    assert "0 errors" in json.dumps(chat.fit().encode())
    assert "0 errors" in json.dumps(chat.fit().apply(theirs))
    theirs += [say("I see")]
    theirs += [user("go on " * 500), say("yes"), user("go on")]
    chat.sync(theirs)
    assert "0 errors" not in json.dumps(chat.fit().encode())


def test_a_change_in_place_is_found_where_it_is_looked_for() -> None:
    """At the end, where it is named, or where everything is compared."""
    theirs = agent(300)
    chat = following(theirs)
    theirs[-1]["content"] = "no"
    assert chat.sync(theirs).edited == ("msg-1200",)
    theirs[3]["content"] = "no"
    assert chat.sync(theirs) == Synced(1_200)
    assert chat.sync(theirs, changed=[3]).edited == ("msg-4",)
    theirs[7]["content"] = "no"
    assert chat.sync(theirs, changed="msg-8").edited == ("msg-8",)
    theirs[11]["content"] = "no"
    assert chat.sync(theirs, deep=True).edited == ("msg-12",)
    with pytest.raises(UnknownMessageError):
        chat.sync(theirs, changed=["nobody"])


def test_what_is_malformed_changes_nothing() -> None:
    """The path says where."""
    theirs = [user("one"), say(), user("two")]
    chat = Conversation(model="gpt-4o", budget=900)
    chat.sync(theirs)
    before = chat.to_json()

    with pytest.raises(FormatError, match=r"\$\[1\]"):
        chat.sync([theirs[0], {"role": "nobody", "content": 3}])
    with pytest.raises(TypeError, match="list"):
        chat.sync("hello")

    assert chat.to_json() == before
    assert chat.sync(theirs) == Synced(3)


def test_messages_of_ours_are_followed_too() -> None:
    """A host may keep `Message` objects."""
    theirs = [Message.user("one"), Message.assistant("two")]
    chat = Conversation(model="gpt-4o", budget=900)
    chat.sync(theirs)
    theirs.append(Message.user("three", pinned=True))

    assert chat.sync(theirs).appended == ("msg-3",)
    assert [m.id for m in chat.pinned] == ["msg-3"]


@pytest.mark.parametrize("how", ["same", "copies", "two more"])
def test_costs_what_is_new(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is known is read, counted or copied again."""
    theirs = agent(1_000)
    chat = following(theirs)
    read = [0]
    decode = _taking.as_messages

    def counted(*arguments: Any) -> Any:
        read[0] += 1
        return decode(*arguments)

    looked = [0]
    differs = _host.HostList.differs

    def looking(*arguments: Any) -> bool:
        looked[0] += 1
        return differs(*arguments)

    monkeypatch.setattr(_following, "as_messages", counted)
    monkeypatch.setattr(_host.HostList, "differs", looking)
    new = 0
    if how == "copies":
        theirs = copy.deepcopy(theirs)
    elif how == "two more":
        theirs += [user("more"), say("yes")]
        new = 2
    chat.sync(theirs)

    assert read == [new]
    assert looked == [0]
    assert chat.sync(theirs) == Synced(len(theirs))


def restored_ways(chat: Conversation, store: SqliteStore) -> list[Conversation]:
    """What goes on elsewhere: from a document, from a store, as a fork."""
    return [
        Conversation.from_json(json.loads(json.dumps(chat.to_json()))),
        Conversation.open(store, "a"),
        chat.fork(),
    ]


def held(chat: Conversation) -> bool:
    """Whether a window that has no room to spare holds the result that changed."""
    return any(
        "42" in block.text
        for message in chat.refit(120).messages
        for answer in message.tool_results
        for block in answer.content
        if isinstance(block, Text)
    )


def test_a_changed_result_is_unread_after_a_restore(tmp_path: Path) -> None:
    """From a document, a store and a fork alike; until the model has spoken."""
    filler = [user("so? " * 30), say("well " * 30)] * 4
    first = [user("q"), call("c"), placeholder("c"), say("wait"), *filler, user("now?")]
    with SqliteStore(tmp_path / "chats.db") as store:
        chat = Conversation.open(store, "a", model="gpt-4o", budget=400)
        chat.sync(first)
        assert not held(chat)
        done = chat.sync([*first[:2], result("c", "it is 42"), *first[3:]])
        assert len(done.edited) == 1
        assert held(chat)
        for again in restored_ways(chat, store):
            assert held(again)
            again.append(say("read"))
            again.extend([user("on"), say("and on"), user("so?")])
            assert not held(again)
            assert not held(Conversation.from_json(again.to_json()))


def test_what_was_read_since_is_not_held(tmp_path: Path) -> None:
    """Whatever the settings in the store say: an answer stands behind it there."""
    filler = [user("so? " * 30), say("well " * 30)] * 4
    first = [user("q"), call("c"), placeholder("c"), say("wait"), *filler, user("now?")]
    with SqliteStore(tmp_path / "chats.db") as store:
        chat = Conversation.open(store, "a", model="gpt-4o", budget=400)
        chat.sync(first)
        chat.sync([*first[:2], result("c", "it is 42"), *first[3:]])
        chat.extend([say("42, then"), user("on"), say("and on"), user("so?")])
        assert store.read("a").state["unread"]
        assert not held(Conversation.open(store, "a"))
        chat.flush()
        assert not held(Conversation.open(store, "a"))
