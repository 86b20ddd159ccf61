from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_OPENAI: Final = re.compile(
    r"(?:gpt|chatgpt|codex|computer-use|text|omni|davinci|babbage)(?:-|$)"
    r"|o[1-9]\d?(?:-|$)"
)
_LATER_MODEL: Final = re.compile(r"(?:ft:)?gpt-[45]\d")
_CLAUDE: Final = re.compile(
    r"claude-(?:[a-z]+-)?(\d{1,2})(?:[.-](\d{1,2}))?(?=$|[^\d])"
)
_FAMILIES: Final = (
    ("gemini", re.compile(r"gemini|gemma|learnlm")),
    ("deepseek", re.compile(r"deepseek")),
    ("qwen", re.compile(r"qwen|qwq|qvq")),
    (
        "mistral",
        re.compile(r"(?:mi|mini|code|magi|dev|lean)stral|mixtral|pixtral|voxtral"),
    ),
    ("llama", re.compile(r"llama")),
)


def bare(model: str) -> str:
    """*model* in lower case, without the providers before it.

    Fine-tuned models (`ft:gpt-4o:...`) keep their prefix, by which tiktoken knows them.

    >>> bare("openrouter/openai/GPT-4o"), bare("azure:gpt-4o"), bare("ft:gpt-4o:acme")
    ('gpt-4o', 'gpt-4o', 'ft:gpt-4o:acme')
    """
    name = model.strip().lower().rsplit("/", 1)[-1]
    if name.startswith("ft:"):
        return name
    head, colon, tail = name.partition(":")
    # `openai:gpt-4o` has the provider in front, `llama3:8b` a tag behind.
    return tail if colon and head in _PROVIDERS else name


_PROVIDERS: Final = frozenset(
    {
        "anthropic",
        "azure",
        "azureopenai",
        "bedrock",
        "deepseek",
        "fireworks",
        "google",
        "google-gla",
        "google-vertex",
        "groq",
        "litellm",
        "mistral",
        "ollama",
        "openai",
        "openai-chat",
        "openai-responses",
        "openrouter",
        "together",
        "vertexai",
    }
)
"""Names that stand before a colon and a model; a tag stands behind one."""


@lru_cache(maxsize=256)
def encoding_of(model: str) -> str | None:
    """The tiktoken encoding of *model*; none where its tokenizer is not public.

    Names and prefixes are those of `tiktoken.model`; `assumed_encoding_of` is for
    OpenAI's models that its tables do not know.

    >>> encoding_of("gpt-4o-mini"), encoding_of("gpt-99"), encoding_of("gpt-55")
    ('o200k_base', None, None)
    """
    # tiktoken is slow to import and not needed to choose an estimate.
    from tiktoken.model import encoding_name_for_model  # noqa: PLC0415

    name = bare(model)
    for candidate in (model, name):
        try:
            found = encoding_name_for_model(candidate)
        except KeyError:
            continue
        # Its prefix "gpt-5" is meant for gpt-5.2, not for a gpt-55.
        return None if _LATER_MODEL.match(name) else found
    return "o200k_harmony" if name.startswith("gpt-oss") else None


def assumed_encoding_of(model: str) -> str | None:
    """What a model of OpenAI's that nobody knows yet is counted with; else none.

    o200k_base: the encoding of every one since gpt-4o.
    """
    name = bare(model).removeprefix("ft:")
    return "o200k_base" if _OPENAI.match(name) else None


@lru_cache(maxsize=256)
def family_of(model: str) -> str:
    """The family whose estimate and rules fit *model*; `"generic"` if unknown.

    >>> family_of("anthropic/claude-sonnet-4-5"), family_of("claude-opus-4-7")
    ('claude', 'claude-new')
    >>> family_of("gpt-4o"), family_of("my-model")
    ('openai', 'generic')
    """
    name = bare(model)
    if "claude" in name:
        return "claude-new" if claude_version(name) >= (4, 7) else "claude"
    for family, pattern in _FAMILIES:
        if pattern.search(name):
            return family
    return "openai" if _OPENAI.match(name.removeprefix("ft:")) else "generic"


def claude_version(model: str) -> tuple[int, int]:
    """The version in the name of a Claude model; (99, 0) for names without one.

    Old names have it before the tier (`claude-3-5-sonnet`), new ones behind it
    (`claude-opus-4-7`); dates are no versions. Tiers newer than these three began
    anew, but stand behind version 4.7.

    >>> claude_version("claude-3-5-sonnet-20241022"), claude_version("claude-sonnet-5")
    ((3, 5), (5, 0))
    """
    found = _CLAUDE.search(model)
    if found is None or "fable" in model or "mythos" in model:
        return (99, 0)
    return (int(found[1]), int(found[2] or 0))
