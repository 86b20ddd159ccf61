"""Tests for `turnkeep.convert`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import call, result, system, user
from tests.invariants import assert_valid
from tests.paths import read_corpus
from turnkeep import FormatError, Message, fit
from turnkeep.api import convert
from turnkeep.profiles import check_request
from turnkeep.providers._tool_definitions import read_tools, write_tools

CHAT = [system("Be brief."), user("go"), call("c1"), result("c1", "done")]

SHAPES = [
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "ollama",
]

TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Does f.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}},
    },
}


def test_a_list_stays_a_list_unless_system_text_stands_beside_it() -> None:
    """Then it becomes a body, and nothing is lost."""
    plain = convert(CHAT[1:], to="anthropic", format="openai")
    beside = convert(CHAT, to="anthropic", format="openai")

    assert isinstance(plain.value, list)
    assert beside.value["system"] == "Be brief."
    assert [entry["role"] for entry in beside.value["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    assert (beside.source, beside.target, beside.losses) == ("openai", "anthropic", ())


@pytest.mark.parametrize("to", SHAPES)
@pytest.mark.parametrize("source", SHAPES)
def test_bodies_cross_with_their_tools(source: str, to: str) -> None:
    """Names, descriptions and schemas, there and back."""
    body = convert(
        {"messages": CHAT, "tools": [TOOL]}, to=source, format="openai"
    ).value
    there = convert(body, to=to, format=source)
    back = convert(there.value, to="openai", format=to)

    assert back.value["tools"] == [TOOL]
    assert_valid(back.value["messages"])
    assert not [v for v in check_request(there.value, format=to) if v.hard]


def test_what_is_lost_is_named_and_an_error_when_strict() -> None:
    """With the message it belongs to."""
    messages = [Message.user("hi", id="m1", pinned=True)]

    made = convert(messages, to="openai")

    assert [str(loss) for loss in made.losses] == ["m1: the pin"]
    with pytest.raises(FormatError, match="openai cannot carry 1 things: m1: the pin"):
        convert(messages, to="openai", strict=True)


def test_tools_that_only_one_provider_has_are_named() -> None:
    """Built-in tools cannot move."""
    body = {
        "messages": [{"role": "user", "content": "hi"}],
        "system": "x",
        "tools": [
            {"type": "web_search_20250305", "name": "web_search"},
            {"name": "f", "input_schema": {"type": "object"}},
        ],
    }

    made = convert(body, to="openai", format="anthropic")

    assert [t["function"]["name"] for t in made.value["tools"]] == ["f"]
    assert [str(loss) for loss in made.losses] == [
        "tools: web_search_20250305 is no function tool"
    ]


@given(
    st.recursive(
        st.none() | st.text(max_size=3),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "name",
                        "function",
                        "toolSpec",
                        "functionDeclarations",
                        "tools",
                    ]
                ),
                x,
                max_size=3,
            )
        ),
    )
)
def test_any_tools_are_read_without_raising(tools: Any) -> None:
    """Whatever stands there."""
    found, _ = read_tools(tools)

    for name in SHAPES:
        write_tools(found, name)


@pytest.mark.corpus
def test_a_recorded_session_moves_is_fitted_and_moves_on() -> None:
    """Claude Code to OpenAI, fitted there, and to Anthropic: valid at each place."""
    for row in read_corpus("claude-code"):
        lines = row["body"]["lines"]
        chat = convert(lines, to="openai", format="claude-code").value
        assert_valid(chat)
        fitted = fit(chat, 4_000, model="gpt-4o", format="openai", on_overflow="send")
        assert_valid(fitted)
        back = convert(fitted, to="anthropic", format="openai").value
        assert not [v for v in check_request(back, format="anthropic") if v.hard]


def test_a_format_that_is_only_read_is_no_target() -> None:
    """Session files are written by the program they belong to; the others are named."""
    with pytest.raises(
        ValueError, match=r"'claude-code' is only read.*openai, "
    ) as why:
        convert(CHAT, to="claude-code")

    assert "claude-code" not in str(why.value).partition("convert to")[2]
