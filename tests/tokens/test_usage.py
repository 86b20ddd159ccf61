import dataclasses
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import needs_corpus, read_corpus
from turnkeep.errors import FormatError
from turnkeep.tokens import Usage

CASES: dict[str, tuple[Any, Usage]] = {
    "OpenAI chat": (
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 128},
        },
        Usage(2006, 1920, 0, 300, 128),
    ),
    "OpenAI Responses": (
        {
            "input_tokens": 328,
            "input_tokens_details": {"cached_tokens": 256},
            "output_tokens": 52,
            "output_tokens_details": {"reasoning_tokens": 40},
            "total_tokens": 380,
        },
        Usage(328, 256, 0, 52, 40),
    ),
    "Anthropic": (
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": 248,
            "cache_read_input_tokens": 1800,
            "cache_creation": {"ephemeral_5m_input_tokens": 248},
            "output_tokens": 503,
            "service_tier": "standard",
        },
        Usage(2098, 1800, 248, 503),
    ),
    "Anthropic without a cache": (
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "output_tokens": 3,
        },
        Usage(50, 0, 0, 3),
    ),
    "Gemini": (
        {
            "promptTokenCount": 1200,
            "cachedContentTokenCount": 1000,
            "candidatesTokenCount": 80,
            "thoughtsTokenCount": 120,
            "toolUsePromptTokenCount": 30,
            "totalTokenCount": 1430,
        },
        Usage(1230, 1000, 0, 200, 120),
    ),
    "Gemini, snake case": (
        {
            "prompt_token_count": 12,
            "candidates_token_count": 3,
            "total_token_count": 15,
        },
        Usage(12, 0, 0, 3),
    ),
    "Gemini, no answer": ({"totalTokenCount": 9, "promptTokenCount": 9}, Usage(9)),
    "Bedrock": (
        {
            "inputTokens": 30,
            "outputTokens": 628,
            "totalTokens": 1658,
            "cacheReadInputTokens": 900,
            "cacheWriteInputTokens": 100,
        },
        Usage(1030, 900, 100, 628),
    ),
    "Bedrock, cached inside": (
        {
            "inputTokens": 1030,
            "outputTokens": 628,
            "totalTokens": 1658,
            "cacheReadInputTokens": 900,
        },
        Usage(1030, 900, 0, 628),
    ),
    "Bedrock, whole response": (
        {
            "output": {},
            "usage": {"inputTokens": 30, "outputTokens": 6, "totalTokens": 36},
            "metrics": {"latencyMs": 1500},
        },
        Usage(30, 0, 0, 6, total_seconds=1.5),
    ),
    "Mistral": (
        {"prompt_tokens": 14, "completion_tokens": 20, "total_tokens": 34},
        Usage(14, 0, 0, 20),
    ),
    "Mistral with a cache": (
        {"prompt_tokens": 14, "completion_tokens": 20, "num_cached_tokens": 8},
        Usage(14, 8, 0, 20),
    ),
    "DeepSeek": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(100, 64, 0, 50, 30),
    ),
    "OpenRouter": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 90},
        },
        Usage(100, 0, 90, 50),
    ),
    "Ollama": (
        {
            "model": "llama3.2",
            "done": True,
            "prompt_eval_count": 26,
            "prompt_eval_duration": 130_000_000,
            "eval_count": 259,
            "eval_duration": 4_000_000_000,
            "total_duration": 5_000_000_000,
        },
        Usage(
            26,
            output_tokens=259,
            prompt_seconds=0.13,
            generation_seconds=4.0,
            total_seconds=5.0,
        ),
    ),
    "Ollama, all cached": (
        {"eval_count": 2, "total_duration": 10**9},
        Usage(0, output_tokens=2, total_seconds=1.0),
    ),
    "orion": (
        {
            "tokens_generated": 40,
            "prompt_tokens": 900,
            "tokens_per_sec": 20.0,
            "time_to_first_token_ms": 250,
            "generation_time_ms": 2000,
        },
        Usage(900, output_tokens=40, first_token_seconds=0.25, generation_seconds=2.0),
    ),
    "a whole response of OpenAI": (
        {"id": "x", "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        Usage(3, output_tokens=4),
    ),
    "a whole response of Gemini": (
        {"candidates": [], "usageMetadata": {"promptTokenCount": 3}},
        Usage(3),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_providers_own_fields(case: str) -> None:
    given, expected = CASES[case]

    usage = Usage.read(given)

    assert attrs.astuple(usage) == pytest.approx(attrs.astuple(expected))
    assert usage.uncached_tokens >= 0


@dataclasses.dataclass
class _AsDataclass:
    prompt_tokens: int = 7
    completion_tokens: int = 3


@attrs.frozen
class _AsAttrs:
    prompt_tokens: int = 7
    completion_tokens: int = 3


class _AsModel:
    """As pydantic's models are, which the SDKs use."""

    def model_dump(self) -> dict[str, int]:
        return {"prompt_tokens": 7, "completion_tokens": 3}


class _AsSlots:
    __slots__ = ("completion_tokens", "prompt_tokens")

    def __init__(self) -> None:
        self.prompt_tokens, self.completion_tokens = 7, 3


class _OddDump:
    prompt_tokens = 9

    def __init__(self) -> None:
        self.prompt_tokens, self.completion_tokens = 7, 3

    def model_dump(self) -> str:
        return "not a dict"


@pytest.mark.parametrize(
    "usage",
    [
        _AsDataclass(),
        _AsAttrs(),
        _AsModel(),
        _AsSlots(),
        _OddDump(),
        SimpleNamespace(prompt_tokens=7, completion_tokens=3),
        SimpleNamespace(usage=SimpleNamespace(prompt_tokens=7, completion_tokens=3)),
        SimpleNamespace(
            prompt_tokens=7,
            completion_tokens=3,
            prompt_tokens_details=SimpleNamespace(cached_tokens=0),
        ),
    ],
)
def test_every_kind_of_object(usage: object) -> None:
    """SDKs have pydantic models, dataclasses and their own classes."""
    assert Usage.read(usage) == Usage(7, output_tokens=3)


@given(
    st.builds(
        Usage,
        *[st.integers(0, 10**9)] * 5,
        *[st.none() | st.floats(0, 1e6)] * 4,
    )
)
def test_reads_itself_back(usage: Usage) -> None:
    """What is saved is read as it was, and a usage is a usage."""
    assert Usage.read(usage) is usage
    assert Usage.read(attrs.asdict(usage)) == usage


@pytest.mark.parametrize("usage", [{}, {"tokens": 3}, SimpleNamespace(cost=1)])
def test_what_has_no_counts_is_refused(usage: object) -> None:
    with pytest.raises(FormatError, match=r"no token counts.*\$\.usage"):
        Usage.read(usage)


@pytest.mark.parametrize("usage", [None, 3, "12 tokens", [1], int])
def test_what_has_no_fields_is_refused(usage: object) -> None:
    with pytest.raises(FormatError, match="a dict or an object"):
        Usage.read(usage)


@pytest.mark.parametrize("value", [-1, 1.5, "many", True, float("inf"), float("nan")])
def test_counts_are_natural_numbers(value: object) -> None:
    with pytest.raises(FormatError, match=r"prompt_tokens.*\$\.usage\.prompt_tokens"):
        Usage.read({"prompt_tokens": value, "completion_tokens": 0})


def test_whole_numbers_may_come_as_floats() -> None:
    assert Usage.read({"prompt_tokens": 3.0}).input_tokens == 3


@pytest.mark.parametrize("value", ["soon", True, None])
def test_odd_times_are_unknown(value: object) -> None:
    usage = Usage.read({"eval_count": 3, "eval_duration": value})

    assert usage.generation_seconds is None
    assert usage.tokens_per_second is None


def test_speed() -> None:
    assert Usage(0, output_tokens=30, generation_seconds=2.0).tokens_per_second == 15


@needs_corpus
def test_every_usage_of_the_recorded_sessions() -> None:
    """Cached tokens are part of the input, and all of it is a natural number."""
    usages = [
        line["message"]["usage"]
        for history in read_corpus("claude-code")
        for line in history["body"]["lines"]
        if isinstance(line.get("message"), dict) and "usage" in line["message"]
    ]

    total = sum(map(Usage.read, usages), Usage())

    assert len(usages) >= 10
    assert total.output_tokens == sum(usage["output_tokens"] for usage in usages)
    assert total.uncached_tokens == sum(usage["input_tokens"] for usage in usages)


def test_adds_up() -> None:
    """Counts add; a time is known where either knows it."""
    first = Usage(10, 5, 2, 3, 1, total_seconds=1.0, prompt_seconds=0.5)
    second = Usage(20, 0, 0, 4, 0, total_seconds=2.0, generation_seconds=1.5)

    assert first + second == Usage(
        30,
        5,
        2,
        7,
        1,
        total_seconds=3.0,
        prompt_seconds=0.5,
        generation_seconds=1.5,
    )
    assert first.uncached_tokens == 3
