"""Tests for objects of SDKs among a caller's messages."""

from __future__ import annotations

from typing import Any

import attrs
import ollama
import pytest
from anthropic.types import TextBlock, ToolUseBlock
from google.genai import types as genai
from mistralai.client.models import AssistantMessage, UserMessage
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem

import turnkeep
from turnkeep import Budget, Conversation
from turnkeep.errors import FormatError
from turnkeep.formats import open_messages, read_objects

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED = ChatCompletionMessage.model_validate(
    {"role": "assistant", "content": None, "tool_calls": [CALL]}
)
TOLD = {"role": "tool", "tool_call_id": "c", "content": "r"}
QUESTION = {"role": "user", "content": "q"}
OLLAMA_CALL = {"function": {"name": "f", "arguments": {"a": 1}}}


@attrs.define
class Own:
    """Somebody's message, with the older pair of methods."""

    role: str
    content: str

    def to_dict(self) -> dict[str, str]:
        """As JSON."""
        return {"role": self.role, "content": self.content}

    @classmethod
    def from_dict(cls, value: dict[str, str]) -> Own:
        """From JSON."""
        return cls(**value)


class Quoting:
    """A message whose method takes no options."""

    def model_dump(self) -> dict[str, str]:
        """As JSON."""
        return {"role": "assistant", "content": "hi"}


LISTS: list[tuple[str, list[Any]]] = [
    ("openai", [QUESTION, ASKED, TOLD]),
    (
        "openai",
        [
            QUESTION,
            {"role": "assistant", "content": None, "tool_calls": ASKED.tool_calls},
            TOLD,
        ],
    ),
    (
        "openai-responses",
        [
            QUESTION,
            ResponseReasoningItem(id="rs", type="reasoning", summary=[]),
            ResponseFunctionToolCall(
                type="function_call", call_id="c", name="f", arguments="{}"
            ),
            {"type": "function_call_output", "call_id": "c", "output": "x"},
        ],
    ),
    (
        "anthropic",
        [
            QUESTION,
            {
                "role": "assistant",
                "content": [
                    TextBlock(type="text", text="hi"),
                    ToolUseBlock(type="tool_use", id="t", name="f", input={"a": 1}),
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}],
            },
        ],
    ),
    (
        "gemini",
        [
            genai.Content(role="user", parts=[genai.Part(text="hi")]),
            {
                "role": "model",
                "parts": [genai.Part(function_call=genai.FunctionCall(name="f"))],
            },
            genai.Content.model_validate(
                {
                    "role": "user",
                    "parts": [{"function_response": {"name": "f", "response": {}}}],
                }
            ),
        ],
    ),
    (
        "ollama",
        [
            QUESTION,
            ollama.Message.model_validate(
                {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}
            ),
            {"role": "tool", "content": "r", "tool_name": "f"},
        ],
    ),
    ("openai", [QUESTION, Own("assistant", "hi")]),
    ("openai", [QUESTION, Quoting()]),
]


@pytest.mark.parametrize(("name", "value"), LISTS)
def test_the_callers_objects_come_back(name: str, value: list[Any]) -> None:
    """Of a list, of a plan's window, and of a body; decided on what would be sent."""
    model = "mistral-large-latest" if name == "mistral" else None
    fmt, _ = open_messages(value, None, model)

    assert fmt.name == name
    for window in (
        turnkeep.fit(value, 10_000),
        turnkeep.plan(value, 10_000).apply(value),
        turnkeep.repair(value).value,
    ):
        assert len(window) == len(value)
        assert all(new is old for new, old in zip(window, value, strict=True))
    key = {"gemini": "contents", "openai-responses": "input"}.get(name, "messages")
    body = turnkeep.fit({key: value, "model": "m"}, 10_000)
    assert all(new is old for new, old in zip(body[key], value, strict=True))
    turnkeep.check(value)
    assert turnkeep.count(value).total > 0
    assert Conversation.from_messages(value, budget=Budget(10_000)).messages


def test_defaults_that_are_sent_are_read() -> None:
    """Mistral's roles are defaults, which nobody sets."""
    value = [UserMessage(content="q"), AssistantMessage(content="a")]

    read, _ = read_objects(value)

    assert [entry["role"] for entry in read] == ["user", "assistant"]
    assert open_messages(value, None, "mistral-small")[0].name == "mistral"


def test_only_what_was_set_is_sent() -> None:
    """As OpenAI's own client does it: no null for what the answer did not say."""
    read, objects = read_objects([QUESTION, ASKED])

    assert read == [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
    ]
    assert read[0] is QUESTION
    assert objects is not None


def test_plain_lists_are_not_touched() -> None:
    """Nothing is copied where there is nothing to read."""
    for value in ([QUESTION] * 300, {"messages": [QUESTION]}, {"x": 1}, 5, []):
        assert read_objects(value) == (value, None)
        assert read_objects(value)[0] is value


def test_objects_deep_in_a_long_list_are_found() -> None:
    """A list ends as it goes on."""
    late = {"role": "assistant", "content": [TextBlock(type="text", text="hi")]}
    value = [QUESTION, {"role": "assistant", "content": "a"}] * 400 + [QUESTION, late]

    window = turnkeep.fit(value, 100_000)

    assert window[-1] is late


def test_what_is_edited_is_made_by_the_type_of_what_it_replaces() -> None:
    """The caller gets an object where an object was."""
    given: list[Any] = [
        QUESTION,
        ASKED,
        Tool(**TOLD, name="f"),
        {"role": "user", "content": "z"},
    ]
    strategy = turnkeep.ClearToolResults(keep=0)
    given[2].content = "word " * 400

    window = turnkeep.fit(given, 150, model="gpt-4o", strategy=strategy)

    assert window[1] is ASKED
    assert type(window[2]) is Tool
    assert window[2].tool_call_id == "c"
    assert len(window[2].content) < 400
    assert given[2].content == "word " * 400


@attrs.define
class Tool:
    """A tool's message as somebody's object."""

    role: str
    tool_call_id: str
    content: str
    name: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return attrs.asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Tool:
        """From JSON."""
        return cls(**value)


class Fixed(Tool):
    """One that cannot be made again."""

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Tool:
        """Never."""
        raise NotImplementedError


def test_what_cannot_be_made_comes_as_it_would_be_sent() -> None:
    """A dict is better than an error."""
    long = Fixed(**TOLD, name="f")
    long.content = "word " * 400
    given = [QUESTION, ASKED, long, {"role": "user", "content": "z"}]

    window = turnkeep.fit(
        given, 150, model="gpt-4o", strategy=turnkeep.ClearToolResults(keep=0)
    )

    assert type(window[2]) is dict


def test_predicates_and_counters_get_the_callers_objects() -> None:
    """A message in the caller's own shape is what he appended."""
    answer = Own("assistant", "hi")
    seen: list[Any] = []

    def count(entry: Any) -> int:
        seen.append(entry)
        return 1

    turnkeep.fit(
        [QUESTION, answer, QUESTION],
        100,
        pinned=lambda entry: entry is answer,
        token_counter=count,
    )

    assert any(entry is answer for entry in seen)


class Failing:
    """An object that cannot say what it is."""

    def model_dump(self, **_options: object) -> dict[str, Any]:
        """Fails."""
        msg = "no schema"
        raise RuntimeError(msg)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([QUESTION, Failing()], r"a Failing could not be read: no schema @ \$\[1\]"),
        ([QUESTION, Own], "a Python type"),
        ([QUESTION, object()], "a Python object"),
    ],
)
def test_what_cannot_be_read_is_named(value: Any, words: str) -> None:
    """With its place; a class is no message."""
    with pytest.raises(FormatError, match=words):
        turnkeep.fit(value, 100, format="openai")
