"""Recorded requests: checked without a crash, and accepted as their providers did."""

from __future__ import annotations

from typing import Any

import pytest

from tests.paths import needs_corpus, read_corpus
from turnkeep.profiles import check_request

pytestmark = [needs_corpus, pytest.mark.corpus]

KNOWN = {
    "anthropic": {
        # Cohere's answers in Anthropic's shape: its thinking has no signatures.
        "test_cohere_model_thinking_part.yaml#1": {"AN-17"},
    },
    "bedrock": {},
    "gemini": {
        # A session kept by a framework, with several model contents in a row.
        "flow_complex_spark/sample.session.json": {"GE-05"},
        # Parallel responses spread over three contents.
        "parallel_native_tool_calling_test_crew.yaml#0": {"GE-06", "GE-07"},
        # Two call contents in a row, replayed from another provider.
        "google-gemini-3-flash-preview].yaml#1": {"GE-05", "GE-07"},
    },
    "openai-responses": {
        # Saved states of runs rather than requests.
        "run_state/features/v1_11_tool_output_custom_data.json": {"OR-06"},
        "run_state/features/v1_2_reasoning_item_id_policy.json": {"OR-08", "OR-10"},
        "run_state/features/v1_5_tool_search_and_display_metadata.json": {"OR-05"},
        "run_state/resume/v1_13_pending_tool_approval.json": {"OR-05", "OR-10"},
        # DeepSeek's own Responses endpoint, whose reasoning ids are UUIDs.
        "test_deepseek_responses[function_tool].yaml#0": {"OR-10"},
        "test_deepseek_responses[function_tool_stream].yaml#0": {"OR-10"},
        "deepseek_responses_replay_own_reasoning_history.yaml#0": {"OR-10"},
    },
    "openai": {
        # Anthropic's shape, filed under openai by the recording.
        "langchain-anthropic/tests/cassettes/test_skills.yaml.gz#0": {"OC-06"},
        # Sent through a proxy to Claude, which takes an empty array.
        "claude-sonnet-4-20250514-1757015040.416.json": {"OC-05"},
        # A session file of an agent, with interrupted calls.
        "pi-mono/packages/coding-agent/test/fixtures/large-session.jsonl": {"OC-12"},
    },
}
"""Recordings that were not accepted as what they are filed as: each was looked at."""


def _known(name: str, record: str) -> set[str]:
    return next(
        (rules for end, rules in KNOWN[name].items() if record.endswith(end)), set()
    )


@pytest.mark.parametrize("name", KNOWN)
def test_recorded_requests_are_accepted(name: str) -> None:
    """What a provider took breaks no hard rule; the exceptions are known one by one."""
    seen: dict[str, set[str]] = {}
    for record in read_corpus(name):
        rules = {v.rule for v in check_request(record["body"], format=name)}
        if rules:
            seen[record["name"]] = rules

    assert {key: _known(name, key) for key in seen} == seen
    assert len(seen) == len(KNOWN[name])


@pytest.mark.parametrize("name", KNOWN)
def test_an_untouched_request_breaks_no_edit_rule(name: str) -> None:
    """Compared with itself, a request has changed nothing."""
    for record in read_corpus(name):
        body: Any = record["body"]

        plain = check_request(body, format=name, strict=True)
        edited = check_request(body, format=name, strict=True, original=body)

        assert edited == plain, record["name"]


@pytest.mark.parametrize("name", KNOWN)
def test_every_profile_takes_every_recording(name: str) -> None:
    """Judging a request by the wrong provider's rules gives violations, not crashes."""
    key = {"gemini": "contents", "openai-responses": "input"}.get(name, "messages")
    for record in read_corpus(name):
        for profile in ("alternating/qwen", "mistral", "ollama", "anthropic", "gemini"):
            check_request(record["body"][key], format=name, profile=profile)
