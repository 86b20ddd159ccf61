"""Tests for `turnkeep.formats._orion`."""

from datetime import UTC, datetime
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
    numbers,
    texts,
    unknown,
)
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

ORION = get_format("orion")
WHEN = 1_700_000_000_000
USER = {"id": "msg-1", "role": "user", "content": "hi", "timestamp": WHEN}
COUNTED = {**USER, "token_count": 7, "pinned": True}
CALLING = {
    "id": "msg-2",
    "role": "assistant",
    "content": "",
    "timestamp": WHEN,
    "tool_calls": [
        {"id": "msg-2-call-1", "name": "read_file", "arguments": {"path": "a"}}
    ],
}
RESULT = {
    "id": "msg-3",
    "role": "tool_result",
    "content": "done",
    "timestamp": WHEN,
    "tool_result": {
        "tool_call_id": "msg-2-call-1",
        "tool_name": "read_file",
        "content": "done",
        "is_error": False,
    },
}
PENDING = {
    "id": "msg-3",
    "role": "tool_result",
    "content": "started",
    "timestamp": WHEN,
    "tool_result": {
        "tool_call_id": "msg-2-call-1",
        "tool_name": "build",
        "content": "started",
        "is_error": False,
        "pending": True,
    },
}


@pytest.mark.parametrize("entry", [USER, COUNTED, CALLING, RESULT, PENDING])
def test_samples_come_back_exactly_without_layout_details(entry: Any) -> None:
    """The crate's own spelling is ours: nothing is remembered about it."""
    (message,) = assert_exact("orion", entry)

    assert message.layout == "orion"


def test_fields_mean_what_they_say() -> None:
    """Ids, times, counts, pins, calls and results land in the model's fields."""
    (counted,) = ORION.decode(COUNTED)
    (calling,) = ORION.decode(CALLING)
    (pending,) = ORION.decode(PENDING)

    assert counted == Message.user(
        "hi",
        id="msg-1",
        timestamp=datetime.fromtimestamp(1_700_000_000, UTC),
        token_count=7,
        pinned=True,
    )
    assert calling.content == (ToolCall("msg-2-call-1", "read_file", {"path": "a"}),)
    assert pending.content == (
        ToolResult("msg-2-call-1", "started", pending=True, tool_name="build"),
    )


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool_call"])
def test_five_roles(role: str) -> None:
    """Every role of the crate has its own in the model."""
    (message,) = assert_exact("orion", {**USER, "role": role})

    assert message.role is Role(role)


@pytest.mark.parametrize(
    "entry",
    [
        {**USER, "pinned": False, "token_count": None, "tool_calls": []},
        {**USER, "tool_result": None, "later": [1, {"a": None}]},
        {**RESULT, "tool_result": {**RESULT["tool_result"], "pending": False}},  # type: ignore[dict-item]
        {**RESULT, "content": "told otherwise"},
        {**RESULT, "role": "assistant"},
        {**RESULT, "role": "assistant", "content": "and more"},
        {**USER, "timestamp": 0},
        {**USER, "timestamp": -1},
        {**CALLING, "tool_calls": [{"id": "", "name": "", "arguments": '{"a": 1}'}]},
        {**PENDING, "content": "[turnkeep:pending 02a2e08b]\nstarted"},
    ],
)
def test_other_spellings_come_back(entry: Any) -> None:
    """What the crate would leave out, but a file has, is still there."""
    assert_exact("orion", entry)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": draw(texts),
        "role": draw(st.sampled_from(list(Role))).value,
        "content": draw(texts),
        "timestamp": draw(numbers),
    }
    calls = st.fixed_dictionaries(
        {"id": texts, "name": names, "arguments": json_values},
        optional={"x_new": json_values},
    )
    results = st.fixed_dictionaries(
        {
            "tool_call_id": texts,
            "tool_name": names,
            "content": texts,
            "is_error": st.booleans(),
        },
        optional={"pending": st.booleans(), "x_new": json_values},
    )
    optional = {
        "tool_calls": st.lists(calls, max_size=2),
        "tool_result": st.none() | results,
        "token_count": st.none() | numbers,
        "pinned": st.booleans(),
    }
    for key, values in optional.items():
        if draw(st.booleans()):
            entry[key] = draw(values)
    return {**entry, **draw(unknown)}


@given(entries())
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("orion", entry)


def test_missing_ids_become_the_next_free_ones() -> None:
    """Ids of other messages are never taken."""
    messages = [
        Message.user("a"),
        Message.user("b", id="msg-1"),
        Message.user("c"),
    ]

    assert [entry["id"] for entry in ORION.encode(messages)] == [
        "msg-2",
        "msg-1",
        "msg-3",
    ]


def test_a_message_of_other_origin_is_written_canonically() -> None:
    """Several results become several messages; the tool's name comes from its call."""
    when = datetime(2026, 1, 2, tzinfo=UTC)
    messages = [
        Message.assistant(
            "look", tool_calls=[ToolCall("c1", "f", '{"a":  1}'), ToolCall("c2", "g")]
        ),
        Message(
            Role.TOOL_RESULT,
            (
                ToolResult("c1", "one", is_error=True),
                ToolResult("c2", "two", interim=True),
                Text("and then"),
            ),
            id="m",
            timestamp=when,
            pinned=True,
            token_count=9,
        ),
    ]

    call, one, two, rest = ORION.encode(messages)

    assert call["tool_calls"] == [
        {"id": "c1", "name": "f", "arguments": {"a": 1}},
        {"id": "c2", "name": "g", "arguments": {}},
    ]
    assert one["tool_result"] == {
        "tool_call_id": "c1",
        "tool_name": "f",
        "content": "one",
        "is_error": True,
    }
    assert two["content"] == "[turnkeep:interim deded8bd]\ntwo"
    assert [e["id"] for e in (one, two, rest)] == ["m", "m-2", "m-3"]
    assert [e["role"] for e in (one, two, rest)] == ["tool_result"] * 2 + ["user"]
    assert all(
        e["pinned"] and e["timestamp"] == 1767312000000 for e in (one, two, rest)
    )
    assert "token_count" not in one


def test_edited_messages_keep_unknown_keys_but_not_the_old_spelling() -> None:
    """New content replaces the text in both of its places."""
    (message,) = ORION.decode({**RESULT, "content": "told otherwise", "x": 1})

    edited = message.evolve(content=(ToolResult("msg-2-call-1", "new", tool_name="f"),))
    (entry,) = ORION.encode([edited])

    assert entry["content"] == entry["tool_result"]["content"] == "new"
    assert entry["x"] == 1


def test_fields_set_after_loading_win_over_the_old_spelling() -> None:
    """A pin set on a message that said `"pinned": false` is written."""
    (message,) = ORION.decode({**USER, "pinned": False})

    (entry,) = ORION.encode([message.evolve(pinned=True)])

    assert entry["pinned"] is True


def test_orions_summary_is_a_summary() -> None:
    """It is recognised by its pin, role and first line."""
    text = "[Summary of earlier conversation]\nthey met"
    (summary,) = assert_exact("orion", {**COUNTED, "content": text})
    (quoted,) = assert_exact("orion", {**USER, "content": text})

    assert summary.kind == "summary"
    assert quoted.kind is None


def test_our_insertions_are_recognised_by_their_first_line() -> None:
    """The line stays; the kind says what it is."""
    (message,) = assert_exact(
        "orion", {**USER, "content": "[turnkeep:digest 1c5d91c6]\nx"}
    )

    assert message.kind == "digest"


def test_interim_answers_are_recognised_by_their_first_line() -> None:
    """The crate has no flag for them."""
    result: Any = RESULT["tool_result"]
    entry = {**RESULT, "content": "[turnkeep:interim 6d20911d]\nhalf"}
    entry["tool_result"] = {**result, "content": "[turnkeep:interim 6d20911d]\nhalf"}
    (message,) = assert_exact("orion", entry)

    assert message.tool_results[0].interim
    assert message.text == "half"


def test_losses_name_what_does_not_fit() -> None:
    """Each is said once, in words; a message of Orion's loses nothing."""
    message = Message.assistant(
        [Thinking("hm"), Image("AA==")],
        kind="note",
        priority=1,
        metadata={"a": 1},
        pinned=True,
        pin_scope="step",
    )

    assert set(ORION.losses(message)) == {
        "the priority",
        "the metadata",
        "the kind 'note'",
        "the scope of the pin",
        "reasoning",
        "an image",
    }
    assert ORION.losses(ORION.decode(COUNTED)[0]) == []
    assert ORION.losses(Message.system("x", kind="run_summary"))


def test_what_is_only_shown_is_not_written() -> None:
    """Orion would send it."""
    assert ORION.encode([Message.system("took 5 s", kind="run_summary")]) == []


def test_keys_of_other_formats_are_not_written() -> None:
    """They belong to the message's origin."""
    foreign = Message.user("hi", extra={"name": "bob"}, layout="openai")

    assert "name" not in ORION.encode([foreign])[0]
    assert "name" in ORION.encode([Message.user("hi", extra={"name": "bob"})])[0]


@pytest.mark.parametrize(
    "message",
    [
        Message.user([Text("a"), Text("b")]),
        Message.tool_result(None, "x", pending=True),
        Message.assistant(
            tool_calls=[ToolCall(None, "f"), ToolCall(None, "f", "text")]
        ),
    ],
)
def test_other_messages_are_stable_once_written(message: Message) -> None:
    """Writing what was read gives the same again."""
    assert_stays("orion", message)


def test_lists_and_bodies_open() -> None:
    """A plain list is a conversation; a body may have system text beside it."""
    body = {"system": "be brief", "messages": [USER]}
    envelope = ORION.open(body)

    assert envelope.system == "be brief"
    assert envelope.replace([COUNTED]) == {"system": "be brief", "messages": [COUNTED]}
    assert ORION.open([USER]).entries == [USER]
    assert ORION.decode_system("be brief") == (Message.system("be brief"),)
    assert ORION.encode_request(ORION.decode(USER), [{"name": "f"}]) == {
        "messages": [USER],
        "tools": [{"name": "f"}],
    }


def test_detection_by_id_and_milliseconds() -> None:
    """Weak by themselves, for a host may have put them there; results are Orion's."""
    assert match_format([USER, RESULT], ORION.name).score > 2
    assert match_format({"messages": [USER]}, ORION.name).score == 2
    assert match_format([{**USER, "mine": 1}], ORION.name).score == 1
    assert match_format([CALLING], ORION.name).score > 2
    theirs = {**CALLING, "tool_calls": [{"id": "c", "function": {}}]}
    assert match_format([theirs], ORION.name).score == 0
    for other in (
        [{"role": "user", "content": "hi"}],
        [{**USER, "role": "tool"}],
        [{**USER, "role": []}],
        [{**USER, "content": []}],
        [5],
        5,
    ):
        assert match_format(other, ORION.name).score == 0


CALL: Any = CALLING["tool_calls"]
TOLD: Any = RESULT["tool_result"]


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ([], ""),
        ({**USER, "role": "tool"}, ".role"),
        ({**USER, "role": 5}, ".role"),
        ({**USER, "content": None}, ".content"),
        ({**USER, "id": 5}, ".id"),
        ({k: v for k, v in USER.items() if k != "id"}, ""),
        ({k: v for k, v in USER.items() if k != "timestamp"}, ""),
        ({**USER, "timestamp": "2026-01-01T00:00:00Z"}, ".timestamp"),
        ({**USER, "timestamp": True}, ".timestamp"),
        ({**USER, "timestamp": 10**30}, ".timestamp"),
        ({**USER, "token_count": -1}, ".token_count"),
        ({**USER, "token_count": 1.5}, ".token_count"),
        ({**USER, "pinned": None}, ".pinned"),
        ({**USER, "pinned": "yes"}, ".pinned"),
        ({**CALLING, "tool_calls": {}}, ".tool_calls"),
        ({**CALLING, "tool_calls": [5]}, ".tool_calls[0]"),
        ({**CALLING, "tool_calls": [{"id": "a", "name": "b"}]}, ".tool_calls[0]"),
        ({**CALLING, "tool_calls": [{**CALL[0], "name": 1}]}, ".tool_calls[0].name"),
        (
            {**CALLING, "tool_calls": [{**CALL[0], "arguments": [float("nan")]}]},
            ".tool_calls[0].arguments[0]",
        ),
        ({**RESULT, "tool_result": "done"}, ".tool_result"),
        ({**RESULT, "tool_result": {**TOLD, "is_error": 0}}, ".tool_result.is_error"),
        ({**RESULT, "tool_result": {**TOLD, "pending": None}}, ".tool_result.pending"),
        ({**USER, "later": float("inf")}, ".later"),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("orion", entry, path)
