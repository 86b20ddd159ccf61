"""Tests for the format `anthropic`."""

from __future__ import annotations

import json
from typing import Any

import attrs
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
    PENDING,
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

FMT = get_format("anthropic")


def result(call_id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, **more}


def call(call_id: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **more}


def text(said: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


@needs_corpus
def test_recorded_histories_come_back_equal() -> None:
    check_corpus(FMT)


def test_text_stands_alone_or_in_a_list() -> None:
    """Both spellings of the same thing are kept, and mean the same."""
    alone, listed = read(FMT, {"role": "user", "content": "hi"}, user(text()))

    assert alone.content == listed.content == (Text("hi"),)


def test_results_and_text_of_one_message_are_two_messages() -> None:
    """The results belong to their step, the text opens a turn."""
    results, question = read(FMT, user(result("a"), result("b"), text("next?")))

    assert results.role is Role.TOOL_RESULT
    assert [r.tool_call_id for r in results.tool_results] == ["a", "b"]
    assert question.role is Role.USER
    assert question.text == "next?"


def test_results_alone_open_no_turn() -> None:
    """A block beside results is somebody's; results alone are nobody's question."""
    only, with_upload, upload = read(
        FMT,
        user(result()),
        user(result(), {"type": "container_upload", "file_id": "f"}),
    )

    assert only.role is Role.TOOL_RESULT
    assert with_upload.role is Role.TOOL_RESULT
    assert upload.role is Role.USER


def test_text_between_results_goes_back_to_its_place() -> None:
    read(FMT, user(text("a"), result("1"), text("b"), result("2")))


def test_what_is_left_of_a_shared_message_is_written_alone() -> None:
    """When the results go, the text stays a message; and the other way round."""
    first, second = FMT.decode(user(result("a"), text("next?")))

    assert FMT.encode([second]) == [user(text("next?"))]
    assert FMT.encode([first]) == [user(result("a"))]


def test_a_text_is_not_joined_to_results_of_another_message() -> None:
    """Keys of its own entry would get lost there."""
    first, _ = FMT.decode({**user(result("a"), text("x")), "id": "one"})
    _, second = FMT.decode({**user(result("b"), text("y")), "id": "two"})

    entries = FMT.encode([first, second])

    assert entries == [
        {**user(result("a")), "id": "one"},
        {**user(text("y")), "id": "two"},
    ]


def test_an_edited_result_still_shares_its_message() -> None:
    """Clearing a result changes nothing about the text behind it."""
    first, second = FMT.decode(user(result("a", content="long"), text("next?")))
    edited = attrs.evolve(first.tool_results[0], content=(Text("[cleared]"),))

    entries = FMT.encode([first.evolve(content=[edited]), second])

    assert entries == [user(result("a", content="[cleared]"), text("next?"))]


def test_edits_that_do_not_fit_the_layout_put_results_first() -> None:
    """AN-12: anything between the results would end their run."""
    first, second = FMT.decode(user(text("a"), result("1"), result("2"), text("b")))

    entries = FMT.encode([first.evolve(content=first.content[:1]), second])

    assert entries == [user(result("1"), text("a"), text("b"))]


@pytest.mark.parametrize(
    "spelled",
    [
        {},
        {"content": None},
        {"content": []},
        {"content": ""},
        {"content": "done"},
        {"content": [text("done")]},
        {"content": [text("done", cache_control={"type": "ephemeral"})]},
        {"content": "done", "is_error": False},
        {"content": "failed", "is_error": True},
        {"is_error": False},
        {"content": "done", "cache_control": {"type": "ephemeral"}},
        {"content": [text("a"), {"type": "tool_reference", "tool_name": "x"}]},
        {"content": "[turnkeep:pending 02a2e08b]\nstarted"},
        {"content": [text("[turnkeep:interim 6d20911d]\nhalf")]},
        {"content": "[turnkeep:pending 5962ee77]"},
        {"content": "[turnkeep:pending 25dfb52a]  \nodd"},
        {"content": "[turnkeep:cleared 30401a79]\n"},
    ],
    ids=json.dumps,
)
def test_every_spelling_of_a_result_is_kept(spelled: dict[str, Any]) -> None:
    read(FMT, user(result(**spelled), result("b", content=[text("x")])))


def test_results_that_are_not_final_are_recognised() -> None:
    """The marker line becomes a flag and comes back as a line."""
    (message,) = read(
        FMT,
        user(
            result("a", content="[turnkeep:pending 02a2e08b]\nstarted"),
            result("b", content=[text("[turnkeep:interim 6d20911d]\nhalf")]),
            result("c", content="[turnkeep:pending 5962ee77]"),
            result("d", content="[not ours]"),
            result("e", content="[turnkeep:summary 25040318]\nno flag"),
        ),
    )
    a, b, c, d, e = message.tool_results

    assert (a.pending, a.text) == (True, "started")
    assert (b.interim, b.text) == (True, "half")
    assert c.pending
    assert d.final
    assert e.final


def test_our_insertions_are_recognised() -> None:
    (message,) = read(
        FMT, {"role": "user", "content": "[turnkeep:summary 316f4501]\nso far"}
    )

    assert message.kind == "summary"


def test_reasoning_is_kept_byte_for_byte() -> None:
    signed = {"type": "thinking", "thinking": " hm \n", "signature": "Eq/+=="}
    sealed = {"type": "redacted_thinking", "data": "x/+=", "more": 1}
    bare = {"type": "thinking", "thinking": "unsigned"}
    null = {"type": "thinking", "thinking": "", "signature": None}

    (message,) = read(FMT, assistant(signed, sealed, bare, null, text()))

    assert message.content[0] == Thinking(" hm \n", "Eq/+==")
    assert message.content[1] == Thinking(data="x/+=", extra=freeze({"more": 1}))


def test_server_tools_are_no_calls() -> None:
    """They are answered inside the same message: nothing to pair."""
    (message,) = read(
        FMT,
        assistant(
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1"},
            {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s"},
            {"type": "compaction", "content": "short"},
            call(caller={"type": "direct"}),
        ),
    )

    assert [c.id for c in message.tool_calls] == ["toolu_1"]
    assert sum(isinstance(b, Opaque) for b in message.content) == 4


def test_blocks_on_the_wrong_side_are_carried_along() -> None:
    """They mean nothing there (AN-16); `check` says so, reading does not."""
    asked, said = read(FMT, user(call(), text()), assistant(result()))

    assert not asked.tool_calls
    assert not said.tool_results


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
            Image(PNG, "image/png"),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            Image(url="https://x/y.png"),
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            Image(file_id="file_1"),
        ),
        (
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "said"},
                "title": "T",
            },
            Document(text="said", media_type="text/plain", title="T"),
        ),
        (
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf"},
                "title": None,
            },
            Document(PDF, "application/pdf", extra=freeze({"title": None})),
        ),
        (
            {
                "type": "document",
                "source": {"type": "content", "content": [text("a")]},
                "citations": {"enabled": True},
            },
            Document(
                extra=freeze(
                    {
                        "source": {"type": "content", "content": [text("a")]},
                        "citations": {"enabled": True},
                    }
                )
            ),
        ),
        (
            {"type": "image", "source": {"type": "text", "data": "odd"}, "title": "t"},
            Image(
                extra=freeze({"source": {"type": "text", "data": "odd"}, "title": "t"})
            ),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "u", "more": [1]}},
            Image(url="u", extra=freeze({"source": {"more": [1]}})),
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_images_and_documents(block: dict[str, Any], expected: Any) -> None:
    source = block["source"]
    if source["type"] == "base64":
        source["data"] = PNG if block["type"] == "image" else PDF

    asked, answered = read(FMT, user(block), user(result(content=[block])))

    assert asked.content == (expected,)
    assert answered.tool_results[0].content == (expected,)


def test_unknown_keys_and_ids_are_kept() -> None:
    entry = {**user(result("a"), text("x")), "id": "m1", "zz": {"deep": [1, 1.0, True]}}

    first, second = read(FMT, entry)

    assert (first.id, second.id) == ("m1", "m1/text")
    assert first.extra["zz"]["deep"][1] == 1.0


def test_an_id_that_is_no_text_is_only_a_key() -> None:
    (message,) = read(FMT, {"role": "user", "content": "x", "id": 7})

    assert message.id is None


def test_system_messages_inside_the_list() -> None:
    plain, directive = read(
        FMT,
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": [], "output_config": {"effort": "low"}},
    )

    assert plain.role is directive.role is Role.SYSTEM
    assert directive.content == ()


@pytest.mark.parametrize(
    "system", ["Be kind.", "", [text("a"), text("b", cache_control={"type": "x"})], []]
)
def test_system_text_beside_the_list(system: Any) -> None:
    messages = [*FMT.decode_system(system), Message.user("hi")]

    body = FMT.encode_request(messages, tools=[{"name": "f"}])

    assert same(body["system"], system)
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert body["tools"] == [{"name": "f"}]


def test_several_leading_system_messages_become_one_list() -> None:
    nothing = Message.assistant([Thinking("not signed")])
    later = Message.system("later")
    spoken = [Message.system("a"), nothing, Message.system([Text("b"), Text("c")])]

    body = FMT.encode_request([*spoken, Message.user("q"), later])

    assert body["system"] == [text("a"), text("b"), text("c")]
    assert body["messages"][-1] == {"role": "system", "content": "later"}
    assert "tools" not in body


def test_a_body_is_opened_and_closed() -> None:
    body = {"model": "claude", "system": "s", "tools": [], "messages": [user(text())]}

    envelope = FMT.open(body)

    assert (envelope.system, envelope.model, envelope.path) == (
        "s",
        "claude",
        "$.messages",
    )
    assert envelope.is_body
    assert envelope.replace([]) == {**body, "messages": []}
    assert len(body["messages"]) == 1


@pytest.mark.parametrize("value", [None, "text", {"contents": []}, {"messages": {}}])
def test_refuses_to_open_other_things(value: Any) -> None:
    with pytest.raises(FormatError):
        FMT.open(value)


# Messages of other origin get a shape that the API accepts.


def test_foreign_results_that_follow_each_other_share_a_message() -> None:
    entries = FMT.encode(
        [
            Message.assistant(tool_calls=[ToolCall("a", "f"), ToolCall("b", "f")]),
            Message.tool_result("a", "1"),
            Message.tool_result("b", "2", is_error=True),
            Message.user("and?"),
        ]
    )

    assert entries == [
        assistant(call("a"), call("b")),
        user(result("a", content="1"), result("b", content="2", is_error=True)),
        {"role": "user", "content": "and?"},
    ]


def test_foreign_a_stand_in_stands_before_the_text_it_would_cut_off() -> None:
    """`u[R1] | u[R2, text]` is accepted, `u[R1, text] | u[R2]` is not (AN-12)."""
    first, second = FMT.decode(user(result("a"), text("next?")))
    stand_in = Message.tool_result("b", "open", pending=True)

    entries = FMT.encode([first, stand_in, second])

    assert entries == [
        user(result("a")),
        user(result("b", content="[turnkeep:pending 533f65f1]\nopen"), text("next?")),
    ]


def test_foreign_results_come_first_in_mixed_messages() -> None:
    mixed = Message.user([Text("so"), ToolResult("a", "1")])

    assert FMT.encode([mixed]) == [user(result("a", content="1"), text("so"))]


def test_foreign_arguments_become_objects() -> None:
    calls = [
        ToolCall("a", "f", '{"x":  1}'),
        ToolCall("b", "f", ""),
        ToolCall("c", "f", "{oops"),
        ToolCall("d", "f", None),
        ToolCall("e", "f", [1]),
    ]
    (entry,) = FMT.encode([Message.assistant(tool_calls=calls)])

    assert [block["input"] for block in entry["content"]] == [
        {"x": 1},
        {},
        {"INVALID_JSON": "{oops"},
        {},
        {"INVALID_JSON": "[1]"},
    ]


def test_foreign_calls_without_ids_get_some_and_so_do_their_results() -> None:
    entries = FMT.encode(
        [
            Message.assistant(tool_calls=[ToolCall(None, "f"), ToolCall(None, "g")]),
            Message.tool_result(None, "1", tool_name="g"),
            Message.tool_result(None, "2", tool_name="f"),
            Message.tool_result(None, "3", tool_name="never called"),
        ]
    )
    made, answers = entries[0]["content"], entries[1]["content"]

    assert made[0]["id"] == answers[1]["tool_use_id"]
    assert made[1]["id"] == answers[0]["tool_use_id"]
    assert answers[2]["tool_use_id"] == "unknown_call"


def test_foreign_illegal_ids_of_other_formats_are_replaced() -> None:
    """AN-15; both ends change, others stay and are not run into."""
    openai = get_format("openai")
    function = {"name": "f", "arguments": "{}"}
    history = [
        *openai.decode(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": i, "type": "function", "function": function}
                    for i in ("functions.f:0", "call_1")
                ],
            }
        ),
        Message.tool_result("functions.f:0", "x"),
        Message.tool_result("call_1", "y"),
    ]

    entries = FMT.encode(history)

    assert [b["id"] for b in entries[0]["content"]] == ["call_2", "call_1"]
    assert [b["tool_use_id"] for b in entries[1]["content"]] == ["call_2", "call_1"]


def test_foreign_odd_ids_of_its_own_are_kept() -> None:
    """Compatible servers take them."""
    (message,) = read(FMT, assistant(call("functions.f:0")))

    answered = FMT.encode([message, Message.tool_result("functions.f:0", "x")])

    assert answered[1]["content"][0]["tool_use_id"] == "functions.f:0"


def test_foreign_empty_text_beside_blocks_is_left_out() -> None:
    """AN-06; an empty message stays what it is, so that the order is kept."""
    entries = FMT.encode(
        [
            Message.assistant([Text(""), ToolCall("a", "f")]),
            Message.assistant(""),
            Message.user([]),
        ]
    )

    assert entries == [
        assistant(call("a")),
        {"role": "assistant", "content": ""},
        {"role": "user", "content": ""},
    ]


def test_foreign_an_error_without_a_word_gets_one() -> None:
    """AN-27."""
    (entry,) = FMT.encode([Message.tool_result("a", [], is_error=True)])

    assert entry == user(result("a", content="error", is_error=True))


def test_foreign_marks_a_result_that_has_no_text() -> None:
    image = Image(PNG, "image/png")
    (entry,) = FMT.encode([Message.tool_result("a", [image], pending=True)])

    assert entry["content"][0]["content"][0] == text("[turnkeep:pending 5962ee77]")
    assert entry["content"][0]["content"][1]["type"] == "image"


def test_foreign_reasoning_of_others_is_left_out() -> None:
    """A signature is only good where it was made."""
    openai = Message.assistant([Thinking("hm", "sig")], layout="openai")
    unsigned = Message.assistant([Thinking("hm"), Text("so")])
    signed = Message.assistant([Thinking("hm", "sig")])
    bedrock = Message.assistant([Thinking("hm", "sig")], layout="bedrock")

    entries = FMT.encode([openai, unsigned, signed, bedrock])

    kept = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert entries == [
        {"role": "assistant", "content": "so"},
        assistant(kept),
        assistant(kept),
    ]
    assert FMT.losses(openai) == ["reasoning that Anthropic did not sign"]
    assert FMT.losses(unsigned) == ["reasoning that Anthropic did not sign"]
    assert FMT.losses(signed) == []
    assert FMT.losses(FMT.decode(assistant(kept))[0]) == []


def test_foreign_pictures_and_files() -> None:
    foreign = "openai"
    (entry,) = FMT.encode(
        [
            Message.user(
                [
                    Image(PNG),
                    Image(url=f"data:image/gif;base64,{PNG}"),
                    Image(url="data:image/gif;base64,###"),
                    Image(file_id="file-1"),
                    Document(PDF),
                    Document(text="plain"),
                    Document(file_id="file-2"),
                    Json({"a": 1}),
                    Opaque({"type": "x"}, "openai"),
                    Opaque({"type": "y"}),
                ],
                layout=foreign,
            )
        ]
    )

    assert [b["type"] for b in entry["content"]] == [
        "image",
        "image",
        "image",
        "document",
        "document",
        "text",
        "y",
    ]
    assert [b["source"]["type"] for b in entry["content"][:5]] == [
        "base64",
        "base64",
        "url",
        "base64",
        "text",
    ]
    assert entry["content"][1]["source"]["media_type"] == "image/gif"
    lost = FMT.losses(
        Message.user([Image(file_id="f"), Opaque({"type": "x"}, "o")], layout="openai")
    )
    assert len(lost) == 2


def test_foreign_keys_of_other_formats_are_not_sent() -> None:
    """Unknown keys are refused; keys without origin are the caller's own wish."""
    text_with = Text("x", extra=freeze({"zz": 1}))
    foreign = Message.user([text_with], extra={"name": "bob"}, layout="openai")
    own = Message.user([text_with], extra={"name": "bob"})

    entries = FMT.encode([foreign, own])

    assert entries[0] == {"role": "user", "content": "x"}
    assert entries[1] == {
        "role": "user",
        "content": [text("x", zz=1)],
        "name": "bob",
    }
    assert FMT.losses(foreign)


def test_foreign_what_is_only_shown_is_not_sent() -> None:
    shown = Message.assistant("done in 3 s", kind="run_summary")

    assert FMT.encode([shown]) == []
    assert FMT.encode_request([shown]) == {"messages": []}


def test_foreign_says_which_arguments_are_lost() -> None:
    calls = [ToolCall("a", "f", "{oops"), ToolCall("b", "g", "{}")]

    (loss,) = FMT.losses(Message.assistant(tool_calls=calls))

    assert "'f'" in loss


HOSTILE = [
    ([], "", "must be an object"),
    ({"content": "x"}, "", "'role' is missing"),
    ({"role": 1, "content": "x"}, ".role", "must be a string"),
    ({"role": "tool", "content": "x"}, ".role", "unknown role 'tool'"),
    ({"role": "user"}, "", "'content' is missing"),
    ({"role": "user", "content": None}, ".content", "got null"),
    ({"role": "user", "content": {"type": "text"}}, ".content", "got an object"),
    (user("x"), ".content[0]", "must be an object"),
    (user({}), ".content[0]", "'type' is missing"),
    (user({"type": None}), ".content[0].type", "got null"),
    (user(text(), {"type": "text"}), ".content[1]", "'text' is missing"),
    (user(text(1)), ".content[0].text", "must be a string"),  # type: ignore[arg-type]
    (assistant({"type": "tool_use"}), ".content[0]", "'id' is missing"),
    (assistant(call(input="{}")), ".content[0].input", "must be an object"),
    (assistant(call(name=None)), ".content[0].name", "must be a string"),
    (
        assistant(call(input={"a": [float("nan")]})),
        ".content[0].input.a[0]",
        "nan is not JSON",
    ),
    (assistant({"type": "thinking"}), ".content[0]", "'thinking' is missing"),
    (
        assistant({"type": "thinking", "thinking": "", "signature": 1}),
        ".content[0].signature",
        "must be a string",
    ),
    (assistant({"type": "redacted_thinking"}), ".content[0]", "'data' is missing"),
    (user({"type": "tool_result"}), ".content[0]", "'tool_use_id' is missing"),
    (user(result(is_error="yes")), ".content[0].is_error", "must be a boolean"),
    (user(result(content=7)), ".content[0].content", "must be an array"),
    (user(result(content=[text(), 1])), ".content[0].content[1]", "must be an object"),
    (user({"type": "image"}), ".content[0]", "'source' is missing"),
    (user({"type": "image", "source": {}}), ".content[0].source", "'type' is missing"),
    (
        user({"type": "image", "source": {"type": "url", "url": 1}}),
        ".content[0].source.url",
        "must be a string",
    ),
    (
        user(
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "x", "data": PNG[:-3]},
            }
        ),
        ".content[0].source.data",
        "damaged or truncated",
    ),
    ({"role": "user", "content": "x", "zz": float("inf")}, ".zz", "not JSON"),
    ({"role": "user", "content": "x", "zz": {1: 2}}, ".zz", "not text"),
    (user({"type": "new", "value": {1, 2}}), ".content[0].value", "not JSON"),
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
        lambda deep: user(text(cache_control=deep)),
        lambda deep: user({"type": "new", "value": deep}),
        lambda deep: user(result(content=[{"type": "new", "value": deep}])),
        lambda deep: user({"type": "image", "source": {"type": "new", "value": deep}}),
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
        (7, "$.system"),
        (["x"], "$.system[0]"),
        ([{"type": "image"}], "$.system[0].type"),
        ([{"type": "text"}], "$.system[0]"),
    ],
)
def test_refuses_other_system_text(system: Any, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        FMT.decode_system(system)

    assert caught.value.path == path


def test_lone_surrogates_are_kept() -> None:
    read(FMT, user(text("\ud800"), result(content="\udfff")))


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ([], 1),
        ([{"role": "user", "content": "hi"}], 1),
        ([assistant(call())], 3),
        ([user(text(), {"type": "image", "source": {}})], 2),
        ({"messages": [{"role": "user", "content": "x"}], "system": "s"}, 2),
        ([user({"type": "image_url"})], 0),
        ([user({"text": "no type"})], 0),
        ([{"role": "tool", "content": "x"}], 0),
        ([{"role": "assistant", "content": "x", "tool_calls": []}], 0),
        ([{"role": "assistant", "content": None}], 0),
        ([7], 0),
        (7, 0),
    ],
)
def test_is_recognised_by_its_shape(value: Any, score: int) -> None:
    match = match_format(value, FMT.name)

    assert match.score == score
    assert match.reason


sources = st.one_of(
    st.just({"type": "base64", "media_type": "image/png", "data": PNG}),
    st.just({"type": "url", "url": "https://x/y"}),
    st.just({"type": "file", "file_id": "f1"}),
    st.just({"type": "new", "value": [1]}),
)
inner_blocks = st.one_of(
    st.builds(text, texts),
    st.builds(lambda said, more: text(said, **more), words, json_objects),
    st.builds(lambda source: {"type": "image", "source": source}, sources),
    st.builds(
        lambda source, title: {"type": "document", "source": source, "title": title},
        sources,
        st.none() | words,
    ),
    st.builds(lambda value: {"type": "search_result", "value": value}, json_values),
)
results = st.builds(
    lambda more, content, error: result(**more, **content, **error),
    st.dictionaries(st.just("cache_control"), json_values),
    st.one_of(
        st.just({}),
        st.builds(lambda c: {"content": c}, st.none() | texts),
        st.builds(lambda c: {"content": c}, st.lists(inner_blocks, max_size=2)),
        st.builds(lambda t: {"content": mark(PENDING, t)}, texts),
        st.builds(lambda t: {"content": [text(mark(INTERIM, t))]}, texts),
    ),
    st.dictionaries(st.just("is_error"), st.booleans()),
)
calls = st.builds(lambda i, more: call(input=i, **more), json_objects, json_objects)
thoughts = st.one_of(
    st.builds(
        lambda t, more: {"type": "thinking", "thinking": t, **more},
        texts,
        st.dictionaries(st.just("signature"), st.none() | texts),
    ),
    st.builds(lambda t: {"type": "redacted_thinking", "data": t}, texts),
)
entries = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "user", "assistant", "system"]),
    texts | st.lists(st.one_of(inner_blocks, results, calls, thoughts), max_size=4),
    st.dictionaries(st.sampled_from(["id", "zz"]), json_values, max_size=1),
)


@given(wire=st.lists(entries, max_size=4))
def test_whatever_the_format_can_say_comes_back_equal(wire: list[Any]) -> None:
    read(FMT, *wire)


@given(entry=mangled(entries, ["role", "content"]))
def test_damaged_entries_are_read_or_refused(entry: Any) -> None:
    """And what was read is written back equal all the same."""
    read_or_refuse(FMT, entry)


@given(entry=entries)
def test_layouts_of_others_do_no_harm(entry: Any) -> None:
    """Text in a layout that is not ours, or damaged, means another origin."""
    for layout in ("anthropic:??", "anthropics", "openai:[]", "anthropic:[]=ff"):
        messages = [attrs.evolve(m, layout=layout) for m in FMT.decode(entry)]

        FMT.encode(messages)
