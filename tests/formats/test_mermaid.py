"""Tests for `turnkeep.formats._mermaid._format`."""

import base64
from datetime import datetime, timedelta, timezone
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
    numbers,
    objects,
    texts,
    times,
    unknown,
)
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

MERMAID = get_format("mermaid")
BLANK: dict[str, Any] = {
    "role": "User",
    "content": "hi",
    "timestamp": "2026-04-16T12:00:00-04:00",
    "kind": "normal",
    "metadata": None,
    "actions": [],
    "thinking": None,
    "images": None,
    "image_numbers": None,
    "tool_calls": None,
    "tool_call_id": None,
    "tool_name": None,
    "provider_continuation": None,
}
ACTION = {
    "action_type": "Read",
    "target": "a.rs",
    "result": {"Success": {"output": "…", "images": None}},
    "details": "Simple",
    "duration_seconds": 0.1,
    "metadata": None,
}
CALL = {"id": "c1", "function": {"name": "read_file", "arguments": {"path": "a.rs"}}}
ASSISTANT = {
    **BLANK,
    "role": "Assistant",
    "content": "done",
    "actions": [ACTION],
    "thinking": "hm",
    "tool_calls": [CALL],
    "provider_continuation": {"provider": "anthropic", "signature": "sig"},
}
RESULT = {
    **BLANK,
    "role": "Tool",
    "content": "file text",
    "tool_call_id": "c1",
    "tool_name": "read_file",
}
CIPHER = base64.b64encode(b"sk-live-gAAAAAB").decode()
META = {
    **BLANK,
    "role": "Assistant",
    "provider_continuation": {
        "provider": "meta_responses",
        "output": [
            {
                "kind": "reasoning",
                "item": {"type": "reasoning", "id": "rs_1", "summary": []},
                "encrypted_content": CIPHER,
            },
            {"kind": "other", "item": {"type": "message", "id": "m"}},
        ],
    },
}
IMAGES = {
    **BLANK,
    "images": ["iVBORw0KGgo=", "/9j/4AAQ"],
    "image_numbers": [4, 7],
}
MINIMAL = {k: BLANK[k] for k in ("role", "content", "timestamp")}


@pytest.mark.parametrize("entry", [BLANK, ASSISTANT, RESULT, META, IMAGES])
def test_samples_come_back_exactly_without_layout_details(entry: Any) -> None:
    """The crate's own spelling, nulls and all, is ours."""
    (message,) = assert_exact("mermaid", entry)

    assert message.layout == "mermaid"


def test_fields_mean_what_they_say() -> None:
    """Times keep their offset, display actions stand in the metadata."""
    (message,) = MERMAID.decode(ASSISTANT)
    (result,) = MERMAID.decode(RESULT)

    assert message.content == (
        Thinking("hm", "sig"),
        Text("done"),
        ToolCall("c1", "read_file", {"path": "a.rs"}),
    )
    assert message.timestamp == datetime(
        2026, 4, 16, 12, tzinfo=timezone(timedelta(hours=-4))
    )
    assert message.timestamp.utcoffset() == timedelta(hours=-4)
    assert message.metadata == {"mermaid": {"actions": [ACTION]}}
    assert result.content == (ToolResult("c1", "file text", tool_name="read_file"),)


def test_a_minimal_old_message_loads_and_comes_back_minimal() -> None:
    """Every newer key has a default, and none is added to an old file."""
    (message,) = assert_exact("mermaid", MINIMAL)

    assert message.role is Role.USER
    assert message.kind is None


def test_unknown_roles_load_as_system_and_keep_their_string() -> None:
    """Also after an edit, where the crate itself would lose it."""
    (message,) = assert_exact("mermaid", {**BLANK, "role": "Narrator"})

    (entry,) = MERMAID.encode([message.evolve(content=(Text("other"),))])

    assert message.role is Role.SYSTEM
    assert entry["role"] == "Narrator"


@pytest.mark.parametrize(
    "kind",
    [
        "context_checkpoint",
        "run_summary",
        "continuation",
        "recovery_nudge",
        "context_marker",
        "invented_later",
        "unknown",
        "summary",
        "",
    ],
)
def test_kinds_keep_their_string(kind: str) -> None:
    """Known or not."""
    (message,) = assert_exact("mermaid", {**BLANK, "kind": kind})

    assert message.kind == kind
    if kind != "summary":
        assert MERMAID.encode([message.evolve(pinned=True)])[0]["kind"] == kind


def test_ciphertexts_are_unwrapped_and_wrapped() -> None:
    """The model holds the items to send; the file holds no readable ciphertext."""
    (message,) = MERMAID.decode(META)
    (_, opaque) = message.content if len(message.content) == 2 else (None, None)

    assert isinstance(opaque, Opaque) or isinstance(message.content[0], Opaque)
    block = next(b for b in message.content if isinstance(b, Opaque))
    assert block.value["output"][0]["encrypted_content"] == "sk-live-gAAAAAB"
    (entry,) = MERMAID.encode([message.evolve(content=message.content)])
    assert "sk-live" not in str(entry)
    assert entry["provider_continuation"] == META["provider_continuation"]


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {}},
        {"metadata": {"a": [1, {"b": None}]}},
        {"metadata": ["a"]},
        {"metadata": 0},
        {"metadata": {"mermaid": {"role": "x"}, "a": 1}},
        {"metadata": {"turnkeep": {"id": "m", "pinned": True, "priority": 3}}},
        {"metadata": {"turnkeep": {"kind": "note", "later": 1}}},
        {"thinking": ""},
        {"images": []},
        {"images": ["AA=="], "image_numbers": []},
        {"images": ["JVBERi0x", "AA=="], "image_numbers": [1, 2]},
        {"images": ["JVBERi0x"]},
        {"image_numbers": [1]},
        {"tool_calls": []},
        {"tool_calls": [{"id": None, "function": {"name": "f", "arguments": "5"}}]},
        {
            "tool_calls": [
                {"function": {"name": "f", "arguments": None, "strict": True}}
            ]
        },
        {"tool_calls": [{**CALL, "type": "function"}]},
        {"tool_call_id": "c", "tool_name": "f"},
        {"role": "Tool", "content": ""},
        {"role": "Tool", "images": ["AA=="], "image_numbers": [9], "thinking": "hm"},
        {"role": "Tool", "content": "[turnkeep:pending 02a2e08b]\nstarted"},
        {"role": "Tool", "content": "[turnkeep:error]\nno"},
        {"role": "Tool", "content": "tool error: no"},
        {"content": "[turnkeep:summary 543792ed]\nx"},
        {"content": "[turnkeep:summary 543792ed]\nx", "kind": "context_checkpoint"},
        {"content": "[turnkeep:digest 1c5d91c6]\nx"},
        {"timestamp": "2026-04-16T12:00:00.123456789+05:30"},
        {"timestamp": "2026-04-16T16:00:00Z"},
        {"timestamp": "1970-01-01T00:00:00+00:00"},
        {"provider_continuation": {"provider": "later", "x": [1]}},
        {"provider_continuation": {"provider": "anthropic", "signature": ""}},
        {
            "provider_continuation": {
                "provider": "anthropic",
                "signature": "s",
                "compaction": {"a": 1},
                "native_tool_calls": [{"id": "x"}],
            }
        },
        {
            "provider_continuation": {
                "provider": "meta_responses",
                "output": [
                    {"kind": "other", "item": {"encrypted_content": "x"}, "x": 1},
                ],
            }
        },
        {"later": {"a": 1}},
    ],
)
def test_other_spellings_come_back(changes: dict[str, Any]) -> None:
    """Everything a file may say, with and without the newer keys."""
    assert_exact("mermaid", {**BLANK, **changes})
    assert_exact("mermaid", {**MINIMAL, **changes})
    assert_exact("mermaid", {**ASSISTANT, **changes})


_calls = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {"name": names, "arguments": json_values}, optional={"later": json_values}
        )
    },
    optional={"id": st.none() | texts, "later": json_values},
)
_continuations = (
    st.fixed_dictionaries(
        {"provider": st.just("anthropic"), "signature": texts},
        optional={"compaction": json_values},
    )
    | st.builds(
        lambda output, more: {"provider": "meta_responses", "output": output, **more},
        st.lists(
            st.builds(
                lambda item, data: {
                    "kind": "reasoning",
                    "item": item,
                    "encrypted_content": base64.b64encode(data.encode()).decode(),
                },
                objects,
                st.text(max_size=5),
            )
            | objects.map(lambda item: {"kind": "other", "item": item}),
            max_size=3,
        ),
        unknown,
    )
    | objects.map(lambda value: {**value, "provider": "later"})
)
entries = st.builds(
    lambda entry, more: {**more, **entry},
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["User", "Assistant", "System", "Tool", "Later"]),
            "content": texts,
            "timestamp": times,
        },
        optional={
            "kind": st.sampled_from(["normal", "run_summary", "summary", "later"]),
            "metadata": json_values | objects,
            "actions": st.lists(st.just(ACTION), max_size=2),
            "thinking": st.none() | texts,
            "images": st.none() | st.lists(base64s, max_size=2),
            "image_numbers": st.none() | st.lists(numbers, max_size=2),
            "tool_calls": st.none() | st.lists(_calls, max_size=2),
            "tool_call_id": st.none() | texts,
            "tool_name": st.none() | names,
            "provider_continuation": st.none() | _continuations,
        },
    ),
    unknown,
)


@given(entries)
def test_decode_then_encode_always_gives_the_same_json(entry: dict[str, Any]) -> None:
    """Whatever a file says, it says after a round trip."""
    assert_exact("mermaid", entry)


def test_images_carry_their_numbers_and_media_types() -> None:
    """Mermaid stores no media type: the first bytes say it."""
    (message,) = MERMAID.decode(IMAGES)
    (files,) = MERMAID.decode({**BLANK, "images": ["JVBERi0x"], "image_numbers": [3]})

    assert message.content == (
        Text("hi"),
        Image("iVBORw0KGgo=", "image/png", number=4),
        Image("/9j/4AAQ", "image/jpeg", number=7),
    )
    assert files.content == (Text("hi"), Document("JVBERi0x", "application/pdf"))
    assert MERMAID.encode([files.evolve(pinned=True)])[0]["image_numbers"] == [3]


def test_a_message_of_other_origin_is_written_canonically() -> None:
    """Pins and what else has no field stand in the metadata, flags in a first line."""
    messages = [
        Message.assistant(
            [Thinking("hm", "sig"), Text("look")],
            tool_calls=[ToolCall(None, "f", '{"a":  1}')],
            id="m",
            pinned=True,
            priority=1,
            token_count=4,
            metadata={"a": 1},
        ),
        Message(
            Role.TOOL_RESULT,
            (
                ToolResult(None, [Text("x"), Image("AA==")], tool_name="f"),
                ToolResult("c", "y", is_error=True, pending=True),
                Text("and"),
            ),
            id="r",
            token_count=4,
        ),
    ]

    call, one, two, rest = MERMAID.encode(messages)

    assert call == {
        **BLANK,
        "role": "Assistant",
        "content": "look",
        "timestamp": "1970-01-01T00:00:00+00:00",
        "metadata": {
            "a": 1,
            "turnkeep": {"id": "m", "token_count": 4, "pinned": True, "priority": 1},
        },
        "thinking": "hm",
        "tool_calls": [{"id": None, "function": {"name": "f", "arguments": {"a": 1}}}],
        "provider_continuation": {"provider": "anthropic", "signature": "sig"},
    }
    assert (one["tool_name"], one["images"], one["image_numbers"]) == (
        "f",
        ["AA=="],
        None,
    )
    assert two["content"] == "[turnkeep:pending b6c96bfc]\n[turnkeep:error]\ny"
    assert (two["role"], rest["role"], rest["content"]) == ("Tool", "User", "and")
    assert [e["metadata"]["turnkeep"] for e in (one, two, rest)] == [
        {"id": "r"},
        {"id": "r/1"},
        {"id": "r/2"},
    ]
    back = MERMAID.decode(call)[0]
    assert (back.id, back.pinned, back.priority, back.token_count) == ("m", True, 1, 4)
    assert MERMAID.decode(two)[0].content == (
        ToolResult("c", "y", is_error=True, pending=True),
    )


def test_results_name_the_tool_of_their_call() -> None:
    """Ollama needs it."""
    messages = [
        Message.assistant(tool_calls=[ToolCall("c", "f")]),
        Message(Role.TOOL_RESULT, (Text("late"), ToolResult("c", "x"))),
        Message.tool_result("c", "x", tool_name="other"),
        Message.tool_result("d", "x"),
    ]

    _, one, _, two, three = MERMAID.encode(messages)

    assert [e["tool_name"] for e in (one, two, three)] == ["f", "other", None]


@pytest.mark.parametrize(
    ("message", "kind", "metadata"),
    [
        (
            Message.user("[turnkeep:summary 543792ed]\nx", kind="summary"),
            "context_checkpoint",
            None,
        ),
        (
            Message.user("x", kind="summary"),
            "context_checkpoint",
            {"turnkeep": {"kind": "summary"}},
        ),
        (Message.user("[turnkeep:digest 1c5d91c6]\nx", kind="digest"), "normal", None),
        (Message.user("x", kind="note"), "normal", {"turnkeep": {"kind": "note"}}),
        (Message.system("x", kind="run_summary"), "run_summary", None),
    ],
)
def test_kinds_of_other_origin_come_back(
    message: Message, kind: str, metadata: Any
) -> None:
    """A summary is a checkpoint; what Mermaid does not know is noted beside it."""
    (entry,) = MERMAID.encode([message])

    assert (entry["kind"], entry["metadata"]) == (kind, metadata)
    assert MERMAID.decode(entry)[0].kind == message.kind


def test_losses_name_what_does_not_fit() -> None:
    """A message of Mermaid's loses nothing."""
    message = Message.assistant(
        [
            Thinking("hm", "seal"),
            Document(text="x"),
            Image(url="https://x"),
            Opaque({"type": "x"}, "gemini"),
        ],
        layout="gemini",
        extra={"later": 1},
    )

    assert MERMAID.losses(message) == [
        "keys of gemini: later",
        "a block of gemini (x)",
        "a file",
        "an image that is given by its address",
        "the seal or ciphertext of reasoning",
    ]
    for entry in (ASSISTANT, META, IMAGES, RESULT):
        assert MERMAID.losses(MERMAID.decode(entry)[0]) == []
    foreign = MERMAID.encode([message])[0]
    assert foreign["provider_continuation"] is None
    assert "later" not in foreign


def test_calls_of_other_origin_keep_their_keys_to_themselves() -> None:
    """An unknown key of a call belongs to its format."""
    call = ToolCall("c", "f", extra={"index": 0})
    foreign = Message.assistant(tool_calls=[call], layout="openai")

    assert MERMAID.encode([foreign])[0]["tool_calls"] == [
        {"id": "c", "function": {"name": "f", "arguments": {}}}
    ]


@pytest.mark.parametrize(
    "message",
    [
        Message.user([Text("a"), Text("b")], kind="note", pinned=True),
        Message.tool_result(None, "x", is_error=True),
        Message.user("x", metadata={"mermaid": 5, "turnkeep": 5}),
        Message.user("x", metadata={"mermaid": {"metadata": [1], "actions": 0}}),
        Message(Role.TOOL_CALL, (ToolCall("c", "f"),)),
        Message.user([Opaque({"provider": "later", "output": 5}, "mermaid")]),
        Message.user([Image("AA==", number=1), Image("AA==")]),
    ],
)
def test_other_messages_are_stable_once_written(message: Message) -> None:
    """Writing what was read gives the same again."""
    assert_stays("mermaid", message)


def test_lists_and_sessions_open() -> None:
    """A session file has its messages, and names its model."""
    session = {"id": "20260416_120000_000", "messages": [BLANK], "model_name": "m"}
    envelope = MERMAID.open(session)

    assert envelope.model == "m"
    assert envelope.replace([RESULT]) == {**session, "messages": [RESULT]}
    assert MERMAID.decode_system("x") == (Message.system("x"),)
    assert MERMAID.encode_request(MERMAID.decode(BLANK)) == {"messages": [BLANK]}


def test_detection_by_roles_and_time_stamps() -> None:
    """Roles in upper case beside text; unknown roles only with Mermaid's fields."""
    assert match_format([MINIMAL, RESULT], MERMAID.name).score > 2
    assert match_format([{**BLANK, "role": "Narrator"}], MERMAID.name).score > 2
    for other in (
        [{**MINIMAL, "role": "user"}],
        [{**MINIMAL, "role": []}],
        [{**MINIMAL, "timestamp": 5}],
        [{"role": "User", "content": {"Text": "hi"}}],
    ):
        assert match_format(other, MERMAID.name).score == 0


def _blank(**changes: Any) -> dict[str, Any]:
    return {**BLANK, **changes}


def _meta(*output: Any) -> dict[str, Any]:
    return _blank(
        provider_continuation={"provider": "meta_responses", "output": list(output)}
    )


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("hi", ""),
        ({"role": "User", "content": "hi"}, ""),
        ({"role": "User", "timestamp": BLANK["timestamp"]}, ""),
        (_blank(role=None), ".role"),
        (_blank(content=["hi"]), ".content"),
        (_blank(timestamp="2026-04-16T12:00:00"), ".timestamp"),
        (_blank(timestamp=1), ".timestamp"),
        (_blank(kind=None), ".kind"),
        (_blank(metadata={"a": float("nan")}), ".metadata.a"),
        (_blank(metadata=[float("nan")]), ".metadata[0]"),
        (_blank(metadata={"turnkeep": {"id": 5}}), ".metadata.turnkeep.id"),
        (_blank(actions=None), ".actions"),
        (_blank(actions=["Read"]), ".actions[0]"),
        (_blank(actions=[{"target": "x"}]), ".actions[0]"),
        (_blank(thinking=5), ".thinking"),
        (_blank(images="AA=="), ".images"),
        (_blank(images=["AA==", "AAA"]), ".images[1]"),
        (_blank(image_numbers=[True]), ".image_numbers[0]"),
        (_blank(image_numbers=[-1]), ".image_numbers[0]"),
        (_blank(tool_calls=[5]), ".tool_calls[0]"),
        (_blank(tool_calls=[{"id": "a"}]), ".tool_calls[0]"),
        (_blank(tool_calls=[{"function": {"name": "f"}}]), ".tool_calls[0].function"),
        (
            _blank(tool_calls=[{"function": {"name": 1, "arguments": 1}}]),
            ".tool_calls[0].function.name",
        ),
        (_blank(role="Tool", tool_call_id=5), ".tool_call_id"),
        (_blank(provider_continuation=[]), ".provider_continuation"),
        (_blank(provider_continuation={}), ".provider_continuation"),
        (
            _blank(provider_continuation={"provider": "anthropic"}),
            ".provider_continuation",
        ),
        (_meta(5), ".provider_continuation.output[0]"),
        (_meta({"kind": "other"}), ".provider_continuation.output[0]"),
        (_meta({"kind": "x", "item": {}}), ".provider_continuation.output[0].kind"),
        (
            _meta({"kind": "reasoning", "item": {}, "encrypted_content": "AAA"}),
            ".provider_continuation.output[0].encrypted_content",
        ),
        (
            _meta({"kind": "reasoning", "item": {}, "encrypted_content": "/w=="}),
            ".provider_continuation.output[0].encrypted_content",
        ),
    ],
)
def test_bad_input_is_refused_with_its_path(entry: Any, path: str) -> None:
    """One error, and nothing changed."""
    assert_refused("mermaid", entry, path)
