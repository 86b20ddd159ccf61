"""Tests for the format `gemini`."""

from __future__ import annotations

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
    INTERIM,
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
    ToolResult,
    freeze,
    mark,
    same,
)

FMT = get_format("gemini")


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(**more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "f", "args": {}, **more}}


def answer(**more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": "f", "response": {}, **more}}


def unsigned(part: dict[str, Any]) -> dict[str, Any]:
    """A call with the escape signature of GE-11."""
    skip = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
    return {**part, "thoughtSignature": skip}


@needs_corpus
def test_recorded_histories_come_back_equal() -> None:
    check_corpus(FMT)


def test_text_and_roles() -> None:
    asked, said, bare, null, old = read(
        FMT,
        user({"text": "hi"}),
        model({"text": "a"}, {"text": "b"}),
        {"parts": [{"text": "no role"}]},
        {"role": None, "parts": [{"text": "null"}]},
        {"role": "function", "parts": [answer()]},
    )

    assert (asked.role, said.role, bare.role, null.role, old.role) == (
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
        Role.USER,
        Role.TOOL_RESULT,
    )
    assert said.text == "a\nb"


def test_contents_without_parts() -> None:
    """A model that said nothing gives these."""
    absent, null, empty = read(
        FMT,
        {"role": "model"},
        {"role": "model", "parts": None},
        {"role": "model", "parts": []},
    )

    assert absent.content == null.content == empty.content == ()


def test_calls_with_and_without_ids() -> None:
    """Without ids, results are linked by the tool's name."""
    made, answered = read(
        FMT,
        model(call(args={"a": 1}), call(id="c1")),
        user(answer(response={"output": "x"}), answer(id="c1")),
    )

    assert [(c.id, c.name) for c in made.tool_calls] == [(None, "f"), ("c1", "f")]
    assert made.tool_calls[0].arguments == {"a": 1}
    assert [(r.tool_call_id, r.tool_name) for r in answered.tool_results] == [
        (None, "f"),
        ("c1", "f"),
    ]
    assert answered.role is Role.TOOL_RESULT


def test_both_spellings_are_kept() -> None:
    """Even mixed inside one content, as the SDK writes them."""
    read(
        FMT,
        model(
            {"function_call": {"name": "f", "args": {}}, "thought_signature": "s"},
            {**call(), "thoughtSignature": "s"},
            {"text": "x", "thought": True, "thought_signature": "t"},
        ),
        user(
            {
                "function_response": {
                    "name": "f",
                    "response": {"result": "x"},
                    "parts": [
                        {"inline_data": {"mime_type": "image/png", "data": PNG}},
                        {"fileData": {"mimeType": "a/b", "fileUri": "gs://x"}},
                        {"something": 1},
                    ],
                }
            },
            answer(parts=[{"file_data": {"file_uri": "u", "mime_type": "image/x"}}]),
            {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "p"}},
            {"inline_data": {"mimeType": "image/png", "data": PNG}},
            {"fileData": {"file_uri": "https://x/y"}},
            {"inlineData": {"mimeType": "a/b", "mime_type": "c", "data": ""}},
        ),
    )


@pytest.mark.parametrize(
    "inner",
    [
        {"name": "f"},
        {"name": "f", "args": None},
        {"name": "f", "args": {"a": [1, None]}},
        {"name": "f", "id": None, "args": {}},
        {"name": "f", "id": "x", "args": {}, "willContinue": True},
        {"name": "f", "args": {"args": {}}, "zz": {"args": 1}},
    ],
    ids=json.dumps,
)
def test_every_spelling_of_a_call_is_kept(inner: dict[str, Any]) -> None:
    (message,) = read(FMT, model({"functionCall": inner, "partMetadata": {"a": 1}}))

    assert isinstance(message.tool_calls[0].arguments, dict)


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({}, "", False),
        ({"output": "x"}, "x", False),
        ({"result": "x"}, "x", False),
        ({"return_value": ""}, "", False),
        ({"error": "broke"}, "broke", True),
        ({"error": ""}, "", True),
        ({"output": 7}, '{"output": 7}', False),
        ({"place": "Paris"}, '{"place": "Paris"}', False),
        ({"error": {"code": 1}}, '{"error": {"code": 1}}', True),
        ({"error": None}, '{"error": null}', False),
        ({"error": "x", "code": 2}, '{"error": "x", "code": 2}', True),
        ({"output": "[turnkeep:pending 02a2e08b]\nstarted"}, "started", False),
    ],
)
def test_responses(response: dict[str, Any], text: str, is_error: bool) -> None:
    """Text under the usual keys is text, everything else structured content."""
    (message,) = read(FMT, user(answer(response=response)))
    result = message.tool_results[0]

    assert result.text == text
    assert result.is_error is is_error
    assert result.pending is (text == "started")


def test_a_response_may_be_absent() -> None:
    read(FMT, user({"functionResponse": {"name": "f"}}))
    read(FMT, user({"functionResponse": {"name": "f", "parts": []}}))


def test_an_edited_response_keeps_its_key() -> None:
    """The framework that reads it back looks for the text where it put it."""
    (message,) = FMT.decode(user(answer(id="1", response={"result": "long"})))
    result = message.tool_results[0]
    shorter = ToolResult("1", "short", tool_name="f", extra=result.extra)

    assert FMT.encode([message.evolve(content=[shorter])]) == [
        user(answer(id="1", response={"result": "short"}))
    ]


def test_responses_and_text_of_one_content_are_two_messages() -> None:
    results, question = read(
        FMT, user({"text": "before"}, answer(), {"text": "after"}, answer())
    )

    assert len(results.tool_results) == 2
    assert question.text == "before\nafter"


def test_reasoning_and_signatures() -> None:
    (message,) = read(
        FMT,
        model(
            {"text": "hm", "thought": True},
            {"text": "hm", "thought": True, "thoughtSignature": "a/+="},
            {"text": "", "thoughtSignature": "b"},
            {"text": "said", "thought": False},
            {"thoughtSignature": "alone"},
            {"text": "odd", "thought": True, "thoughtSignature": None},
            {**call(), "thoughtSignature": "c"},
        ),
    )

    assert message.content[0] == Thinking("hm")
    assert message.content[1] == Thinking("hm", "a/+=")
    assert message.content[6].extra == {"thoughtSignature": "c"}  # type: ignore[union-attr]


def test_pictures_and_files() -> None:
    (message,) = read(
        FMT,
        user(
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
            {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y.png"}},
            {"fileData": {"fileUri": "gs://bucket/x"}},
            {
                "inlineData": {"mimeType": "image/png", "data": "_-8"},
                "mediaResolution": {"level": "LOW"},
            },
        ),
    )

    assert message.content[:4] == (
        Image(PNG, "image/png"),
        Document(PDF, "application/pdf"),
        Image(url="https://x/y.png", media_type="image/png"),
        Document(file_id="gs://bucket/x"),
    )


def test_unknown_parts_and_keys_are_kept() -> None:
    (message,) = read(
        FMT,
        {
            **model(
                {"executableCode": {"code": "1", "language": "PYTHON"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                {"brandNew": [1]},
                {"text": "x", "zz": None},
                {"text": "x", "functionCall": None},
            ),
            "id": "m1",
        },
    )

    assert message.id == "m1"
    assert [type(b) for b in message.content] == [Opaque, Opaque, Opaque, Text, Text]


def test_parts_on_the_wrong_side_are_carried_along() -> None:
    asked, said = read(FMT, user(call()), model(answer()))

    assert not asked.tool_calls
    assert not said.tool_results


@pytest.mark.parametrize(
    "system",
    [
        "Be kind.",
        {"parts": [{"text": "Be kind."}]},
        {"role": "user", "parts": [{"text": "a"}, {"text": "b", "zz": 1}]},
        {"parts": []},
    ],
)
def test_system_text_beside_the_list(system: Any) -> None:
    messages = [*FMT.decode_system(system), Message.user("hi")]

    body = FMT.encode_request(messages, tools=[{"functionDeclarations": []}])

    assert same(body["systemInstruction"], system)
    assert body["contents"] == [user({"text": "hi"})]
    assert body["tools"] == [{"functionDeclarations": []}]


def test_several_system_messages_become_one() -> None:
    foreign = Message.system("c", layout="openai", extra={"name": "x"})
    spoken = [Message.system("a"), Message.system("b"), Message.user("hi"), foreign]

    body = FMT.encode_request(spoken)

    parts = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    assert body == {
        "systemInstruction": {"parts": parts},
        "contents": [user({"text": "hi"})],
    }
    assert FMT.encode_request([foreign])["systemInstruction"] == {"parts": parts[2:]}


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_a_body_is_opened_and_closed(key: str) -> None:
    body = {key: "s", "contents": [user()], "tools": [1], "generationConfig": {}}

    envelope = FMT.open(body)

    assert (envelope.system, envelope.tools, envelope.path) == ("s", [1], "$.contents")
    assert envelope.replace([]) == {**body, "contents": []}


# Messages of other origin get a shape that the API accepts.


def test_foreign_calls_and_results() -> None:
    entries = FMT.encode(
        [
            Message.user("go"),
            Message.assistant("Well."),
            Message.assistant(tool_calls=[ToolCall("a", "f", '{"x": 1}')]),
            Message.assistant(tool_calls=[ToolCall("b", "g", "")]),
            Message.tool_result("a", "1"),
            Message.tool_result("b", "2", is_error=True),
            Message.tool_result("c", [], is_error=True),
            Message.user("and?"),
        ]
    )

    assert entries == [
        user({"text": "go"}),
        model(
            {"text": "Well."},
            unsigned({"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}),
            {"functionCall": {"id": "b", "name": "g", "args": {}}},
        ),
        user(
            answer(id="a", response={"output": "1"}),
            {
                "functionResponse": {
                    "id": "b",
                    "name": "g",
                    "response": {"error": "2"},
                }
            },
            {
                "functionResponse": {
                    "id": "c",
                    "name": "unknown_tool",
                    "response": {"error": ""},
                }
            },
        ),
        user({"text": "and?"}),
    ]


def test_foreign_calls_carry_the_escape_signature() -> None:
    """GE-11: the first of each message, where there is none."""
    signed = ToolCall("a", "f", extra={"thoughtSignature": "own"})
    plain = ToolCall("b", "f")

    entries = FMT.encode(
        [
            Message.assistant(tool_calls=[plain, plain]),
            Message.user("?"),
            Message.assistant(tool_calls=[signed, plain]),
        ]
    )

    assert entries[0] == model(unsigned(call(id="b")), call(id="b"))
    assert entries[2]["parts"][0] == {**call(id="a"), "thoughtSignature": "own"}
    read(FMT, model(call(id="b")))


def test_foreign_a_stand_in_joins_the_results_it_belongs_to() -> None:
    """GE-06: one content holds all responses of a turn."""
    first, second = FMT.decode(user(answer(id="a"), {"text": "next?"}))
    stand_in = Message.tool_result("b", "open", tool_name="f", pending=True)

    entries = FMT.encode([first, stand_in, second])

    assert entries == [
        user(
            answer(id="a"),
            answer(id="b", response={"output": "[turnkeep:pending 533f65f1]\nopen"}),
            {"text": "next?"},
        )
    ]


def test_foreign_words_with_a_result_join_the_results_before_them() -> None:
    """GE-06, whichever of them the user's words stand with."""
    first = Message.tool_result("a", "1", tool_name="f")
    second = Message.user((ToolResult("b", "2", tool_name="f"), Text("next?")))
    apart = Message.user("and then?")

    entries = FMT.encode([first, second, apart])

    assert entries == [
        user(
            answer(id="a", response={"output": "1"}),
            answer(id="b", response={"output": "2"}),
            {"text": "next?"},
        ),
        user({"text": "and then?"}),
    ]


@pytest.mark.parametrize(
    ("content", "is_error", "response"),
    [
        ([Json({"a": 1})], False, {"a": 1}),
        ([Json([1])], False, {"output": [1]}),
        ([Json({"a": 1})], True, {"error": {"a": 1}}),
        ([Json({"error": "x"})], True, {"error": "x"}),
        ([Text("a"), Json([1])], False, {"output": "a\n[1]"}),
        ([], False, {}),
    ],
)
def test_foreign_responses(content: Any, is_error: bool, response: Any) -> None:
    result = Message.tool_result("a", content, is_error=is_error, tool_name="f")

    assert FMT.encode([result]) == [user(answer(id="a", response=response))]


def test_foreign_pictures_inside_results() -> None:
    content: list[Block] = [
        Text("see"),
        Image(PNG, "image/png"),
        Opaque({"x": 1}, "openai"),
    ]
    result = Message.tool_result("a", content, tool_name="f")

    (entry,) = FMT.encode([result])

    inner = entry["parts"][0]["functionResponse"]
    assert inner["response"] == {"output": "see"}
    assert inner["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]


def test_foreign_pictures_and_files() -> None:
    blocks: list[Block] = [
        Image(PNG),
        Document(PDF),
        Image(url=f"data:image/gif;base64,{PNG}"),
        Image(url="data:image/gif;base64,###"),
        Image(url="https://x/y"),
        Image(file_id="file-1"),
        Document(text="plain"),
        Json({"a": 1}),
        Opaque({"type": "x"}, "openai"),
        Opaque({"executableCode": {}}),
        Opaque({"mine": "y"}),
    ]
    foreign = Message.user(blocks, layout="openai")

    (entry,) = FMT.encode([foreign])

    assert entry["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
        {"inlineData": {"mimeType": "image/gif", "data": PNG}},
        {"fileData": {"fileUri": "data:image/gif;base64,###"}},
        {"fileData": {"fileUri": "https://x/y"}},
        {"text": "plain"},
        {"text": '{"a":1}'},
        {"executableCode": {}},
    ]
    assert len(FMT.losses(foreign)) == 3


def test_foreign_empty_text_is_left_out_beside_other_parts() -> None:
    """GE-04, GE-03; a signature makes an empty text worth its place."""
    signed = Text("", extra=freeze({"thoughtSignature": "s"}))
    entries = FMT.encode(
        [
            Message.user([Text(""), Text("x"), signed]),
            Message.user(""),
            Message.user([]),
        ]
    )

    assert entries == [
        user({"text": "x"}, {"text": "", "thoughtSignature": "s"}),
        user({"text": ""}),
        user({"text": ""}),
    ]


def test_foreign_reasoning_of_others_is_left_out() -> None:
    openai = Message.assistant([Thinking("hm")], layout="openai")
    own = Message.assistant([Thinking("hm", "s"), Thinking(data="sealed")])

    entries = FMT.encode([openai, own])

    assert entries == [model({"text": "hm", "thought": True, "thoughtSignature": "s"})]
    assert FMT.losses(openai) == ["reasoning that Gemini did not write"]
    assert FMT.losses(own) == ["reasoning that Gemini did not write"]


def test_foreign_keys_of_other_formats_are_not_sent() -> None:
    foreign = Message.user(
        [Text("x", extra=freeze({"zz": 1}))], extra={"name": "b"}, layout="openai"
    )

    assert FMT.encode([foreign]) == [user({"text": "x"})]


def test_foreign_what_is_only_shown_is_not_sent() -> None:
    shown = Message.assistant("done in 3 s", kind="run_summary")

    assert FMT.encode([shown]) == []
    assert FMT.encode_request([shown]) == {"contents": []}


NAN = float("nan")
HOSTILE = [
    ("x", "", "must be an object"),
    ({"role": "system", "parts": []}, ".role", "unknown role 'system'"),
    ({"role": 7, "parts": []}, ".role", "unknown role of wrong type"),
    ({"role": "user", "parts": {}}, ".parts", "must be an array"),
    (user("x"), ".parts[0]", "must be an object"),
    (user({"text": 1}), ".parts[0].text", "must be a string"),
    (user({"text": 1, "zz": 1}), ".parts[0].text", "must be a string"),
    (user({"text": "x", "inlineData": {}}), ".parts[0]", "not both 'text'"),
    (model({"functionCall": {}, "function_call": {}}), ".parts[0]", "not both"),
    (
        model({"function_call": {"name": "f"}, "functionCall": None}),
        ".parts[0]",
        "not both",
    ),
    (model({"functionCall": []}), ".parts[0].functionCall", "must be an object"),
    (model({"functionCall": {}}), ".parts[0].functionCall", "'name' is missing"),
    (model(call(args="{}")), ".parts[0].functionCall.args", "must be an object"),
    (model(call(args={"a": NAN})), ".parts[0].functionCall.args.a", "not JSON"),
    (model(call(id=1)), ".parts[0].functionCall.id", "must be a string"),
    (user({"functionResponse": {}}), ".parts[0].functionResponse", "'name' is missing"),
    (
        user(answer(response="x")),
        ".parts[0].functionResponse.response",
        "must be an object",
    ),
    (user(answer(parts=1)), ".parts[0].functionResponse.parts", "must be an array"),
    (
        user(answer(parts=[1])),
        ".parts[0].functionResponse.parts[0]",
        "must be an object",
    ),
    (user({"inlineData": 1}), ".parts[0].inlineData", "must be an object"),
    (
        user({"inlineData": {"data": ""}}),
        ".parts[0].inlineData",
        "'mimeType' is missing",
    ),
    (
        user({"inlineData": {"mimeType": "a/b"}}),
        ".parts[0].inlineData",
        "'data' is missing",
    ),
    (
        user({"inline_data": {"mime_type": 1, "data": ""}}),
        ".parts[0].inline_data.mime_type",
        "must be a string",
    ),
    (
        user({"inlineData": {"mimeType": "a/b", "data": PNG[:-3]}}),
        ".parts[0].inlineData.data",
        "truncated",
    ),
    (
        user({"inlineData": {"mimeType": "a/b", "data": "a b"}}),
        ".parts[0].inlineData.data",
        "damaged",
    ),
    (
        user({"inlineData": {"mimeType": "a/b", "data": "abc=="}}),
        ".parts[0].inlineData.data",
        "damaged",
    ),
    (user({"fileData": {}}), ".parts[0].fileData", "'fileUri' is missing"),
    (user({"file_data": {"mime_type": "x"}}), ".parts[0].file_data", "'file_uri' is"),
    ({"parts": [], "zz": {"a": NAN}}, ".zz.a", "not JSON"),
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
        lambda deep: model(call(args={"a": deep})),
        lambda deep: user(answer(response={"a": deep})),
        lambda deep: user({"executableCode": deep}),
        lambda deep: user(answer(parts=[{"functionResponse": {"name": "f", **deep}}])),
        lambda deep: user({"text": "x", "partMetadata": deep}),
    ],
    ids=range(5),
)
def test_refuses_deep_nesting_anywhere(make: Any, levels: int) -> None:
    """The interpreter's stack is never at risk."""
    with pytest.raises(FormatError, match="nested deeper"):
        FMT.decode(make(nested(levels)), "$[7]")


@pytest.mark.parametrize(
    ("system", "path"),
    [
        (7, "$.systemInstruction"),
        ({}, "$.systemInstruction"),
        ({"parts": 1}, "$.systemInstruction.parts"),
        ({"parts": [1]}, "$.systemInstruction.parts[0]"),
    ],
)
def test_refuses_other_system_text(system: Any, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        FMT.decode_system(system)

    assert caught.value.path == path


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([], 1),
        ({"contents": []}, 2),
        ([user({"text": "x"})], 3),
        ([model(), {"role": "model"}, user()], 3),
        ([user({"text": "x"}), model(call()), user()], 4),
        ([{"role": "user", "content": "x"}], 0),
        ([{"role": "assistant", "parts": []}], 0),
        ([{"parts": 7}], 0),
        ([user({"type": "text", "text": "x"})], 0),
        ([{}], 0),
        ([1], 0),
        ("x", 0),
    ],
)
def test_is_recognised_by_its_shape(value: Any, score: int) -> None:
    match = match_format(value, FMT.name)

    assert match.score == score
    assert match.reason


def cased(camel: dict[str, Any], snake: bool) -> dict[str, Any]:
    """Keys of one level, in either spelling."""
    other = {
        "mimeType": "mime_type",
        "fileUri": "file_uri",
        "inlineData": "inline_data",
        "fileData": "file_data",
        "functionCall": "function_call",
        "functionResponse": "function_response",
        "thoughtSignature": "thought_signature",
    }
    return {other.get(k, k): v for k, v in camel.items()} if snake else camel


flags = st.booleans()
media = st.one_of(
    st.builds(
        lambda m, s1, s2: cased(
            {"inlineData": cased({"mimeType": m, "data": PNG}, s1)}, s2
        ),
        st.sampled_from(["image/png", "application/pdf"]),
        flags,
        flags,
    ),
    st.builds(
        lambda u, m, s1, s2: cased({"fileData": cased({"fileUri": u, **m}, s1)}, s2),
        words,
        st.dictionaries(st.just("mimeType"), st.none() | words),
        flags,
        flags,
    ),
)
beside = st.builds(
    cased,
    st.dictionaries(
        st.sampled_from(["thoughtSignature", "partMetadata", "thought"]),
        texts | st.booleans() | st.none(),
        max_size=2,
    ),
    flags,
)
responses = st.one_of(
    st.just({}),
    st.builds(
        lambda key, value: {key: value},
        st.sampled_from(["output", "error", "result", "text", "place"]),
        texts | json_values | texts.map(lambda t: mark(INTERIM, t)),
    ),
    json_objects,
)
calls = st.builds(
    lambda inner, more, s: {**more, **cased({"functionCall": inner}, s)},
    st.builds(
        lambda a, b: {"name": "f", **a, **b},
        st.dictionaries(st.just("args"), st.none() | json_objects),
        st.dictionaries(st.sampled_from(["id", "zz"]), st.none() | words),
    ),
    beside,
    flags,
)
answers = st.builds(
    lambda inner, more, s: {**more, **cased({"functionResponse": inner}, s)},
    st.builds(
        lambda a, b, c: {"name": "f", **a, **b, **c},
        st.dictionaries(st.just("response"), responses),
        st.dictionaries(st.sampled_from(["id", "zz"]), st.none() | words),
        st.dictionaries(
            st.just("parts"), st.none() | st.lists(media | json_objects, max_size=2)
        ),
    ),
    beside,
    flags,
)
text_parts = st.builds(lambda t, more: {**more, "text": t}, texts, beside)
unknown = st.builds(lambda v: {"executableCode": v}, json_values)
with_more = st.builds(lambda part, more: {**more, **part}, media, beside)
contents = st.builds(
    lambda role, parts, more: {**more, **role, **parts},
    st.sampled_from(
        [{"role": "user"}, {"role": "model"}, {}, {"role": None}, {"role": "function"}]
    ),
    st.dictionaries(
        st.just("parts"),
        st.none()
        | st.lists(
            st.one_of(text_parts, calls, answers, with_more, unknown), max_size=4
        ),
    ),
    st.dictionaries(st.sampled_from(["id", "zz"]), json_values, max_size=1),
)


@given(wire=st.lists(contents, max_size=4))
def test_whatever_the_format_can_say_comes_back_equal(wire: list[Any]) -> None:
    read(FMT, *wire)


@given(entry=mangled(contents, ["role", "parts"]))
def test_damaged_entries_are_read_or_refused(entry: Any) -> None:
    """And what was read is written back equal all the same."""
    read_or_refuse(FMT, entry)
