"""What providers cache of a prompt: from which length on, and for how long.

Each figure has its source; what no source says is none, never guessed at. Anthropic's
stand in https://platform.claude.com/docs/en/build-with-claude/prompt-caching, OpenAI's
in https://developers.openai.com/api/docs/guides/prompt-caching, Bedrock's in
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from ._names import ModelName, parse_model
from ._table import Version

USUAL_MINIMUM: Final = 1_024
"""Tokens from which most models cache a prompt: OpenAI's, and Claude's of most tiers.

Taken where a model's own figure is not known: a mark on less is ignored without a word,
but a mark that is missing costs the whole of what stands before it.
"""

_FIVE_MINUTES: Final = timedelta(minutes=5)
_BREAKPOINTS_SINCE: Final[Version] = (5, 6)
_GPT: Final = re.compile(r"^(?:chatgpt|gpt)-(?P<major>\d+)(?:\.(?P<minor>\d+))?")

_CLAUDE_MINIMA: Final[tuple[tuple[str, Version, Version, int], ...]] = (
    ("fable", (5, 0), (5, 1), 512),
    ("mythos", (5, 0), (5, 1), 512),
    ("opus", (5, 0), (5, 0), 512),
    ("opus", (4, 8), (4, 8), 1_024),
    ("opus", (4, 7), (4, 7), 2_048),
    ("opus", (4, 5), (4, 6), 4_096),
    ("opus", (4, 0), (4, 1), 1_024),
    ("sonnet", (3, 5), (5, 0), 1_024),
    ("haiku", (4, 5), (4, 5), 4_096),
    ("haiku", (3, 0), (3, 5), 2_048),
)
"""Tier, first and last version, tokens. Of Opus 4.7 older copies of the page say 4,096;
the 5.5 models stand in no copy."""

_BEDROCK_MINIMA: Final[tuple[tuple[str, Version, Version, int], ...]] = (
    ("opus", (4, 5), (4, 7), 4_096),
)
"""Where Bedrock's figures differ from Anthropic's own."""

_NOVA_MINIMUM: Final = 1_000


def gpt_version(model: str | None) -> Version | None:
    """The version of one of OpenAI's GPT models; none for others, and for no name.

    >>> gpt_version("openai/gpt-5.6-sol"), gpt_version("gpt-4o"), gpt_version("o3")
    ((5, 6), (4, 0), None)
    """
    found = _GPT.match(parse_model(model or "").bare)
    if found is None:
        return None
    return int(found["major"]), int(found["minor"] or 0)


def takes_breakpoints(model: str | None) -> bool:
    """Whether an OpenAI model lets requests say where a cached prefix ends: from 5.6.

    Earlier ones cache by themselves, and know no such key.
    """
    version = gpt_version(model)
    return version is not None and version >= _BREAKPOINTS_SINCE


def cache_minimum(model: str | None, *, on_bedrock: bool = False) -> int:
    """Tokens below which a model does not cache a prompt, without a word.

    >>> cache_minimum("claude-opus-4-6"), cache_minimum("claude-opus-5")
    (4096, 512)
    """
    name = parse_model(model or "")
    if _is_nova(name):
        return _NOVA_MINIMUM
    if name.maker != "anthropic" or name.version is None:
        return USUAL_MINIMUM
    rows = (*_BEDROCK_MINIMA, *_CLAUDE_MINIMA) if on_bedrock else _CLAUDE_MINIMA
    for tier, first, last, tokens in rows:
        if tier == name.tier and first <= name.version <= last:
            return tokens
    return USUAL_MINIMUM


def cache_ttl(model: str | None) -> timedelta | None:
    """How long a cached prompt outlives its last use, unless more was paid for.

    None where the provider does not say (Gemini, DeepSeek, xAI), or does not cache. Of
    OpenAI's earlier models the longer of the two lives: a pause taken for too long
    would be taken for the end of a cache that is still there.

    >>> cache_ttl("claude-sonnet-5"), cache_ttl("gpt-5.6-sol")
    (datetime.timedelta(seconds=300), datetime.timedelta(seconds=1800))
    """
    name = parse_model(model or "")
    if name.maker == "anthropic" or _is_nova(name):
        return _FIVE_MINUTES
    version = gpt_version(model)
    if version is None:
        return timedelta(hours=24) if name.maker == "openai" else None
    if version >= _BREAKPOINTS_SINCE:
        return timedelta(minutes=30)
    return timedelta(hours=24)


def _is_nova(name: ModelName) -> bool:
    return name.family is not None and name.family.name == "nova"
