"""Which tokenizer and which provider's rules a model name stands for."""

from __future__ import annotations

import re
from functools import lru_cache

_PREFIX = re.compile(r"^(?:[\w.~-]+[/:])+")
_OPENAI = re.compile(r"^(?:gpt|chatgpt|o\d|text-embedding|codex|computer-use)\b|^o\d")
_FAMILIES = (
    ("claude", re.compile(r"claude")),
    ("gemini", re.compile(r"gemini|gemma|palm|learnlm")),
    ("deepseek", re.compile(r"deepseek")),
    ("mistral", re.compile(r"mistral|mixtral|codestral|ministral|pixtral|magistral|devstral|voxtral")),
    ("llama", re.compile(r"llama")),
    ("qwen", re.compile(r"qwen|qwq|qvq")),
)


def bare(model: str) -> str:
    """*model* without the provider before it, in lower case.

    >>> bare("openai/gpt-4o"), bare("ft:gpt-4o:acme::id")
    ('gpt-4o', 'ft:gpt-4o:acme::id')
    """
    name = model.strip().lower()
    if name.startswith("ft:"):
        return name
    return name.rsplit("/", 1)[-1]


@lru_cache(maxsize=256)
def encoding_of(model: str) -> str | None:
    """The tiktoken encoding of *model*, or none where no public one exists.

    Names and prefixes are those of `tiktoken.model`. OpenAI models that its tables do
    not know yet count as o200k_base, the encoding of every chat model since gpt-4o.
    """
    from tiktoken.model import encoding_name_for_model  # noqa: PLC0415 - slow import

    for name in (model, bare(model)):
        try:
            return encoding_name_for_model(name)
        except KeyError:
            continue
    name = bare(model)
    if name.startswith("ft:"):
        name = name.removeprefix("ft:")
    return "o200k_base" if _OPENAI.match(name) else None


@lru_cache(maxsize=256)
def family_of(model: str) -> str:
    """The family whose estimate and rules fit *model*; `"generic"` if unknown.

    >>> family_of("anthropic/claude-sonnet-4-5"), family_of("my-model")
    ('claude', 'generic')
    """
    name = bare(model)
    for family, pattern in _FAMILIES:
        if pattern.search(name):
            return family
    return "openai" if _OPENAI.match(name.removeprefix("ft:")) else "generic"
