"""Tests for the format `bedrock`."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.block_checks import (
    check_corpus,
    nested,
    read,
    read_or_refuse,
    refuse,
)
from tests.generators import PDF, PNG, json_objects, json_values, mangled, texts, words
from tests.paths import needs_corpus
from turnkeep.errors import FormatError
from turnkeep.formats import get_format, match_format
from turnkeep.model import (
    PENDING,
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    freeze,
    mark,
    same,
)

FMT = get_format("bedrock")
RAW = base64.b64decode(PNG)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def call(call_id: str = "t1", **more: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": "f", "input": {}, **more}}


def answer(call_id: str = "t1", content: Any = (), **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


@needs_corpus
def test_recorded_histories_come_back_equal() -> None:
    check_corpus(FMT)


def test_calls_and_results() -> None:
    made, answered, question = read(
        FMT,
        assistant({"text": "Well."}, call("a", input={"x": 1}), call("b")),
        user(
            answer("a", [{"text": "1"}], status="success"),
            answer("b", [{"json": {"k": [1]}}, {"text": "2"}], status="error"),
            {"cachePoint": {"type": "default"}},
            {"text": "and?"},
        ),
    )

    assert [c.arguments for c in made.tool_calls] == [{"x": 1}, {}]
    assert answered.role is Role.TOOL_RESULT
    first, second = answered.tool_results
    assert (first.text, first.is_error) == ("1", False)
    assert (second.content[0], second.is_error) == (Json({"k": [1]}), True)
    assert question.text == "and?"


def test_a_cache_point_alone_opens_no_turn() -> None:
    (only,) = read(FMT, user(answer(), {"cachePoint": {"type": "default"}}))

    assert only.role is Role.TOOL_RESULT


def test_results_that_are_not_final_are_recognised() -> None:
    (message,) = read(
        FMT,
        user(
            answer("a", [{"text": "[turnkeep:pending 02a2e08b]\nstarted"}]),
            answer("b", [{"text": "[turnkeep:interim 6d20911d]\nhalf"}, {"json": 1}]),
        ),
    )

    assert message.tool_results[0].pending
    assert message.tool_results[0].text == "started"
    assert message.tool_results[1].interim


def test_reasoning_is_kept_byte_for_byte() -> None:
    (message,) = read(
        FMT,
        assistant(
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "a/+"}}},
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": None}}},
            {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
            {"reasoningContent": {"redactedContent": RAW}},
            {"reasoningContent": {"brandNew": 1}},
        ),
    )

    assert message.content[0] == Thinking("hm", "a/+")
    assert message.content[2] == Thinking(data="c2VhbGVk")
    assert message.content[3] == Thinking(data=PNG)
    assert isinstance(message.content[4], Opaque)


def test_bytes_stay_bytes_and_text_stays_text() -> None:
    """As boto3 has it, and as the HTTP API has it."""
    text, raw = (
        {"image": {"format": "png", "source": {"bytes": data}}} for data in (PNG, RAW)
    )
    document = {"document": {"format": "pdf", "name": "d", "source": {"bytes": RAW}}}
    video = {"video": {"format": "mp4", "source": {"bytes": RAW}, "tags": [1, RAW]}}

    asked, answered = read(
        FMT, user(text, raw, document, video), user(answer("a", [raw, text, video]))
    )

    assert asked.content[0] == asked.content[1] == Image(PNG, "image/png")
    assert answered.tool_results[0].content[:2] == asked.content[:2]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
            Image(url="s3://b/k", media_type="image/png"),
        ),
        (
            {
                "image": {
                    "format": "png",
                    "source": {"s3Location": {"uri": "s3://b/k", "bucketOwner": "1"}},
                }
            },
            Image(
                url="s3://b/k",
                media_type="image/png",
                extra=freeze(
                    {"image": {"source": {"s3Location": {"bucketOwner": "1"}}}}
                ),
            ),
        ),
        (
            {"document": {"format": "md", "name": "d", "source": {"text": "# T"}}},
            Document(text="# T", media_type="text/markdown", title="d"),
        ),
        (
            {
                "document": {
                    "name": "d",
                    "source": {"content": [{"text": "x"}]},
                    "citations": {"enabled": True},
                }
            },
            Document(
                title="d",
                extra=freeze(
                    {
                        "document": {
                            "source": {"content": [{"text": "x"}]},
                            "citations": {"enabled": True},
                        }
                    }
                ),
            ),
        ),
        (
            {"document": {"format": "new", "source": {"bytes": PDF}}},
            Document(PDF, extra=freeze({"document": {"format": "new"}})),
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_images_and_documents(block: dict[str, Any], expected: Block) -> None:
    (message,) = read(FMT, user(block))

    assert message.content == (expected,)


def test_unknown_blocks_and_keys_are_kept() -> None:
    (message,) = read(
        FMT,
        {
            **assistant(
                {"guardContent": {"text": {"text": "x"}}},
                {"SDK_UNKNOWN_MEMBER": {"name": "new"}},
                {"text": "x", "zz": 1},
                {"citationsContent": {"content": []}},
                call(type="server_tool_use"),
                call(zz=1),
                answer(),
                {**call(), "zz": None},
                {
                    "reasoningContent": {"reasoningText": {"text": "", "zz": 1}},
                    "reasoningText": 2,
                },
            ),
            "id": "m1",
        },
    )

    assert message.id == "m1"
    assert len(message.tool_calls) == 2
    read(FMT, user(answer(zz=1), call(), {"reasoningContent": {}}))
    read(FMT, user(answer("a", [{"json": 1, "zz": 2}, {"toolUse": {}}])))
    read(FMT, {"role": "system", "content": [{"text": "x"}]})


@pytest.mark.parametrize(
    "system",
    [
        [],
        [{"text": "Be kind."}],
        [{"text": "a"}, {"cachePoint": {"type": "default"}}, {"guardContent": {}}],
    ],
)
def test_system_text_beside_the_list(system: Any) -> None:
    messages = [*FMT.decode_system(system), Message.user("hi")]

    body = FMT.encode_request(messages, tools={"tools": []})

    assert same(body["system"], system)
    assert body["messages"] == [user({"text": "hi"})]
    assert body["toolConfig"] == {"tools": []}


def test_system_messages_and_tools_stand_beside_the_list() -> None:
    own = {"role": "system", "content": [{"text": "c"}]}
    spoken = [
        Message.system("a"),
        Message.user("hi"),
        Message.system("b"),
        *FMT.decode(own),
    ]

    body = FMT.encode_request(spoken, tools=[1])

    assert body == {
        "system": [{"text": "a"}, {"text": "b"}],
        "messages": [user({"text": "hi"}), own],
        "toolConfig": {"tools": [1]},
    }


def test_a_body_is_opened_and_closed() -> None:
    body = {
        "modelId": "m",
        "messages": [user()],
        "system": [],
        "toolConfig": {"tools": []},
    }

    envelope = FMT.open(body)

    assert (envelope.model, envelope.tools) == ("m", {"tools": []})
    assert envelope.replace([]) == {**body, "messages": []}


def test_foreign_neighbours_of_one_side_share_a_message() -> None:
    """BR-03, BR-06."""
    entries = FMT.encode(
        [
            Message.user("go"),
            Message.user("now"),
            Message.assistant("Well."),
            Message.assistant(
                tool_calls=[ToolCall("a", "f"), ToolCall("b", "f", "{}")]
            ),
            Message.tool_result("a", "1"),
            Message.tool_result("b", "2", is_error=True),
            Message.user("and?"),
        ]
    )

    assert entries == [
        user({"text": "go"}, {"text": "now"}),
        assistant({"text": "Well."}, call("a"), call("b")),
        user(
            answer("a", [{"text": "1"}]),
            answer("b", [{"text": "2"}], status="error"),
            {"text": "and?"},
        ),
    ]


def test_foreign_stand_in_joins_the_results_it_belongs_to() -> None:
    first, second = FMT.decode(user(answer("a"), {"text": "next?"}))
    stand_in = Message.tool_result("b", "open", pending=True)

    entries = FMT.encode([first, stand_in, second])

    assert entries == [
        user(
            answer("a"),
            answer("b", [{"text": "[turnkeep:pending 533f65f1]\nopen"}]),
            {"text": "next?"},
        )
    ]


def test_neighbours_from_the_wire_are_left_alone() -> None:
    read(FMT, user({"text": "a"}), user({"text": "b"}), user(answer()))


def test_foreign_blank_text_is_left_out() -> None:
    """BR-05, BR-13."""
    entries = FMT.encode(
        [
            Message.user([Text(" "), Text("x")]),
            Message.assistant(""),
            Message.tool_result("a", ""),
            Message.tool_result("b", " ", is_error=True),
            Message.tool_result("c", [], is_error=True),
            Message.tool_result("d", [Json([1]), Json({"k": 1})]),
            Message.assistant([]),
        ]
    )

    assert entries == [
        user({"text": "x"}),
        assistant({"text": ""}),
        user(
            answer("a"),
            answer("b", [{"text": "error"}], status="error"),
            answer("c", [{"text": "error"}], status="error"),
            answer("d", [{"text": "[1]"}, {"json": {"k": 1}}]),
        ),
        assistant({"text": ""}),
    ]


def test_foreign_pictures_and_files() -> None:
    blocks: list[Block] = [
        Image(PNG),
        Image(url=f"data:image/gif;base64,{PNG}"),
        Image(url="data:image/gif;base64,###"),
        Image(url="https://x/y.png"),
        Image(url="s3://b/k", media_type="image/jpeg"),
        Document(PDF, title="a/b.pdf"),
        Document(text="plain", media_type="application/x-new"),
        Document(file_id="f"),
        Json({"a": 1}),
        Opaque({"x": 1}, "openai"),
        Opaque({"guardContent": {}}),
        Opaque({"type": "x", "value": 1}),
    ]
    foreign = Message.user(blocks, layout="openai")
    pictured = Message.tool_result("a", [Text("see"), *blocks[3:5]])

    (entry,) = FMT.encode([foreign])

    answered = FMT.encode([pictured])[0]["content"][0]["toolResult"]
    assert [list(block) for block in answered["content"]] == [["text"], ["image"]]
    assert entry["content"] == [
        {"image": {"format": "png", "source": {"bytes": PNG}}},
        {"image": {"format": "gif", "source": {"bytes": PNG}}},
        {
            "image": {
                "format": "jpeg",
                "source": {"s3Location": {"uri": "s3://b/k"}},
            }
        },
        {"document": {"format": "pdf", "name": "a-b-pdf", "source": {"bytes": PDF}}},
        {
            "document": {
                "format": "txt",
                "name": "document",
                "source": {"text": "plain"},
            }
        },
        {"text": '{"a":1}'},
        {"guardContent": {}},
    ]
    assert len(FMT.losses(foreign)) == 4


def test_foreign_reasoning_is_left_out() -> None:
    openai = Message.assistant([Thinking("hm", "s")], layout="openai")
    claude = Message.assistant(
        [Thinking("hm", "s"), Thinking(data="ZGF0YQ=="), Thinking("unsigned")],
        layout="anthropic:[]",
    )

    entries = FMT.encode([openai, claude])

    assert entries == [
        assistant(
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
            {"reasoningContent": {"redactedContent": "ZGF0YQ=="}},
        )
    ]
    assert FMT.losses(openai) == ["reasoning that no model on Bedrock signed"]
    assert FMT.losses(claude) == ["reasoning that no model on Bedrock signed"]


def test_foreign_ids_and_keys() -> None:
    """Calls get legal ids (BR-09); keys of other formats are not sent."""
    long = "x" * 65
    history = [
        Message.assistant(
            tool_calls=[ToolCall(long, "f"), ToolCall(None, "g")],
            extra={"name": "b"},
            layout="openai",
        ),
        Message.tool_result(long, "1"),
        Message.tool_result(None, "2", tool_name="g"),
    ]

    made, answers = FMT.encode(history)

    assert made.keys() == {"role", "content"}
    ids = [block["toolUse"]["toolUseId"] for block in made["content"]]
    assert ids == [block["toolResult"]["toolUseId"] for block in answers["content"]]
    assert all(len(i) <= 64 for i in ids)
    assert len(set(ids)) == 2


def test_what_is_only_shown_is_not_sent() -> None:
    shown = Message.assistant("done in 3 s", kind="run_summary")

    assert FMT.encode([shown]) == []
    assert FMT.encode_request([shown]) == {"messages": []}


NAN = float("nan")
HOSTILE: list[tuple[Any, str, str]] = [
    (None, "", "must be an object"),
    ({"content": []}, "", "'role' is missing"),
    ({"role": "tool", "content": []}, ".role", "unknown role 'tool'"),
    ({"role": "user"}, "", "'content' is missing"),
    ({"role": "user", "content": "x"}, ".content", "must be an array"),
    (user("x"), ".content[0]", "must be an object"),
    (user({}), ".content[0]", "this one has none"),
    (user({"text": None}), ".content[0].text", "must be a string"),
    (user({"text": "x", "image": {}}), ".content[0]", "not both 'text' and 'image'"),
    (assistant({"toolUse": []}), ".content[0].toolUse", "must be an object"),
    (assistant({"toolUse": {}}), ".content[0].toolUse", "'toolUseId' is missing"),
    (assistant(call(name=1)), ".content[0].toolUse.name", "must be a string"),
    (assistant(call(input="{}")), ".content[0].toolUse.input", "must be an object"),
    (assistant(call(input={"a": NAN})), ".content[0].toolUse.input.a", "not JSON"),
    (user({"toolResult": {}}), ".content[0].toolResult", "'toolUseId' is missing"),
    (
        user({"toolResult": {"toolUseId": "a", "content": "x"}}),
        ".content[0].toolResult.content",
        "must be an array",
    ),
    (user(answer(status="bad")), ".content[0].toolResult.status", "unknown status"),
    (
        user(answer("a", [{"text": 1}])),
        ".content[0].toolResult.content[0].text",
        "must be a string",
    ),
    (user({"image": {"format": "png"}}), ".content[0].image", "'source' is missing"),
    (
        user({"image": {"format": 1, "source": {}}}),
        ".content[0].image.format",
        "must be a string",
    ),
    (
        user({"image": {"source": {}}}),
        ".content[0].image.source",
        "one member, not 0",
    ),
    (
        user({"image": {"source": {"bytes": PNG, "s3Location": {}}}}),
        ".content[0].image.source",
        "one member, not 2",
    ),
    (
        user({"image": {"source": {"bytes": 7}}}),
        ".content[0].image.source.bytes",
        "base64 text or bytes",
    ),
    (
        user({"image": {"source": {"bytes": PNG[:-1]}}}),
        ".content[0].image.source.bytes",
        "truncated",
    ),
    (
        user({"image": {"source": {"s3Location": {}}}}),
        ".content[0].image.source.s3Location",
        "'uri' is missing",
    ),
    (
        user({"document": {"name": 1, "source": {"text": "x"}}}),
        ".content[0].document.name",
        "must be a string",
    ),
    (
        user({"document": {"source": {"text": 1}}}),
        ".content[0].document.source.text",
        "must be a string",
    ),
    (
        assistant({"reasoningContent": {"redactedContent": 7}}),
        ".content[0].reasoningContent.redactedContent",
        "base64 text or bytes",
    ),
    (
        assistant(
            {"reasoningContent": {"reasoningText": {"text": "", "signature": 1}}}
        ),
        ".content[0].reasoningContent.reasoningText.signature",
        "must be a string",
    ),
    (user({"video": {"a": {1}}}), ".content[0].video.a", "not JSON"),
    ({**user(), "zz": NAN}, ".zz", "not JSON"),
]


@pytest.mark.parametrize(("entry", "path", "reason"), HOSTILE)
def test_refuses_with_one_error_and_its_path(
    entry: Any, path: str, reason: str
) -> None:
    refuse(FMT, entry, path, reason)


@pytest.mark.parametrize("levels", [150, 50_000])
@pytest.mark.parametrize(
    "make",
    [
        lambda deep: assistant(call(input={"a": deep})),
        lambda deep: user(answer("a", [{"json": deep}])),
        lambda deep: user({"video": deep}),
        lambda deep: user({"video": {"source": {"bytes": RAW}, "deep": deep}}),
        lambda deep: user({"document": {"source": {"content": [deep]}}}),
    ],
    ids=range(5),
)
def test_refuses_deep_nesting_anywhere(make: Any, levels: int) -> None:
    """The interpreter's stack is never at risk."""
    with pytest.raises(FormatError, match="nested deeper"):
        FMT.decode(make(nested(levels)), "$[7]")


def test_refuses_other_system_text() -> None:
    with pytest.raises(FormatError) as caught:
        FMT.decode_system({"text": "Be kind."})

    assert caught.value.path == "$.system"


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([], 1),
        ([user()], 1),
        ([user({"text": "x"})], 3),
        ([user({"text": "x"}), assistant(call()), user(answer())], 4),
        ([{"role": "user", "content": "x"}], 0),
        ([{"role": "tool", "content": []}], 0),
        ([user({"type": "text", "text": "x"})], 0),
        ([user({"zz": "x"})], 0),
        ([1], 0),
        ("x", 0),
    ],
)
def test_is_recognised_by_its_shape(value: Any, score: int) -> None:
    match = match_format(value, FMT.name)

    assert match.score == score
    assert match.reason


bytes_like = st.sampled_from([PNG, RAW, b"", ""])
sources = st.one_of(
    st.builds(lambda b: {"bytes": b}, bytes_like),
    st.builds(
        lambda more: {"s3Location": {"uri": "s3://b/k", **more}},
        st.dictionaries(st.just("bucketOwner"), words),
    ),
    st.just({"text": "x"}),
    st.just({"content": [{"text": "x"}]}),
)
media = st.builds(
    lambda kind, source, more: {kind: {"source": source, **more}},
    st.sampled_from(["image", "document"]),
    sources,
    st.dictionaries(
        st.sampled_from(["format", "name", "zz"]),
        st.none() | st.sampled_from(["png", "pdf", "md", "new"]),
        max_size=2,
    ),
)
more = st.dictionaries(st.just("zz"), json_values)
text_blocks = st.builds(lambda t, m: {**m, "text": t}, texts, more)
opaques = st.one_of(
    st.just({"cachePoint": {"type": "default"}}),
    st.builds(lambda b: {"video": {"source": {"bytes": b}}}, bytes_like),
    st.builds(lambda v: {"guardContent": v}, json_values),
)
calls = st.builds(lambda i, m, n: {**n, **call(input=i, **m)}, json_objects, more, more)
answers = st.builds(
    lambda content, status, m, n: {**n, **answer("t", content, **status, **m)},
    st.lists(
        st.one_of(
            text_blocks,
            media,
            opaques,
            st.builds(lambda v, m: {**m, "json": v}, json_values, more),
            texts.map(lambda t: {"text": mark(PENDING, t)}),
        ),
        max_size=3,
    ),
    st.dictionaries(st.just("status"), st.sampled_from(["error", "success"])),
    more,
    more,
)
thoughts = st.one_of(
    st.builds(
        lambda t, m: {"reasoningContent": {"reasoningText": {"text": t, **m}}},
        texts,
        st.dictionaries(st.sampled_from(["signature", "zz"]), st.none() | words),
    ),
    st.builds(lambda b: {"reasoningContent": {"redactedContent": b}}, bytes_like),
)
messages = st.builds(
    lambda role, content, m: {**m, "role": role, "content": content},
    st.sampled_from(["user", "user", "assistant", "system"]),
    st.lists(
        st.one_of(text_blocks, media, opaques, calls, answers, thoughts), max_size=4
    ),
    st.dictionaries(st.sampled_from(["id", "zz"]), json_values, max_size=1),
)


@given(wire=st.lists(messages, max_size=4))
def test_whatever_the_format_can_say_comes_back_equal(wire: list[Any]) -> None:
    read(FMT, *wire)


@given(entry=mangled(messages, ["role", "content"]))
def test_damaged_entries_are_read_or_refused(entry: Any) -> None:
    """And what was read is written back equal all the same."""
    read_or_refuse(FMT, entry)
