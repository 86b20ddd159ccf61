"""How servers say that a request was longer than their model's context.

A table of wordings with their sources; nothing but what an error says of itself is
looked at, never what a model or a user wrote. Some name limit and size, some only one
of them, some nothing; a few answer with status 200 and a reason for stopping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import attrs


@attrs.frozen
class ContextExceeded:
    """What a server told of a request that was too long, as far as it did."""

    limit: int | None = None
    """Tokens of the model's context."""
    used: int | None = None
    """Tokens of the input."""
    output: int | None = None
    """Tokens that were asked for as answer, where they are part of the sum."""
    excess: int | None = None
    """Tokens of the input beyond the limit."""


class Wording(NamedTuple):
    """How one server puts it: L limit, A input, T total, O output, X excess."""

    server: str
    pattern: str
    source: str


WORDINGS: Final = (
    # The number of input tokens is a lower bound here, worked out from the others.
    Wording(
        "vLLM",
        r"maximum context length is <L> tokens\. However, you requested <O> output "
        r"tokens and your prompt contains at least",
        "github.com/AIDotNet/OpenCowork/issues/82",
    ),
    Wording(
        "OpenAI, DeepSeek, OpenRouter, older vLLM",
        r"maximum context length is <L> tokens\. However, you requested (?:about )?<T> "
        r"tokens \([^)]*?<O> (?:in|for) the (?:completion|output)",
        "github.com/FoundationAgents/OpenManus/issues/62",
    ),
    Wording(
        "OpenAI",
        r"maximum context length is <L> tokens\. However, (?:your messages resulted "
        r"in|you requested(?: about)?) <A> tokens",
        "github.com/Azure-Samples/azure-search-openai-demo/issues/1199",
    ),
    Wording(
        "Azure",
        r"exceed the configured limit of <L> tokens\. Your messages resulted in <A> "
        r"tokens",
        "github.com/BerriAI/litellm/issues/15968",
    ),
    Wording(
        "OpenAI Responses",
        r"input exceeds the context window",
        "github.com/the-open-agent/openagent/issues/2344",
    ),
    Wording(
        "Anthropic",
        r"prompt is too long: <A> tokens > <L> maximum",
        "platform.claude.com/docs/en/build-with-claude/context-windows",
    ),
    Wording(
        "Anthropic, older models",
        r"input length and .?max_tokens.? exceed context limit: <A> \+ <O> > <L>",
        "github.com/docker/docker-agent/issues/569",
    ),
    Wording(
        "Bedrock",
        r"input is too long for requested model|too many input tokens",
        "github.com/aws-samples/bedrock-chat/issues/95",
    ),
    Wording(
        "Gemini",
        r"input token count \(?<A>\)? exceeds the maximum number of tokens allowed "
        r"\(?<L>\)?",
        "github.com/google-gemini/gemini-cli/issues/6678",
    ),
    Wording(
        "Mistral",
        r"prompt contains <A> tokens.*?too large for model with <L> maximum context",
        "github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
    ),
    Wording(
        "xAI",
        r"maximum prompt length is <L> but the request contains <A> tokens",
        "github.com/cline/cline/issues/3120",
    ),
    Wording(
        "Groq",
        r"reduce the length of the messages or completion",
        "github.com/OpenHands/OpenHands/issues/1902",
    ),
    Wording(
        "Together",
        r"must be <= <L>\. Given: <A> .?inputs.? tokens and <O> .?max_new_tokens",
        "github.com/stanford-crfm/helm/pull/2079",
    ),
    Wording(
        "Fireworks, Ollama Cloud",
        r"prompt is too long: <A>, model maximum context length: <L>",
        "several repositories",
    ),
    Wording(
        "SGLang",
        r"input \(<A> tokens\) is longer than the model's context length \(<L> tokens",
        "github.com/QwenLM/Qwen3/issues/1321",
    ),
    Wording(
        "SGLang",
        r"maximum context length of <L> tokens\. You requested a total of <T> tokens: "
        r"<A> tokens from the input messages and <O> tokens",
        "github.com/anomalyco/opencode/pull/25230",
    ),
    Wording(
        "SGLang",
        r"input length \(<A> tokens\) exceeds the maximum allowed length \(<L> tokens",
        "github.com/sgl-project/sglang/issues/4048",
    ),
    Wording(
        "llama.cpp",
        r"request \(<A> tokens\) exceeds the available context size \(<L> tokens",
        "github.com/ggml-org/llama.cpp/pull/15780",
    ),
    Wording(
        "llama.cpp, older",
        r"exceeds the available context size",
        "github.com/oobabooga/textgen/issues/7257",
    ),
    Wording(
        "Ollama",
        r"exceeded max context length by <X> tokens",
        "github.com/ollama/ollama/pull/17944",
    ),
    Wording(
        "LM Studio",
        r"n_keep: <A> >= n_ctx: <L>",
        "github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2322",
    ),
    Wording(
        "LM Studio",
        r"context size has been exceeded|tokens to keep from the initial prompt is "
        r"greater than the context length",
        "github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2339",
    ),
    Wording(
        "Kimi",
        r"exceeded model token limit: <L> \(requested: <A>\)",
        "github.com/MoonshotAI/kimi-cli/issues/2011",
    ),
    Wording(
        "GitHub Copilot",
        r"<A> exceeds the limit of <L>",
        "github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
    ),
    Wording(
        "MiniMax",
        r"context window exceeds limit",
        "github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
    ),
    Wording(
        "DashScope",
        r"range of input length should be \[\d+, ?<L>\]",
        "github.com/BerriAI/litellm",
    ),
    Wording(
        "Cerebras",
        r"current length is <A> while limit is <L>",
        "github.com/BerriAI/litellm",
    ),
    Wording(
        "Cerebras",
        r"^(?:error code: )?4(?:00|13) ?(?:status code)? ?\(no body\)",
        "github.com/earendil-works/pi packages/ai/src/utils/overflow.ts",
    ),
    Wording(
        "any, by its code",
        r"\b(?:context_length_exceeded|exceed_context_size_error|"
        r"model_context_window_exceeded|context_window_exceeded|"
        r"ContextWindowExceededError)\b",
        "github.com/BerriAI/litellm litellm/exceptions.py",
    ),
    Wording(
        "any that only names its limit",
        r"maximum context length (?:is|of) <L> tokens",
        "github.com/vllm-project/vllm/issues/20409",
    ),
)
"""The first that fits tells, those that name figures before the others."""

OTHERS: Final = (
    # Groq: github.com/continuedev/continue/issues/10218
    r"tokens per (?:minute|hour|day)|\bTP[MD]\b|rate.?limit",
    # Bedrock's throttling
    r"please wait before|too many tokens, please wait",
    # 413: too many bytes, platform.claude.com/docs/en/api/errors
    r"request_too_large",
    # The answer that was asked for is too long, not the request.
    r"maximum allowed number of output tokens",
    r"maximum tokens you requested exceeds the model limit",
)
"""What only looks like it."""

STOPPED: Final = frozenset({"model_context_window_exceeded", "model_length"})
"""Reasons for stopping, in answers with status 200 (Anthropic, Bedrock, Z.ai,
Mistral): input and answer together filled the context."""

_SPELLED: Final = re.compile(
    "|".join(f"(?:{pattern})" for pattern in OTHERS), re.IGNORECASE
)
_READERS: Final = tuple(
    re.compile(
        re.sub(r"<([LATOX])>", r"(?P<\1>\\d[\\d,]*)", wording.pattern),
        re.IGNORECASE | re.DOTALL,
    )
    for wording in sorted(WORDINGS, key=lambda wording: "<" not in wording.pattern)
)

_SAYS: Final = frozenset(
    ("code", "detail", "error_message", "message", "msg", "status", "title", "type")
)
"""Fields of an error that say what it is."""
_HOLDS: Final = frozenset(
    ("body", "cause", "detail", "details", "error", "errors", "last_error", "response")
)
"""Fields in which errors stand."""
_LISTS: Final = ("choices", "candidates")
_REASONS: Final = frozenset(
    (
        "finish_reason",
        "finishReason",
        "stop_reason",
        "stopReason",
        "native_finish_reason",
    )
)
_ATTRIBUTES: Final = (
    "body",
    "code",
    "details",
    "error",
    "message",
    "response",
    "status_code",
    "text",
    "type",
)
_STATUS: Final = frozenset(
    ("code", "HTTPStatusCode", "http_status", "status", "status_code")
)
_TOO_MANY_REQUESTS: Final = 429
_DEPTH: Final = 8


def read_exceeded(error: object) -> ContextExceeded | None:
    """What *error* says of a context that was exceeded; none if it says no such thing.

    >>> read_exceeded("prompt is too long: 210,000 tokens > 200000 maximum")
    ContextExceeded(limit=200000, used=210000, output=None, excess=None)
    >>> read_exceeded({"error": {"message": "Rate limit reached"}}) is None
    True

    Args:
        error:
            An exception, a body (or answer) as dict or object, or a text.
    """
    told = _Told()
    told.look(error, 0)
    if _TOO_MANY_REQUESTS in told.statuses:
        return None
    if any(_SPELLED.search(text) for text in told.texts):
        return None
    for reader in _READERS:
        for text in told.texts:
            found = reader.search(text)
            if found is not None:
                return _read(found.groupdict(), told.fields)
    return ContextExceeded() if told.stopped else None


def _read(
    groups: Mapping[str, str | None], fields: Mapping[str, int]
) -> ContextExceeded:
    figures = {
        name: int(text.replace(",", "")) for name, text in groups.items() if text
    }
    limit, used = figures.get("L"), figures.get("A")
    output, total = figures.get("O"), figures.get("T")
    if used is None and total is not None:
        used = total - (output or 0)
    limit = fields.get("n_ctx", limit) if limit is None else limit
    used = fields.get("n_prompt_tokens", used) if used is None else used
    return ContextExceeded(limit, used, output, figures.get("X"))


class _Told:
    """What an error says of itself, collected."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.statuses: set[object] = set()
        self.fields: dict[str, int] = {}
        self.stopped = False
        self._seen: set[int] = set()

    def look(self, value: Any, depth: int) -> None:
        """Look at anything in which an error may stand."""
        if depth > _DEPTH or value is None or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, (bytes, bytearray)):
            value = bytes(value).decode(errors="replace")
        if isinstance(value, str):
            self._look_at_text(value, depth)
        elif isinstance(value, Mapping):
            self._look_at_fields(value, depth)
        elif isinstance(value, Sequence):
            for item in value:
                self.look(item, depth + 1)
        elif not isinstance(value, (bool, int, float)):
            self._look_at_object(value, depth)

    def _look_at_text(self, text: str, depth: int) -> None:
        self.texts.append(text)
        at = text.find("{")
        if at >= 0:
            with suppress(ValueError, RecursionError):
                found, _ = json.JSONDecoder().raw_decode(text, at)
                self.look(found, depth + 1)

    def _look_at_fields(self, fields: Mapping[Any, Any], depth: int) -> None:
        for key, value in fields.items():
            name = key if isinstance(key, str) else ""
            if name in _REASONS:
                self.stopped = self.stopped or _plain(value) in STOPPED
            elif name in ("n_ctx", "n_prompt_tokens") and type(value) is int:
                self.fields[name] = value
            elif isinstance(value, str):
                if name.lower() in _SAYS or name.lower() in _HOLDS - {"response"}:
                    self.look(value, depth + 1)
            elif isinstance(value, int):
                if name in _STATUS:
                    self.statuses.add(value)
            elif name.lower() in _HOLDS or name == "ResponseMetadata":
                self.look(value, depth + 1)
            elif name in _LISTS and isinstance(value, Sequence):
                for item in value:
                    self.look(item, depth + 1)

    def _look_at_object(self, value: Any, depth: int) -> None:
        if isinstance(value, BaseException):
            self.texts += [type(value).__name__]
            self.look(str(value), depth + 1)
            self.look(value.__cause__, depth + 1)
        dump = getattr(value, "model_dump", None) or getattr(value, "to_dict", None)
        if callable(dump) and not isinstance(value, type):
            with suppress(Exception):
                self.look(dump(), depth + 1)
                return
        for name in (*_ATTRIBUTES, *_REASONS, *_LISTS):
            # Some raise where the body was not read.
            with suppress(Exception):
                found = getattr(value, name)
                if name in _REASONS:
                    self.stopped = self.stopped or _plain(found) in STOPPED
                elif name in ("code", "status_code"):
                    self.statuses.add(found)
                    if isinstance(found, str):
                        self.texts.append(found)
                elif not callable(found):
                    self.look(found, depth + 1)


def _plain(value: Any) -> Any:
    """The word of an enumeration."""
    word = getattr(value, "value", value)
    return word if isinstance(word, str) else None
