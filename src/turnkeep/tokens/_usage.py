from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import attrs

from turnkeep.errors import FormatError

_SECOND: Final = 1e-9
_THOUSANDTH: Final = 1e-3


@attrs.frozen
class Usage:
    """What a provider says a request has cost, in one shape for all of them.

    `input_tokens` is everything the model read: cached tokens are inside it, whichever
    way the provider reports them, and `cached_tokens` and `cache_written_tokens` say
    how much of it they were. `output_tokens` includes reasoning. Usages add up.

    >>> Usage.read({"input_tokens": 10, "cache_read_input_tokens": 90,
    ...             "cache_creation_input_tokens": 0, "output_tokens": 5}).input_tokens
    100
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    """Of the input: read from the provider's cache."""
    cache_written_tokens: int = 0
    """Of the input: written to the cache for later."""
    output_tokens: int = 0
    reasoning_tokens: int = 0
    """Of the output."""
    first_token_seconds: float | None = None
    """Until the first token arrived."""
    prompt_seconds: float | None = None
    """Spent on the input."""
    generation_seconds: float | None = None
    """Spent on the output."""
    total_seconds: float | None = None

    @classmethod
    def read(cls, usage: Any) -> Self:
        """The usage in a provider's own object or dict, or in a whole response.

        Knows OpenAI (chat, Responses), Anthropic, Gemini, Bedrock, Mistral, DeepSeek,
        Ollama, the generation stats of orion, and whatever has their field names.

        Args:
            usage: A `Usage`, a dict, or an object with attributes (attrs, pydantic, a
                dataclass, ...).

        Raises:
            FormatError: No token counts in it, or one that is no natural number.
        """
        if isinstance(usage, cls):
            return usage
        fields = _fields(usage)
        for key in _INSIDE:
            if (inner := fields.get(key)) is not None:
                fields = {**_fields(inner), **_metrics(fields)}
                break
        for known, reader in _READERS:
            if any(key in fields for key in known):
                return cls(**reader(_Reader(fields)))
        reason = (
            f"no token counts among {', '.join(sorted(map(str, fields))) or 'nothing'}"
        )
        raise FormatError(reason, "$.usage")

    @property
    def uncached_tokens(self) -> int:
        """Of the input: neither read from the cache nor written to it."""
        return self.input_tokens - self.cached_tokens - self.cache_written_tokens

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of the output, where the time is known."""
        if not self.generation_seconds:
            return None
        return self.output_tokens / self.generation_seconds

    def __add__(self, other: Usage) -> Usage:
        """Both together; a time is unknown only where neither knows it."""
        mine, theirs = attrs.astuple(self), attrs.astuple(other)
        return Usage(
            *(
                a if b is None else b if a is None else a + b
                for a, b in zip(mine, theirs, strict=True)
            )
        )


def request_tokens(usage: Any) -> int | None:
    """Tokens of the one request that was sent, as the provider read it.

    Where a provider went several rounds by itself (server tools) its totals add them
    up, and the first round alone was the request. Where it changed what was sent
    (cleared, compacted, dropped reasoning) or put something of its own before it (a
    previous response, a conversation), no figure tells, and the answer is `None`.

    Args:
        usage: As `Usage.read` takes it; a whole response tells more.

    Raises:
        FormatError: No token counts in it.
    """
    if isinstance(usage, Usage):
        return usage.input_tokens
    fields = _fields(usage)
    if any(map(_says_something, map(fields.get, _CHANGED))):
        return None
    for key in _INSIDE:
        if (inner := fields.get(key)) is not None:
            fields = _fields(inner)
            break
    if any(map(_says_something, map(fields.get, _CHANGED))):
        return None
    rounds = fields.get("iterations")
    if isinstance(rounds, (list, tuple)) and rounds:
        told = [_fields(one) for one in rounds]
        if any(one.get("type") == "compaction" for one in told):
            return None
        first = next((one for one in told if one.get("type") == "message"), None)
        return None if first is None else Usage.read(first).input_tokens
    own = {k: v for k, v in fields.items() if k not in _OF_SERVER_TOOLS}
    return Usage.read(own).input_tokens


_CHANGED: Final = (
    "context_management",
    "contextManagement",
    "input_transformations",
    "previous_response_id",
    "conversation",
)
"""Fields of an answer that say that the model read something else than was sent."""

_OF_SERVER_TOOLS: Final = ("toolUsePromptTokenCount", "tool_use_prompt_token_count")
"""What Gemini's own tools put into the prompt, beside it."""


def _says_something(value: Any) -> bool:
    """Whether a field is more than empty: `{"applied_edits": []}` changed nothing."""
    if value is None or isinstance(value, (bool, int, float, str, list, tuple)):
        return bool(value)
    return any(map(_says_something, _fields(value).values()))


# Where a whole response, or a chunk of a stream, keeps its usage.
_INSIDE: Final = ("usage", "usageMetadata", "usage_metadata")


def _fields(usage: Any) -> Mapping[str, Any]:
    if isinstance(usage, Mapping):
        return usage
    dump = getattr(usage, "model_dump", None)
    if callable(dump):
        dumped = dump()
        if isinstance(dumped, Mapping):
            return dumped
    if attrs.has(type(usage)):
        return attrs.asdict(usage, recurse=False)
    names = [*getattr(usage, "__dict__", ()), *getattr(type(usage), "__slots__", ())]
    if not names or isinstance(usage, type):
        reason = f"usage is a dict or an object with fields, not {usage!r}"
        raise FormatError(reason, "$.usage")
    return {name: getattr(usage, name, None) for name in names}


def _metrics(response: Mapping[str, Any]) -> dict[str, Any]:
    """Bedrock keeps the time beside the usage."""
    metrics = response.get("metrics")
    return dict(metrics) if isinstance(metrics, Mapping) else {}


@attrs.frozen
class _Reader:
    """Reads checked numbers out of fields."""

    fields: Mapping[str, Any]

    def count(self, *keys: str) -> int:
        """The first of *keys* that is there; 0 where none is."""
        for key in keys:
            value = self.fields.get(key)
            if value is not None:
                return self._natural(key, value)
        return 0

    def inner(self, key: str, *names: str) -> int:
        """A count in the object at *key*."""
        value = self.fields.get(key)
        return 0 if value is None else _Reader(_fields(value)).count(*names)

    def has(self, *keys: str) -> bool:
        return any(self.fields.get(key) is not None for key in keys)

    def seconds(self, key: str, unit: float) -> float | None:
        """The time at *key*, which is in *unit* seconds."""
        value = self.fields.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return value * unit

    def _natural(self, key: str, value: Any) -> int:
        whole = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not whole or value < 0 or value % 1 != 0:
            reason = f"{key} must be a natural number, not {value!r}"
            raise FormatError(reason, f"$.usage.{key}")
        return int(value)


def _anthropic(read: _Reader) -> dict[str, Any]:
    """Anthropic, and OpenAI's Responses, which has the same two main fields.

    Anthropic's `input_tokens` leaves the cached tokens out, OpenAI's has them inside.
    """
    cached = read.count("cache_read_input_tokens")
    written = read.count("cache_creation_input_tokens")
    return {
        "input_tokens": read.count("input_tokens") + cached + written,
        "cached_tokens": cached or read.inner("input_tokens_details", "cached_tokens"),
        "cache_written_tokens": written
        or read.inner("input_tokens_details", "cache_write_tokens"),
        "output_tokens": read.count("output_tokens"),
        "reasoning_tokens": read.inner(
            "output_tokens_details", "reasoning_tokens", "thinking_tokens"
        ),
    }


def _chat(read: _Reader) -> dict[str, Any]:
    """OpenAI chat, Mistral, DeepSeek and all that is compatible: cached inside."""
    details = "prompt_tokens_details"
    return {
        "input_tokens": read.count("prompt_tokens"),
        "cached_tokens": read.count("prompt_cache_hit_tokens", "num_cached_tokens")
        or read.inner(details, "cached_tokens"),
        "cache_written_tokens": read.inner(
            details, "cache_write_tokens", "cache_creation_tokens"
        ),
        "output_tokens": read.count("completion_tokens"),
        "reasoning_tokens": read.inner("completion_tokens_details", "reasoning_tokens"),
    }


def _gemini(read: _Reader) -> dict[str, Any]:
    """Gemini: thoughts beside the candidates, prompts of tools beside the prompt."""
    thoughts = read.count("thoughtsTokenCount", "thoughts_token_count")
    return {
        "input_tokens": read.count("promptTokenCount", "prompt_token_count")
        + read.count("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        "cached_tokens": read.count(
            "cachedContentTokenCount", "cached_content_token_count"
        ),
        "output_tokens": read.count(
            "candidatesTokenCount",
            "candidates_token_count",
            "responseTokenCount",
            "response_token_count",
        )
        + thoughts,
        "reasoning_tokens": thoughts,
    }


def _bedrock(read: _Reader) -> dict[str, Any]:
    """Bedrock: cached tokens beside `inputTokens`, unless the total says inside."""
    plain, output = read.count("inputTokens"), read.count("outputTokens")
    cached = read.count("cacheReadInputTokens", "cacheReadInputTokenCount")
    written = read.count("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    inside = read.has("totalTokens") and read.count("totalTokens") == plain + output
    return {
        "input_tokens": plain if inside else plain + cached + written,
        "cached_tokens": cached,
        "cache_written_tokens": written,
        "output_tokens": output,
        "total_seconds": read.seconds("latencyMs", _THOUSANDTH),
    }


def _ollama(read: _Reader) -> dict[str, Any]:
    """Ollama: counts beside times in nanoseconds."""
    return {
        "input_tokens": read.count("prompt_eval_count"),
        "output_tokens": read.count("eval_count"),
        "prompt_seconds": read.seconds("prompt_eval_duration", _SECOND),
        "generation_seconds": read.seconds("eval_duration", _SECOND),
        "total_seconds": read.seconds("total_duration", _SECOND),
    }


def _orion(read: _Reader) -> dict[str, Any]:
    """The generation stats of orion: counts beside times in milliseconds."""
    return {
        "input_tokens": read.count("prompt_tokens"),
        "output_tokens": read.count("tokens_generated"),
        "first_token_seconds": read.seconds("time_to_first_token_ms", _THOUSANDTH),
        "generation_seconds": read.seconds("generation_time_ms", _THOUSANDTH),
    }


def _own(read: _Reader) -> dict[str, Any]:
    """Our own fields, as saved."""
    return {field: read.fields.get(field) for field in _OWN if read.has(field)}


_OWN: Final = tuple(field.name for field in attrs.fields(Usage))

# The first whose fields are there. Our own come before Anthropic's, which they share
# the main names with; orion's before chat's, for the same reason.
_READERS: Final[
    tuple[tuple[tuple[str, ...], Callable[[_Reader], dict[str, Any]]], ...]
] = (
    (("cache_written_tokens",), _own),
    (("tokens_generated",), _orion),
    (("prompt_tokens", "completion_tokens"), _chat),
    (("input_tokens", "output_tokens"), _anthropic),
    (("promptTokenCount", "prompt_token_count", "totalTokenCount"), _gemini),
    (("inputTokens", "outputTokens"), _bedrock),
    (("prompt_eval_count", "eval_count"), _ollama),
)
