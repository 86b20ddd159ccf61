from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

import attrs

Version = tuple[int, int]
"""Major and minor number."""


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@attrs.frozen
class Newer:
    """The models of a family that are counted by another estimate."""

    since: Version
    """From which version on."""
    estimate: str
    tiers: frozenset[str] = frozenset()
    """Tiers whose numbers began anew: all of them are newer."""


@attrs.frozen
class Family:
    """Models that are named alike."""

    name: str
    """As people call it."""

    pattern: re.Pattern[str] = attrs.field(converter=_compiled, repr=False)
    """Found in the bare names of its models; groups `major` and `minor`, where
    it has them, are the version, and `tier` the size or kind."""

    estimate: str = "generic"
    """The estimate of `tokens` that counts their texts, and what pictures cost."""

    newer: Newer | None = None
    """Which of them have a newer tokenizer, if there is one."""

    def estimate_of(self, tier: str | None, version: Version | None) -> str:
        """The estimate for a model; one that names no version is taken for the newest.

        >>> claude = PROVIDERS["anthropic"].families[0]
        >>> claude.estimate_of("opus", (4, 5)), claude.estimate_of("opus", (5, 0))
        ('claude', 'claude-new')
        """
        newer = self.newer
        if newer is None:
            return self.estimate
        is_new = version is None or version >= newer.since or tier in newer.tiers
        return newer.estimate if is_new else self.estimate


@attrs.frozen
class CacheMarks:
    """How requests mark what the provider shall cache."""

    key: str
    """The key of a mark."""
    most: int
    """How many of them a request may have."""
    places: str | None = None
    """The class that knows where they stand; none: they are never set."""


@attrs.frozen(kw_only=True)
class Provider:
    """One row: an API that takes message lists, and where its parts are.

    References are `"module:name"` and are loaded on first use.
    """

    name: str
    """As users write it. Its format and its profile are called the same."""

    codec: str
    """The class of its format."""

    profile: str
    """The function that makes its profile for a model."""

    counting: str
    """The class of its counting rule."""

    answers: str = "turnkeep.formats._answers._chat:ChatAnswers"
    """The class that knows the shape of its answers; most have OpenAI's."""

    estimate: str
    """The estimate that counts its texts when no model is named."""

    families: tuple[Family, ...] = ()
    """The models that its maker serves here first of all."""

    chat: bool = False
    """Whether its messages have the shape of OpenAI's chat API."""

    also: tuple[str, ...] = ()
    """Other formats that are judged and counted as its requests."""

    vendors: tuple[str, ...] = ()
    """Words before a `/` or `:` of a model's name that say that it serves the model,
    whoever made it."""

    marks: CacheMarks | None = None
    """Its cache marks; none where it caches by itself."""


_CLAUDE: Final = (
    r"claude"
    r"(?:-v?(?P<major>\d+)(?:[-.](?P<minor>\d{1,2})(?!\d))?(?=[-.]|$))?"
    r"(?:-(?P<tier>(?!latest)[a-z]+))?"
    r"(?:-v?(?P<major2>\d{1,2})(?:[-.](?P<minor2>\d{1,2}))?(?!\d))?"
)
"""Old names have the version before the tier (`claude-3-5-sonnet`), new ones behind it
(`claude-opus-4-7`); dates are no versions."""

_OPENAI: Final = (
    r"^(?:(?:gpt|chatgpt|codex|computer-use|text|omni|davinci|babbage)(?:-|$)"
    r"|o[1-9]\d?(?:-|$))"
)

PROVIDERS: Final[dict[str, Provider]] = {
    row.name: row
    for row in (
        Provider(
            name="openai",
            codec="turnkeep.formats._openai:OpenAI",
            profile="turnkeep.profiles._openai_chat:profile",
            counting="turnkeep.tokens._openai:OpenAIChat",
            estimate="openai",
            families=(Family("openai", _OPENAI, "openai"),),
            chat=True,
            also=("openai-chat",),
            marks=CacheMarks(
                "prompt_cache_breakpoint",
                4,
                "turnkeep.formats._cache._openai:ChatMarks",
            ),
        ),
        Provider(
            name="openai-responses",
            codec="turnkeep.formats._openai_responses:OpenAIResponses",
            profile="turnkeep.profiles._openai_responses:profile",
            counting="turnkeep.tokens._openai:OpenAIResponses",
            answers="turnkeep.formats._answers._responses:ResponsesAnswers",
            estimate="openai",
            marks=CacheMarks(
                "prompt_cache_breakpoint",
                4,
                "turnkeep.formats._cache._openai:ResponsesMarks",
            ),
        ),
        Provider(
            name="anthropic",
            codec="turnkeep.formats._anthropic:Anthropic",
            profile="turnkeep.profiles._anthropic:profile",
            counting="turnkeep.tokens._anthropic:AnthropicMessages",
            answers="turnkeep.formats._answers._claude:ClaudeAnswers",
            estimate="claude-new",
            families=(
                Family(
                    "claude",
                    _CLAUDE,
                    "claude",
                    Newer((4, 7), "claude-new", frozenset({"fable", "mythos"})),
                ),
            ),
            also=("claude-code",),
            marks=CacheMarks(
                "cache_control", 4, "turnkeep.formats._cache._claude:ClaudeMarks"
            ),
        ),
        Provider(
            name="gemini",
            codec="turnkeep.formats._gemini:Gemini",
            profile="turnkeep.profiles._gemini:profile",
            counting="turnkeep.tokens._providers:GeminiContents",
            answers="turnkeep.formats._answers._gemini:GeminiAnswers",
            estimate="gemini",
            families=(
                Family(
                    "gemini",
                    r"gemini(?:-(?P<major>\d+)(?:\.(?P<minor>\d+))?)?|learnlm",
                    "gemini",
                ),
            ),
        ),
        Provider(
            name="bedrock",
            codec="turnkeep.formats._bedrock:Bedrock",
            profile="turnkeep.profiles._bedrock:profile",
            counting="turnkeep.tokens._providers:BedrockConverse",
            answers="turnkeep.formats._answers._converse:ConverseAnswers",
            estimate="claude-new",
            families=(Family("nova", r"nova-(?:micro|lite|pro|premier)"),),
            vendors=("bedrock",),
            marks=CacheMarks(
                "cachePoint", 4, "turnkeep.formats._cache._bedrock:BedrockMarks"
            ),
        ),
        Provider(
            name="mistral",
            codec="turnkeep.formats._mistral:Mistral",
            profile="turnkeep.profiles._mistral:profile",
            counting="turnkeep.tokens._providers:MistralChat",
            estimate="mistral",
            families=(
                Family(
                    "mistral",
                    r"(?:mi|mini|code|magi|dev|lean)stral|mixtral|pixtral|voxtral",
                    "mistral",
                ),
            ),
            chat=True,
        ),
        Provider(
            name="deepseek",
            codec="turnkeep.formats._deepseek:DeepSeek",
            profile="turnkeep.profiles._deepseek:profile",
            counting="turnkeep.tokens._providers:DeepSeekChat",
            estimate="deepseek",
            families=(Family("deepseek", r"deepseek", "deepseek"),),
            chat=True,
        ),
        Provider(
            name="ollama",
            codec="turnkeep.formats._ollama:Ollama",
            profile="turnkeep.profiles._ollama:profile",
            counting="turnkeep.tokens._providers:ChatTemplate",
            answers="turnkeep.formats._answers._ollama:OllamaAnswers",
            estimate="generic",
            chat=True,
        ),
    )
}
"""The table, by name. Its order is the one in which formats are mentioned."""

OPEN_FAMILIES: Final = (
    Family("qwen", r"qwen|qwq|qvq", "qwen"),
    Family("llama", r"llama", "llama"),
    Family("gemma", r"gemma(?:-?(?P<major>\d{1,2})(?![\db]))?", "gemini"),
)
"""Models that anyone serves, behind a chat template and in OpenAI's shape."""

OPEN_COUNTING: Final = "turnkeep.tokens._providers:ChatTemplate"
"""What counts them where the format says nothing."""

CHAT_FORMATS: Final = frozenset(row.name for row in PROVIDERS.values() if row.chat)
"""Formats that share a shape, so that one's rules can be asked about another."""


def by_format(name: str | None) -> Provider | None:
    """The provider that takes requests in the format *name*; none for other formats.

    >>> by_format("claude-code").name
    'anthropic'
    """
    for row in PROVIDERS.values():
        if name == row.name or name in row.also:
            return row
    return None


def load(reference: str) -> Any:
    """What a reference of the table means; imports its module on first use.

    >>> load("turnkeep.formats._openai:OpenAI").__name__
    'OpenAI'
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
