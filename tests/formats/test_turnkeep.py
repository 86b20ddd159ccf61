"""Tests for `turnkeep.formats._turnkeep`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.seed_checks import (
    assert_exact,
    assert_refused,
    json_values,
    objects,
    texts,
    times,
    unknown,
)
from turnkeep.errors import FormatError
from turnkeep.formats import get_format, match_format
from turnkeep.model import Message, Opaque, Text, ToolCall, ToolResult

OURS = get_format("turnkeep")
PLAIN = {"id": "m1", "role": "user", "content": "hi"}
CALL = {"type": "tool_call", "id": "c", "name": "f", "arguments_text": '{"a":  1}'}
TOLD = {"type": "tool_result", "tool_call_id": "c", "content": "x", "pending": True}


@pytest.mark.parametrize(
    "entry",
    [
        PLAIN,
        {"role": "assistant", "content": [CALL]},
        {"role": "tool_result", "content": [TOLD], "kind": "note", "pinned": True},
        {"role": "user", "metadata": {"a": 1}, "later": [1]},
        {"role": "user", "content": [{"type": "later", "x": 1}]},
    ],
)
def test_our_own_spelling_needs_no_layout(entry: Any) -> None:
    """Messages of ours are those they were saved as."""
    (message,) = assert_exact("turnkeep", entry)

    assert message.layout is None


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "user", "content": [{"type": "text", "text": "hi"}], "pinned": False},
        {"role": "user", "content": [], "metadata": {}, "extra": {}},
        {"role": "user", "timestamp": "2026-01-02T03:04:05Z", "layout": "openai:x"},
        {"role": "user", "layout": "turnkeep"},
        {"role": "user", "layout": "turnkeep:x"},
        {"role": "user", "layout": "turnkeep:[null,5]", "pin_scope": "turn"},
        {"role": "assistant", "content": [{**CALL, "extra": {}, "later": 1}]},
        {"role": "tool_result", "content": [{**TOLD, "interim": False}]},
    ],
)
def test_other_spellings_come_back(entry: Any) -> None:
    """Fields written at their default are still there."""
    (message,) = assert_exact("turnkeep", entry)

    assert message.layout is not None


def test_the_origin_that_was_saved_is_the_messages() -> None:
    """A message of OpenAI's stays one, with its keys."""
    entry = {
        "role": "user",
        "content": "hi",
        "extra": {"name": "b"},
        "layout": "openai",
    }
    (message,) = OURS.decode(entry)

    assert message == Message.user("hi", extra={"name": "b"})
    assert message.layout == "openai"


def test_an_edited_message_is_written_as_it_is_now() -> None:
    """The old spelling goes where it would say something else."""
    (message,) = OURS.decode({"role": "user", "content": [], "pinned": False})

    assert OURS.encode([message.evolve(pinned=True)]) == [
        {"role": "user", "pinned": True}
    ]
    assert OURS.encode([message.evolve(content="x")]) == [
        {"role": "user", "content": "x"}
    ]


def test_a_layout_made_by_hand_does_no_harm() -> None:
    """What cannot be read is ignored."""
    for layout in ("turnkeep:{", "turnkeep:[1]", 'turnkeep:["x",{"keys":5}]'):
        assert OURS.encode([Message.user("x", layout=layout)]) == [
            {"role": "user", "content": "x"}
        ]


_blocks = (
    st.fixed_dictionaries({"type": st.just("text"), "text": texts})
    | st.fixed_dictionaries(
        {"type": st.just("tool_call"), "name": texts},
        optional={"id": texts, "arguments": objects, "x_new": json_values},
    )
    | st.fixed_dictionaries(
        {"type": st.just("tool_result")},
        optional={
            "tool_call_id": texts,
            "content": texts,
            "pending": st.booleans(),
            "extra": objects,
        },
    )
    | st.fixed_dictionaries({"type": st.just("later")}, optional={"x": json_values})
    | st.fixed_dictionaries({"type": st.just("opaque"), "value": objects})
)
entries = st.builds(
    lambda entry, more: {**more, **entry},
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool_result"])},
        optional={
            "id": texts,
            "content": texts | st.lists(_blocks, max_size=3),
            "timestamp": times,
            "token_count": st.integers(0, 9),
            "pinned": st.booleans(),
            "pin_scope": st.sampled_from(["turn", "step"]),
            "kind": texts,
            "priority": st.integers(0, 9),
            "metadata": objects,
            "extra": objects,
            "layout": texts | st.sampled_from(["openai:x", "turnkeep"]),
        },
    ),
    unknown,
)


@given(entries)
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("turnkeep", entry)


def test_documents_open_and_close() -> None:
    """Everything beside the messages stays."""
    document = {"turnkeep": 1, "budget": {"max_tokens": 5}, "messages": [PLAIN]}
    envelope = OURS.open(document)

    assert envelope.is_body
    assert envelope.entries == [PLAIN]
    assert envelope.replace([]) == {**document, "messages": []}
    assert OURS.encode_request(OURS.decode(PLAIN), ["t"]) == {
        "turnkeep": 1,
        "messages": [PLAIN],
        "tools": ["t"],
    }
    assert "tools" not in OURS.encode_request([])
    assert OURS.decode_system("x") == (Message.system("x"),)


@pytest.mark.parametrize(
    "document",
    [
        {"messages": []},
        {"turnkeep": 99, "messages": []},
        {"turnkeep": 1},
        {"turnkeep": 1, "messages": {}},
    ],
)
def test_documents_of_other_shape_do_not_open(document: Any) -> None:
    """The version is demanded, and known."""
    with pytest.raises(FormatError):
        OURS.open(document)


def test_nothing_is_lost() -> None:
    """Our JSON carries everything."""
    assert OURS.losses(Message.user("x", pinned=True, kind="run_summary")) == []


def test_detection() -> None:
    """A version decides; a list needs fields or blocks that only we have."""
    assert match_format({"turnkeep": 1, "messages": []}, OURS.name).score > 5
    called = {"role": "assistant", "content": [CALL]}
    assert match_format([PLAIN, called], OURS.name).score == 3
    for ours in ({"pin_scope": "step"}, {"layout": "openai"}, {"role": "tool_result"}):
        assert match_format([{**PLAIN, **ours}], OURS.name).score == 2
    hosts: list[dict[str, Any]] = [{"metadata": {}}, {"priority": 1}, {"pinned": True}]
    for anyones in hosts:
        assert match_format([{**PLAIN, **anyones}], OURS.name).score == 1
    assert match_format([PLAIN], OURS.name).score == 1
    listed = {"role": "user", "content": [{"type": "text", "text": ""}]}
    assert match_format([listed], OURS.name).score == 1
    for other in (
        {"messages": [PLAIN]},
        "text",
        [5],
        [{"role": "tool", "content": "x"}],
        [{"role": ["user"]}],
        [{**PLAIN, "timestamp": 5}],
        [{**PLAIN, "tool_calls": []}],
        [{**PLAIN, "content": 5}],
        [{"role": "user", "content": ["x"]}],
        [{"role": "user", "content": [{"type": "image_url"}]}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}],
    ):
        assert match_format(other, OURS.name).score == 0


def test_blocks_mean_what_they_say() -> None:
    """Pending results are marked by a field here, not by a line."""
    (message,) = OURS.decode({"role": "tool_result", "content": [TOLD, CALL]})

    assert message.content == (
        ToolResult("c", "x", pending=True),
        ToolCall("c", "f", '{"a":  1}'),
    )
    (later,) = OURS.decode({"role": "user", "content": [{"type": "later"}]})
    assert later.content[0] == Opaque({"type": "later"}, "turnkeep")
    assert OURS.decode(PLAIN)[0].content == (Text("hi"),)


def _user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("hi", ""),
        ({"content": "hi"}, ""),
        ({"role": "tool"}, ".role"),
        ({"role": ["user"]}, ".role"),
        ({"role": "user", "content": None}, ".content"),
        ({"role": "user", "id": 5}, ".id"),
        ({"role": "user", "timestamp": "2026-01-01T00:00:00"}, ".timestamp"),
        ({"role": "user", "timestamp": "soon"}, ".timestamp"),
        ({"role": "user", "timestamp": 5}, ".timestamp"),
        ({"role": "user", "token_count": True}, ".token_count"),
        ({"role": "user", "pinned": 1}, ".pinned"),
        ({"role": "user", "pin_scope": "all"}, ".pin_scope"),
        ({"role": "user", "metadata": []}, ".metadata"),
        ({"role": "user", "extra": {"a": float("nan")}}, ".extra.a"),
        ({"role": "user", "later": float("nan")}, ".later"),
        (_user("hi"), ".content[0]"),
        (_user({"text": "hi"}), ".content[0].type"),
        (_user({"type": "text"}), ".content[0]"),
        (_user({"type": "text", "text": None}), ".content[0].text"),
        (_user({"type": "image", "number": "1"}), ".content[0].number"),
        (_user({"type": "tool_call", "id": "c"}), ".content[0]"),
        (_user({**CALL, "arguments": {}}), ".content[0]"),
        (
            _user({"type": "tool_call", "name": "f", "arguments": "{}"}),
            ".content[0].arguments",
        ),
        (_user({**TOLD, "content": [TOLD]}), ".content[0].content[0]"),
        (_user({**TOLD, "is_error": None}), ".content[0].is_error"),
        (_user({"type": "opaque", "value": 5}), ".content[0].value"),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("turnkeep", entry, path)
