"""Facts about models that decide which rules apply; one place each, with sources.

Names are matched however they are dressed: a provider in front (`anthropic/claude-...`,
`us.anthropic.claude-...-v1:0`, `models/gemini-...`), dots or dashes in the version, a
date or `latest` behind. An unknown name is not guessed at: the answer is `None`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CLAUDE = re.compile(
    r"claude-(?:(?P<old>\d+)(?:[-.](?P<oldminor>\d{1,2}))?-)?"
    r"(?P<family>opus|sonnet|haiku|fable|mythos)"
    r"(?:-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d))?"
)
_GEMINI = re.compile(r"gemini-(?P<major>\d+)(?:\.(?P<minor>\d+))?")

BOUND_THINKING = frozenset(
    {
        ("fable", 5, 1),
        ("fable", 5, 2),
        ("mythos", 5, 2),
        ("opus", 5, 5),
        ("sonnet", 5, 5),
        ("haiku", 5, 5),
    }
)
"""Claude models that bind thinking to its prefix: the page "preserved thinking" of
https://platform.claude.com/docs/en/build-with-claude/preserved-thinking."""


@lru_cache(maxsize=512)
def claude_version(model: str) -> tuple[str, int, int] | None:
    """Family and version of a Claude model; none for other and unreadable names.

    >>> claude_version("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    ('sonnet', 4, 5)
    >>> claude_version("claude-3-5-haiku-latest")
    ('haiku', 3, 5)
    """
    if not (found := _CLAUDE.search(model.lower())):
        return None
    major, minor = found["major"], found["minor"]
    if found["old"]:
        major, minor = found["old"], found["oldminor"]
    return (found["family"], int(major), int(minor or 0)) if major else None


@lru_cache(maxsize=512)
def gemini_version(model: str) -> tuple[int, int] | None:
    """Version of a Gemini model; none for other and unreadable names.

    >>> gemini_version("models/gemini-3.1-pro-preview")
    (3, 1)
    """
    found = _GEMINI.search(model.lower())
    return (int(found["major"]), int(found["minor"] or 0)) if found else None


def refuses_prefill(model: str | None) -> bool | None:
    """Whether a Claude model refuses a list that ends on an assistant message.

    Opus and Sonnet from 4.6, the 5 family, Fable and Mythos do:
    https://platform.claude.com/docs/en/api/errors#prefill-not-supported,
    ericc-ch/copilot-api#261 (4.5 accepts, 4.6 refuses).
    """
    if model is None or (version := claude_version(model)) is None:
        return None
    family, major, minor = version
    if family in ("fable", "mythos"):
        return True
    return major >= 5 or (family != "haiku" and (major, minor) >= (4, 6))


def binds_thinking(model: str | None) -> bool | None:
    """Whether a Claude model is listed as binding thinking to its prefix."""
    if model is None or (version := claude_version(model)) is None:
        return None
    return version in BOUND_THINKING


def takes_system_in_list(model: str | None) -> bool | None:
    """Whether a Claude model takes system messages in the middle of the list.

    Opus 4.8 and the 5 family do:
    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
    """
    if model is None or (version := claude_version(model)) is None:
        return None
    family, major, minor = version
    return major >= 5 or (family == "opus" and (major, minor) >= (4, 8))


def demands_signatures(model: str | None) -> bool | None:
    """Whether a Gemini model demands thought signatures in the current turn.

    Gemini 3 and later, image models excepted:
    https://ai.google.dev/gemini-api/docs/thought-signatures.
    """
    if model is None or (version := gemini_version(model)) is None:
        return None
    return version >= (3, 0) and "image" not in model.lower()


def refuses_model_turn_last(model: str | None) -> bool | None:
    """Whether a Gemini model refuses a list that ends on a model turn: from 3.6 on."""
    if model is None or (version := gemini_version(model)) is None:
        return None
    return version >= (3, 6)


def deepseek_thinks(model: str | None) -> bool | None:
    """Whether a DeepSeek model thinks unless told not to.

    V4, flash, pro and the reasoner do; `deepseek-chat` and older ones do not:
    https://api-docs.deepseek.com/guides/thinking_mode.
    """
    if model is None or "deepseek" not in (name := model.lower()):
        return None
    if "chat" in name or re.search(r"deepseek-(?:coder|v[123](?!\d))", name):
        return False
    if re.search(r"reasoner|flash|pro\b|-r\d|-v\d", name):
        return True
    return None


def is_old_reasoner(model: str | None) -> bool:
    """Whether this is the DeepSeek reasoner that refuses equal roles in a row (R1)."""
    return bool(model and re.search(r"deepseek-(?:reasoner|r1)", model.lower()))


def template_of(model: str | None) -> str | None:
    """The chat template that a local model's name suggests.

    >>> template_of("google/gemma-2-9b-it"), template_of("llama3.1:8b")
    ('gemma2', 'llama3')
    """
    name = (model or "").lower()
    if re.search(r"gemma(?:-?[12](?!\d)|-7b|(?![-\d]))", name):
        return "gemma2"
    if re.search(r"mistral|mixtral|ministral|codestral|devstral", name):
        return "mistral"
    if re.search(r"llama-?3", name):
        return "llama3"
    return "qwen" if "qwen" in name else None


_PROVIDERS = (
    ("deepseek", r"deepseek"),
    ("anthropic", r"claude"),
    ("gemini", r"gemini"),
    ("mistral", r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral"),
    ("openai", r"\bgpt-|\bo\d(?:-|$)|chatgpt"),
)


@lru_cache(maxsize=512)
def provider_of(model: str | None) -> str | None:
    """Name of the profile of whoever makes *model*; none when the name says nothing."""
    name = (model or "").lower()
    return next((who for who, mark in _PROVIDERS if re.search(mark, name)), None)
