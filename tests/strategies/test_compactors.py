"""Tests for `Summarize` with a provider's own compactor: its block, as it came."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import attrs
import pytest

from turnkeep import (
    Budget,
    Conversation,
    Message,
    Summarize,
    Text,
    ToolCall,
    check,
    convert,
    fit,
)
from turnkeep.model import Opaque
from turnkeep.strategies import Passage
from turnkeep.strategies._said import NothingSaidError, read_answer

CLAUDE = "claude-opus-4-6"


class OnDemand:
    """Anthropic's compaction on demand: takes a request, returns a signed block."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []

    def __call__(self, asked: Passage) -> Any:
        """Refuse what the API would, and answer as it does."""
        request = convert(list(asked), to="anthropic").value
        # It answers nobody, so that it may end on the assistant's words.
        whole = [*request, {"role": "user", "content": "Go on."}]
        assert check(whole, format="anthropic", model=CLAUDE) == []
        self.sent.append(request)
        return {
            "content": [self.block(len(self.sent))],
            "stop_reason": "compaction",
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    @staticmethod
    def block(nth: int) -> dict[str, Any]:
        """The block of its *nth* answer."""
        return {"type": "compaction", "content": f"They met {nth}.", "signature": "s="}


class Compact:
    """OpenAI's `/responses/compact`: all user messages, then one item."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []

    def __call__(self, asked: Passage) -> Any:
        """Answer as it does."""
        request = convert(list(asked), to="openai-responses").value
        self.sent.append(request)
        said = [item for item in request if item.get("role") == "user"]
        return {"object": "response.compaction", "output": [*said, self.item]}

    item: ClassVar = {
        "type": "compaction",
        "id": "cmp_1",
        "encrypted_content": "gAAAA==",
    }


def talk(chat: Conversation, turns: range) -> list[Any]:
    """A question, a call and an answer each turn; returns the prunes' requests."""
    requests: list[Any] = []
    for nth in turns:
        chat.user(f"question {nth} about order_{nth} " * 3)
        window = chat.fit()
        if window.pruned:
            requests.append(window.encode())
        call = ToolCall(f"call_{nth}", "find", {"id": nth})
        chat.assistant("", tool_calls=[call])
        chat.resolve(f"call_{nth}", f"order_{nth} is late. " * 3)
        chat.assistant(f"answer {nth} " * 6)
    return requests


def conversation(strategy: Any, model: str = CLAUDE, **options: Any) -> Conversation:
    """A chat that is pruned every few turns."""
    chat = Conversation(
        budget=Budget(1_200, target=0.5), model=model, strategy=strategy, **options
    )
    chat.tools = [{"name": "find", "input_schema": {"type": "object"}}]
    chat.system("Be brief.")
    return chat


def test_anthropics_block_stands_first_as_it_came() -> None:
    """In front of all other messages, byte for byte; the API takes the window."""
    compactor = OnDemand()

    requests = talk(conversation(Summarize(compactor, 200)), range(40))

    assert len(requests) > 2
    for nth, request in enumerate(requests, 1):
        messages = request["messages"]
        block = messages[0]["content"][0]
        assert json.dumps(block) == json.dumps(OnDemand.block(nth))
        assert sum("compaction" in json.dumps(m) for m in messages) == 1
        assert check(request, format="anthropic", model=CLAUDE) == []


def test_the_next_one_goes_on_from_it() -> None:
    """The block is sent back first, unchanged, with what is new behind it."""
    compactor = OnDemand()

    talk(conversation(Summarize(compactor, 200)), range(40))

    assert "compaction" not in json.dumps(compactor.sent[0])
    for nth, request in enumerate(compactor.sent[1:], 1):
        assert request[0]["content"] == [OnDemand.block(nth)]
        assert sum("compaction" in json.dumps(m) for m in request) == 1
    asked = json.dumps(compactor.sent)
    assert all(asked.count(f"question {n} about") == 3 for n in range(20))


def test_what_is_held_follows_the_block() -> None:
    """The model sees nothing of what stands before it: a pin stands behind."""
    chat = conversation(Summarize(OnDemand(), 200))
    chat.user("Call it Orion.", pinned=True)
    chat.assistant("I will.")

    requests = talk(chat, range(30))

    messages = requests[-1]["messages"]
    assert messages[0]["content"][0]["type"] == "compaction"
    assert "Call it Orion." in json.dumps(messages[1])
    assert check(requests[-1], format="anthropic", model=CLAUDE) == []


def test_a_saved_conversation_goes_on_from_its_block() -> None:
    """The block is kept with the cut."""
    chat = conversation(Summarize(OnDemand(), 200))
    talk(chat, range(16))
    later = OnDemand()

    again = Conversation.from_json(chat.to_json(), strategy=Summarize(later, 200))
    window = again.fit().encode()["messages"]
    talk(again, range(16, 40))

    assert window[0]["content"][0]["type"] == "compaction"
    assert later.sent[0][0]["content"][0]["type"] == "compaction"


def test_openais_item_stands_behind_what_the_user_said() -> None:
    """As it was returned: all user messages of what is covered, then the item."""
    compactor = Compact()
    chat = Conversation(
        budget=Budget(1_100, target=0.6),
        model="gpt-5.1",
        format="openai-responses",
        strategy=Summarize(compactor, 200),
    )

    requests = talk(chat, range(14))

    items = requests[0]["input"]
    at = items.index(Compact.item)
    assert at > 1
    assert all(item.get("role") == "user" for item in items[:at])
    assert [i["content"] for i in items[:at]] == [
        m.text for m in chat.messages if m.role == "user"
    ][:at]
    assert check(requests[0], format="openai-responses", model="gpt-5.1") == []


def test_openais_item_is_sent_back_behind_what_the_user_said() -> None:
    """The next compaction gets the window as it was."""
    compactor = Compact()
    chat = Conversation(
        budget=Budget(1_500, target=0.6),
        model="gpt-5.1",
        format="openai-responses",
        strategy=Summarize(compactor, 200),
    )

    talk(chat, range(40))

    assert len(compactor.sent) > 1
    items = compactor.sent[1]
    at = items.index(Compact.item)
    assert at > 0
    assert all(item.get("role") == "user" for item in items[:at])
    assert any(item.get("type") == "function_call" for item in items[at:])


def test_a_block_of_another_provider_is_never_sent() -> None:
    """It would be left out in silence, and with it what it stands for."""
    calls: list[int] = []
    warnings: list[str] = []

    def compact(asked: Passage) -> Any:
        calls.append(len(asked))
        return OnDemand.block(1)

    chat = Conversation(
        budget=Budget(600, target=0.5),
        model="gpt-4o",
        strategy=Summarize(compact, 200),
        on_prune=lambda plan: warnings.append(str(plan.warnings)),
    )

    requests = talk(chat, range(60))

    assert "compaction" not in json.dumps(requests)
    assert "take no block of anthropic, and rests for 1 prune" in warnings[0]
    assert len(requests) > 2 * len(calls)


def test_a_window_fitted_again_stays() -> None:
    """P9: the block is the provider's memory wherever the window is read."""
    history: list[dict[str, Any]] = [
        entry
        for n in range(12)
        for entry in (
            {"role": "user", "content": f"question {n} " * 8},
            {"role": "assistant", "content": f"answer {n} " * 8},
        )
    ]
    history.append({"role": "user", "content": "And now?"})
    options: dict[str, Any] = {"format": "anthropic", "model": CLAUDE}

    sent = fit(history, 450, strategy=Summarize(OnDemand(), 100), **options)

    assert sent[0]["content"][0] == OnDemand.block(1)
    assert fit(sent, 450, strategy=Summarize(OnDemand(), 100), **options) == sent


def test_others_read_all_anew() -> None:
    """A block is only readable for its provider: a fallback gets the messages."""
    calls: list[list[Message]] = []

    def flaky(asked: Passage) -> Any:
        if not calls:
            calls.append(list(asked))
            return OnDemand.block(1)
        msg = "down"
        raise ConnectionError(msg)

    def plain(asked: Passage) -> str:
        calls.append(list(asked))
        return "They spoke."

    chat = conversation(Summarize(flaky, 200, fallbacks=[plain]))
    requests = talk(chat, range(60))

    first, second = calls[:2]
    assert [m.id for m in second[: len(first)]] == [m.id for m in first]
    assert not any(isinstance(b, Opaque) for m in second for b in m.content)
    assert "They spoke." in json.dumps(requests[-1])


@attrs.define
class Answer:
    """An object of a client."""

    type: str = "compaction"

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """As pydantic has it: with nulls, unless told otherwise."""
        more = {} if options.get("exclude_unset") else {"tool_changes": None}
        return {"type": self.type, "content": "They met.", "signature": "s", **more}


def test_objects_of_clients_are_read_without_added_nulls() -> None:
    """Alone, or within an answer."""
    for answer in (Answer(), {"content": [Answer()]}):
        said = read_answer(answer)
        assert not isinstance(said, str)
        assert "tool_changes" not in said.value.value


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [], "stop_reason": "end_turn"},
        {"type": "compaction", "content": None},
        {"output": [{"type": "message", "role": "user"}]},
        {"type": "text", "text": "so"},
        5,
        [],
        "",
        "[turnkeep:summary]\n ",
        Text("so"),
    ],
    ids=range(9),
)
def test_what_holds_no_summary_is_said(answer: Any) -> None:
    """A compaction that failed, another answer, something else."""
    with pytest.raises(NothingSaidError, match="it returned "):
        read_answer(answer)
