"""What must hold however a conversation is changed between its windows."""

from __future__ import annotations

import gc
import weakref
from threading import Thread
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation, Message, ToolCall
from turnkeep.index._past import Past
from turnkeep.model import Image, Text

TOOL = {
    "type": "function",
    "function": {"name": "find", "parameters": {"type": "object", "properties": {}}},
}
LONG = {
    "type": "function",
    "function": {"name": "look", "description": "long " * 400, "parameters": {}},
}


def ids(window: Any) -> list[str | None]:
    """Ids of a window's messages."""
    return [message.id for message in window]


def long_turn(**options: Any) -> Conversation:
    """One turn that is cut inside, its question kept before the cut."""
    chat = Conversation(budget=Budget(400, target=0.6), model="gpt-4o", **options)
    chat.user("Remember: the project is called Orion")
    for nth in range(12):
        chat.assistant("", tool_calls=[ToolCall(f"c{nth}", "f", {})])
        chat.resolve(f"c{nth}", "word " * 30)
    return chat


def recounted(window: turnkeep.Window) -> int:
    """Tokens of the request, counted from outside."""
    return turnkeep.count(window.encode(), model="gpt-4o", format="openai").total


# -- pins ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["pin", "recall"])
def test_a_kept_message_that_is_pinned_is_sent_once(how: str) -> None:
    """It stood before the cut; now it is held for good."""
    chat = long_turn()
    before = chat.fit()
    if how == "pin":
        chat.pin("msg-1", "step")
    else:
        chat.recall("msg-1")

    window = chat.fit()

    assert ids(window) == ids(before)
    assert window.tokens == before.tokens == recounted(window)
    assert not window.pruned


def test_an_open_call_that_is_pinned_is_sent_once() -> None:
    """With its placeholder."""
    chat = Conversation(budget=Budget(400, target=0.6), model="gpt-4o")
    chat.user("first")
    asked = chat.assistant("", tool_calls=[ToolCall("c1", "f", {})])
    chat.defer("c1", "wait")
    for _ in range(12):
        chat.user("q " * 20)
        chat.assistant("a " * 20)
    chat.fit()
    chat.pin(asked.id or "", "step")

    window = chat.fit()

    assert len(set(ids(window))) == len(ids(window))
    assert turnkeep.check(window.encode(), format="openai") == []
    assert window.tokens == chat.refit().tokens


# -- what is never sent, and what goes last --------------------------------------------


def test_what_is_only_shown_does_not_hide_that_the_end_is_an_orphan() -> None:
    """The newest message for the model is the one before."""
    chat = Conversation(
        budget=Budget(30, target=0.5), model="gpt-4o", token_counter="approximate"
    )
    chat.append(Message.user("q", token_count=2))
    chat.append(Message.assistant("a", token_count=20))
    chat.append(Message.tool_result("nobody", "r", token_count=0))
    chat.append(Message.system("shown", kind="run_summary", token_count=0))

    assert ids(chat.fit()) == ["msg-1", "msg-2"]
    assert chat.fit().plan.warnings[-1].startswith("left out: orphan result nobody")


def test_a_summary_goes_after_what_it_does_not_stand_for() -> None:
    """Nobody else remembers what it says."""
    chat = Conversation(budget=Budget(60, target=1.0), model="gpt-4o")
    told = "[turnkeep:summary 0fc82a1c]\nThe user is allergic to nuts."
    chat.append(Message.user(told, kind="summary"))
    chat.user("long " * 30)
    chat.user("what now?")

    assert [message.text for message in chat.fit()] == [told, "what now?"]


# -- counts ----------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "then"), [("gpt-4", "gpt-4o"), ("gpt-4o", "gpt-4")])
def test_stand_ins_are_counted_for_the_model_of_now(first: str, then: str) -> None:
    """Their names cost differently in each."""

    def fill(chat: Conversation) -> Conversation:
        chat.user("hi")
        call = ToolCall("call_Zażółć_gęślą", "naïve_工具_функция", {"x": 1})
        chat.assistant("", tool_calls=[call])
        chat.user("more")
        return chat

    chat = fill(Conversation(budget=Budget(2_000), model=first))
    chat.fit()
    chat.model = then
    fresh = fill(Conversation(budget=Budget(2_000), model=then))

    assert chat.fit().tokens == fresh.fit().tokens


def test_tools_that_the_host_adds_to_are_counted_again() -> None:
    """And windows made before go on with what they had."""
    tools = [TOOL]
    chat = Conversation(budget=Budget(2_000), model="gpt-4o", tools=tools)
    chat.user("hi")
    before = chat.fit()
    tools.append(LONG)

    window = chat.fit()

    assert window.tokens == recounted(window) > before.tokens + 400
    assert len(before.encode()["tools"]) == 1
    with pytest.raises(BudgetExceededError):
        chat.fit(Budget(200))
    assert chat.fit(tools=[TOOL]).tokens == before.tokens


def test_the_prompt_that_tools_bring_is_the_models_own() -> None:
    """Claude models differ in it, where their tokens do not."""
    chats = [
        Conversation(budget=Budget(9_000), model=model, tools=[TOOL])
        for model in ("claude-3-haiku-20240307", "claude-3-5-sonnet-20241022")
    ]
    for chat in chats:
        chat.user("hi")
    expected = chats[1].fit().tokens
    assert chats[0].fit().tokens != expected

    chats[0].model = "claude-3-5-sonnet-20241022"

    assert chats[0].fit().tokens == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"extra": {"name": "Bartholomew the very long"}},
        {"token_count": None},
        {"content": "hi"},
        {"role": "assistant"},
    ],
)
def test_an_edit_of_whatever_costs_tokens_is_counted(changes: dict[str, Any]) -> None:
    """Not only of the text."""
    chat = Conversation(budget=Budget(600), model="gpt-4o")
    chat.user("before")
    told = None if "extra" in changes else 40
    chat.append(Message.user("hi", token_count=told))
    chat.user("after")
    chat.fit()

    chat.edit("msg-2", **changes)

    fresh = Conversation.from_json(chat.to_json())
    fresh.refit()
    assert chat.fit().tokens == fresh.fit().tokens
    assert list(chat._ledger.grouping.kinds) == list(fresh._ledger.grouping.kinds)
    if changes.keys() & {"extra", "token_count"}:
        assert chat.fit().tokens == recounted(chat.fit())


def test_tools_alone_may_be_too_much() -> None:
    """Even where no message costs anything."""
    chat = Conversation(budget=Budget(50), model="gpt-4o", tools=[LONG])
    chat.append(Message.user("hi", token_count=0))

    with pytest.raises(BudgetExceededError, match="send fewer tools"):
        chat.fit()


# -- what was --------------------------------------------------------------------------


def pruned_chat() -> Conversation:
    """A short chat whose beginning went."""
    chat = Conversation(budget=Budget(60, target=0.5), model="gpt-4o")
    for nth in range(10):
        chat.append(Message.user(f"q{nth}", token_count=8))
        chat.append(Message.assistant(f"a{nth}", token_count=8))
    return chat


@pytest.mark.parametrize("how", ["remove", "clear", "rewind", "edit"])
def test_the_archive_is_what_the_last_window_left_out(how: str) -> None:
    """Whatever has become of the history since."""
    chat = pruned_chat()
    chat.fit()
    left_out = [message.text for message in chat.archive]
    assert left_out[:2] == ["q0", "a0"]

    if how == "remove":
        chat.remove("msg-1")
    elif how == "clear":
        chat.clear()
    elif how == "rewind":
        chat.rewind("msg-3")
    else:
        chat.edit("msg-1", content="NEW")

    assert [message.text for message in chat.archive] == left_out


def test_a_plan_counts_as_it_did_when_the_model_changes() -> None:
    """Also what nobody had counted by then."""
    messages = [Message.user(f"naïve 工具 {nth} " * 20) for nth in range(60)]
    chats = [
        Conversation.from_messages(messages, budget=Budget(2_000), model="gpt-4o")
        for _ in range(2)
    ]
    expected, window = (chat.fit() for chat in chats)

    chats[1].model = "gpt-4"

    assert window.plan.tokens_before == expected.plan.tokens_before
    assert [d.tokens for d in window.plan.dropped] == [
        d.tokens for d in expected.plan.dropped
    ]


def test_a_message_that_is_replaced_while_it_is_read_is_read_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An old window's messages are read without the lock."""
    chat = Conversation(budget=Budget(600), model="gpt-4o")
    chat.user("OLD")
    past = Past(chat._ledger)
    look = Past._replaced

    def edit_meanwhile(self: Past, index: int) -> Any:
        found = look(self, index)
        monkeypatch.undo()
        chat.edit("msg-1", content="NEW")
        return found

    monkeypatch.setattr(Past, "_replaced", edit_meanwhile)

    assert past.message(0).text == "OLD"
    assert past.message(0).text == "OLD"
    assert chat["msg-1"].text == "NEW"


def test_a_read_plan_keeps_no_conversation_alive() -> None:
    """No cycle: the last reference frees everything, without the collector."""
    chat = pruned_chat()
    window = chat.fit()
    assert len(window.plan.dropped) > 1
    gone = weakref.ref(chat)
    gc.collect()
    gc.disable()
    try:
        del chat, window
        assert gone() is None
    finally:
        gc.enable()


# -- callbacks and entries -------------------------------------------------------------


@pytest.mark.parametrize("how", ["fit", "refit"])
def test_who_is_told_of_a_prune_may_wait_for_others(how: str) -> None:
    """The conversation is not locked while its host is called."""
    done: list[bool] = []

    def look(_plan: Any) -> None:
        reader = Thread(target=lambda: len(chat), daemon=True)
        reader.start()
        reader.join(timeout=10)
        done.append(not reader.is_alive())

    chat = pruned_chat()
    chat.on_prune = look

    getattr(chat, how)()

    assert done == [True]


def test_marks_on_a_requests_content_do_not_reach_the_next_request() -> None:
    """Hosts mark the last part for the prompt cache."""
    chat = Conversation(budget=Budget(60_000), model="gpt-4o")
    picture = Image(url="https://example.com/a.png")
    chat.user([Text("what is this?"), picture])
    first = chat.fit().encode()["messages"]
    first[0]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    first[0]["content"][1]["image_url"]["detail"] = "high"
    chat.assistant("a cat")

    second = chat.fit().encode()["messages"]

    assert "cache_control" not in str(second)
    assert "detail" not in str(second)
