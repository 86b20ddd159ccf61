"""Mending broken histories: little, reported, once, and so that they are accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.profiles.histories import SHAPES, requests
from turnkeep.errors import UnknownCallError, Violation
from turnkeep.formats import get_format
from turnkeep.model import (
    BRIDGE,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
    marker_of,
)
from turnkeep.profiles import check_request, get_profile, repair_messages

Break = Callable[[DataObject, list[Message]], list[Message]]


def decode(name: str, entries: Sequence[Any]) -> list[Message]:
    form = get_format(name)
    return [message for entry in entries for message in form.decode(entry)]


def hard(name: str, messages: Sequence[Message]) -> list[Violation]:
    return check_request(get_format(name).encode(messages), format=name)


def mend(
    name: str, messages: Sequence[Message], close: Any = ()
) -> tuple[list[Message], list[str]]:
    report = repair_messages(messages, profile=get_profile(name), close=close)
    mended = report.value
    return mended, [change.action for change in report.changes]


def _results(messages: Sequence[Message]) -> list[int]:
    return [nth for nth, message in enumerate(messages) if message.tool_results]


def cut_head(data: DataObject, messages: list[Message]) -> list[Message]:
    return messages[data.draw(st.integers(0, len(messages) - 1)) :]


def orphan_at_end(_data: DataObject, messages: list[Message]) -> list[Message]:
    return [*messages[:-1], Message.tool_result("gone12345", "x"), messages[-1]]


def drop_one(data: DataObject, messages: list[Message]) -> list[Message]:
    place = data.draw(st.integers(0, len(messages) - 2))
    return messages[:place] + messages[place + 1 :]


def drop_result_block(data: DataObject, messages: list[Message]) -> list[Message]:
    places = _results(messages)
    if not places:
        return messages
    place = data.draw(st.sampled_from(places))
    rest = messages[place].content[1:]
    part = [messages[place].evolve(content=rest)] if rest else []
    return messages[:place] + part + messages[place + 1 :]


def double(data: DataObject, messages: list[Message]) -> list[Message]:
    places = _results(messages)
    if not places:
        return messages
    place = data.draw(st.sampled_from(places))
    to = data.draw(st.integers(place, len(messages) - 1))
    return [*messages[:to], messages[place].evolve(id=None), *messages[to:]]


def delay(data: DataObject, messages: list[Message]) -> list[Message]:
    places = _results(messages)
    if not places:
        return messages
    place = data.draw(st.sampled_from(places))
    to = data.draw(st.integers(place, len(messages) - 2))
    rest = messages[:place] + messages[place + 1 :]
    return [*rest[:to], messages[place], *rest[to:]]


def empty(data: DataObject, messages: list[Message]) -> list[Message]:
    place = data.draw(st.integers(0, len(messages) - 2))
    role = data.draw(st.sampled_from([Role.USER, Role.ASSISTANT]))
    content = data.draw(st.sampled_from([(), (Text(""),)]))
    return [*messages[:place], Message(role, content), *messages[place:]]


def twice(data: DataObject, messages: list[Message]) -> list[Message]:
    speakers = [
        nth
        for nth, message in enumerate(messages)
        if message.role is Role.USER and not message.tool_results
    ]
    if not speakers:
        return messages
    place = data.draw(st.sampled_from(speakers))
    return [*messages[:place], messages[place].evolve(id=None), *messages[place:]]


BREAKS: list[Break] = [
    cut_head,
    orphan_at_end,
    drop_one,
    drop_result_block,
    double,
    delay,
    empty,
    twice,
]


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_valid_histories_come_back_as_they_are(name: str, data: DataObject) -> None:
    """Repair never touches what is valid: the very same objects come back."""
    messages = decode(name, data.draw(requests(name)))

    mended, actions = mend(name, messages, "all")

    assert not hard(name, messages)
    assert actions == []
    assert len(mended) == len(messages)
    assert all(left is right for left, right in zip(mended, messages, strict=True))


@pytest.mark.parametrize("broken", BREAKS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=max(settings().max_examples // 4, 5))
@given(data=st.data())
def test_broken_histories_are_accepted_afterwards(
    name: str, broken: Break, data: DataObject
) -> None:
    """Whatever broke it, no hard rule is broken after repair, and again is nothing."""
    valid = decode(name, data.draw(requests(name, reuse=False)))
    messages = broken(data, valid)

    mended, _ = mend(name, messages, "all")
    again, actions = mend(name, mended, "all")

    assert hard(name, mended) == []
    assert actions == []
    assert again == mended


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_pins_and_pending_calls_survive(name: str, data: DataObject) -> None:
    """No pinned message and no call goes, and nothing pinned changes."""
    messages = decode(name, data.draw(requests(name)))
    for broken in data.draw(st.lists(st.sampled_from(BREAKS[1:]), max_size=3)):
        if len(messages) > 1:
            messages = broken(data, messages)
    pins = data.draw(st.sets(st.integers(0, len(messages) - 1), max_size=3))
    messages = [
        message.evolve(pinned=nth in pins) for nth, message in enumerate(messages)
    ]

    mended, _ = mend(name, messages)

    def calls(found: Sequence[Message]) -> list[ToolCall]:
        return [call for message in found for call in message.tool_calls]

    assert calls(mended) == calls(messages)
    pinned = [message for message in mended if message.pinned]
    assert sorted(map(repr, pinned)) == sorted(repr(messages[nth]) for nth in pins)


def user(text: str = "Go on.") -> Message:
    return Message.user(text)


def calling(*ids: str) -> Message:
    return Message.assistant("", tool_calls=[ToolCall(each, "look") for each in ids])


def test_the_first_result_wins() -> None:
    """Of two final results the later one goes, and the report says why."""
    history = [
        user(),
        calling("c1"),
        Message.tool_result("c1", "first"),
        Message.tool_result("c1", "second", id="m3"),
    ]

    report = repair_messages(history, profile=get_profile("openai"))
    mended = report.value

    assert mended == history[:3]
    assert str(report) == "m3 dropped: the call 'c1' has its final result already"
    assert report.changed


def test_a_replaced_placeholder_goes() -> None:
    """A real result takes the place of the placeholder before it."""
    history = [
        user(),
        calling("c1"),
        Message.tool_result("c1", "working", pending=True),
        user("And?"),
        Message.tool_result("c1", "done"),
    ]

    mended, actions = mend("openai", history)

    assert [message.text for message in mended] == ["Go on.", "", "done", "And?"]
    assert actions == ["dropped", "moved"]


def test_reused_ids_that_pair_up_stay() -> None:
    """An id that is used again belongs to the nearest open call, not to the first."""
    history = [
        user(),
        calling("c1"),
        Message.tool_result("c1", ""),
        calling("c1"),
        Message.tool_result("c1", "b"),
    ]

    assert mend("openai", history) == (history, [])


def test_named_calls_are_closed() -> None:
    """A call given up gets an error result that says so; others stay open."""
    history = [user(), calling("c1", "c2"), user()]

    mended, actions = mend("openai", history, "c2")

    result = mended[2].tool_results[0]
    assert actions == ["closed"]
    assert (result.tool_call_id, result.is_error, result.final) == ("c2", True, True)
    assert "without a result" in result.text
    assert mended[3] is history[2]


def test_closing_takes_the_place_of_a_placeholder() -> None:
    """A closed call has one result."""
    history = [user(), calling("c1"), Message.tool_result("c1", "..", pending=True)]

    mended, _ = mend("openai", history, ["c1"])

    assert [len(message.tool_results) for message in mended] == [0, 0, 1]
    assert mended[2].tool_results[0].is_error


def test_a_pinned_placeholder_stays_when_its_call_is_closed() -> None:
    """Pinned messages are never removed."""
    placeholder = Message.tool_result("c1", "..", pending=True, pinned=True)
    history = [user(), calling("c1"), placeholder]

    mended, _ = mend("openai", history, "all")

    assert placeholder in mended


def test_unknown_calls_cannot_be_closed() -> None:
    """Closing what is not open is an error, not a guess."""
    with pytest.raises(UnknownCallError, match="c9"):
        mend("openai", [user(), calling("c1")], ["c9"])


def test_pinned_orphans_are_reported_and_kept() -> None:
    """A pinned orphan is for the caller to decide about."""
    history = [Message.tool_result("c1", "x", pinned=True), user()]

    report = repair_messages(history, profile=get_profile("openai"))
    mended = report.value

    assert mended == history
    assert not report.changed
    assert report.changes[0].action == "kept"
    assert report.changes[0].call_id == "c1"


def test_results_of_a_run_go_behind_the_run() -> None:
    """Anthropic merges the assistant's messages: results come behind all of them."""
    history = [
        user(),
        calling("c1"),
        calling("c2"),
        Message.tool_result("c1", "1"),
        user("Wait."),
        Message.tool_result("c2", "2"),
    ]

    mended, actions = mend("anthropic", history)

    assert [message.text for message in mended] == ["Go on.", "", "", "1", "2", "Wait."]
    assert actions == ["moved"]


def test_parts_of_one_message_are_told_apart() -> None:
    """One message with an orphan and a late result loses one and gives the other."""
    both = Message(
        Role.TOOL_RESULT,
        (ToolResult("c9", "x"), ToolResult("c1", "1"), ToolResult("c2", "2")),
        id="m3",
    )
    history = [user(), calling("c1"), calling("c2"), both]

    mended, actions = mend("openai", history)

    assert actions == ["dropped", "moved", "moved"]
    assert [message.id for message in mended] == [None, None, "m3/1", None, "m3"]
    assert [m.tool_results[0].tool_call_id for m in mended if m.tool_results] == [
        "c1",
        "c2",
    ]


def test_words_beside_an_orphan_stay() -> None:
    """A user's words in the same message as an orphan are kept, under its id."""
    block = Opaque({"cachePoint": {}}, "bedrock")
    mixed = Message(Role.USER, (ToolResult("c9", "x"), Text("Hi"), block), id="m0")
    led = Message(Role.TOOL_RESULT, (block, ToolResult("c9"), block))

    mended, actions = mend("openai", [mixed, led])

    assert actions == ["dropped", "dropped"]
    assert mended == [Message(Role.USER, (Text("Hi"), block), id="m0")]


def test_leading_blocks_stay_with_the_first_result() -> None:
    """Blocks in front of the first of several results go with it."""
    block = Opaque({"cachePoint": {}}, "bedrock")
    several = Message(Role.TOOL_RESULT, (block, ToolResult("c9"), ToolResult("c1")))

    mended, _ = mend("openai", [user(), calling("c1"), several])

    assert mended[2].content == (ToolResult("c1"),)


def test_text_between_results_goes_behind_them() -> None:
    """Anthropic wants results in front of everything else in their turn."""
    said = {"type": "text", "text": "Wait."}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "1"}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    wire = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [said, result]},
    ]
    history = decode("anthropic", wire)

    mended, actions = mend("anthropic", history)

    assert [v.rule for v in hard("anthropic", history)] == ["AN-12"]
    assert hard("anthropic", mended) == []
    assert actions == ["moved"]


def test_empty_texts_go_and_signed_ones_stay() -> None:
    """An empty text beside others goes; one that carries a signature is no text."""
    signed = Text("", extra=freeze({"thoughtSignature": "s"}))
    noted = Text("", extra=freeze({"note": "s"}))
    history = [
        Message.user([Text("Hi"), noted], id="m0"),
        Message.assistant([signed]),
        user(),
    ]

    report = repair_messages(history, profile=get_profile("gemini"))
    mended = report.value

    assert mended == [Message.user("Hi", id="m0"), *history[1:]]
    assert str(report) == "m0 emptied: it has an empty part"


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "assistant", "content": "Hi", "tool_calls": []},
        {
            "role": "assistant",
            "content": [],
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": "{}"},
                }
            ],
        },
    ],
)
def test_empty_arrays_go(entry: Any) -> None:
    """`tool_calls: []` and `content: []` are left out, and nothing else changes."""
    end = {"role": "tool", "tool_call_id": "c1", "content": "1"}
    wire = [{"role": "user", "content": "Go on."}, entry]
    history = decode("openai", [*wire, end] if entry["tool_calls"] else wire)

    mended, actions = mend("openai", history)

    assert len(hard("openai", history)) == 1
    assert hard("openai", mended) == []
    assert actions == ["emptied"]
    assert [m.content for m in mended] == [m.content for m in history]


def test_pinned_empty_messages_stay() -> None:
    """What is pinned is not emptied, and the report says that it should be."""
    history = [Message.user("", pinned=True), user()]

    mended, actions = mend("anthropic", history)

    assert mended == history
    assert actions == ["kept"]


def test_lone_reasoning_goes_unless_it_is_pinned_or_encrypted() -> None:
    """Stored reasoning without its follower goes; encrypted reasoning may stay."""
    stored = Message.assistant([Thinking("")], id="rs_1")
    encrypted = Message.assistant([Thinking("", data="x")], id="rs_2")
    pinned = Message.assistant([Thinking("")], id="rs_3", pinned=True)
    history = [user(), stored, user(), encrypted, user(), pinned]

    mended, actions = mend("openai-responses", history)

    assert mended == [*history[:1], *history[2:]]
    assert sorted(actions) == ["dropped", "kept"]


def test_templates_get_one_message_of_equal_neighbours() -> None:
    """Texts are joined by an empty line, blocks follow each other, pins stay."""
    profile = get_profile(name="alternating/mistral")
    picture = Opaque({"type": "image"}, "openai")
    history = [user("a"), user("b"), Message.user([picture]), user("c")]

    report = repair_messages(history, profile=profile)
    mended = report.value
    kept_report = repair_messages(
        [user("a"), Message.user("b", pinned=True)], profile=profile
    )
    kept = kept_report.value

    assert mended == [Message.user([Text("a\n\nb"), picture, Text("c")])]
    assert {change.action for change in report.changes} == {"merged"}
    assert len(kept) == 2
    assert [change.action for change in kept_report.changes] == ["kept"]


def test_templates_get_a_bridge_behind_results() -> None:
    """A user message behind results would stand in the place of the answer."""
    profile = get_profile(name="alternating/mistral")
    history = [user(), calling("c1"), Message.tool_result("c1", "1"), user()]

    report = repair_messages(history, profile=profile)
    mended = report.value

    assert [change.action for change in report.changes] == ["added"]
    assert mended[3].kind == "bridge"
    assert marker_of(mended[3].text) == BRIDGE
    entries = get_format("openai").encode(mended)
    assert check_request(entries, format="openai", profile=profile) == []


def test_lists_that_may_not_start_so_get_a_bridge() -> None:
    """Bedrock starts with the user, Gemini not with a call, templates with either."""
    history = [Message.system("s"), calling("c1"), Message.tool_result("c1", "1")]
    template = get_profile(name="alternating/gemma2")

    for name in ("bedrock", "gemini"):
        mended, actions = mend(name, history)
        assert actions == ["added"]
        assert mended[1].kind == "bridge"
    answered = [Message.assistant("Hi"), user()]
    assert mend("gemini", answered) == (answered, [])
    assert mend("bedrock", answered)[1] == ["added"]
    assert repair_messages(answered, profile=template).changed
    assert repair_messages(history[1:], profile=template).value == history[1:]


def test_templates_that_want_a_question_get_one() -> None:
    """A list without any user message gets a bridge in front of its first call."""
    profile = get_profile(name="alternating/qwen")
    history = [Message.system("s"), calling("c1"), Message.tool_result("c1", "1")]

    report = repair_messages(history, profile=profile)
    mended = report.value

    assert [change.action for change in report.changes] == ["added"]
    assert [message.kind for message in mended] == [None, "bridge", None, None]
    entries = get_format("openai").encode(mended)
    assert check_request(entries, format="openai", profile=profile) == []
    assert repair_messages(mended, profile=profile).value == mended


def test_neighbours_that_are_new_are_left_to_the_format() -> None:
    """What was never on the wire is joined when it is written."""
    history = [user("a"), user("b")]

    assert mend("bedrock", history) == (history, [])
    assert hard("bedrock", history) == []


def test_a_call_at_the_end_is_closed_behind_its_run() -> None:
    """The result comes last, where nothing else follows."""
    mended, actions = mend("anthropic", [user(), calling("c1"), calling("c2")], "c1")

    assert actions == ["closed"]
    assert mended[-1].tool_results[0].tool_call_id == "c1"


def test_texts_of_both_sides_are_not_neighbours() -> None:
    """Only entries of one side are joined, and system text is none."""
    history = decode(
        "bedrock",
        [
            {"role": "user", "content": [{"text": "a"}]},
            {"role": "assistant", "content": [{"text": "b"}]},
        ],
    )
    spoken = [history[0], Message.system("s"), *history]

    assert mend("bedrock", spoken) == (spoken, [])


def test_text_that_shares_an_entry_with_results_stays() -> None:
    """Results and text of one user message are one message already."""
    use = {"toolUseId": "c1", "name": "look", "input": {}}
    result = {"toolUseId": "c1", "content": [{"text": "1"}]}
    history = decode(
        "bedrock",
        [
            {"role": "user", "content": [{"text": "a"}]},
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}, {"text": "Go on."}]},
        ],
    )

    assert len(history) == 4
    assert mend("bedrock", history) == (history, [])


def test_results_behind_results_of_another_round_stay() -> None:
    """Only the run of the call that moved results follow is looked at."""
    history = [
        user(),
        calling("c1"),
        user("Wait."),
        calling("c2"),
        Message.tool_result("c2", "2"),
        Message.tool_result("c1", "1"),
    ]

    mended, actions = mend("anthropic", history)

    assert [m.text for m in mended] == ["Go on.", "", "1", "Wait.", "", "2"]
    assert actions == ["moved"]


def test_nothing_to_mend_says_so() -> None:
    """An empty report is a sentence too."""
    report = repair_messages([user()], profile=get_profile("openai"))

    assert str(report) == "nothing to mend"
    assert not report.changed


def test_messages_without_an_id_are_named_by_their_place() -> None:
    """A report can be read without ids."""
    report = repair_messages(
        [user(), Message.tool_result("c1", "x")], profile=get_profile("openai")
    )

    assert str(report).startswith("message 1 dropped: the call 'c1' is not")
