"""Single facts that the tables of examples do not show."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

import turnkeep
from tests.profiles import anthropic_cases as an
from tests.profiles import chat_cases as oc
from tests.profiles import other_cases as other
from turnkeep.profiles import check_request, get_profile
from turnkeep.profiles._images import image_size


def rules(format_name: str, request: Any, **more: Any) -> list[str]:
    found = check_request(request, format=format_name, strict=True, **more)
    return [violation.rule for violation in found]


def test_a_real_refusal_is_explained() -> None:
    """The message names the calls, says what is wrong and what to do."""
    (violation,) = check_request(oc.PAIR[:3] + oc.PAIR[4:], format="openai")

    assert violation.rule == "OC-12"
    assert violation.where == "$[1].tool_calls[1]"
    assert violation.message == (
        "the call 'c2' has no result right behind it. Put a tool message for each call "
        "right behind it, or drop the call together with its other results."
    )


def test_many_ids_are_summed_up() -> None:
    """A message does not list sixteen ids."""
    made = oc.calls(*(f"c{nth}" for nth in range(6)))

    (violation,) = check_request([oc.u(), made], format="openai")

    assert "'c0', 'c1', 'c2' and 3 more have no result" in violation.message


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("x", "the call is 'x'"),
        ({"id": None}, "the call's id is null"),
        ({"id": "c1"}, "the type of call 'c1' is null"),
        ({"id": "c1", "type": "function"}, "call 'c1' has no 'function' object"),
        (
            {"id": "c1", "type": "custom", "custom": {"name": "a", "input": 1}},
            "input of call 'c1' is 1",
        ),
        (
            {"id": "c1", "type": "function", "function": {"name": True}},
            "name of call 'c1' is true",
        ),
    ],
)
def test_faults_of_calls_are_named(call: Any, fault: str) -> None:
    """OC-09 says which field of which call is wrong."""
    found = check_request([oc.u(), oc.a("", tool_calls=[call])], format="openai")

    assert any(v.rule == "OC-09" and fault in v.message for v in found)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([], "nothing: the list starts with it"),
        ([oc.a()], "an assistant message that makes no calls"),
        ([oc.u()], "a user message"),
        ([3], "another entry"),
        ([oc.t("c0")], "another result without a call"),
    ],
)
def test_orphans_are_placed_in_words(before: list[Any], words: str) -> None:
    """OC-10 says what the result stands behind."""
    found = check_request([*before, oc.t("c1")], format="openai")

    assert words in [v for v in found if v.rule == "OC-10"][-1].message


def test_legacy_function_calls_excuse_null_content() -> None:
    """Null content may stand beside a function call, audio or a refusal."""
    legacy = oc.a(None, function_call={"name": "look", "arguments": "{}"})

    assert rules("openai", [oc.u(), legacy, oc.u()]) == []
    assert rules("openai", [oc.u(), oc.a({}), oc.u()]) == ["OC-04"]


@pytest.mark.parametrize(
    "part",
    [
        "text",
        {"type": "text"},
        {"type": "image_url", "image_url": "https://example.org"},
        {"type": "input_audio", "input_audio": {"data": ""}},
        {"type": "file"},
    ],
)
def test_parts_must_be_whole(part: Any) -> None:
    """OC-07: each kind of part has its fields."""
    assert rules("openai", [oc.u([part])]) == ["OC-07"]


def test_function_messages_have_text_or_nothing() -> None:
    """OC-18 for the content."""
    said = {"role": "function", "name": "look", "content": []}

    assert rules("openai", [oc.u(), said]) == ["OC-18"]


# -- Anthropic ---------------------------------------------------------------------


def test_anthropic_merges_messages_of_one_role() -> None:
    """Two messages in a row are one turn: results may be spread over them."""
    body = an.body(
        an.u(),
        an.a(an.use("c1")),
        an.a(an.use("c2")),
        an.u(an.result("c2")),
        an.u(an.result("c1"), an.text()),
    )

    assert rules("anthropic", body) == []


def test_text_between_merged_results_ends_their_run() -> None:
    """`u[R1, text] | u[R2]` is refused, `u[R2] | u[R1, text]` is not."""
    body = an.body(
        an.u(),
        an.a(an.use("c1"), an.use("c2")),
        an.u(an.result("c1"), an.text()),
        an.u(an.result("c2")),
    )

    assert rules("anthropic", body) == ["AN-12"]


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([an.system(), an.u()], "starts with a system message"),
        ([an.u(), an.a(), an.system()], "behind an assistant message"),
        ([an.u(), an.system([an.IMAGE])], "more than text"),
        ([an.u(), an.a(an.searched()), an.system(), an.u()], "before a user message"),
    ],
)
def test_places_of_system_messages(messages: list[Any], fault: str) -> None:
    """AN-03 says which of its conditions is broken."""
    found = check_request(messages, format="anthropic")

    assert any(v.rule == "AN-03" and fault in v.message for v in found)


def test_the_directive_form_may_stand_anywhere() -> None:
    """Empty content with an output configuration is no misplaced instruction."""
    directive = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    server = an.a(an.server(), an.searched())

    assert rules("anthropic", [directive, an.u()]) == []
    assert rules("anthropic", [an.u(), server, an.system()]) == []
    assert rules("anthropic", [an.u(), an.system(""), an.a(), an.u()]) == ["AN-05"]


def test_old_models_take_no_system_messages() -> None:
    """AN-03 names the model."""
    (violation,) = check_request(an.body(an.u(), an.system()), format="anthropic")

    assert an.OLD in violation.message


def test_null_content_and_redacted_blocks() -> None:
    """AN-05 and AN-17 for the less usual shapes."""
    bad = {"type": "redacted_thinking", "data": ""}
    no_thinking = {"type": "thinking", "signature": "s"}

    assert rules("anthropic", [{"role": "user", "content": None}]) == ["AN-05"]
    assert rules("anthropic", [an.u(), an.a(bad, an.text()), an.u()]) == ["AN-17"]
    assert rules("anthropic", [an.u(), an.a(no_thinking, an.text()), an.u()]) == [
        "AN-17"
    ]
    assert rules("anthropic", [an.u(an.think(), an.text())]) == ["AN-16"]
    assert rules("anthropic", an.body(an.u(), an.a(an.use(name="")), an.u())) == [
        "AN-16",
        "AN-10",
    ]


def test_results_in_an_assistant_message_are_misplaced() -> None:
    """AN-16, whatever else they are."""
    body = an.body(an.u(), an.a(an.use()), an.u(an.result()), an.a(an.result("c2")))

    assert "AN-16" in rules("anthropic", body)


def test_mcp_results_have_their_calls() -> None:
    """AN-28 takes tools of MCP servers for server tools, whose ids are others."""
    use = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "input": {}}
    said = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": []}

    assert rules("anthropic", [an.u(), an.a(use, said, an.text()), an.u()]) == []
    assert rules("anthropic", [an.u(), an.a(an.server("srv-1"))]) == ["AN-15"]


def test_system_is_text_or_text_blocks() -> None:
    """AN-26 for the wrong type, AN-06 for an empty block."""
    assert rules("anthropic", an.body(an.u(), system={"text": "x"})) == ["AN-26"]
    assert rules("anthropic", an.body(an.u(), system=[an.text("")])) == ["AN-06"]


def test_an_assistant_message_to_continue_opens_with_thinking() -> None:
    """AN-18 looks at the message to continue as well, and at nothing when idle."""
    body = an.body(an.u(), an.a(an.text()), thinking=an.ENABLED)
    idle = an.body(an.u(), an.a(an.text()), an.u(), thinking=an.ENABLED)

    assert rules("anthropic", body) == ["AN-18"]
    assert rules("anthropic", idle) == []
    assert rules("anthropic", {**body, "thinking": an.ADAPTIVE}) == []
    assert rules("anthropic", an.body(an.u(), an.a(an.text("x")), thinking={})) == []
    empty = {"role": "assistant", "content": []}
    assert rules("anthropic", an.body(an.u(), empty, thinking=an.ENABLED)) == []


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head).decode()


def picture(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "data": data}}


def test_sizes_of_images_are_limited() -> None:
    """AN-22: 8,000 pixels a side, 2,000 where there are more than twenty."""
    small, large, huge = (picture(png(side, 1)) for side in (2_000, 2_001, 8_001))
    held = an.body(
        an.u(), an.a(an.use()), an.u(an.result("c1", [huge])), model="claude-opus-4-5"
    )

    assert rules("anthropic", [an.u(*[small] * 21)]) == []
    assert rules("anthropic", [an.u(large)]) == []
    assert rules("anthropic", [an.u(large, *[small] * 20)]) == ["AN-22"]
    assert rules("anthropic", held) == ["AN-22"]


def test_inline_data_are_limited() -> None:
    """AN-22: 32 MB a request."""
    half = {"type": "document", "source": {"type": "base64", "data": "A" * 2**24}}

    assert rules("anthropic", [an.u(half, half)]) == []
    assert rules("anthropic", [an.u(half, half, an.IMAGE)]) == ["AN-22"]


def test_image_sizes_are_read_from_their_heads() -> None:
    """PNG, GIF and JPEG; anything else has no known size."""
    gif = b"GIF89a" + struct.pack("<HH", 3, 4)
    app = b"\xff\xe0\x00\x04ab"
    jpeg = b"\xff\xd8" + app + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 5, 6)

    assert image_size(png(1, 2)) == (1, 2)
    assert image_size(base64.b64encode(gif).decode()) == (3, 4)
    assert image_size(base64.b64encode(jpeg).decode()) == (6, 5)
    assert image_size(base64.b64encode(b"\xff\xd8" + app).decode()) is None
    assert image_size("aGk=") is None
    assert image_size("a") is None


def test_bound_thinking_goes_with_its_frame() -> None:
    """AE-03: system text and tools belong to what thinking is bound to."""
    whole = an.body(*an.TALK, model=an.BOUND, system="Be brief.")
    marked = {**whole, "system": [an.text("Be brief.", cache_control=an.MARK)]}
    other_tools = {**whole, "tools": []}
    lenient = {
        **other_tools,
        "thinking": {"block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    }

    assert rules("anthropic", marked, original=whole) == []
    assert rules("anthropic", other_tools, original=whole) == ["AE-03"]
    assert rules("anthropic", lenient, original=whole) == []
    assert rules("anthropic", other_tools["messages"], original=whole) == []


def test_a_round_that_is_over_may_lose_its_thinking() -> None:
    """AE-02 is about the round in progress alone."""
    answered = an.body(*an.THOUGHT["messages"], an.a(an.text()), an.u())
    trimmed = an.stripped(1, 3)(answered)

    assert rules("anthropic", trimmed, original=answered) == []


# -- The others --------------------------------------------------------------------


def test_equal_calls_keep_their_own_signatures() -> None:
    """GX-01 and DX-01: of two equal calls, dropping the first is no change."""
    contents = [
        other.g(),
        other.g_model(other.g_call(sign="s1")),
        other.g(other.g_said()),
        other.g_model(other.g_call(sign="s2")),
        other.g(other.g_said()),
    ]
    asked = [
        oc.u(),
        oc.calls("c1", reasoning_content="one"),
        oc.t("c1"),
        oc.calls("c1", reasoning_content="two"),
        oc.t("c1"),
    ]
    body = oc.thinking(*asked)
    less = oc.thinking(asked[0], *asked[3:])
    new = oc.thinking(*asked, oc.calls("c9", reasoning_content="x"), oc.t("c9"))

    assert rules("gemini", [contents[0], *contents[3:]], original=contents) == []
    assert rules("deepseek", less, original=body) == []
    assert rules("deepseek", new, original=body) == []
    off = {**less, "thinking": {"type": "disabled"}}
    assert rules("deepseek", off, original=body) == []


def test_another_item_behind_stored_reasoning_is_found() -> None:
    """OR-08 with the original: the follower must be the one there was."""
    whole = [*other.REASONED[:4], other.said("Yes.", "assistant"), other.said()]
    cut = [whole[0], whole[1], *whole[4:]]

    assert rules("openai-responses", cut) == []
    assert rules("openai-responses", cut, original=whole) == ["OR-08"]


def test_an_output_may_answer_a_tool_search() -> None:
    """OR-06: any call item with that call_id will do."""
    search = {"type": "tool_search_call", "call_id": "c1", "arguments": {}}

    assert rules("openai-responses", [other.said(), search, other.output()]) == []


def test_references_excuse_outputs_without_calls() -> None:
    """OR-06: what the server remembers needs not be sent."""
    remembered = other.sent(other.output(), previous_response_id="resp_1")
    referred = [{"type": "item_reference", "id": "fc_1"}, other.output()]

    assert rules("openai-responses", remembered) == []
    assert rules("openai-responses", referred) == []


def test_reasoning_that_is_not_stored_needs_no_follower() -> None:
    """OR-08 is about what the server has stored."""
    body = other.sent(other.said(), other.reasoning(), other.said(), store=False)

    assert rules("openai-responses", body) == []


def test_bedrock_skips_system_messages_and_reads_frames() -> None:
    """BR-s4 does not hide the pairing; system and blocks have their shapes."""
    noted = other.converse(
        other.b(),
        other.b_model(other.use()),
        other.b(role="system"),
        other.b(other.result()),
    )

    assert rules("bedrock", noted) == ["BR-s4"]
    assert rules("bedrock", {**other.B_ROUND, "system": "x"}) == ["BR-19"]
    assert rules("bedrock", [{"role": "user", "content": ["x"]}]) == ["BR-14"]
    assert rules("bedrock", [{"role": "user"}]) == ["BR-04"]
    assert rules("bedrock", ["x"]) == ["BR-01", "BR-04"]
    error = other.result("c1", [], status="error")
    parts = other.result("c1", [{"text": "a", "json": {}}])
    start = [other.b(), other.b_model(other.use())]
    assert rules("bedrock", other.converse(*start, other.b(error))) == ["BR-13"]
    assert rules("bedrock", other.converse(*start, other.b(parts))) == ["BR-14"]
    unnamed = other.converse(other.b(), other.b_model(other.use(name="a b")))
    assert rules("bedrock", unnamed) == ["BR-09", "BR-s3", "BR-06"]
    images = other.b({"text": "x"}, *[other.B_IMAGE] * 21)
    assert rules("bedrock", [images]) == ["BR-s1"]


def test_ids_that_are_no_text_pair_with_nothing() -> None:
    """A broken id is reported once, as what it is."""
    use, said = other.use(), other.result()
    use["toolUse"]["toolUseId"] = said["toolResult"]["toolUseId"] = 7
    body = other.converse(other.b(), other.b_model(use), other.b(said))

    assert rules("bedrock", body) == ["BR-09", "BR-09"]


def test_broken_ids_and_starts_in_anthropic_lists() -> None:
    """Ids that are no text, and a list that starts inside a round, are no crash."""
    server: dict[str, Any] = {
        "type": "server_tool_use",
        "id": None,
        "name": "x",
        "input": {},
    }
    odd = an.body(an.u(), an.a(an.use()), an.u(an.result(7), an.result()))
    cut = an.body(*an.THOUGHT["messages"][2:], thinking=an.ENABLED)

    assert rules("anthropic", [an.u(), an.a(server, an.text()), an.u()]) == ["AN-15"]
    assert rules("anthropic", odd) == ["AN-15", "AN-11"]
    assert rules("anthropic", cut) == ["AN-11"]


def test_deepseek_takes_parts_that_are_no_images() -> None:
    """DS-06 is about images alone."""
    part = {"type": "text", "text": "x"}

    assert rules("deepseek", [oc.u(), oc.a([part]), oc.u()]) == []


def test_values_beyond_json_are_described() -> None:
    """A caller's mistake in Python is shown as what it is."""
    found = check_request([{"role": b"user", "content": 1.5}], format="openai")

    assert found[0].message.startswith("the role is a bytes.")
    assert rules("openai", [oc.u(1.5)]) == ["OC-03"]


def test_bedrock_takes_text_beside_tools_from_claude() -> None:
    """BR-s2 is about other models."""
    body = other.converse(
        other.b(), other.b_model({"text": "x"}, other.use()), other.b(other.result())
    )

    assert rules("bedrock", body) == ["BR-s2"]
    assert rules("bedrock", body, model="anthropic.claude-sonnet-4-5") == []


def test_gemini_reads_both_spellings() -> None:
    """Snake case is what some SDKs send."""
    call = {"function_call": {"name": "f", "args": {}}, "thought_signature": "s"}
    said = {"function_response": {"name": "f", "response": {}}}
    contents = [other.g(), other.g_model(call), other.g(said)]

    assert rules("gemini", contents, model="gemini-3-pro") == []
    assert rules("gemini", [other.g_model()]) == ["GE-12"]
    assert rules("gemini", [other.g(), {"role": "user", "parts": ["x"]}]) == ["GE-04"]
    assert sorted(rules("gemini", [*contents[:2], contents[1], *contents[2:]])) == [
        "GE-05",
        "GE-07",
    ]
    assert rules("gemini", contents[1:], model="gemini-2.5-pro") == ["GE-05"]


def test_mistral_details() -> None:
    """Tools, a second id in one message, a list that is one assistant message."""
    tools = [{"type": "function", "function": {"name": "a b"}}]
    twice = [oc.u(), oc.calls(oc.K1, oc.K1), oc.t(oc.K1)]
    nameless = [oc.u(), oc.a(None, tool_calls=[oc.call(oc.K1, None)]), oc.t(oc.K1)]

    assert rules("mistral", {"messages": [oc.u()], "tools": tools}) == ["MI-10"]
    assert rules("mistral", twice) == ["MI-06"]
    assert rules("mistral", nameless) == ["MI-10"]
    assert rules("mistral", [oc.a()]) == ["MI-11", "MI-07"]
    assert rules("mistral", [oc.u(), oc.calls(None), oc.t(None)]) == ["MI-05", "MI-05"]


def test_ollama_details() -> None:
    """Calls that are no list, images that are none, calls left open in the middle."""
    assert rules("ollama", [oc.u(images="x")]) == ["OL-04"]
    assert rules("ollama", [oc.a("", tool_calls={"a": 1})]) == ["OL-03"]
    assert rules("ollama", [oc.asked(), oc.u()]) == ["OL-s2"]
    assert rules("ollama", [oc.asked()]) == ["OL-s2"]
    assert rules("ollama", [oc.asked(name=""), oc.SAID]) == ["OL-03"]


def test_deepseek_modes() -> None:
    """The request's own words about thinking win over the model's habit."""
    plain = [oc.u(), oc.calls("c1"), oc.t("c1"), oc.u()]
    off = oc.thinking(*plain, thinking={"type": "disabled"})
    on = oc.thinking(*plain, model="deepseek-chat", thinking={"type": "enabled"})

    assert rules("deepseek", off) == []
    assert rules("deepseek", on) == ["DS-20"]
    assert rules("openai", oc.thinking(*plain)) == ["DS-20"]
    assert rules("deepseek", ["x"]) == ["DS-02"]
    no_calls = oc.thinking(oc.u(), oc.a(), oc.u())
    assert rules("deepseek", no_calls) == []


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-unknown"])
@pytest.mark.parametrize(
    "blocks", [[an.server()], [an.text(), an.server(), an.searched()]]
)
def test_a_paused_answer_may_end_the_list(model: str, blocks: list[Any]) -> None:
    """It is sent back to be continued; no other assistant message is."""
    paused = an.body(an.u(), an.a(*blocks), model=model, tools=an.SERVED)
    ended = an.body(an.u(), an.a(*blocks, an.text()), model=model, tools=an.SERVED)

    assert rules("anthropic", paused) == []
    assert rules("anthropic", ended)[0] in ("AN-09", "AN-s10")


def test_a_servers_result_may_come_rounds_later() -> None:
    """As long as the user says nothing but the results of client calls."""
    called = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    run = {**an.server(), "name": "bash_code_execution"}
    tools = [*an.TOOLS, {"type": "code_execution_20250825", "name": "code_execution"}]
    rounds = [an.u(), an.a(run, an.use("c1", caller=called)), an.u(an.result("c1"))]
    more = [an.a(an.use("c2", caller=called)), an.u(an.result("c2"))]
    ended = [an.a(an.searched(), an.text()), an.u()]

    assert rules("anthropic", an.body(*rounds, *more, *ended, tools=tools)) == []
    assert rules("anthropic", an.body(*rounds, *more, tools=tools)) == []
    assert rules("anthropic", an.body(*rounds, *more, tools=an.TOOLS)) == ["AN-32"]
    assert rules("anthropic", an.body(*rounds, an.a(), an.u(), tools=tools)) == [
        "AN-28"
    ]
    assert rules("anthropic", an.body(*rounds[:2], an.u(an.result("c1"), an.text())))[
        :1
    ] == ["AN-32"]
    assert rules("anthropic", an.body(an.u(), *more, tools=tools)) == ["AN-28"]


def test_a_finished_message_has_its_servers_results() -> None:
    """An `mcp_tool_use` as well as a `server_tool_use`."""
    asked = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "x", "input": {}}

    for call in (an.server(), asked):
        body = an.body(an.u(), an.a(call, an.text()), an.u())
        (violation,) = check_request(body, format="anthropic")
        assert (violation.rule, violation.where) == (
            "AN-28",
            "$.messages[1].content[0]",
        )


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ({"tools": [an.TOOLS[0] | {"cache_control": an.HOUR}]}, []),
        ({"tools": [an.TOOLS[0] | {"cache_control": an.MARK}]}, ["AN-31"]),
        ({"system": [an.text(cache_control=an.MARK)]}, ["AN-31"]),
        ({"cache_control": an.HOUR}, []),
        ({"cache_control": an.MARK}, ["AN-30"]),
    ],
)
def test_marks_are_ordered_over_the_whole_request(
    marked: dict[str, Any], expected: list[str]
) -> None:
    """Tools, system, messages, and last of all the mark of the request."""
    body = an.body(an.u(an.text(cache_control=an.HOUR)))

    assert rules("anthropic", {**body, **marked}) == expected


def test_marks_inside_a_result_stand_before_its_own() -> None:
    """The parts of a tool_result are cached before the block is."""
    inner = [an.text(cache_control=an.MARK)]
    result = an.result("c1", inner, cache_control=an.HOUR)

    assert rules("anthropic", an.body(an.u(), an.a(an.use()), an.u(result))) == [
        "AN-31"
    ]


def test_references_name_tools_that_are_offered() -> None:
    """Also those that the server's search found; MCP servers offer others."""
    found = {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{**an.REFERENCE, "tool_name": "other"}],
        },
    }
    body = an.body(an.u(), an.a(an.server(), found, an.text()), an.u())
    deferred = {"name": "look", "defer_loading": True, "cache_control": an.MARK}

    assert rules("anthropic", body) == ["AN-33"]
    assert rules("anthropic", {**body, "mcp_servers": [{}]}) == []
    assert rules("anthropic", an.body(an.u(), tools=[deferred, {"name": "a"}])) == [
        "AN-33"
    ]


def test_seals_go_back_as_they_came() -> None:
    """Those of citations as well; one that was never sent was altered."""
    cited = an.text(
        citations=[{"type": "web_search_result_location", "encrypted_index": "i"}]
    )
    body = an.body(
        an.u(), an.a(an.server(), an.searched(found=[an.PAGE]), cited), an.u()
    )
    page = {**an.PAGE, "encrypted_content": "y"}
    other = an.body(an.u(), an.a(an.server(), an.searched(found=[page]), cited), an.u())
    bare = an.text(citations=[{"type": "web_search_result_location"}])

    assert rules("anthropic", body, original=body) == []
    assert rules("anthropic", other) == []
    assert "AN-34" in rules("anthropic", other, original=body)
    assert rules("anthropic", an.body(an.u(), an.a(bare), an.u())) == ["AN-34"]


@pytest.mark.parametrize(
    ("format_name", "request_", "rule"),
    [
        ("anthropic", [an.u(), {"role": "assistant", "content": 5}, an.u()], "AN-05"),
        ("anthropic", [an.u("x")], "AN-35"),
        ("anthropic", [an.u({"type": "text", "text": 5})], "AN-35"),
        ("anthropic", [an.u({"type": None, "text": "x"})], "AN-35"),
        ("anthropic", [an.u(), an.a(an.use()), an.u(an.result("c1", 5))], "AN-25"),
        (
            "anthropic",
            [an.u(), an.a(an.use()), an.u(an.result("c1", [{"type": "text"}]))],
            "AN-35",
        ),
        ("bedrock", [{"role": "user", "content": "x"}], "BR-04"),
        ("bedrock", [other.b({"text": 5})], "BR-14"),
        ("bedrock", [other.b({"image": "x"})], "BR-14"),
        ("bedrock", [{"role": "user", "content": ["x"]}], "BR-14"),
        (
            "bedrock",
            [{"role": "system", "content": [{"text": "x"}]}, other.b()],
            "BR-02",
        ),
        ("mistral", [oc.u(5)], "MI-15"),
        ("mistral", [oc.u({})], "MI-15"),
        ("mistral", [oc.u(["x"])], "MI-15"),
        ("mistral", [oc.u([{"type": "text"}])], "MI-15"),
        ("openai-responses", [other.said(5)], "OR-04"),
        ("openai-responses", [other.said(["x"])], "OR-04"),
        ("openai-responses", [other.said([{"type": "input_text"}])], "OR-04"),
        ("gemini", [other.g({"text": 5})], "GE-04"),
        (
            "gemini",
            [other.g(), {"parts": [other.g_call()]}, other.g(other.g_said())],
            "GE-02",
        ),
    ],
)
def test_contents_of_a_wrong_type_are_named(
    format_name: str, request_: Any, rule: str
) -> None:
    """Where an API says 400 for a shape, so does the check."""
    found = check_request(request_, format=format_name)

    assert rule in [violation.rule for violation in found]


@pytest.mark.parametrize("key", ["systemInstruction", "tools", "toolConfig"])
def test_cached_content_brings_its_own(key: str) -> None:
    """What it holds may not be sent again beside it."""
    body = {"contents": [other.g()], "cachedContent": "cachedContents/a", key: [{}]}

    (violation,) = check_request(body, format="gemini")

    assert (violation.rule, violation.where) == ("GE-13", f"$.{key}")


@pytest.mark.parametrize(("kind", "expected"), [("enabled", 1), ("disabled", 0)])
def test_deepseeks_sdk_passes_thinking_on(kind: str, expected: int) -> None:
    """`extra_body.thinking` says what `thinking` says, and the policy heeds it."""
    calls = [oc.u(), oc.calls("c1"), oc.t("c1")]
    model = "deepseek-chat" if expected else "deepseek-reasoner"
    extra = {"thinking": {"type": kind}}
    body = {"model": model, "messages": calls, "extra_body": extra}

    profile = get_profile("deepseek", model)

    assert rules("deepseek", body).count("DS-20") == expected
    assert profile.policy_for(body).reasoning_with_calls is bool(expected)


def test_a_session_is_judged_by_its_messages() -> None:
    """Its lines are no messages: what they say is what is sent."""
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
    said = [
        ("user", "go"),
        ("assistant", [call]),
        ("user", [result]),
        ("assistant", [an.text()]),
    ]
    lines: list[Any] = [
        {
            "type": role,
            "uuid": f"u{nth}",
            "parentUuid": f"u{nth - 1}" if nth else None,
            "message": {"role": role, "content": content},
        }
        for nth, (role, content) in enumerate(said)
    ]

    assert turnkeep.check(lines, format="claude-code", model=an.OLD) == []
    broken = [*lines[:2], {**lines[3], "parentUuid": "u1"}]
    (violation,) = turnkeep.check(broken, format="claude-code", model=an.OLD)
    assert violation.rule == "AN-10"


@pytest.mark.parametrize(
    "behind",
    [
        [],
        [an.u(an.result("c2"))],
        [an.u(an.result("c2"), an.text("hurry"))],
        [an.u(an.result("c2")), an.system()],
    ],
)
def test_the_round_in_progress_is_the_newest_one(behind: list[Any]) -> None:
    """Whatever stands behind its results, or does not yet; earlier rounds may go."""
    newest = [an.a(an.think("b"), an.use("c2")), *behind]
    older = [an.a(an.think("a"), an.use("c1")), an.u(an.result("c1"))]
    lost = [an.a(an.use("c2")), *behind]
    before = an.body(an.u(), *older, *newest, thinking=an.ENABLED)

    def broken(*messages: Any) -> bool:
        body = an.body(an.u(), *messages, thinking=an.ENABLED)
        return "AE-02" in rules("anthropic", body, original=before)

    assert not broken(*older, *newest)
    assert not broken(*newest)
    assert broken(*older, *lost)
    assert broken(*lost)
