from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from turnkeep.providers import PROVIDERS, parse_model

_LATER_MODEL: Final = re.compile(r"(?:ft:)?gpt-[45]\d")

_NEWEST = (99, 0)
"""The version of a Claude model whose name says none: as the newest."""


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

    name = parse_model(model)
    for candidate in (model, name.bare):
        try:
            found = encoding_name_for_model(candidate)
        except KeyError:
            continue
        # Its prefix "gpt-5" is meant for gpt-5.2, not for a gpt-55.
        return None if _LATER_MODEL.match(name.bare) else found
    return "o200k_harmony" if name.bare.startswith("gpt-oss") else None


def assumed_encoding_of(model: str) -> str | None:
    """What a model of OpenAI's that nobody knows yet is counted with; else none.

    o200k_base: the encoding of every one since gpt-4o.
    """
    known = PROVIDERS["openai"].families
    return "o200k_base" if parse_model(model).family in known else None


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
