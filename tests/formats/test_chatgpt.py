"""Tests for the format `chatgpt`: conversations of its data export."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import detect, match_format, open_messages


def said(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    content = more.pop("content", content)
    return {"author": {"role": role}, "content": content, "recipient": "all", **more}


def conversation(*messages: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A line of nodes under a root; *more* are keys of the conversation."""
    mapping: dict[str, Any] = {"n0": {"message": None, "parent": None, "children": []}}
    for nth, message in enumerate(messages, 1):
        mapping[f"n{nth}"] = {"message": message, "parent": f"n{nth - 1}"}
    return {"mapping": mapping, "current_node": f"n{len(messages)}", **more}


def test_follows_the_current_node_and_not_the_children() -> None:
    """Lists of children are often wrong."""
    chat = conversation(said("user", "a"), said("assistant", "b"), said("user", "c"))
    chat["current_node"] = "n2"

    assert spoken(chat) == ["user: a", "assistant: b"]
    assert "1 message (on another branch)" in notes_of(chat)


def test_takes_the_newest_node_where_the_current_one_is_missing() -> None:
    """open-webui/open-webui#24424 has it of a tree of that kind."""
    first = said("assistant", "old", create_time=1.0)
    second = said("assistant", "new", create_time=2.0)
    chat = conversation(said("user", "a"), second)
    chat["mapping"]["n3"] = {"message": first, "parent": "n1"}
    chat["current_node"] = "gone"

    assert spoken(chat) == ["user: a", "assistant: new"]
    assert "its newest is taken" in notes_of(chat)


def test_a_missing_parent_ends_the_chat_and_is_said() -> None:
    chat = conversation(said("user", "a"), said("user", "b"))
    del chat["mapping"]["n1"]

    assert spoken(chat) == ["user: b"]
    assert "the parent 'n1' is missing" in notes_of(chat)


def test_links_in_a_circle_end() -> None:
    chat = conversation(said("user", "a"), said("user", "b"))
    chat["mapping"]["n1"]["parent"] = "n2"

    assert spoken(chat) == ["user: a", "user: b"]
    assert "in a circle" in notes_of(chat)


def test_calls_are_paired_by_place() -> None:
    """They have no ids; further nodes of a tool belong to its result."""
    code = {"content_type": "code", "text": '{"q": 1}'}
    output = {"content_type": "execution_output", "text": "7"}
    chat = conversation(
        said("user", "a"),
        said("assistant", content=code, recipient="web"),
        said("tool", content=output),
        said("tool", "and more"),
        said("assistant", "b"),
        said("tool", "of nobody"),
    )

    assert spoken(chat) == [
        "user: a",
        "assistant: web(call_1)",
        "call_1 = 7\nand more",
        "assistant: b",
    ]
    assert "1 message of a tool that nobody called" in notes_of(chat)


def test_parallel_calls_are_one_message() -> None:
    call = {"content_type": "code", "text": "x"}
    chat = conversation(
        said("assistant", content=call, recipient="a"),
        said("assistant", content=call, recipient="b"),
        said("tool", "1"),
        said("tool", "2"),
    )

    assert spoken(chat) == [
        "assistant: a(call_1) b(call_2)",
        "call_1 = 1",
        "call_2 = 2",
    ]


def test_custom_instructions_reach_the_model_although_they_are_hidden() -> None:
    """danny-avila/LibreChat#9491, 15229: system nodes, and nodes without metadata."""
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    profile = {"content_type": "user_editable_context", "user_profile": "Ana"}
    chat = conversation(
        said("system", "", **hidden),
        said("user", content=profile, **hidden),
        said("user", "a"),
        said("system", "b"),
    )

    assert spoken(chat) == ["system: Ana", "user: a", "system: b"]


def test_what_is_not_stored_is_noted() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "file://2"}
    chat = conversation(
        said("user", picture, sound, {"text": "spoken"}, {"x": 1}),
        said("assistant", content={"content_type": "thoughts"}),
        said("assistant", content={"content_type": "unheard"}),
    )

    assert spoken(chat) == ["user: <image> spoken"]
    said_so = notes_of(chat)
    assert "images are named in the export" in said_so
    assert "1 recording (" in said_so
    assert "1 part that is an object" in said_so
    assert "1 content of type unheard" in said_so


def test_an_export_of_several_is_opened_one_by_one() -> None:
    one = conversation(said("user", "a"), default_model_slug="gpt-x")

    assert detect([one]).format == "chatgpt"
    assert open_messages([one])[1].model == "gpt-x"
    with pytest.raises(FormatError, match="2 conversations: open one"):
        open_messages([one, one])


def test_refuses_an_unknown_role() -> None:
    with pytest.raises(FormatError, match="unknown role 'robot'") as caught:
        open_messages(conversation(said("robot", "a")))

    assert caught.value.path == "$.mapping.n1.message.author.role"


def test_an_empty_mapping_and_empty_profiles_say_nothing() -> None:
    empty = {"content_type": "user_editable_context", "user_profile": None}
    chat = conversation(said("user", content=empty), said("assistant", ""))

    assert spoken({"mapping": {}, "current_node": None}) == []
    assert spoken(chat) == []
    assert match_format({"mapping": {"a": 1}}, "chatgpt").score == 0


def test_system_nodes_and_outputs_without_a_text_say_nothing() -> None:
    nothing = {"content_type": "execution_output", "text": ""}
    chat = conversation(said("system", ""), said("user", content=nothing))

    assert spoken(chat) == []


def test_a_call_that_was_given_up_gets_no_later_result() -> None:
    """A result is that of a call to the tool that speaks, in the same turn."""
    lost = said("assistant", "{}", recipient="browser")
    chat = conversation(
        said("user", "a"),
        lost,
        said("user", "b"),
        said("assistant", "{}", recipient="browser"),
        said("assistant", "{}", recipient="python"),
        {**said("tool", "4"), "author": {"role": "tool", "name": "python"}},
    )

    assert spoken(chat) == [
        "user: a",
        "assistant: browser(call_1)",
        "user: b",
        "assistant: browser(call_2) python(call_3)",
        "call_3 = 4",
    ]
    assert "calls without a result: 2" in notes_of(chat)
