"""A conversation in each store against a plain model: nothing differs, ever."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.stores.keeping import KINDS, open_at, place, quick_folder
from turnkeep import (
    AlreadyResolvedError,
    Budget,
    BudgetExceededError,
    CallState,
    ConflictError,
    Conversation,
    Message,
    ToolCall,
    UnknownCallError,
)
from turnkeep.stores import Change, document_of
from turnkeep.stores._jsonl_lines import seal

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
AWAITED = {CallState.OPEN, CallState.PENDING, CallState.INTERIM}
BUDGET = Budget(400)
EXAMPLES = int(os.environ.get("TURNKEEP_EXAMPLES", "25"))
"""How many stories are told of each store; 500 in the nightly run."""

# Shrinking runs every step again and again: minutes, with a database behind it.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]

words = st.sampled_from(["hello", "the build of Orion", "数据", "x " * 60])


@attrs.define
class Call:
    """A call in the model."""

    id: str
    message: str
    state: CallState = CallState.OPEN
    expires_at: datetime | None = None
    history: list[tuple[str, CallState]] = attrs.Factory(list)
    """Ids of the messages that brought it into a state."""


@attrs.define
class Told:
    """A message in the model."""

    id: str
    text: str
    pinned: bool = False


class Machine(RuleBasedStateMachine):
    """Everything that can be done to a conversation, and to the process it is in."""

    kind = ""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.now = NOON
        self.messages: list[Told] = []
        self.calls: list[Call] = []
        self.made = 0

    @initialize(tail=st.none() | st.integers(10, 300))
    def begin(self, tail: int | None) -> None:
        """Open an empty conversation."""
        folder = self.stack.enter_context(quick_folder())
        self.address = self.stack.enter_context(place(self.kind, Path(folder)))
        self.store = open_at(self.address)
        self.chat = Conversation.open(
            self.store, "chat", budget=BUDGET, model="gpt-4o", tail=tail
        )

    def teardown(self) -> None:
        """Close everything; the store must be undamaged."""
        if hasattr(self, "store"):
            assert all(damage.recovered for damage in self.store.check())
            self.store.close()
        self.stack.close()

    # -- appending ---------------------------------------------------------------------

    def told(self, message: Message) -> Message:
        """Note a message in the model."""
        assert message.id not in {known.id for known in self.messages}
        self.messages.append(Told(message.id or "", message.text, message.pinned))
        return message

    @rule(text=words, pinned=st.booleans())
    def user(self, text: str, pinned: bool) -> None:
        """The user speaks."""
        self.told(self.chat.user(text, pinned=pinned))

    @rule(text=words)
    def assistant(self, text: str) -> None:
        """The assistant speaks."""
        self.told(self.chat.assistant(text))

    @rule(count=st.integers(1, 3))
    def call(self, count: int) -> None:
        """The assistant calls tools."""
        ids = [f"call_{self.made + nth}" for nth in range(count)]
        self.made += count
        made = self.told(
            self.chat.assistant(tool_calls=[ToolCall(i, "work", {"n": i}) for i in ids])
        )
        self.calls += [Call(i, made.id or "") for i in ids]

    @rule(texts=st.lists(words, max_size=3))
    def extend(self, texts: list[str]) -> None:
        """Several at once."""
        before = len(self.chat)
        self.chat.extend(Message.user(text) for text in texts)
        for message in self.chat.messages[before:]:
            self.told(message)

    # -- calls -------------------------------------------------------------------------

    def change_call(self, data: Any, state: CallState, act: Any) -> Call | None:
        """Do something to a call; refused if nobody waits for it any more."""
        call: Call = data.draw(st.sampled_from(self.calls), label="call")
        if call.state not in AWAITED:
            with pytest.raises(AlreadyResolvedError):
                act(call.id)
            return None
        made = self.told(act(call.id))
        call.state = state
        call.history.append((made.id or "", state))
        return call

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), minutes=st.none() | st.integers(0, 30))
    def defer(self, data: Any, minutes: int | None) -> None:
        """The answer will come later."""
        when = None if minutes is None else self.now + timedelta(minutes=minutes)
        call = self.change_call(
            data,
            CallState.PENDING,
            lambda i: self.chat.defer(i, expires_at=when, waits_for={"who": "eve"}),
        )
        if call is not None:
            call.expires_at = when

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def interim(self, data: Any) -> None:
        """An answer that is not the last."""
        self.change_call(
            data, CallState.INTERIM, lambda i: self.chat.interim(i, "so far")
        )

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), text=words)
    def resolve(self, data: Any, text: str) -> None:
        """The answer."""
        self.change_call(data, CallState.RESOLVED, lambda i: self.chat.resolve(i, text))

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        """No answer will come."""
        self.change_call(data, CallState.CANCELLED, lambda i: self.chat.cancel(i, "no"))

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def abandon(self, data: Any) -> None:
        """Nobody waits any more."""
        call: Call = data.draw(st.sampled_from(self.calls), label="call")
        if call.state not in AWAITED:
            with pytest.raises(AlreadyResolvedError):
                self.chat.abandon(call.id)
            return
        self.chat.abandon(call.id)
        call.state = CallState.ABANDONED

    @rule(minutes=st.integers(0, 30))
    def expire(self, minutes: int) -> None:
        """Time goes by."""
        self.now += timedelta(minutes=minutes)
        due = [
            call
            for call in self.calls
            if call.state in AWAITED
            and call.expires_at is not None
            and call.expires_at <= self.now
        ]

        stored = {(call.message, call.position) for _, call in self.store.due(self.now)}
        size = len(self.chat)
        closed = self.chat.expire(self.now)

        assert {call.id for call in closed} == {call.id for call in due}
        assert len(stored) == len(due)
        by_id = {call.id: call for call in due}
        for message in self.chat.messages[size:]:
            self.told(message)
            [result] = message.tool_results
            call = by_id[result.tool_call_id or ""]
            call.state = CallState.EXPIRED
            call.history.append((message.id or "", CallState.EXPIRED))

    @rule()
    def ask_for_nobody(self) -> None:
        """A call that was never made."""
        with pytest.raises(UnknownCallError):
            self.chat.resolve("call_x", "?")

    # -- changing ----------------------------------------------------------------------

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data: Any, pinned: bool) -> None:
        """Pin or unpin a message."""
        told = data.draw(st.sampled_from(self.messages), label="message")
        assert self.chat.set_pinned(told.id, pinned)
        told.pinned = pinned

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), text=words)
    def edit(self, data: Any, text: str) -> None:
        """Change what a message says, if it makes and answers no call."""
        told = data.draw(st.sampled_from(self.messages), label="message")
        message = self.chat[told.id]
        if not message.tool_calls and not message.tool_results:
            self.chat.edit(told.id, content=Message.user(text).content)
            told.text = text

    @precondition(lambda self: self.messages)
    @rule(data=st.data())
    def rewind(self, data: Any) -> None:
        """Go back to a message: what was answered after it is open again."""
        told = data.draw(st.sampled_from(self.messages[-4:]), label="message")
        self.chat.rewind(told.id)
        self.messages = self.messages[: self.messages.index(told) + 1]
        left = {known.id for known in self.messages}
        self.calls = [call for call in self.calls if call.message in left]
        for call in self.calls:
            call.history = [step for step in call.history if step[0] in left]
            if call.state is not CallState.ABANDONED:
                call.state = call.history[-1][1] if call.history else CallState.OPEN

    # -- windows -----------------------------------------------------------------------

    @rule()
    def fit(self) -> None:
        """Pins and awaited calls are in every window, and it is never too large."""
        try:
            window = self.chat.fit()
        except BudgetExceededError:
            return
        shown = {message.id for message in window.messages}
        assert window.tokens <= BUDGET.max_tokens
        # A call has one answer in a request: its newest stands for those before it.
        replaced = {told for call in self.calls for told, _ in call.history[:-1]}
        pinned = {told.id for told in self.messages if told.pinned}
        assert pinned - replaced <= shown
        for call in self.calls:
            if call.state in AWAITED:
                assert call.message in shown

    # -- the process -------------------------------------------------------------------

    @rule(tail=st.none() | st.integers(0, 300))
    def reopen(self, tail: int | None) -> None:
        """Another process takes over."""
        self.store.close()
        self.store = open_at(self.address)
        self.chat = Conversation.open(
            self.store, "chat", budget=BUDGET, model="gpt-4o", tail=tail
        )

    @rule(data=st.data())
    def crash(self, data: Any) -> None:
        """The process dies in the middle of a write; nothing is closed."""
        kind, _, where = self.address.partition(":")
        if kind == "jsonl":
            [path] = Path(where).glob("*.jsonl")
            whole, _ = seal({"v": 99, "append": []})
            torn = whole[: data.draw(st.integers(1, len(whole) - 1), label="torn")]
            with path.open("ab") as file:
                file.write(torn)
        # Closed only at the end: the dead do not close anything.
        self.stack.callback(self.store.close)
        self.store = open_at(self.address)
        self.chat = Conversation.open(self.store, "chat", budget=BUDGET, model="gpt-4o")

    @rule()
    def save_and_load(self) -> None:
        """A file of our JSON holds the same, and so does the store's export."""
        document = self.chat.to_json()
        loaded = Conversation.from_json(document)
        assert loaded.to_json() == document
        assert loaded.pending == self.chat.pending
        stored = document_of(self.store.read("chat"))
        assert stored["messages"] == document["messages"]

    @rule()
    def compact(self) -> None:
        """The store forgets how it came to this."""
        self.store.compact("chat")

    @rule(text=words, rebase=st.booleans())
    def meanwhile(self, text: str, rebase: bool) -> None:
        """Another worker writes first."""
        version = self.store.read_tail("chat", messages=0).version
        theirs = Message.user(text, id=f"other-{self.made}-{version}")
        self.store.write("chat", Change.of_messages([theirs]), expected=version)
        self.told(theirs)
        if not rebase:
            with pytest.raises(ConflictError) as caught:
                self.chat.user("mine")
            assert theirs.id in caught.value.changed
        self.told(self.chat.append(Message.user("mine"), rebase=rebase))

    # -- always ------------------------------------------------------------------------

    @invariant()
    def nothing_differs(self) -> None:
        """Pins and calls, here as in the model, without reading the rest."""
        if not hasattr(self, "chat"):
            return
        pinned = [told.id for told in self.messages if told.pinned]
        assert [message.id for message in self.chat.pinned] == pinned
        waiting = [
            (call.id, call.state, call.expires_at)
            for call in self.calls
            if call.state in AWAITED
        ]
        pending = [(call.id, call.state, call.expires_at) for call in self.chat.pending]
        assert pending == waiting
        if not self.chat.is_whole:
            return
        mine = [(m.id, m.text) for m in self.chat.messages]
        assert mine == [(told.id, told.text) for told in self.messages]
        for call in self.calls:
            with suppress(UnknownCallError):
                assert self.chat.call_state(call.id) is call.state


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_ever_differs_from_the_model(kind: str) -> None:
    """Append, pin, defer, resolve, fit, save, reopen and crash, in any order."""
    machine = type("Machine", (Machine,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            phases=PHASES,
            suppress_health_check=list(HealthCheck),
        ),
    )
