"""Tests for the formats `batch` and `response`: what APIs are sent and answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_sessions import FILES, notes_of, spoken
from turnkeep import convert, count, fit
from turnkeep.errors import FormatError
from turnkeep.formats import detect, match_format, open_messages, read

CHAT = [{"role": "user", "content": "hi"}]
ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "gpt-4o",
    "choices": [{"message": {"role": "assistant", "content": "yo"}}],
}
CLAUDE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "yo"}],
    "stop_reason": "end_turn",
}


def wires(path: Path) -> list[tuple[str, list[str]]]:
    """The format and the messages of each conversation in a file."""
    return [(open_messages(value)[0].name, spoken(value)) for value in read(path).value]


def test_files_of_batches_hold_a_conversation_a_request() -> None:
    assert wires(FILES / "openai-batch-input.jsonl") == [
        ("openai", ["user: Weather?", "assistant: weather(call_1)", "call_1 = 4 C"]),
        (
            "openai-responses",
            [
                "system: Be brief.",
                "user: Weather?",
                "assistant: <thinking>",
                "assistant: weather(call_1)",
                "call_1 = 4 C",
            ],
        ),
    ]
    assert wires(FILES / "openai-batch-output.jsonl") == [
        ("openai", ["assistant: 4 C."]),
        ("openai", []),
    ]


def test_request_and_answer_are_joined_by_their_id() -> None:
    assert wires(FILES / "anthropic-batch.jsonl") == [
        ("anthropic", ["user: Hi", "assistant: Hi."]),
        ("openai", []),
    ]


def test_lines_of_fine_tuning_are_bodies() -> None:
    plain, preferred = wires(FILES / "openai-finetune.jsonl")

    assert plain[1][-1] == "assistant: 4 C."
    assert preferred == ("openai", ["user: Weather?", "assistant: 4 C."])


def test_a_request_keeps_its_system_text_and_tools() -> None:
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    params = {
        "system": "Be kind.",
        "tools": tools,
        "messages": CHAT,
        "model": "claude-x",
    }
    line = {"custom_id": "r", "params": params}

    assert fit(line, 5_000) == params
    assert count(line).system > 0
    assert count(line).tools > 0
    assert convert(line, to="anthropic").value["system"] == "Be kind."


def test_a_body_in_a_record_is_read() -> None:
    """As logs of requests have it: no id, other things beside it."""
    record = {"name": "first", "body": {"messages": CHAT}}

    assert detect(record).format == "batch"
    assert spoken(record) == ["user: hi"]
    with pytest.raises(FormatError, match="lines of 2 requests"):
        open_messages([record, record])


def test_an_answer_may_stand_before_its_request() -> None:
    asked = {"custom_id": "r", "body": {"messages": CHAT}}
    answered = {"custom_id": "r", "response": {"status_code": 200, "body": ANSWER}}
    failed = {"custom_id": "r", "response": None, "error": {"code": "expired"}}

    assert spoken([asked, answered]) == ["user: hi", "assistant: yo"]
    assert spoken([failed, asked]) == spoken([asked, failed]) == ["user: hi"]
    assert "there is no answer: expired" in notes_of(failed)


def test_answers_of_another_api_are_refused() -> None:
    asked = {"custom_id": "r", "body": {"messages": CHAT, "model": "gpt-4o"}}
    answered = {"custom_id": "r", "result": {"type": "succeeded", "message": CLAUDE}}

    with pytest.raises(FormatError, match="an answer in anthropic"):
        open_messages([asked, answered])
    with pytest.raises(FormatError, match="lines of 2 requests"):
        open_messages([asked, {**asked, "custom_id": "s"}])


@pytest.mark.parametrize(
    ("answer", "wire"),
    [
        (ANSWER, "openai"),
        ({k: v for k, v in ANSWER.items() if k != "object"}, "openai"),
        (CLAUDE, "anthropic"),
        (
            {
                "object": "response",
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "yo"}],
                    }
                ],
            },
            "openai-responses",
        ),
        (
            {
                "modelVersion": "gemini-x",
                "candidates": [
                    {"content": {"role": "model", "parts": [{"text": "yo"}]}}
                ],
            },
            "gemini",
        ),
        (
            {
                "stopReason": "end_turn",
                "output": {
                    "message": {"role": "assistant", "content": [{"text": "yo"}]}
                },
            },
            "bedrock",
        ),
        ({"done": True, "message": {"role": "assistant", "content": "yo"}}, "ollama"),
    ],
    ids=["openai", "alike", "anthropic", "responses", "gemini", "bedrock", "ollama"],
)
def test_a_bare_answer_is_read(answer: dict[str, Any], wire: str) -> None:
    assert detect(answer).format == "response"
    assert open_messages(answer)[0].name == wire
    assert spoken(answer) == ["assistant: yo"]
    assert "what was asked is not in it" in notes_of(answer)


def test_the_first_of_several_choices_counts() -> None:
    other = {"message": {"role": "assistant", "content": "no"}}
    answer = {**ANSWER, "choices": [*ANSWER["choices"], other]}

    assert spoken(answer) == ["assistant: yo"]
    assert open_messages(answer)[1].model == "gpt-4o"
    assert "1 choice (the first one counts)" in notes_of(answer)


@pytest.mark.parametrize(
    "value",
    [
        {"object": "chat.completion.chunk", "choices": [{"message": {}}]},
        {"choices": [{"delta": {}}]},
        {"choices": []},
        {"type": "message", "role": "assistant", "content": "text", "stop_reason": ""},
        {"preferred_output": []},
        {"custom_id": 7, "body": 7},
    ],
)
def test_is_not_what_has_none_of_its_marks(value: Any) -> None:
    scores = {match_format(value, name).score for name in ("batch", "response")}

    assert scores == {0}


def test_a_result_without_an_answer_is_said() -> None:
    failed = {"custom_id": "r", "response": {"status_code": 500, "body": {}}}

    assert spoken(failed) == []
    assert "there is no answer: 500" in notes_of(failed)
    assert "nothing is said why" in notes_of({"custom_id": "r", "response": None})


def test_notes_of_what_is_wrapped_are_told() -> None:
    assert "what was asked is not in it" in notes_of({"name": "x", "body": ANSWER})


def test_an_answer_by_itself_says_that_its_question_is_elsewhere() -> None:
    asked = {"custom_id": "r", "body": {"messages": CHAT}}
    answered = {"custom_id": "r", "response": {"status_code": 200, "body": ANSWER}}

    assert "what was asked is in the file of requests" in notes_of(answered)
    assert "what was asked" not in notes_of([asked, answered])


GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
SPOKEN = {"candidates": [{"content": {"parts": [{"text": "yo"}]}}]}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
CLAUDE_ASKED = {"anthropic_version": "bedrock-2023-05-31", "messages": CHAT}
CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [{"text": "yo"}]}},
    "stopReason": "end_turn",
}


@pytest.mark.parametrize(
    ("line", "wire"),
    [
        ({"key": "1", "request": GEMINI, "response": SPOKEN}, "gemini"),
        ({"request": GEMINI, "response": SPOKEN, "status": ""}, "gemini"),
        (
            {"recordId": "1", "modelInput": CONVERSE, "modelOutput": CONVERSED},
            "bedrock",
        ),
        ({"modelInput": CLAUDE_ASKED, "modelOutput": CLAUDE}, None),
    ],
)
def test_lines_of_gemini_and_bedrock(line: dict[str, Any], wire: str | None) -> None:
    """https://ai.google.dev/gemini-api/docs/batch-api and Bedrock's batch inference."""
    assert spoken(line) == ["user: hi", "assistant: yo"]
    assert detect(line).format == "batch"
    assert wire in (None, open_messages(line)[0].name)
    request = {key: line[key] for key in line if key not in ("response", "modelOutput")}
    assert spoken(request) == ["user: hi"]


def test_a_line_that_failed_says_why() -> None:
    bedrock = {"recordId": "1", "modelInput": CONVERSE, "error": {"errorCode": 400}}
    gemini = {"key": "1", "response": SPOKEN}

    assert spoken(bedrock) == ["user: hi"]
    assert "there is no answer: 400" in notes_of(bedrock)
    assert spoken(gemini) == ["assistant: yo"]
    assert spoken([{"key": "1", "request": GEMINI}, gemini])[-1] == "assistant: yo"


def test_lines_of_answers_are_conversations(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [ANSWER, SPOKEN, {"key": "1", "request": GEMINI}]
    path.write_text("\n".join(map(json.dumps, lines)))

    assert wires(path) == [
        ("openai", ["assistant: yo"]),
        ("gemini", ["assistant: yo"]),
        ("gemini", ["user: hi"]),
    ]
