"""Facts about models that decide which rules apply; one place each, with sources.

An unknown name is not guessed at: the answer is `None`.
"""

from __future__ import annotations

import re

from turnkeep.providers import ModelName, parse_model

_TIERS = frozenset({"opus", "sonnet", "haiku", "fable", "mythos", "instant", None})
"""Tiers of Claude that facts are known about; old models have none."""

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


def claude_version(model: str | None) -> tuple[str, int, int] | None:
    """Tier and version of a Claude model; none for other and unreadable names.

    >>> claude_version("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    ('sonnet', 4, 5)
    """
    name = _made_by("anthropic", model)
    if name is None or name.version is None or name.tier not in _TIERS:
        return None
    return (name.tier or "", *name.version)


def gemini_version(model: str | None) -> tuple[int, int] | None:
    """Version of a Gemini model; none for other and unreadable names.

    >>> gemini_version("models/gemini-3.1-pro-preview")
    (3, 1)
    """
    name = _made_by("gemini", model)
    return None if name is None else name.version


def is_claude(model: str | None) -> bool | None:
    """Whether Anthropic made *model*; unknown where its name says nothing."""
    name = parse_model(model or "")
    return None if name.family is None else name.maker == "anthropic"


def _made_by(maker: str, model: str | None) -> ModelName | None:
    name = parse_model(model or "")
    return name if name.maker == maker else None


def refuses_prefill(model: str | None) -> bool | None:
    """Whether a Claude model refuses a list that ends on an assistant message.

    Opus and Sonnet from 4.6, the 5 family, Fable and Mythos do:
    https://platform.claude.com/docs/en/api/errors#prefill-not-supported,
    ericc-ch/copilot-api#261 (4.5 accepts, 4.6 refuses).
    """
    if (version := claude_version(model)) is None:
        return None
    family, major, minor = version
    if family in ("fable", "mythos"):
        return True
    return major >= 5 or (family != "haiku" and (major, minor) >= (4, 6))


def binds_thinking(model: str | None) -> bool | None:
    """Whether a Claude model binds thinking to its prefix: the listed ones do.

    Unknown for models newer than those of their tier: "later models will enforce it".
    """
    if (version := claude_version(model)) is None:
        return None
    if version in BOUND_THINKING:
        return True
    newest = max((one for one in BOUND_THINKING if one[0] == version[0]), default=None)
    return None if newest is not None and version > newest else False


def takes_system_in_list(model: str | None) -> bool | None:
    """Whether a Claude model takes system messages in the middle of the list.

    Opus 4.8 and the 5 family do:
    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
    """
    if (version := claude_version(model)) is None:
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
    found = _made_by("deepseek", model)
    if found is None:
        return None
    name = found.bare
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
    name = parse_model(model or "")
    family = "" if name.family is None else name.family.name
    if family == "gemma":
        old = name.version is None or name.version < (3, 0)
        return "gemma2" if old else None
    if family == "llama":
        return "llama3" if re.search(r"llama-?3", name.bare) else None
    return family if family in ("mistral", "qwen") else None
