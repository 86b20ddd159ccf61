"""Tests for `turnkeep.formats._lellm`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.seed_checks import (
    assert_exact,
    assert_refused,
    assert_stays,
    base64s,
    json_values,
    names,
    texts,
    unknown,
)
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
)

LELLM = get_format("lellm")
SYSTEM = {
    "type": "system",
    "content": [{"type": "text", "text": "be brief", "cache_control": "Breakpoint"}],
}
IMAGE = {"type": "image", "source": {"data": "AA==", "media_type": "image/png"}}
USER = {"type": "user", "content": [IMAGE, {"type": "text", "text": "what is it"}]}
ASSISTANT = {
    "type": "assistant",
    "content": [
        {"type": "thinking", "thinking": "t", "redacted": None},
        {"type": "text", "text": "x"},
        {"type": "tool_call", "id": "c1", "name": "n", "arguments": {}},
    ],
}
RESULT = {
    "type": "tool_result",
    "tool_call_id": "c1",
    "is_error": True,
    "content": [{"type": "text", "text": "tool error: …"}],
}


@pytest.mark.parametrize("entry", [SYSTEM, USER, ASSISTANT, RESULT])
def test_samples_come_back_exactly_without_layout_details(entry: Any) -> None:
    """The crate's own spelling is ours: nothing is remembered about it."""
    (message,) = assert_exact("lellm", entry)

    assert message.layout == "lellm"


def test_fields_mean_what_they_say() -> None:
    """Blocks of every kind land in the model's."""
    assert LELLM.decode(SYSTEM)[0].content == (
        Text("be brief", extra=freeze({"cache_control": "Breakpoint"})),
    )
    assert LELLM.decode(USER)[0].content == (
        Image("AA==", "image/png"),
        Text("what is it"),
    )
    assert LELLM.decode(ASSISTANT)[0].content == (
        Thinking("t"),
        Text("x"),
        ToolCall("c1", "n", {}),
    )
    assert LELLM.decode(RESULT)[0].content == (
        ToolResult("c1", "tool error: …", is_error=True),
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "user", "content": []},
        {"type": "system", "content": [{"type": "text", "text": "", "x": 1}], "y": 2},
        {
            "type": "user",
            "content": [{"type": "text", "text": "a", "cache_control": None}],
        },
        {"type": "assistant", "content": [{"type": "thinking", "thinking": "t"}]},
        {
            "type": "assistant",
            "content": [{"type": "thinking", "thinking": "", "redacted": "r"}],
        },
        {"type": "user", "content": [{"type": "video", "frames": [1]}]},
        {**RESULT, "content": ASSISTANT["content"]},
        {
            **RESULT,
            "content": [IMAGE, {"type": "text", "text": "[turnkeep:pending 5962ee77]"}],
        },
        {
            **RESULT,
            "content": [{"type": "text", "text": "[turnkeep:interim 98d37c13]"}],
        },
        {
            "type": "user",
            "content": [{**IMAGE, "source": {"data": "", "media_type": "", "x": [1]}}],
        },
        {
            "type": "assistant",
            "content": [{"type": "tool_call", "id": "", "name": "", "arguments": "5"}],
        },
    ],
)
def test_other_spellings_come_back(entry: Any) -> None:
    """Old files lack newer keys; unknown keys and blocks are kept."""
    assert_exact("lellm", entry)


def _block(tag: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda block, more: {"type": tag, **more, **block},
        st.fixed_dictionaries(fields),
        unknown,
    )


_blocks = (
    _block("text", text=texts)
    | _block("text", text=texts, cache_control=st.sampled_from([None, "Breakpoint"]))
    | _block("thinking", thinking=texts)
    | _block("thinking", thinking=texts, redacted=st.none() | texts)
    | _block(
        "image",
        source=st.fixed_dictionaries({"data": base64s, "media_type": names}),
    )
    | _block("tool_call", id=texts, name=names, arguments=json_values)
    | _block("later", value=json_values)
)
_lists = st.lists(_blocks, max_size=3)
entries = (
    _block("system", content=_lists)
    | _block("user", content=_lists)
    | _block("assistant", content=_lists)
    | _block("tool_result", content=_lists, tool_call_id=texts, is_error=st.booleans())
)


@given(entries)
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("lellm", entry)


def test_a_message_of_other_origin_is_written_canonically() -> None:
    """Everything that is text becomes text; flags become first lines."""
    messages = [
        Message(
            Role.TOOL_RESULT,
            (
                ToolResult("c", [Json({"a": 1}), Image(url="https://x")], pending=True),
                ToolResult("d", "half", interim=True),
                Text("and"),
            ),
        ),
        Message(Role.TOOL_CALL, (ToolCall("e", "f", '{"a":  1}'),)),
        Message.user([Document("AA=="), Opaque({"type": "x"}, "openai")]),
    ]

    assert LELLM.encode(messages) == [
        {
            "type": "tool_result",
            "tool_call_id": "c",
            "is_error": False,
            "content": [
                {"type": "text", "text": "[turnkeep:pending 5962ee77]"},
                {"type": "text", "text": '{"a":1}'},
            ],
        },
        {
            "type": "tool_result",
            "tool_call_id": "d",
            "is_error": False,
            "content": [{"type": "text", "text": "[turnkeep:interim 6d20911d]\nhalf"}],
        },
        {"type": "user", "content": [{"type": "text", "text": "and"}]},
        {
            "type": "assistant",
            "content": [
                {"type": "tool_call", "id": "e", "name": "f", "arguments": {"a": 1}}
            ],
        },
        {"type": "user", "content": []},
    ]


def test_flags_come_back_from_the_first_line() -> None:
    """Pending and interim results stay so."""
    result = ToolResult("c", "half", interim=True)

    (entry,) = LELLM.encode([Message(Role.TOOL_RESULT, (result,))])

    assert LELLM.decode(entry)[0].content == (result,)


def test_losses_name_what_does_not_fit() -> None:
    """A message of LeLLM's loses nothing."""
    message = Message.assistant(
        [Thinking("hm", "seal"), Document("AA=="), Image(url="https://x")], pinned=True
    )

    assert LELLM.losses(message) == [
        "the pin",
        "a file",
        "an image that is given by its address",
        "the seal of reasoning",
    ]
    assert LELLM.losses(LELLM.decode(ASSISTANT)[0]) == []
    assert LELLM.losses(LELLM.decode(USER)[0]) == []


@pytest.mark.parametrize(
    "message",
    [
        Message.user([Text("a"), Text("[turnkeep:digest 4d5bc88d]")]),
        Message.tool_result("c", [Text("x"), Json(1)], pending=True),
        Message.system("x", kind="run_summary"),
    ],
)
def test_other_messages_are_stable_once_written(message: Message) -> None:
    """Writing what was read gives the same again."""
    assert_stays("lellm", message)


def test_lists_and_bodies_open() -> None:
    """A list is a history."""
    assert LELLM.open([USER]).entries == [USER]
    assert LELLM.decode_system("x") == (Message.system("x"),)
    assert LELLM.encode_request(LELLM.decode(USER)) == {"messages": [USER]}


def test_detection_by_tags() -> None:
    """A type instead of a role, over a list of blocks."""
    assert match_format([SYSTEM, USER], LELLM.name).score > 2
    for other in (
        [{"role": "user", "content": []}],
        [{**USER, "role": "user"}],
        [{"type": ["user"]}],
        [{"type": "user", "content": "x"}],
    ):
        assert match_format(other, LELLM.name).score == 0


def _user(block: Any) -> dict[str, Any]:
    return {"type": "user", "content": [block]}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("user", ""),
        ({"content": []}, ""),
        ({"type": 1, "content": []}, ".type"),
        ({"type": "tool", "content": []}, ".type"),
        ({"type": "user"}, ""),
        ({"type": "user", "content": "hi"}, ".content"),
        (_user("hi"), ".content[0]"),
        (_user({"text": "hi"}), ".content[0]"),
        (_user({"type": None}), ".content[0].type"),
        (_user({"type": "text", "text": 1}), ".content[0].text"),
        (
            _user({"type": "thinking", "thinking": "", "redacted": 1}),
            ".content[0].redacted",
        ),
        (_user({"type": "image", "source": "AA=="}), ".content[0].source"),
        (
            _user({"type": "image", "source": {"data": "AAA", "media_type": "x"}}),
            ".content[0].source.data",
        ),
        (
            _user({"type": "image", "source": {"data": "A*==", "media_type": "x"}}),
            ".content[0].source.data",
        ),
        (_user({"type": "image", "source": {"data": "AA=="}}), ".content[0].source"),
        (_user({"type": "tool_call", "id": "a", "name": "b"}), ".content[0]"),
        (
            _user({"type": "tool_call", "id": 1, "name": "b", "arguments": 1}),
            ".content[0].id",
        ),
        (_user({"type": "later", "x": float("nan")}), ".content[0].x"),
        ({"type": "tool_result", "tool_call_id": "c", "content": []}, ""),
        ({**RESULT, "is_error": None}, ".is_error"),
        ({**RESULT, "tool_call_id": None}, ".tool_call_id"),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("lellm", entry, path)
