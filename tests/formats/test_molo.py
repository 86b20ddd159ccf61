"""Tests for `turnkeep.formats._molo`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.seed_checks import (
    assert_exact,
    assert_refused,
    assert_stays,
    json_values,
    names,
    texts,
    unknown,
)
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

MOLO = get_format("molo")
SYSTEM = {"System": "be brief"}
USER = {
    "User": [
        {"Text": "hi"},
        {"Image": {"mime_type": "image/png", "data": [137, 80]}},
        {"Wire": {"type": "input_audio", "x": 1}},
    ]
}
CALL = {"id": "call_1", "name": "w", "arguments": '{"a":1}'}
CALLING: dict[str, Any] = {
    "Assistant": {"content": "", "reasoning": None, "tool_calls": [CALL]}
}
RESULT = {"ToolResult": {"id": "call_1", "content": "ok"}}


@pytest.mark.parametrize("entry", [SYSTEM, USER, CALLING, RESULT])
def test_samples_come_back_exactly_without_layout_details(entry: Any) -> None:
    """The crate's own spelling is ours: nothing is remembered about it."""
    (message,) = assert_exact("molo", entry)

    assert message.layout == "molo"


def test_fields_mean_what_they_say() -> None:
    """Blocks, reasoning, calls and results land in the model's blocks."""
    (user,) = MOLO.decode(USER)
    (calling,) = MOLO.decode(CALLING)
    (result,) = MOLO.decode(RESULT)

    assert user.content == (
        Text("hi"),
        Image("iVA=", "image/png"),
        Opaque({"type": "input_audio", "x": 1}, "openai"),
    )
    assert calling.content == (ToolCall("call_1", "w", '{"a":1}'),)
    assert result.content == (ToolResult("call_1", "ok"),)


@pytest.mark.parametrize(
    "text", ['{"a":  1}', '{ "b":1,"a":2 }', "not json", "", '"5"', "\ud800"]
)
def test_argument_text_is_byte_exact(text: str) -> None:
    """It is JSON text of the model's own spelling, or no JSON at all."""
    entry = {"Assistant": {**CALLING["Assistant"], "tool_calls": [{**CALL}]}}
    entry["Assistant"]["tool_calls"][0]["arguments"] = text

    (message,) = assert_exact("molo", entry)

    assert message.tool_calls[0].text == text


def test_reasoning_goes_back_verbatim() -> None:
    """DeepSeek refuses a history without it."""
    payload = {"content": "x", "reasoning": " hm\n", "tool_calls": []}

    (message,) = assert_exact("molo", {"Assistant": payload})

    assert message.content == (Thinking(" hm\n"), Text("x"))


@pytest.mark.parametrize(
    "entry",
    [
        {"Assistant": {"content": "", "tool_calls": []}},
        {"Assistant": {"content": "", "reasoning": "", "tool_calls": [], "x": {}}},
        {"User": []},
        {"User": [{"Text": ""}, {"Wire": 5}, {"Wire": None}, {"Wire": [1]}]},
        {"System": ""},
        {
            "ToolResult": {
                "id": "",
                "content": "[turnkeep:pending aea9605e]  \nx",
                "later": 1,
            }
        },
        {"User": [{"Image": {"mime_type": "", "data": [], "later": 1}}]},
    ],
)
def test_other_spellings_come_back(entry: Any) -> None:
    """Old files lack `reasoning`; unknown keys are kept."""
    assert_exact("molo", entry)


_calls = st.fixed_dictionaries(
    {"id": texts, "name": names, "arguments": texts}, optional={"later": json_values}
)
_images = st.fixed_dictionaries(
    {"mime_type": names, "data": st.lists(st.integers(0, 255), max_size=4)},
    optional={"later": json_values},
)
_parts = (
    texts.map(lambda text: {"Text": text})
    | json_values.map(lambda value: {"Wire": value})
    | _images.map(lambda image: {"Image": image})
)
entries = (
    texts.map(lambda text: {"System": text})
    | st.lists(_parts, max_size=3).map(lambda parts: {"User": parts})
    | st.builds(
        lambda payload, more: {"Assistant": {**more, **payload}},
        st.fixed_dictionaries(
            {"content": texts, "tool_calls": st.lists(_calls, max_size=2)},
            optional={"reasoning": st.none() | texts},
        ),
        unknown,
    )
    | st.builds(
        lambda payload, more: {"ToolResult": {**more, **payload}},
        st.fixed_dictionaries({"id": texts, "content": texts}),
        unknown,
    )
)


@given(entries)
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("molo", entry)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("c", "x", pending=True), "[turnkeep:pending aea9605e]\nx"),
        (ToolResult("c", "x", interim=True), "[turnkeep:interim 9493a971]\nx"),
        (ToolResult("c", "x", is_error=True), "[turnkeep:error]\nx"),
        (ToolResult("c", "tool error: x", is_error=True), "tool error: x"),
    ],
)
def test_flags_are_said_by_a_first_line(result: ToolResult, text: str) -> None:
    """The crate has no field for them, and they come back from the line."""
    message = Message(Role.TOOL_RESULT, (result,))
    entries = MOLO.encode([message])

    assert entries == [{"ToolResult": {"id": "c", "content": text}}]
    assert MOLO.decode(entries[0])[0].content == (result,)


def test_a_message_of_other_origin_is_written_canonically() -> None:
    """All calls of a reply stay together; results follow one by one."""
    messages = [
        Message.assistant(
            [Thinking("a"), Thinking("b"), Text("look")],
            tool_calls=[ToolCall("c1", "f", {"a": [1, 2.0]}), ToolCall(None, "g")],
        ),
        Message(
            Role.TOOL_RESULT,
            (ToolResult("c1", "one"), ToolResult(None, "two", tool_name="g"), "more"),
        ),
        Message.system([Text("a"), Json({"b": 1})]),
        Message.user(
            [Json([1]), Image("????"), Image(url="https://x"), Thinking("no")],
        ),
    ]

    assert MOLO.encode(messages) == [
        {
            "Assistant": {
                "content": "look",
                "reasoning": "a\nb",
                "tool_calls": [
                    {"id": "c1", "name": "f", "arguments": '{"a":[1,2.0]}'},
                    {"id": "call_1", "name": "g", "arguments": "{}"},
                ],
            }
        },
        {"ToolResult": {"id": "c1", "content": "one"}},
        {"ToolResult": {"id": "call_1", "content": "two"}},
        {"User": [{"Text": "more"}]},
        {"System": 'a\n{"b": 1}'},
        {"User": [{"Text": "[1]"}]},
    ]


def test_summaries_are_recognised() -> None:
    """Those of molo by its first line, ours by our marker."""
    (theirs,) = assert_exact("molo", {"System": "Summary of prior context:\nthey met"})
    (ours,) = assert_exact(
        "molo", {"User": [{"Text": "[turnkeep:summary 543792ed]\nx"}]}
    )

    assert (theirs.kind, ours.kind) == ("summary", "summary")


def test_losses_name_what_does_not_fit() -> None:
    """Pins, times and ids have no place; a message of molo's loses nothing."""
    message = Message.assistant(
        [Thinking("hm", "seal"), Opaque({"type": "x"}, "gemini"), Image("AA==")],
        pinned=True,
        kind="note",
    )

    assert set(MOLO.losses(message)) == {
        "the pin",
        "the kind 'note'",
        "an image",
        "a block of gemini (x)",
        "the seal or ciphertext of reasoning",
        "a block of gemini",
    }
    assert all(MOLO.losses(MOLO.decode(e)[0]) == [] for e in (USER, CALLING, RESULT))
    result = Message.tool_result("c", [Image("AA==")])
    assert MOLO.losses(result) == ["an image"]


@pytest.mark.parametrize(
    "message",
    [
        Message.user([Text("a"), Image("AA==")]),
        Message.tool_result("c", [Text("x"), Json(1)]),
        Message.system("x", kind="run_summary"),
    ],
)
def test_other_messages_are_stable_once_written(message: Message) -> None:
    """Writing what was read gives the same again."""
    assert_stays("molo", message)


def test_lists_and_bodies_open() -> None:
    """A list is a history."""
    assert MOLO.open([USER]).entries == [USER]
    assert MOLO.decode_system("x") == (Message.system("x"),)
    assert MOLO.encode_request(MOLO.decode(USER)) == {"messages": [USER]}


def test_detection_by_tags() -> None:
    """Externally tagged messages have exactly one key."""
    assert match_format([SYSTEM, USER], MOLO.name).score > 2
    others: list[Any] = [[{"role": "user"}], [{}], [{"System": "", "User": []}], {}]
    for other in others:
        assert match_format(other, MOLO.name).score == 0


def _assistant(**changes: Any) -> dict[str, Any]:
    return {"Assistant": {**CALLING["Assistant"], **changes}}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("System", ""),
        ({}, ""),
        ({"System": "a", "User": []}, ""),
        ({"Tool": "a"}, ""),
        ({"System": None}, ".System"),
        ({"User": "hi"}, ".User"),
        ({"User": ["hi"]}, ".User[0]"),
        ({"User": [{"Text": "a", "Wire": 1}]}, ".User[0]"),
        ({"User": [{"Audio": "a"}]}, ".User[0]"),
        ({"User": [{"Text": 1}]}, ".User[0].Text"),
        ({"User": [{"Wire": {"a": float("nan")}}]}, ".User[0].Wire.a"),
        ({"User": [{"Image": {"mime_type": "x"}}]}, ".User[0].Image"),
        (
            {"User": [{"Image": {"mime_type": "x", "data": [256]}}]},
            ".User[0].Image.data",
        ),
        (
            {"User": [{"Image": {"mime_type": "x", "data": [True]}}]},
            ".User[0].Image.data",
        ),
        (
            {"User": [{"Image": {"mime_type": 1, "data": []}}]},
            ".User[0].Image.mime_type",
        ),
        ({"Assistant": {"content": "", "reasoning": None}}, ".Assistant"),
        (_assistant(content=None), ".Assistant.content"),
        (_assistant(reasoning=1), ".Assistant.reasoning"),
        (_assistant(tool_calls=None), ".Assistant.tool_calls"),
        (_assistant(tool_calls=[1]), ".Assistant.tool_calls[0]"),
        (
            _assistant(tool_calls=[{**CALL, "arguments": {"a": 1}}]),
            ".Assistant.tool_calls[0].arguments",
        ),
        ({"ToolResult": {"content": "x"}}, ".ToolResult"),
        ({"ToolResult": {"id": 1, "content": "x"}}, ".ToolResult.id"),
        ({"ToolResult": []}, ".ToolResult"),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("molo", entry, path)
