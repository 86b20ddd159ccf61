"""The life of a tool call: deferred, answered in part, late, twice, or never."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest

from turnkeep import (
    AlreadyResolvedError,
    AmbiguousCallError,
    Budget,
    CallState,
    Conversation,
    Message,
    NaiveTimestampError,
    OpenCallError,
    ToolCall,
    ToolResult,
    UnknownCallError,
)
from turnkeep.model import PENDING, STAND_IN_TEXT, mark

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def chat(*calls: str, **options: Any) -> Conversation:
    """A conversation whose assistant has just made some calls."""
    made = Conversation(token_counter="approximate", budget=Budget(5_000), **options)
    made.user("Do it.")
    made.assistant(tool_calls=[ToolCall(call, "work") for call in calls or ("c1",)])
    return made


def results(window: Any) -> dict[str, str]:
    """Texts of the results in a window, by call."""
    return {
        result.tool_call_id: result.text
        for message in window
        for result in message.tool_results
    }


def test_a_call_begins_open() -> None:
    """Unanswered, pending, and since when it was made."""
    made = chat()

    [call] = made.pending

    assert (call.id, call.name, call.state) == ("c1", "work", CallState.OPEN)
    assert call.message_id == "msg-2"
    assert call.since == made["msg-2"].timestamp
    assert made.unanswered == (call,)
    assert made.call_state("c1") is CallState.OPEN


def test_deferring_says_until_when_and_for_whom() -> None:
    """The model reads a text; the call is still pending."""
    made = chat()

    made.defer("c1", "asked Eve", expires_at=NOON, waits_for={"who": "eve"})

    [call] = made.pending
    assert call.state is CallState.PENDING
    assert (call.expires_at, dict(call.waits_for)) == (NOON, {"who": "eve"})
    assert made.unanswered == ()
    assert made.messages[-1].tool_results[0].pending
    request = made.fit().encode()
    assert request["messages"][-1]["content"] == mark(PENDING, "asked Eve")


@pytest.mark.parametrize("content", ["", f"{PENDING}\n"])
def test_the_text_of_a_placeholder_has_a_default(content: str) -> None:
    """And the default can be changed; the marker line is never doubled."""
    made = chat(stand_in_text="Wait.")
    assert made.defer("c1", content).text == "Wait."
    plain = chat()
    assert plain.defer("c1", f"{PENDING}\nasked").text == "asked"
    assert chat().defer("c1", content).text == STAND_IN_TEXT


def test_interim_answers_keep_it_open() -> None:
    """The last of them is what the model reads."""
    made = chat()
    made.defer("c1")
    made.interim("c1", "10 %")
    made.interim("c1", "20 %")

    assert made.call_state("c1") is CallState.INTERIM
    assert [call.state for call in made.pending] == [CallState.INTERIM]
    assert results(made.fit()) == {"c1": "20 %"}


CLOSERS: list[tuple[CallState, Callable[[Conversation], Any], str]] = [
    (CallState.RESOLVED, lambda c: c.resolve("c1", "done"), "done"),
    (CallState.RESOLVED, lambda c: c.tool_result("c1", "done"), "done"),
    (CallState.CANCELLED, lambda c: c.cancel("c1"), "tool error: cancelled"),
    (
        CallState.CANCELLED,
        lambda c: c.cancel("c1", "no"),
        "tool error: cancelled: no",
    ),
    (
        CallState.EXPIRED,
        lambda c: c.expire(NOON),
        "tool error: expired: no result arrived by 2026-01-02T12:00:00+00:00",
    ),
]


@pytest.mark.parametrize(
    ("state", "close", "text"),
    CLOSERS,
    ids=["resolve", "tool_result", "cancel", "reason", "expire"],
)
@pytest.mark.parametrize("restored", [False, True])
def test_a_final_answer_closes_it(
    state: CallState, close: Callable[[Conversation], Any], text: str, restored: bool
) -> None:
    """Once: whoever comes later is told, and nothing changes."""
    made = chat()
    made.defer("c1", expires_at=NOON)
    close(made)
    if restored:
        made = Conversation.from_json(made.to_json())
    before = made.to_json()

    assert made.pending == ()
    assert made.call_state("c1") is state
    assert results(made.fit())["c1"] == text
    for late in (
        lambda: made.resolve("c1", "again"),
        lambda: made.defer("c1"),
        lambda: made.interim("c1", "x"),
        lambda: made.cancel("c1"),
        lambda: made.abandon("c1"),
        lambda: made.resolve("c1", "again", message_id="msg-2"),
    ):
        with pytest.raises(AlreadyResolvedError, match=f"'c1' is {state} already"):
            late()
    assert made.expire(NOON + timedelta(days=1)) == ()
    assert made.to_json()["messages"] == before["messages"]


def test_a_result_may_be_an_error() -> None:
    """The tool's own."""
    made = chat()
    assert made.resolve("c1", "exit 1", is_error=True).tool_results[0].is_error


def test_nobody_waits_for_an_abandoned_call() -> None:
    """No answer is written; its step may go, and a stand-in closes it while kept."""
    made = chat()
    made.abandon("c1")
    made.user("Something else.")

    assert made.pending == ()
    assert [call.state for call in made.unanswered] == [CallState.ABANDONED]
    assert made.call_state("c1") is CallState.ABANDONED
    assert not any(message.tool_results for message in made)
    assert "c1" in results(made.fit())
    with pytest.raises(AlreadyResolvedError, match="abandoned"):
        made.resolve("c1", "late")
    small = made.fit(Budget(30))
    assert [message.id for message in small.messages] == ["msg-3"]


def test_only_what_is_due_expires() -> None:
    """The earliest first; what has no deadline waits for ever."""
    made = chat("c1", "c2", "c3")
    made.defer("c1", expires_at=NOON)
    made.defer("c2", expires_at=NOON - timedelta(hours=1))
    made.defer("c3")

    assert made.expire(NOON - timedelta(hours=2)) == ()
    closed = made.expire(NOON)

    assert [call.id for call in closed] == ["c2", "c1"]
    assert [call.id for call in made.pending] == ["c3"]


def test_deferring_again_moves_the_deadline() -> None:
    """The last word counts."""
    made = chat()
    made.defer("c1", expires_at=NOON)
    made.defer("c1", expires_at=NOON + timedelta(hours=1), waits_for={"who": "bob"})

    assert made.expire(NOON) == ()
    made.defer("c1")
    assert made.expire(NOON + timedelta(days=9)) == ()
    assert made.pending[0].waits_for == {}


def test_deadlines_have_a_time_zone() -> None:
    """Anything else is hours off somewhere."""
    made = chat()
    with pytest.raises(NaiveTimestampError):
        made.defer("c1", expires_at=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(NaiveTimestampError):
        made.expire(datetime(2026, 1, 1))  # noqa: DTZ001
    assert made.call_state("c1") is CallState.OPEN


@pytest.mark.parametrize("act", ["defer", "interim", "resolve", "cancel", "abandon"])
def test_an_unknown_call_is_named(act: str) -> None:
    """Also by a message that does not make it."""
    made = chat()
    arguments = ["x"] if act in ("interim", "resolve") else []

    with pytest.raises(UnknownCallError, match="'nobody'"):
        getattr(made, act)("nobody", *arguments)
    with pytest.raises(UnknownCallError):
        getattr(made, act)("c1", *arguments, message_id="msg-1")
    with pytest.raises(UnknownCallError):
        getattr(made, act)("c1", *arguments, message_id="msg-99")
    with pytest.raises(UnknownCallError):
        made.call_state("nobody")


def test_an_id_that_is_open_twice_needs_a_message() -> None:
    """Ids repeat in real life."""
    made = chat()
    made.user("Again.")
    made.assistant(tool_calls=[ToolCall("c1", "work")])

    with pytest.raises(AmbiguousCallError, match="message_id=") as caught:
        made.resolve("c1", "x")
    assert caught.value.message_ids == ("msg-2", "msg-4")

    made.resolve("c1", "second", message_id="msg-4")
    assert made.call_state("c1", message_id="msg-2") is CallState.OPEN
    assert made.call_state("c1", message_id="msg-4") is CallState.RESOLVED
    made.cancel("c1", "first")
    assert made.call_state("c1", message_id="msg-2") is CallState.CANCELLED
    assert made.pending == ()


def test_calls_without_ids_go_by_name() -> None:
    """Two of one name in one message are answered in their order."""
    made = Conversation(token_counter="approximate")
    made.assistant(tool_calls=[ToolCall(None, "f"), ToolCall(None, "f")])

    made.defer("f", expires_at=NOON)
    made.resolve("f", "first")
    assert [call.id for call in made.pending] == ["f"]
    made.resolve("f", "second")

    assert made.pending == ()
    assert made.call_state("f") is CallState.RESOLVED
    with pytest.raises(AlreadyResolvedError):
        made.resolve("f", "third")


def test_a_late_result_takes_its_place() -> None:
    """Windows made before it stay as they were; those made after it hold it."""
    made = chat()
    made.defer("c1", "started")
    made.user("Meanwhile?")
    made.assistant("Nothing.")
    before = made.fit()
    shown = list(before.messages)

    made.resolve("c1", "finished")
    after = made.fit()

    assert list(before.messages) == shown
    assert results(before) == {"c1": "started"}
    assert results(after) == {"c1": "finished"}
    roles = [m["role"] for m in after.encode()["messages"]]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]


def test_windows_stay_as_they_were_through_edits_and_rewinds() -> None:
    """Even where nobody has looked at them yet."""
    made = chat()
    made.resolve("c1", "done")
    window = made.fit()

    made.edit("msg-1", content=Message.user("changed").content)
    made.rewind("msg-1")

    assert [m.text for m in window.messages] == ["Do it.", "", "done"]


def test_rewinding_behind_an_answer_opens_the_call_again() -> None:
    """What its result said is gone, and so is the state that came with it."""
    for reason in (None, "no"):
        made = chat()
        made.defer("c1", expires_at=NOON)
        if reason is None:
            made.resolve("c1", "x")
        else:
            made.cancel("c1", reason)
        made.rewind("msg-3")

        assert made.call_state("c1") is CallState.PENDING
        assert [call.id for call in made.pending] == ["c1"]
        assert [call.id for call in made.expire(NOON)] == ["c1"]


def test_removing_a_step_forgets_its_calls() -> None:
    """Their deadlines, too."""
    made = chat()
    made.defer("c1", expires_at=NOON)
    assert [m.id for m in made.remove("msg-3")] == ["msg-2", "msg-3"]

    assert made.expire(NOON) == ()
    with pytest.raises(UnknownCallError):
        made.resolve("c1", "x")


@pytest.mark.parametrize("saved", [False, True])
def test_the_policy_for_open_calls(saved: bool) -> None:
    """Answered by a stand-in, kept bare, or refused; `fit` may say otherwise."""

    def asked(policy: Any) -> Conversation:
        made = chat(open_calls=policy)
        made.user("And now?")
        return Conversation.from_json(made.to_json()) if saved else made

    assert "c1" in results(asked("stand-in").fit())
    assert results(asked("keep").fit()) == {}
    with pytest.raises(OpenCallError, match="c1"):
        asked("raise").fit()
    assert "c1" in results(asked("raise").fit(open_calls="stand-in"))
    with pytest.raises(
        ValueError, match="open_calls must be one of stand-in, keep, raise, got 'guess'"
    ):
        asked("guess")


def test_pending_survives_every_prune_and_restore() -> None:
    """A dead process leaves the call open since then, and blocks nothing else."""
    made = chat()
    made.defer("c1", "started")
    for nth in range(60):
        made.user(f"question {nth} " + "why " * 20)
        made.assistant("because " * 20)
        if nth % 20 == 10:
            made = Conversation.from_json(made.to_json())
        window = made.fit(Budget(600))
        assert results(window) == {"c1": "started"}
        assert window.tokens <= 600
    assert made.pending[0].since == made["msg-2"].timestamp
    made.resolve("c1", "done")
    assert made.pending == ()


def test_the_first_of_many_threads_wins() -> None:
    """The others are told."""
    made = chat(*(f"c{nth}" for nth in range(40)))
    lost: list[str] = []

    def work(name: str) -> None:
        for nth in range(40):
            try:
                made.resolve(f"c{nth}", name)
            except AlreadyResolvedError as error:
                lost.append(error.call_id)

    threads = [Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(lost) == 120
    assert len([m for m in made if m.tool_results]) == 40


def test_two_copies_of_one_saved_state_share_nothing() -> None:
    """Resolving in one leaves the other pending."""
    saved = chat().to_json()
    one, other = Conversation.from_json(saved), Conversation.from_json(saved)
    fork = one.fork()

    one.resolve("c1", "sold")

    assert one.pending == ()
    assert [call.id for call in other.pending] == ["c1"]
    assert [call.id for call in fork.pending] == ["c1"]
    again = Conversation.from_json(saved, token_counter="approximate")
    assert again.to_json() == saved


def twice() -> Conversation:
    """Two open calls of one id, in two messages."""
    chat = Conversation(budget=Budget(10_000), model="gpt-4o")
    chat.user("q")
    chat.assistant("", tool_calls=[ToolCall("dup", "f", {"n": 1})])
    chat.user("again")
    chat.assistant("", tool_calls=[ToolCall("dup", "f", {"n": 2})])
    chat.user("end")
    return chat


@pytest.mark.parametrize("how", ["resolve", "cancel", "interim", "defer"])
def test_an_answer_goes_to_the_call_it_was_given_for(how: str) -> None:
    """Not to the nearest one of that id; also after a restart."""
    chat = twice()
    getattr(chat, how)("dup", "FIRST", message_id="msg-2")

    for restored in (chat, Conversation.from_json(chat.to_json())):
        pending = [p.message_id for p in restored.pending]
        assert pending == (
            ["msg-2", "msg-4"] if how in ("interim", "defer") else ["msg-4"]
        )
        sent = restored.fit().encode()["messages"]
        assert "FIRST" in sent[2]["content"]
        restored.resolve("dup", "SECOND", message_id="msg-4")
        sent = restored.fit().encode()["messages"]
        assert [m["content"] for m in sent if m["role"] == "tool"][1] == "SECOND"


def test_an_edit_keeps_calls_and_results_linked() -> None:
    """Text replaces what is said; what would cut a link is refused."""
    chat = Conversation(budget=Budget(10_000), model="gpt-4o")
    chat.user("q")
    chat.assistant("calling", tool_calls=[ToolCall("c1", "f", {})])
    chat.resolve("c1", "secret")
    chat.user("end")

    chat.edit("msg-3", content="[redacted]")
    chat.edit("msg-2", content="")
    chat.edit("msg-2", content="spoken")

    assert not chat.pending
    assert chat["msg-3"].text == "[redacted]"
    assert chat["msg-2"].tool_calls[0].id == "c1"
    assert chat["msg-2"].text == "spoken"
    assert Conversation.from_json(chat.to_json()).pending == chat.pending
    with pytest.raises(ValueError, match="an edit keeps them"):
        chat.edit("msg-2", content=(ToolCall("other", "f", {}),))
    with pytest.raises(ValueError, match="an edit keeps them"):
        chat.edit("msg-3", content=(ToolResult("c1", "later", pending=True),))
    both = Message(
        "tool_result", (ToolResult("a", "1"), ToolResult("b", "2")), id="two"
    )
    chat.append(both)
    with pytest.raises(ValueError, match="carries 2 results"):
        chat.edit("two", content="which?")


def test_a_result_that_answers_nothing_is_refused() -> None:
    """Its role alone makes no result."""
    chat = Conversation(model="gpt-4o")

    with pytest.raises(ValueError, match="needs a ToolResult"):
        chat.append(Message("tool_result", "x"))
    assert len(chat) == 0
