"""Tests for the format `langchain`: recorded messages, and the package's own objects.

`tests/data/frameworks/record_langchain.py` made what is recorded. Tests with objects
need langchain-core, and are skipped without it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import turnkeep
from tests.paths import DATA
from turnkeep import Budget, Conversation
from turnkeep.errors import FormatError
from turnkeep.formats import detect, get_format
from turnkeep.model import Image, Message, Role, Thinking, ToolCall, same

RECORDED = json.loads((DATA / "frameworks/langchain.json").read_text(encoding="utf-8"))
SHAPES = ("messages_to_dict", "dumpd", "model_dump")
LANGCHAIN = get_format("langchain")

every_shape = pytest.mark.parametrize("shape", SHAPES)


def read(entries: list[Any]) -> list[Message]:
    return [message for entry in entries for message in LANGCHAIN.decode(entry)]


@every_shape
def test_is_detected_and_comes_back_key_for_key(shape: str) -> None:
    """As a list, in a state's `messages`, and one message after the other."""
    entries = RECORDED[shape]

    assert detect(entries).candidates == ("langchain",)
    assert detect({"messages": entries}).format == "langchain"
    assert all(detect([entry]).format == "langchain" for entry in entries)
    assert same(LANGCHAIN.encode(read(entries)), entries)
    kept = turnkeep.fit(entries, 100_000, model="gpt-4o", on_invalid="keep")
    assert all(a is b for a, b in zip(kept, entries, strict=True))


@every_shape
def test_says_the_same_in_every_shape(shape: str) -> None:
    """Roles, calls once each, results with their tools and failures."""
    said = read(RECORDED[shape])

    assert [message.role for message in said] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL_RESULT,
        Role.TOOL_RESULT,
        Role.ASSISTANT,
        Role.USER,
        Role.ASSISTANT,
    ]
    assert [b.data for b in said[1].content if isinstance(b, Image)] == ["AAAA"]
    (thought,) = (b for b in said[2].content if isinstance(b, Thinking))
    assert (thought.text, thought.signature) == ("Rain?", "c2ln")
    assert [(c.id, c.name, c.arguments) for c in said[2].tool_calls] == [
        ("c1", "weather", {"city": "Bonn"}),
        ("c2", "map", '{"x": '),
    ]
    results = [result for message in said for result in message.tool_results]
    assert [(r.tool_call_id, r.tool_name, r.is_error) for r in results] == [
        ("c1", "weather", False),
        ("c2", "map", True),
    ]


def chat(shape: str) -> list[Any]:
    """Six questions with a call each, in *shape*."""
    made: list[Message] = []
    for nth in range(6):
        made += [
            Message.user(f"question {nth} {'x ' * 30}"),
            Message.assistant(tool_calls=[ToolCall(f"c{nth}", "f", {"n": nth})]),
            Message.tool_result(f"c{nth}", f"result {nth} {'y ' * 30}"),
            Message.assistant(f"answer {nth}"),
        ]
    first = LANGCHAIN.decode(RECORDED[shape][0])
    return LANGCHAIN.encode([*first, *made])


@every_shape
def test_pairs_leave_together_and_new_messages_take_the_lists_shape(
    shape: str,
) -> None:
    """A call left open gets its stand-in as the other messages are written."""
    entries = chat(shape)
    opened = [*entries[:-2], LANGCHAIN.encode([Message.user("go on")])[0]]
    if shape != "messages_to_dict":
        opened[-1] = entries[-4]

    kept = turnkeep.fit(opened, 150, model="gpt-4o")

    assert len(kept) < len(opened)
    said = read(kept)
    calls = [call.id for message in said for call in message.tool_calls]
    assert calls
    assert calls == [r.tool_call_id for m in said for r in m.tool_results]
    assert {frozenset(e) & {"lc", "data"} for e in kept} == {
        frozenset(entries[0]) & {"lc", "data"}
    }


def test_a_shortened_result_keeps_its_fields() -> None:
    """Name and artifact stay where they were."""
    (message,) = LANGCHAIN.decode(RECORDED["messages_to_dict"][3])
    (result,) = message.tool_results
    edited = message.evolve(
        content=(Message.tool_result(result.tool_call_id, "R").tool_results[0],)
    )

    (entry,) = LANGCHAIN.encode([edited])

    assert entry["data"]["content"] == "R"
    assert entry["data"]["artifact"] == {"mm": 3}
    assert entry["data"]["tool_call_id"] == "c1"


def test_calls_stored_before_there_was_a_field_are_calls() -> None:
    """In `additional_kwargs`, as LangChain itself reads them."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    entry = {
        "type": "ai",
        "data": {"content": "", "additional_kwargs": {"tool_calls": [call]}},
    }

    (message,) = LANGCHAIN.decode(entry)

    assert [(c.id, c.name) for c in message.tool_calls] == [("c", "f")]
    assert LANGCHAIN.encode([message]) == [entry]


def test_losses_name_what_other_providers_do_not_take() -> None:
    """Keys of LangChain's own are named when a history moves away."""
    (message,) = LANGCHAIN.decode(RECORDED["model_dump"][5])

    assert LANGCHAIN.losses(message) == []
    assert any(
        "additional_kwargs" in words for words in get_format("openai").losses(message)
    )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "remove", "id": "m"}, "order to a reducer"),
        ({"type": "robot", "content": "x"}, "unknown message 'robot'"),
        ({"type": "human"}, "'content' is missing"),
        ({"type": "human", "content": 7}, "content must be"),
        ({"lc": 1, "id": [], "kwargs": {}}, "name of a class"),
        ({"type": "ai", "content": "", "tool_calls": [7]}, "a call must be"),
    ],
)
def test_refuses_what_is_no_message(entry: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        LANGCHAIN.decode(entry)


@every_shape
def test_a_conversation_follows_a_list_and_gives_its_entries_back(shape: str) -> None:
    """Ids that a conversation gives its messages are not written."""
    entries = RECORDED[shape][:-1]
    chat = Conversation(budget=Budget(5_000), model="gpt-4o", format="langchain")

    assert len(chat.sync(entries).appended) == len(entries)
    sent = chat.fit().apply(entries)

    assert all(a is b for a, b in zip(sent, entries, strict=True))


def test_messages_are_pinned_by_langchains_ids() -> None:
    """Which stand inside of what wraps a message."""
    entries = chat("messages_to_dict")
    entries[1]["data"]["id"] = "m1"

    kept = turnkeep.fit(entries, 250, model="gpt-4o", pinned=["m1"])

    assert len(kept) < len(entries)
    assert any(entry["data"].get("id") == "m1" for entry in kept)


# -- the package itself ---------------------------------------------------------------


def test_what_we_write_is_read_by_the_package() -> None:
    """Messages of other origin become messages that say the same."""
    core = pytest.importorskip("langchain_core.messages")
    said = [
        Message.system("s"),
        Message.user("q"),
        Message.assistant(
            "a", tool_calls=[ToolCall("c", "f", {"n": 1}), ToolCall("d", "g", "no")]
        ),
        Message.tool_result("c", "r", is_error=True),
    ]

    made = core.messages_from_dict(LANGCHAIN.encode(said))

    assert [m.type for m in made] == ["system", "human", "ai", "tool"]
    assert [c["args"] for c in made[2].tool_calls] == [{"n": 1}]
    assert [c["args"] for c in made[2].invalid_tool_calls] == ["no"]
    assert (made[3].status, made[3].name) == ("error", "f")


def test_recorded_messages_are_those_of_the_installed_package() -> None:
    """What is recorded loads, and our reading of its objects is the same."""
    core = pytest.importorskip("langchain_core.messages")
    objects = core.messages_from_dict(RECORDED["messages_to_dict"])

    _, envelope = turnkeep.formats.open_messages(objects)

    assert [m.text for m in read(list(envelope.entries))] == [
        m.text for m in read(RECORDED["model_dump"])
    ]


def test_objects_come_back_and_new_ones_are_objects() -> None:
    """The caller's own where unedited; stand-ins and edits are messages too."""
    core = pytest.importorskip("langchain_core.messages")
    history: list[Any] = [core.SystemMessage("s")]
    for nth in range(5):
        call = {"name": "f", "args": {"n": nth}, "id": f"c{nth}"}
        history += [
            core.HumanMessage(f"question {nth} " + "x " * 40),
            core.AIMessage("", tool_calls=[call]),
            core.ToolMessage("y " * 40, tool_call_id=f"c{nth}", artifact=sys),
            core.AIMessage(f"answer {nth}"),
        ]
    open_call = {"name": "f", "args": {}, "id": "open"}
    history += [core.AIMessage("", tool_calls=[open_call]), core.HumanMessage("well?")]

    kept = turnkeep.fit(history, 200, model="gpt-4o")

    own = {id(message) for message in history}
    new = [message for message in kept if id(message) not in own]
    assert len(kept) < len(history)
    assert [type(message) for message in new] == [core.ToolMessage]
    assert new[0].tool_call_id == "open"
    assert kept[-1] is history[-1]


def test_an_edited_object_keeps_what_was_not_edited() -> None:
    """Its artifact, which JSON cannot say, included."""
    core = pytest.importorskip("langchain_core.messages")
    call = {"name": "f", "args": {}, "id": "c"}
    history = [
        core.HumanMessage("q"),
        core.AIMessage("", tool_calls=[call]),
        core.ToolMessage("word " * 3_000, tool_call_id="c", artifact=sys),
    ]

    kept = turnkeep.fit(history, 500, model="gpt-4o")

    assert isinstance(kept[2], core.ToolMessage)
    assert len(kept[2].content) < len(history[2].content)
    assert kept[2].artifact is sys
