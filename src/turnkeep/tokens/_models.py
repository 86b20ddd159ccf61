from __future__ import annotations

from functools import lru_cache

from turnkeep.providers import PROVIDERS, parse_model

_NEWEST = (99, 0)
"""The version of a Claude model whose name says none: as the newest."""


@lru_cache(maxsize=256)
def encoding_of(model: str) -> str | None:
    """The tiktoken encoding of *model*; none where its tokenizer is not public.

    Names and prefixes are those of `tiktoken.model`. OpenAI models that its tables do
    not know yet count as o200k_base, the encoding of every one since gpt-4o.
    """
    # tiktoken is slow to import and not needed to choose an estimate.
    from tiktoken.model import encoding_name_for_model  # noqa: PLC0415

    name = parse_model(model)
    for candidate in (model, name.bare):
        try:
            return encoding_name_for_model(candidate)
        except KeyError:
            continue
    if name.bare.startswith("gpt-oss"):
        return "o200k_harmony"
    return "o200k_base" if name.family in PROVIDERS["openai"].families else None


def family_of(model: str) -> str:
    """The estimate and rules that fit *model*; `"generic"` if unknown.

    >>> family_of("anthropic/claude-sonnet-4-5"), family_of("claude-opus-4-7")
    ('claude', 'claude-new')
    >>> family_of("gpt-4o"), family_of("my-model")
    ('openai', 'generic')
    """
    return parse_model(model).estimate


def claude_version(model: str) -> tuple[int, int]:
    """The version in the name of a Claude model; (99, 0) for names without one.

    >>> claude_version("claude-3-5-sonnet-20241022"), claude_version("claude-sonnet-5")
    ((3, 5), (5, 0))
    """
    return parse_model(model).version or _NEWEST
