"""Every behaviour of the five systems that turnkeep absorbs, one test for each row.

The rows are those of `docs/reference/seed-systems.md`, which links here.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import turnkeep
from tests.paths import ROOT
from turnkeep import Budget, BudgetExceededError, Conversation, FormatError, Message
from turnkeep.formats import get_format
from turnkeep.model import (
    GenerationStats,
    GenerationTotals,
    Image,
    Json,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    by_priority,
    count_images,
    display_text,
    extract_thinking,
    extract_tool_calls,
    freeze,
    is_tool_error,
    reasoned,
    result_from,
    run_summary,
    sent,
    shown,
    tool_call_id,
    validate,
    with_cache,
    with_images,
    with_tool_calls,
)
from turnkeep.profiles import check_request, get_profile, repair_messages
from turnkeep.strategies import (
    LowestPriority,
    OldestTurns,
    StripImages,
    Summarize,
    TruncateToolResults,
)
from turnkeep.tokens import Usage

SEEDS = ("orion", "molo", "multi-llm", "lellm", "mermaid")
WHEN = 1_700_000_000_000
TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
CALL = ToolCall("c1", "build", {"target": "all"})

SCHEMA = {"type": "object", "properties": {}}
TOOLS: dict[str, Any] = {
    "openai": [
        {"type": "function", "function": {"name": "build", "parameters": SCHEMA}}
    ],
    "anthropic": [{"name": "build", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "build", "parameters": SCHEMA}]}],
    "ollama": [
        {"type": "function", "function": {"name": "build", "parameters": SCHEMA}}
    ],
}

every_seed = pytest.mark.parametrize("name", SEEDS)


def orion(nth: int, role: str = "user", content: str = "hi", **more: Any) -> Any:
    """A message of Orion's."""
    more = {"timestamp": WHEN, **more}
    return {"id": f"msg-{nth}", "role": role, "content": content, **more}


def calling(nth: int) -> Any:
    """An answer of Orion's that calls a tool."""
    call = {"id": f"msg-{nth}-call-1", "name": "build", "arguments": {}}
    return orion(nth, "assistant", "", tool_calls=[call])


def answering(nth: int, of: int, **more: Any) -> Any:
    """The result of the call of message *of*."""
    result = {
        "tool_call_id": f"msg-{of}-call-1",
        "tool_name": "build",
        "content": "x",
        "is_error": False,
    }
    return orion(nth, "tool_result", "x", tool_result={**result, **more})


def through(name: str, *messages: Message) -> list[Message]:
    """*messages*, written in a seed's format and read again."""
    form = get_format(name)
    saved = json.loads(json.dumps(form.encode(messages)))
    return [m for entry in saved for m in form.decode(entry)]


def ten(_message: Any) -> int:
    """Ten tokens for every message."""
    return 10


def fit(messages: list[Any], tokens: int, **options: Any) -> list[Any]:
    """What is left of *messages*, ten tokens each."""
    kept: list[Any] = turnkeep.fit(messages, tokens, token_counter=ten, **options)
    return kept


# Messages


def test_row_01_message_ids_are_kept_and_address_pins() -> None:
    """By the id a message is pinned, found and restored."""
    history = [orion(1), orion(2, "assistant"), orion(3), orion(4, "assistant")]

    assert get_format("orion").decode(history[0])[0].id == "msg-1"
    assert fit([*history, orion(5)], 30, pinned=["msg-1"]) == [*history[:2], orion(5)]


def test_row_02_time_stamps_keep_their_zone() -> None:
    """Milliseconds are UTC; a local time keeps its offset, in a file of ours too."""
    (local,) = get_format("mermaid").decode(
        {"role": "User", "content": "x", "timestamp": "2026-04-16T12:00:00-04:00"}
    )
    (stamped,) = get_format("orion").decode(orion(1))
    chat = Conversation.from_messages([stamped, local])

    again = Conversation.from_json(json.loads(json.dumps(chat.to_json())))

    assert stamped.timestamp == TIME
    restored = again.messages[1].timestamp
    assert restored is not None
    assert restored.utcoffset() == timedelta(hours=-4)


def test_row_03_a_hosts_token_count_is_honoured_and_never_made_up() -> None:
    """What a host filled in is trusted; we leave the field unset."""
    chat = Conversation(budget=Budget(10_000))
    chat.user("x", token_count=500)
    chat.user("x")

    counted, uncounted = chat.messages
    window = chat.fit()

    assert (counted.token_count, uncounted.token_count) == (500, None)
    assert 500 < window.tokens < 600
    assert "token_count" not in get_format("orion").encode([uncounted])[0]
    assert counted.evolve(content="y").token_count is None


def test_row_04_five_roles() -> None:
    """A call and a result have roles of their own."""
    roles = ["system", "user", "assistant", "tool_call", "tool_result"]
    entries = [orion(n, role) for n, role in enumerate(roles)]

    messages = [get_format("orion").decode(entry)[0] for entry in entries]

    assert [m.role for m in messages] == list(Role)
    assert get_format("orion").encode(messages) == entries


@every_seed
def test_row_05_four_roles_in_every_system(name: str) -> None:
    """System, user, assistant and tool."""
    history = [
        Message.system("s"),
        Message.user("u"),
        Message.assistant("a", tool_calls=[CALL]),
        Message.tool_result("c1", "r"),
    ]

    back = through(name, *history)

    texts = [(m.role, m.text) for m in back if not m.tool_calls or m.text]
    assert texts == [(m.role, m.text) for m in history]


@every_seed
def test_row_06_calls_have_id_name_and_arguments(name: str) -> None:
    """Arguments that came as text keep it where the system has text."""
    message = Message.assistant("", tool_calls=[CALL])

    (back,) = through(name, message)

    (call,) = back.tool_calls
    assert (call.id, call.name, call.arguments) == ("c1", "build", {"target": "all"})


@every_seed
def test_row_07_several_calls_stay_in_one_step(name: str) -> None:
    """In one message, or (multi-llm) in neighbours that leave together."""
    calls = [ToolCall("c1", "f"), ToolCall("c2", "g")]
    history = [
        Message.user("old"),
        Message.assistant("", tool_calls=calls),
        Message.tool_result("c1", "1"),
        Message.tool_result("c2", "2"),
        Message.assistant("done"),
        Message.user("new"),
    ]
    entries = get_format(name).encode(history)

    back = [m for e in entries for m in get_format(name).decode(e)]

    assert [c.id for m in back for c in m.tool_calls] == ["c1", "c2"]
    if name != "multi-llm":
        assert len(back[1].tool_calls) == 2
    for tokens in range(20, 10 * len(entries), 10):
        window = fit(entries, tokens, format=name)
        left = [m for e in window for m in get_format(name).decode(e)]
        asked = [c.id for m in left for c in m.tool_calls]
        assert asked in ([], ["c1", "c2"])
        assert asked == [r.tool_call_id for m in left for r in m.tool_results]
        assert window[-1] == entries[-1]


@every_seed
def test_row_08_results_are_linked_by_the_calls_id(name: str) -> None:
    """One missing link is found."""
    history = [
        Message.user("x"),
        Message.assistant("", tool_calls=[CALL]),
        Message.tool_result("c1", "r"),
    ]

    back = through(name, *history)

    assert tool_call_id(back[-1]) == "c1"
    assert back[-1].tool_results[0].tool_call_id == back[-2].tool_calls[0].id


@pytest.mark.parametrize("name", ["orion", "mermaid"])
def test_row_09_results_name_their_tool(name: str) -> None:
    """Taken from the call where the result does not say it."""
    history = [
        Message.assistant("", tool_calls=[CALL]),
        Message.tool_result("c1", "r"),
    ]

    assert through(name, *history)[1].tool_results[0].tool_name == "build"


@every_seed
def test_row_10_failures_are_marked(name: str) -> None:
    """By a flag, or by the text where there is none."""
    (back,) = through(name, Message.tool_result("c1", "no", is_error=True))

    assert is_tool_error(back)
    assert back.text == "no"


def test_row_11_pending_is_left_out_when_false_and_false_when_missing() -> None:
    """Files of earlier releases load unchanged."""
    form = get_format("orion")
    final, waiting = answering(3, 2), answering(3, 2, pending=True)

    assert not form.decode(final)[0].tool_results[0].pending
    assert form.decode(waiting)[0].tool_results[0].pending
    assert form.encode([Message.tool_result("c", "x")])[0]["tool_result"].keys() == {
        "tool_call_id",
        "tool_name",
        "content",
        "is_error",
    }
    assert form.encode(form.decode(waiting)) == [waiting]


@every_seed
def test_row_12_pending_calls_survive_save_and_restore(name: str) -> None:
    """In a seed's list and in a file of ours, through a prune, until resolved."""
    chat = Conversation(budget=Budget(10_000))
    chat.user("build it")
    chat.assistant("", tool_calls=[CALL])
    chat.defer("c1", "build started")
    restored = Conversation.from_messages(
        get_format(name).encode(chat.messages), format=name
    )

    assert [call.id for call in restored.pending] == ["c1"]
    saved = Conversation.from_json(json.loads(json.dumps(chat.to_json())))
    assert [call.id for call in saved.pending] == ["c1"]
    saved.resolve("c1", "0 errors")
    assert saved.pending == ()
    assert "0 errors" in saved.messages[-1].text


# Pins and pruning


def test_row_13_pins_are_built_and_set_by_id() -> None:
    """Setting one says whether the message was found."""
    chat = Conversation()
    chat.user("Remember: the project is called Orion.", pinned=True)

    assert chat.messages[0].pinned
    assert chat.set_pinned("msg-1", False) is True
    assert chat.set_pinned("msg-9", True) is False
    assert not chat.messages[0].pinned
    assert get_format("orion").encode([Message.user("x", pinned=True)])[0]["pinned"]


def test_row_14_a_pin_keeps_its_whole_turn() -> None:
    """The question and the last step stay with it, in their place."""
    old = [orion(1), orion(2, "assistant", pinned=True)]
    middle = [orion(3), orion(4, "assistant")]
    new = [orion(5), orion(6, "assistant")]

    assert fit([*old, *middle, *new], 40) == [*old, *new]


def test_row_15_pruning_knows_turns_and_leaves_no_orphans() -> None:
    """Calls leave with their results, at every budget."""
    history = [orion(1), calling(2), answering(3, 2), orion(4), calling(5)]
    history += [answering(6, 5), orion(7)]

    # The model has yet to read the last result: 30 tokens have to stay.
    for tokens in range(30, 80, 10):
        kept = fit(history, tokens)
        calls = {e["id"] for e in kept if "tool_calls" in e}
        results = {
            e["tool_result"]["tool_call_id"][:5] for e in kept if "tool_result" in e
        }
        assert calls == results
        assert 10 * len(kept) <= tokens
        assert kept[-1] == history[-1]


def test_row_16_tools_system_and_answer_come_off_the_budget() -> None:
    """Each of them leaves less for messages."""
    history = [Message.user(f"message {n} " + "x " * 200) for n in range(10)]
    tools = [
        {
            "type": "function",
            "function": {"name": "f", "description": "d " * 300, "parameters": {}},
        }
    ]

    def kept(budget: Budget, **options: Any) -> int:
        return len(turnkeep.fit(history, budget=budget, model="gpt-4o", **options))

    plenty = kept(Budget(1_000))

    assert kept(Budget(1_000, reserve=400)) < plenty
    assert kept(Budget(1_000), tools=tools) < plenty
    assert kept(Budget(1_000), system="s " * 300) < plenty


def test_row_17_strategies_can_be_exchanged() -> None:
    """Another one lets something else go."""
    history = [
        Message.user("a", priority=0),
        Message.user("b", priority=9),
        Message.user("c"),
    ]

    oldest = fit(history, 20, strategy=OldestTurns())
    dearest = fit(history, 20, strategy=LowestPriority())

    assert oldest == history[1:]
    assert dearest == [history[0], history[2]]


def test_row_18_the_window_slides() -> None:
    """A contiguous newest part; an older small turn is not squeezed in."""
    history = [
        orion(1, content="x"),
        orion(2, content="x" * 60),
        orion(3, content="x" * 9),
    ]

    kept = turnkeep.fit(history, 20, token_counter=lambda e: len(e["content"]))

    assert kept == history[2:]


def test_row_19_there_is_one_summary_at_most() -> None:
    """The earlier one is merged into the next."""
    told: list[str] = []

    def summarize(messages: Any, **_: Any) -> str:
        told.append(display_text(Message.user([Text(m.text) for m in messages])))
        return f"summary {len(told)}"

    strategy = Summarize(summarize, max_tokens=50)
    history = [Message.user(f"turn {n} " + "x " * 100) for n in range(8)]
    once = turnkeep.fit(history, 600, model="gpt-4o", strategy=strategy)
    twice = turnkeep.fit(
        [*once, *(Message.user(f"more {n} " + "x " * 100) for n in range(5))],
        600,
        model="gpt-4o",
        strategy=strategy,
    )

    assert [m.kind for m in twice].count("summary") == 1
    assert "summary 1" in told[1]


def test_row_20_turns_are_a_second_dimension_of_the_budget() -> None:
    """The newest so many stay."""
    history = [orion(n) for n in range(1, 8)]

    kept = turnkeep.fit(history, budget=Budget(1_000, max_turns=2), token_counter=ten)

    assert kept == history[-2:]


@pytest.mark.parametrize(
    ("history", "cause"),
    [
        ([orion(1, pinned=True), orion(2), orion(3)], "pinned"),
        ([orion(1), orion(2)], "question"),
    ],
)
def test_row_21_what_cannot_go_is_an_error_with_totals(
    history: list[Any], cause: str
) -> None:
    """It says who holds it, and the smallest budget that would do."""
    with pytest.raises(BudgetExceededError) as caught:
        fit(history, 9)

    assert caught.value.smallest > 9
    assert cause in {held.cause for held in caught.value.held}


def test_row_22_every_fit_can_report() -> None:
    """Used, available, kept and dropped, with causes; pruned or not."""
    history = [orion(n) for n in range(1, 8)]

    plan = turnkeep.plan(history, 30, token_counter=ten)
    whole = turnkeep.plan(history, 1_000, token_counter=ten)

    assert (plan.tokens, plan.available) == (30, 30)
    assert (len(plan.kept), len(plan.dropped)) == (3, 4)
    assert "4 dropped" in str(plan)
    assert len(whole.dropped) == 0


def test_row_23_one_record_of_statistics_for_each_generation() -> None:
    """Orion's fields; sums over them are exact."""
    event = {
        "type": "generation_stats",
        "tokens_generated": 10,
        "prompt_tokens": 100,
        "tokens_per_sec": 100.0,
        "time_to_first_token_ms": 20,
        "generation_time_ms": 100,
    }
    usage = Usage.read(event)
    stats = GenerationStats.timed(
        usage.output_tokens,
        usage.input_tokens,
        first_token_seconds=usage.first_token_seconds,
        seconds=usage.generation_seconds,
    )

    total = GenerationTotals.of([stats] * 10)

    assert stats.tokens_per_second == 100.0
    assert stats.time_to_first_token == timedelta(milliseconds=20)
    assert (total.generations, total.tokens_generated, total.prompt_tokens) == (
        10,
        100,
        1000,
    )
    assert total.duration == timedelta(seconds=1)


# Saving


def test_row_24_a_list_is_saved_and_restored_and_ids_go_on() -> None:
    """The id counter continues behind the highest `msg-N`."""
    saved = json.loads(json.dumps([orion(1), orion(7), orion(3)]))
    restored = [get_format("orion").decode(entry)[0] for entry in saved]
    chat = Conversation()
    chat.user("before")

    chat.replace_messages(restored)

    assert [m.id for m in chat] == ["msg-1", "msg-7", "msg-3"]
    assert chat.user("next").id == "msg-8"
    assert get_format("orion").encode(restored) == saved


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("orion", orion(1)),
        (
            "mermaid",
            {"role": "User", "content": "hi", "timestamp": "2026-01-02T03:04:05Z"},
        ),
        ("molo", {"Assistant": {"content": "hi", "tool_calls": []}}),
        (
            "lellm",
            {"type": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        ),
    ],
)
def test_row_25_old_files_load_and_come_back_unchanged(name: str, entry: Any) -> None:
    """Fields that are newer than the file are not added to it."""
    form = get_format(name)

    assert form.encode(form.decode(entry)) == [entry]


# Content


@pytest.mark.parametrize("name", ["molo", "lellm"])
def test_row_26_user_messages_hold_blocks(name: str) -> None:
    """Text and pictures, in their order."""
    message = Message.user([Text("a"), Image("AA==", "image/png"), Text("b")])

    (back,) = through(name, message)

    assert back.content == message.content


def test_row_27_every_message_holds_blocks() -> None:
    """Also system messages, answers and results."""
    blocks: list[Any] = [Text("a"), Text("b")]
    history = [
        Message.system(blocks),
        Message.assistant([Thinking("hm"), *blocks, CALL]),
        Message(Role.TOOL_RESULT, (ToolResult("c1", blocks),)),
    ]

    assert [m.content for m in through("lellm", *history)] == [
        m.content for m in history
    ]


@pytest.mark.parametrize("name", ["molo", "lellm", "mermaid"])
def test_row_28_images_and_files(name: str) -> None:
    """As bytes, as base64 with a media type, and as bare base64 (files, too)."""
    image = Image("iVBORw0KGgo=", "image/png")

    (back,) = through(name, Message.user([Text("x"), image]))

    assert image in back.content
    if name == "mermaid":
        (files,) = get_format(name).decode(
            {
                "role": "User",
                "content": "",
                "timestamp": "2026-01-02T03:04:05Z",
                "images": ["JVBERi0x"],
            }
        )
        assert isinstance(files.content[0], turnkeep.Document)


def test_row_29_image_numbers_are_parallel_to_the_images() -> None:
    """Stable numbers for a transcript; without any, the position is shown."""
    images = [Image("iVBORw0KGgo=", "image/png"), Image("/9j/4AAQ", "image/jpeg")]
    numbered = with_images(Message.user("look"), images, [4, 7])

    (entry,) = get_format("mermaid").encode([numbered])

    assert entry["images"] == ["iVBORw0KGgo=", "/9j/4AAQ"]
    assert entry["image_numbers"] == [4, 7]
    assert get_format("mermaid").decode(entry)[0].content == numbered.content


def test_row_30_vendor_blocks_pass_verbatim() -> None:
    """Into the format they are for, and back."""
    block = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    (message,) = get_format("molo").decode({"User": [{"Wire": block}]})

    (entry,) = get_format("openai").encode([message])

    assert entry["content"] == [block]
    assert get_format("molo").encode([message]) == [{"User": [{"Wire": block}]}]


def test_row_31_structured_content() -> None:
    """Any JSON value, strict about its types."""
    value = {"intent": "greeting", "confidence": 0.95}

    (back,) = through("multi-llm", Message.assistant([Json(value)]))

    assert back.content == (Json(value),)
    assert Json(1) != Json(1.0)


@pytest.mark.parametrize("name", ["molo", "lellm", "mermaid"])
def test_row_32_reasoning_is_kept_verbatim(name: str) -> None:
    """And sent back where the provider demands it."""
    answer = reasoned("x", " first this\n then that ")

    (back,) = through(name, answer)
    (wire,) = get_format("deepseek").encode([answer])

    assert back.content == answer.content
    assert wire["reasoning_content"] == " first this\n then that "


def test_row_33_provider_continuations_are_byte_exact() -> None:
    """Signatures as they came; ciphertexts unreadable in the file, exact when sent."""
    form = get_format("mermaid")
    blank = {"role": "Assistant", "content": "x", "timestamp": "2026-01-02T03:04:05Z"}
    signed = {
        **blank,
        "thinking": "hm",
        "provider_continuation": {"provider": "anthropic", "signature": "Eq+/="},
    }
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA+/="}
    (message,) = form.decode(signed)

    assert message.content[0] == Thinking("hm", "Eq+/=")
    assert form.encode([message]) == [signed]
    sealed = turnkeep.Opaque(
        freeze({"provider": "meta_responses", "output": [item]}), "mermaid"
    )
    (entry,) = form.encode([Message.assistant([sealed])])
    assert "gAAAA" not in json.dumps(entry)
    assert form.decode(entry)[0].content == (sealed,)


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        (" plain ", None, " plain "),
        ("Thinking... a ...done thinking. b", "a", "b"),
        ("Thinking... a", "a", ""),
        ("Thinking...done thinking.", "", ""),
    ],
)
def test_row_34_thinking_is_extracted_from_text(
    text: str, thinking: str | None, answer: str
) -> None:
    """Never raises, not even where the markers overlap."""
    extracted = extract_thinking(text)

    assert (extracted.thinking, extracted.answer) == (thinking, answer)


def test_row_35_messages_are_equal_and_hashed_by_what_they_say() -> None:
    """In sets and as keys."""
    one = Message.user([Text("hi"), Json({"a": [1]})])

    assert one == Message.user([Text("hi"), Json({"a": [1]})])
    assert {one: 1}[Message.user([Text("hi"), Json({"a": [1]})])] == 1
    assert one != Message.user([Text("hi"), Json({"a": [1.0]})])


def test_row_36_every_kind_of_content_has_a_text_display() -> None:
    """multi-llm's wording, extended to what it does not have."""
    call = ToolCall("c", "get_weather", {"city": "London"})

    assert display_text(Text("hi")) == "hi"
    assert display_text(Json({"a": 1})) == '{\n  "a": 1\n}'
    assert display_text(call) == 'Tool call: get_weather with args: {"city":"London"}'
    assert display_text(ToolResult("c", "no", is_error=True)) == "Error: no"


def test_row_37_unknown_variants_are_kept() -> None:
    """New kinds of content, roles and kinds of message come back as they were."""
    attributes: dict[str, Any] = {
        "priority": 50,
        "cacheable": False,
        "cache_type": None,
        "cache_key": None,
        "category": "Current",
        "metadata": {},
    }
    stamp = "2026-01-02T03:04:05Z"
    video = {
        "role": "User",
        "content": {"Video": {"frames": 3}},
        "attributes": attributes,
        "timestamp": stamp,
    }
    narrator = {"role": "Narrator", "content": "x", "timestamp": stamp, "kind": "later"}

    for name, entry in (("multi-llm", video), ("mermaid", narrator)):
        form = get_format(name)
        assert form.encode(form.decode(entry)) == [entry]


def test_row_38_validate_has_four_rules_in_order() -> None:
    """One error with its detail."""
    broken = [
        Message(Role.TOOL_RESULT, (ToolResult("", [Thinking("hm")]),)),
        Message(Role.TOOL_RESULT, (ToolResult("c", [CALL]),)),
        Message.assistant([ToolCall("", "f")]),
        Message.user([Thinking("hm")]),
    ]
    details = []
    for message in broken:
        with pytest.raises(FormatError) as caught:
            validate(message)
        details.append(caught.value.reason)

    assert details == [
        "a tool result has no call id",
        "a tool result cannot hold a call ('build')",
        "the call of 'f' has no id",
        "a user message cannot hold reasoning",
    ]
    validate(Message.system([Thinking("anything goes")]))


def test_row_39_calls_are_extracted_from_the_assistant_only() -> None:
    """In order."""
    assert extract_tool_calls(Message.assistant("", tool_calls=[CALL])) == (CALL,)
    assert extract_tool_calls(Message.user([CALL])) == ()


def test_row_40_results_are_built_from_a_call_and_its_outcome() -> None:
    """Success is JSON text, failure `tool error: ...`."""
    done, failed = result_from(CALL, "ok"), result_from(CALL, ValueError("no"))

    assert (done.text, is_tool_error(done)) == ('"ok"', False)
    assert (failed.text, is_tool_error(failed)) == ("tool error: no", True)
    assert tool_call_id(done) == "c1"
    assert through("molo", failed)[0].tool_results[0].is_error


def test_row_41_accessors() -> None:
    """Content, call id and error flag of any message."""
    result = Message.tool_result("c1", "x", is_error=True)

    assert result.content[0] == ToolResult("c1", "x", is_error=True)
    assert (tool_call_id(result), is_tool_error(result)) == ("c1", True)
    assert (tool_call_id(Message.user("x")), is_tool_error(Message.user("x"))) == (
        None,
        False,
    )


# What is shown, sent and counted


@pytest.mark.parametrize(
    "kind", ["context_checkpoint", "run_summary", "continuation", "recovery_nudge"]
)
def test_row_42_messages_have_kinds(kind: str) -> None:
    """Kept in Mermaid's files and in ours."""
    message = Message.system("x", kind=kind)
    chat = Conversation.from_messages([message])

    assert through("mermaid", message)[0].kind == kind
    assert Conversation.from_json(chat.to_json()).messages[0].kind == kind


def test_row_43_checkpoints() -> None:
    """A summary of ours is a checkpoint there, and a summary again when read."""
    summary = Message.user("[turnkeep:summary e1c527a2]\nthey met", kind="summary")

    (entry,) = get_format("mermaid").encode([summary])

    assert entry["kind"] == "context_checkpoint"
    assert get_format("mermaid").decode(entry)[0].kind == "summary"


def test_row_44_run_summaries_are_shown_but_never_sent_or_counted() -> None:
    """Not even where everything fits."""
    line = run_summary("Worked for 5m 12s · used 12.3k tokens")
    history = [Message.user("q"), line, Message.user("r")]
    chat = Conversation.from_messages(history, budget=Budget(10_000))
    without = Conversation.from_messages(sent(history), budget=Budget(10_000))

    window = chat.fit()

    assert window.tokens == without.fit().tokens
    assert "12.3k" not in json.dumps(window.encode())
    assert shown(history) == history
    for name in ("openai", "anthropic", "gemini"):
        request = get_format(name).encode_request(history)
        assert "12.3k" not in json.dumps(request)


def test_row_45_metadata_is_kept_and_never_sent() -> None:
    """Any JSON of the host's."""
    message = Message.user("x", metadata={"checkpoint": {"id": 1, "tags": ["a"]}})

    (back,) = through("mermaid", message)

    assert back.metadata == message.metadata
    assert "checkpoint" not in json.dumps(get_format("openai").encode([message]))


def test_row_46_display_actions_are_kept_and_never_sent() -> None:
    """They come back exactly, also through a file of ours."""
    action = {
        "action_type": "Read",
        "target": "secret.rs",
        "result": {"Success": {"output": "…", "images": None}},
        "details": {"Diff": {"summary": "s", "diff": "d"}},
        "duration_seconds": 0.1,
        "metadata": None,
    }
    entry = {
        "role": "Assistant",
        "content": "done",
        "timestamp": "2026-01-02T03:04:05Z",
        "actions": [action],
    }
    chat = Conversation.from_messages([entry], format="mermaid", budget=Budget(10_000))
    again = Conversation.from_json(json.loads(json.dumps(chat.to_json())))

    # The conversation gave the message an id, which Mermaid has no field for.
    (written,) = get_format("mermaid").encode(again.messages)
    assert written["actions"] == [action]
    for name in ("openai", "anthropic", "openai-responses"):
        assert "secret.rs" not in json.dumps(get_format(name).encode(chat.messages))


def test_row_47_images_are_counted_from_the_images() -> None:
    """Whatever their numbers say."""
    entry = {
        "role": "User",
        "content": "x",
        "timestamp": "2026-01-02T03:04:05Z",
        "images": ["AA==", "JVBERi0x"],
        "image_numbers": None,
    }

    assert count_images(get_format("mermaid").decode(entry)) == 2


def test_row_48_priorities_are_carried_and_order_the_preamble_only() -> None:
    """A view; the conversation never moves."""
    low, high = Message.system("low", priority=5), Message.system("high", priority=0)
    talk = [Message.user("q", priority=30), Message.assistant("a", priority=25)]

    assert by_priority([low, high, *talk]) == [high, low, *talk]
    assert [m.priority for m in through("multi-llm", low, high)] == [5, 0]


def test_row_49_cache_hints_and_categories_are_carried() -> None:
    """multi-llm's attributes, LeLLM's breakpoints; the last hint wins."""
    hinted = with_cache(with_cache(Message.system("x"), "extended"), "ephemeral", "k")
    breakpoint_ = {
        "type": "system",
        "content": [{"type": "text", "text": "x", "cache_control": "Breakpoint"}],
    }

    (entry,) = get_format("multi-llm").encode([hinted])

    assert entry["attributes"]["cache_type"] == "Ephemeral"
    assert (entry["attributes"]["cacheable"], entry["attributes"]["cache_key"]) == (
        True,
        "k",
    )
    lellm = get_format("lellm")
    assert lellm.encode(lellm.decode(breakpoint_)) == [breakpoint_]


def test_row_50_constructors_are_one_liners() -> None:
    """For every role, and copies with more on them."""
    assert Message.system("x").role is Role.SYSTEM
    assert Message.user("x").content == (Text("x"),)
    assert Message.user([Text("x"), Image("AA==")]).role is Role.USER
    assert Message.assistant("x", tool_calls=[CALL]).tool_calls == (CALL,)
    assert reasoned("x", "hm").content == (Thinking("hm"), Text("x"))
    assert Message.tool_result("c1", "x", is_error=True).role is Role.TOOL_RESULT
    assert run_summary("x").kind == "run_summary"
    assert (
        with_tool_calls(Message.assistant("x", tool_calls=[CALL]), []).tool_calls == ()
    )
    assert with_images(Message.user("x"), [Image("AA==")]).content[1] == Image("AA==")


@every_seed
@pytest.mark.parametrize("target", ["openai", "anthropic", "gemini", "ollama"])
def test_row_51_one_model_maps_to_every_provider(name: str, target: str) -> None:
    """A seed's history becomes a request that the provider accepts."""
    history = [
        Message.system("s"),
        Message.user("u"),
        Message.assistant("", tool_calls=[CALL]),
        Message.tool_result("c1", "r"),
        Message.assistant("done"),
    ]
    read = through(name, *history)

    request = get_format(target).encode_request(read, TOOLS[target])

    violations = check_request(request, format=target)
    assert [v for v in violations if v.hard] == []
    assert '"r"' in json.dumps(request)


# Files and repairs


def test_row_52_session_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A file that cannot be replaced stays as it was."""
    path = tmp_path / "session.json"
    chat = Conversation()
    chat.user("first")
    chat.save(path)
    before = path.read_bytes()
    chat.metadata["bad"] = float("nan")
    chat.user("second")

    with pytest.raises((FormatError, ValueError)):
        chat.save(path)

    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["session.json"]
    path.write_bytes(before[:-5])
    with pytest.raises(FormatError):
        Conversation.load(path)


def test_row_53_orphans_are_mended_where_they_are_sent() -> None:
    """Results without a call go; a call without result gets a stand-in."""
    orphaned = [
        Message.user("u"),
        Message.tool_result("gone", "r"),
        Message.assistant("", tool_calls=[CALL]),
        Message.user("v"),
    ]

    profile = get_profile(format="openai")
    report = repair_messages(orphaned, profile=profile, close="all")
    mended = report.value
    window = turnkeep.fit(orphaned, 10_000, model="gpt-4o")

    assert report.changed
    assert "gone" not in {tool_call_id(m) for m in mended}
    assert [tool_call_id(m) for m in window if m.tool_results] == ["c1"]


def test_row_54_images_are_evicted_by_count() -> None:
    """The newest so many stay; the text does, too."""
    history = [
        Message.user([Text(f"image {n}"), Image("AA==", "image/png")]) for n in range(5)
    ]

    def cost(message: Message) -> int:
        return 10 + 100 * count_images([message])

    kept = turnkeep.fit(history, 360, token_counter=cost, strategy=StripImages(keep=3))

    assert count_images(kept) == 3
    assert [count_images([m]) for m in kept] == [0, 0, 1, 1, 1]
    assert all(f"image {n}" in m.text for n, m in enumerate(kept))


def test_row_55_long_tool_results_are_cut() -> None:
    """With a note of what was cut, and never those of pinned messages."""
    history = [
        Message.user("q"),
        Message.assistant("", tool_calls=[CALL]),
        Message.tool_result("c1", "line of output\n" * 500),
        Message.assistant("done"),
        Message.user("next"),
    ]

    kept = turnkeep.fit(
        history, 400, model="gpt-4o", strategy=TruncateToolResults(max_tokens=100)
    )

    (result,) = [m for m in kept if m.tool_results]
    assert result.text.startswith("[turnkeep:shortened ")
    assert len(result.text) < 2_000


def test_the_table_names_every_row_and_its_test() -> None:
    """The page in the reference and this file say the same."""
    page = (ROOT / "docs" / "reference" / "seed-systems.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\d+) \|.*`tests/test_seed_systems.py::(\w+)` \|$", page, re.MULTILINE
    )
    here = [name for name in globals() if name.startswith("test_row_")]

    assert [int(number) for number, _ in rows] == list(range(1, 56))
    assert [name for _, name in rows] == here
    assert all(name.startswith(f"test_row_{int(n):02}_") for n, name in rows)
