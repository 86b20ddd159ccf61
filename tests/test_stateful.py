"""What a provider keeps under an id: calls that are there are no missing ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation

KEPT: dict[str, dict[str, Any]] = {
    "previous_response_id": {"previous_response_id": "resp_1"},
    "conversation": {"conversation": "conv_1"},
    "item_reference": {},
}


def output(call_id: str = "call_9", said: str = "42", kind: str = "function") -> Any:
    """An answer whose call is not in the list."""
    return {"type": f"{kind}_call_output", "call_id": call_id, "output": said}


def body(name: str, *items: Any, **more: Any) -> dict[str, Any]:
    """A request of which the provider keeps a part."""
    before = [{"type": "item_reference", "id": "fc_1"}]
    kept = before if name == "item_reference" else []
    return {"model": "gpt-5", **KEPT[name], **more, "input": [*kept, *items]}


def talk(turns: int) -> list[Any]:
    """Something that may go."""
    return [
        {"role": role, "content": f"{role} {nth} " * 30}
        for nth in range(turns)
        for role in ("user", "assistant")
    ]


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("kind", ["function", "custom_tool"])
def test_such_an_answer_is_whole(name: str, kind: str) -> None:
    """Nothing is to be mended about it, and nothing refused, wherever it is looked at.

    (https://github.com/agno-agi/agno/pull/9376)
    """
    request = body(name, output(kind=kind), {"role": "user", "content": "and?"})

    assert turnkeep.fit(request, max_tokens=100_000) == request
    assert turnkeep.fit(request, max_tokens=100_000, on_invalid="raise") == request
    assert turnkeep.repair(request).value == request
    assert not turnkeep.repair(request).changes
    assert not turnkeep.check(request)
    chat = Conversation.from_messages(request, budget=Budget(10_000))
    assert chat.fit().encode()["input"] == request["input"]


@pytest.mark.parametrize("name", KEPT)
def test_it_is_held_when_others_go(name: str) -> None:
    """The provider waits for it: it stays though it is the oldest, and says why."""
    request = body(name, output(), *talk(9), {"role": "user", "content": "end"})
    total = turnkeep.count(request).total

    made = turnkeep.plan(request, max_tokens=total // 3)
    window = turnkeep.fit(request, max_tokens=total // 3)
    chat = Conversation.from_messages(request, budget=Budget(total // 3, target=1.0))

    assert output() in window["input"]
    assert len(window["input"]) < len(request["input"])
    place = request["input"].index(output())
    assert made.decisions[place].cause == "stateful"
    for again in (chat, Conversation.from_json(json.loads(json.dumps(chat.to_json())))):
        assert again.fit().encode()["input"] == window["input"]


@pytest.mark.parametrize("name", KEPT)
def test_the_error_says_what_holds_it(name: str) -> None:
    """Where nothing else is left, the cause is named, and a way out."""
    many = [output(f"call_{nth}", "word " * 50) for nth in range(5)]
    request = body(name, *many, {"role": "assistant", "content": "so?"}, *talk(1))

    with pytest.raises(BudgetExceededError, match="held as stateful") as caught:
        turnkeep.fit(request, max_tokens=100, on_overflow="raise")

    assert {held.cause for held in caught.value.held} >= {"stateful"}


@pytest.mark.parametrize("name", KEPT)
def test_the_plan_says_that_it_is_not_counted(name: str) -> None:
    """What the provider keeps is in no figure, and both plans say so."""
    request = body(name, output(), {"role": "user", "content": "and?"})

    for made in (
        turnkeep.plan(request, max_tokens=1_000),
        Conversation.from_messages(request, budget=Budget(1_000)).fit().plan,
    ):
        assert any(f"under {name}" in warning for warning in made.warnings)


def test_cached_content_is_not_counted_either() -> None:
    """Gemini's, in both spellings."""
    for key in ("cachedContent", "cached_content"):
        request = {key: "c1", "contents": [{"role": "user", "parts": [{"text": "q"}]}]}

        made = turnkeep.plan(request, max_tokens=100)

        assert any(f"under {key}" in warning for warning in made.warnings)


@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_learned_from_such_a_request(name: str) -> None:
    """Its size is that of what was sent and of what is kept: nobody can tell."""
    request = body(name, output(), {"role": "user", "content": "and?"}, model="gpt-5")
    chat = Conversation.from_messages(
        request, budget=Budget(1_000), token_counter="approximate"
    )
    before = chat.fit()

    seen = chat.observe({"input_tokens": 90_000, "output_tokens": 7})
    known = chat.observe_overflow("prompt is too long: 210000 tokens > 200000 maximum")

    assert known
    assert seen.usage.input_tokens == 90_000
    assert chat.fit().expected == before.expected


def test_without_an_id_it_is_an_orphan() -> None:
    """Nobody keeps its call: it goes, as before."""
    request = body("conversation", output(), {"role": "user", "content": "and?"})
    del request["conversation"]

    assert turnkeep.fit(request, max_tokens=1_000)["input"] == request["input"][1:]


def test_a_second_answer_stays_one_too_many() -> None:
    """Its call is here, and answered."""
    call = {
        "type": "function_call",
        "call_id": "call_9",
        "name": "f",
        "arguments": "{}",
    }
    request = body("conversation", call, output(), output(said="43"))

    assert turnkeep.fit(request, max_tokens=1_000)["input"] == [call, output()]


def test_a_reference_that_comes_later_makes_it_whole() -> None:
    """What answered nothing at first does so when a reference is appended."""
    chat = Conversation(format="openai-responses", budget=Budget(1_000))
    chat.append(output())
    assert not chat.fit().encode()["input"]

    chat.append({"type": "item_reference", "id": "fc_1"})

    assert chat.fit().encode()["input"] == [
        output(),
        {"type": "item_reference", "id": "fc_1"},
    ]


def test_a_reference_may_leave_its_type_out() -> None:
    """As the types of the official SDK have it."""
    request = {"model": "gpt-5", "input": [{"id": "fc_1"}, output()]}

    assert turnkeep.fit(request, max_tokens=1_000) == request
    assert not turnkeep.check(request)


def test_placeholder_ids_are_none() -> None:
    """One that an SDK gives to every item names none, and comes back as it came."""
    said = {
        "id": "__fake_id__",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "x"}],
    }
    items: list[Any] = [{"role": "user", "content": "a"}, said, said]
    items += [{"role": "user", "content": "b"}]
    chat = [{"role": "user", "content": "a", "id": "__fake_id__"} for _ in range(2)]

    for history, name in ((items, "openai-responses"), (chat, "openai")):
        assert turnkeep.fit(history, max_tokens=1_000, format=name) == history
        assert not turnkeep.check(history, format=name)
        held = Conversation.from_messages(history, format=name)
        assert len({message.id for message in held}) == len(history)
        body = held.fit(Budget(1_000)).encode()
        assert body.get("input", body.get("messages")) == history


def test_a_local_shells_output_names_its_call_in_either_key() -> None:
    """By `id` as its types have it, by `call_id` as all others have it."""
    call = {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "c1",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        "status": "completed",
    }
    for key in ("id", "call_id"):
        answer = {"type": "local_shell_call_output", key: "c1", "output": "x"}
        items = [{"role": "user", "content": "go"}, call, answer, *talk(5)]

        assert turnkeep.fit(items, 10_000, format="openai-responses") == items
        held = Conversation.from_messages(items, format="openai-responses")
        assert not held.pending
        window = held.fit(Budget(260, target=1.0)).encode()["input"]
        assert (call in window) == (answer in window)
