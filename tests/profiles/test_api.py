"""`turnkeep.check` and `turnkeep.repair`: any format in, the same format out."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import turnkeep
from tests.paths import needs_corpus, read_corpus
from turnkeep import Message, Role, ToolCall, UnknownCallError
from turnkeep.formats import get_format
from turnkeep.profiles import get_profile

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ORPHAN = {"role": "tool", "tool_call_id": "gone", "content": "42"}
HELLO = {"role": "user", "content": "hi"}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
DONE = {"role": "tool", "tool_call_id": "c1", "content": "done"}
TOOL_USE = {"toolUseId": "t1", "name": "f", "input": {}}
TOOL_RESULT = {"toolUseId": "t1", "content": [{"text": "done"}]}


def test_check_finds_the_format_and_names_the_rule() -> None:
    """A whole body: the path starts at its list."""
    body = {"model": "gpt-4o", "messages": [HELLO, ORPHAN]}

    (found,) = turnkeep.check(body)

    assert (found.rule, found.where, found.hard) == ("OC-10", "$.messages[1]", True)
    assert "bring back the assistant message" in found.message
    assert turnkeep.check([HELLO]) == []


def test_check_judges_by_other_rules() -> None:
    """By the model, by name, or by a profile."""
    chat = [{"role": "developer", "content": "Help."}, HELLO]

    assert turnkeep.check(chat, format="openai") == []
    assert [v.rule for v in turnkeep.check(chat, model="deepseek-chat")] == ["DS-02"]
    profile = get_profile(name="alternating/qwen")
    for judge in ("alternating/qwen", profile):
        found = turnkeep.check(chat, format="openai", profile=judge)
        assert [v.rule for v in found] == ["AL-04"]
    with pytest.raises(ValueError, match="no profile 'none'"):
        turnkeep.check(chat, profile="none")


def test_check_reports_soft_and_edit_rules_when_asked() -> None:
    """Strict, and with the original."""
    long = [HELLO, {**ASKS, "tool_calls": [{**CALL, "id": "c" * 41}]}]
    long.append({**DONE, "tool_call_id": "c" * 41})
    assert turnkeep.check(long) == []
    assert [v.rule for v in turnkeep.check(long, strict=True)] == ["OC-s2"]

    before = [HELLO, {**ASKS, "reasoning_content": "because"}, DONE]
    after = [HELLO, {**ASKS, "reasoning_content": "else"}, DONE]
    found = turnkeep.check(
        after, format="deepseek", model="deepseek-v4", original=before
    )
    assert [v.rule for v in found] == ["DX-01"]


def test_messages_of_our_own_are_judged_as_what_is_sent() -> None:
    """`Message` objects, by the provider of the model."""
    call = ToolCall("c1", "f", {})
    history = [
        Message.user("hi"),
        Message.assistant("", tool_calls=[call]),
        Message.user("well?"),
    ]

    assert [v.rule for v in turnkeep.check(history, model="gpt-4o")] == ["OC-12"]
    assert [v.rule for v in turnkeep.check(history, model="claude-opus-4-1")] == [
        "AN-10"
    ]
    ours = get_format("turnkeep").encode(history)
    assert [v.rule for v in turnkeep.check(ours, model="gpt-4o")] == ["OC-12"]


def test_repair_returns_the_callers_own_entries() -> None:
    """Only what is mended is new; the input is not changed."""
    entries = [ORPHAN, HELLO, ASKS, DONE]
    body: dict[str, Any] = {"model": "gpt-4o", "messages": entries, "n": 1}
    before = copy.deepcopy(body)

    report = turnkeep.repair(body)
    mended = report.value

    assert body == before
    assert mended == {**body, "messages": [HELLO, ASKS, DONE]}
    assert all(
        left is right
        for left, right in zip(mended["messages"], entries[1:], strict=True)
    )
    assert report.changed
    assert "the call 'gone' is not in the history" in str(report)
    assert turnkeep.repair(mended).value is mended


def test_repair_moves_results_to_their_call() -> None:
    """The moved entry is the caller's own as well."""
    chat: list[Any] = [HELLO, ASKS, {"role": "user", "content": "well?"}, DONE]

    report = turnkeep.repair(chat)
    mended = report.value

    assert [entry["role"] for entry in mended] == ["user", "assistant", "tool", "user"]
    assert mended[2] is DONE
    assert [change.action for change in report.changes] == ["moved"]
    assert turnkeep.check(mended) == []


def test_repair_closes_the_calls_named() -> None:
    """By id, or all of them; others are awaited and stay open."""
    chat: list[Any] = [HELLO, ASKS, {"role": "user", "content": "well?"}]

    assert turnkeep.repair(chat).value is chat
    for close in (["c1"], "all"):
        repaired = turnkeep.repair(chat, close=close)
        mended = repaired.value
        assert "closed without a result" in mended[2]["content"]
        assert turnkeep.check(mended) == []
    with pytest.raises(UnknownCallError):
        turnkeep.repair(chat, close=["c9"])


def test_a_sequence_comes_back_as_a_list() -> None:
    """Mended or not, of the caller's own entries."""
    for chat in ((HELLO,), (ORPHAN, HELLO)):
        mended = turnkeep.repair(chat)
        assert mended.value == [HELLO]
        assert mended.value[0] is HELLO


def test_check_knows_the_tools_that_go_with_a_list() -> None:
    """Beside a bare list, whether there are any is not known."""
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    chat = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [done]},
    ]
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    bad = [{"name": "no good", "input_schema": {"type": "object"}}]

    alone = turnkeep.check(chat, format="anthropic", strict=True)
    told = turnkeep.check(chat, format="anthropic", strict=True, tools=tools)
    wrong = turnkeep.check(chat, format="anthropic", tools=bad)

    assert {v.rule for v in alone} - {v.rule for v in told} == {"AN-s7"}
    assert [(v.rule, v.where) for v in wrong] == [("AN-24", "$.tools[0].name")]
    turns: list[Any] = [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {**TOOL_USE}}]},
        {"role": "user", "content": [{"toolResult": {**TOOL_RESULT}}]},
    ]
    spec = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    for config in ([spec], {"tools": [spec]}):
        found = turnkeep.check(turns, format="bedrock", strict=True, tools=config)
        assert "BR-s6" not in {v.rule for v in found}
    found = turnkeep.check(turns, format="bedrock", strict=True)
    assert "BR-s6" in {v.rule for v in found}


def test_repair_takes_message_objects() -> None:
    """And gives them back, the same ones."""
    lone = Message(Role.TOOL_RESULT, Message.tool_result("gone", "42").content)
    hello = Message.user("hi")

    repaired = turnkeep.repair([lone, hello])
    mended = repaired.value

    assert len(mended) == 1
    assert mended[0] is hello


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "gemini", "bedrock"])
def test_repair_leaves_recordings_alone(name: str) -> None:
    """What is valid comes back as the same object; the rest ends no worse."""
    for record in read_corpus(name):
        body = record["body"]
        before = turnkeep.check(body, format=name)
        report = turnkeep.repair(body, format=name)
        mended = report.value
        if not before and not report.changed:
            assert mended is body
        after = turnkeep.check(mended, format=name)
        assert len(after) <= len(before), record["name"]
