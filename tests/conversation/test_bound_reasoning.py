"""Signed reasoning is only sent behind what stood before it when it was made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeep import Budget, BudgetExceededError, Conversation, Thinking, ToolCall
from turnkeep.model import Message, Text
from turnkeep.profiles import check_request

MODEL = "claude-opus-5-5"
TOOLS = [{"name": "look", "input_schema": {}}]


class Model:
    """Answers what it was sent, and signs its reasoning together with that."""

    def __init__(self, chat: Conversation, budget: Budget) -> None:
        """Nothing said yet."""
        self.chat = chat
        self.budget = budget
        self.signed: dict[str, list[Any]] = {}

    def answer(self, *, thinks: bool, calls: int) -> None:
        """Send the window, check it, and append what the model says to it."""
        chat = self.chat
        try:
            sent = chat.fit(self.budget).encode()["messages"]
        except BudgetExceededError:
            chat.user("Never mind.")
            return
        self.check(sent)
        content: list[Any] = []
        if thinks:
            signature = f"sign{len(chat)}"
            content.append(Thinking("hm " * 20, signature=signature))
            self.signed[signature] = sent
        content.append(Text("So it is. " * 5))
        content += [ToolCall(f"call{len(chat)}x{n}", "look", {}) for n in range(calls)]
        chat.append(Message("assistant", tuple(content)))

    def check(self, sent: list[Any]) -> None:
        """Every kept block stands behind what it was signed with."""
        assert check_request(sent, format="anthropic", model=MODEL) == []
        for nth, entry in enumerate(sent):
            blocks = entry["content"] if isinstance(entry["content"], list) else ()
            for block in blocks:
                if block["type"] != "thinking":
                    continue
                found = check_request(
                    sent[: nth + 1],
                    format="anthropic",
                    model=MODEL,
                    original=[*self.signed[block["signature"]], entry],
                )
                assert not [v for v in found if v.rule == "AE-03"], found


@settings(max_examples=40)
@given(data=st.data())
def test_reasoning_stays_behind_its_prefix(data: st.DataObject) -> None:
    """Through prunes, late results, placeholders and pins."""
    chat = Conversation(model=MODEL, format="anthropic", tools=TOOLS)
    budget = Budget(data.draw(st.integers(400, 1200)), target=0.6)
    model = Model(chat, budget)
    for _ in range(data.draw(st.integers(2, 14))):
        waiting = [call.id for call in chat.unanswered if call.id]
        if data.draw(st.booleans()):
            for call_id in waiting:
                match data.draw(st.sampled_from(["resolve", "defer", "wait"])):
                    case "resolve":
                        chat.resolve(call_id, "found " * data.draw(st.integers(1, 30)))
                    case "defer":
                        chat.defer(call_id, "started")
                    case _:
                        pass
        if chat.unanswered or not len(chat) or data.draw(st.booleans()):
            chat.user("What now? " * data.draw(st.integers(1, 20)))
        elif chat.messages[-1].role == "assistant":
            chat.user("And then?")
        if data.draw(st.integers(0, 5)) == 0:
            chat.pin(chat.messages[0].id or "")
        if data.draw(st.integers(0, 3)) == 0:
            model.chat = chat = Conversation.from_json(chat.to_json())
        model.answer(
            thinks=data.draw(st.booleans()), calls=data.draw(st.integers(0, 2))
        )


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("limit", [571, 611])
def test_a_word_of_ours_at_the_end_is_signed_too(
    limit: int, thinks: bool, saved: bool
) -> None:
    """What was answered to it loses its reasoning where it no longer stands there.

    Whether anything had reasoning before, and saved in between or not.
    """
    chat = Conversation(model=MODEL, format="anthropic", tools=TOOLS)
    model = Model(chat, Budget(limit, target=0.6))
    chat.user("What now? ")
    model.answer(thinks=thinks, calls=1)
    chat.user("What now? ")
    model.answer(thinks=thinks, calls=0)
    chat.defer(chat.unanswered[0].id, "started")
    model.answer(thinks=True, calls=0)
    bridged = model.signed[f"sign{len(chat) - 1}"]
    assert bridged[-1]["content"].startswith("[turnkeep:bridge")
    if saved:
        model.chat = chat = Conversation.from_json(chat.to_json())
    chat.user("And then?")
    model.answer(thinks=True, calls=0)


def test_new_reasoning_is_kept_after_a_prune() -> None:
    """Only what was signed before the cut goes; what comes later stays."""
    chat = Conversation(model=MODEL, format="anthropic", tools=TOOLS)
    model = Model(chat, Budget(1_000, target=0.6))
    for _ in range(12):
        chat.user("What now? " * 20)
        model.answer(thinks=True, calls=0)
    chat.user("And then?")
    window = chat.fit(model.budget)
    kept = [
        message
        for message in window.messages
        if any(isinstance(block, Thinking) for block in message.content)
    ]

    assert window.plan.dropped
    assert kept
