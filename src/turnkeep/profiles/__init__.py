"""What each provider demands of a request: rules, and how to keep them.

A profile is chosen by format and model, or by name. Profiles work on wire JSON and know
nothing of the engine; the engine reads their `Policy`.

Not public: it may change in any release, all but `Change`, which `repair` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from turnkeep.errors import Violation

from . import _models
from ._base import (
    Findings,
    Policy,
    Profile,
    Request,
    Rule,
    model_named,
    open_request,
    with_tools,
)
from ._repair import Change, Close, Repair, repair_messages

__all__ = [
    "PROFILES",
    "Change",
    "Close",
    "Findings",
    "Policy",
    "Profile",
    "Repair",
    "Request",
    "Rule",
    "check_request",
    "get_profile",
    "repair_messages",
]

PROFILES: Final[dict[str, str]] = {
    "openai": "_openai_chat",
    "openai-responses": "_openai_responses",
    "anthropic": "_anthropic",
    "gemini": "_gemini",
    "bedrock": "_bedrock",
    "mistral": "_mistral",
    "deepseek": "_deepseek",
    "ollama": "_ollama",
    "alternating": "_alternating",
    "alternating/gemma2": "_alternating",
    "alternating/mistral": "_alternating",
    "alternating/llama3": "_alternating",
    "alternating/qwen": "_alternating",
}
"""Every profile and the module that makes it, loaded on first use."""

_FORMATS: Final = {"claude-code": "anthropic", "openai-chat": "openai"}
"""Formats that are spelled like another one's requests."""


def get_profile(
    format: str | None = None,  # noqa: A002 - the word users know
    model: str | None = None,
    name: str | None = None,
) -> Profile:
    """The profile for requests of *format* to *model*.

    A `name` decides alone. Otherwise the format does; OpenAI's shape sent to a model
    of DeepSeek or Mistral is judged by their rules, because their servers judge it.
    A format that no provider takes (our own, the transcripts) goes by the model.

    Raises:
        ValueError: No profile has that name.
    """
    chosen = name or _choose(format, model)
    if chosen not in PROFILES:
        msg = f"no profile {chosen!r}; there are {', '.join(PROFILES)}"
        raise ValueError(msg)
    module = import_module(f"{__name__}.{PROFILES[chosen]}")
    make: Callable[..., Profile] = module.profile
    if PROFILES[chosen] == "_alternating":
        _, _, template = chosen.partition("/")
        return make(model, template or None)
    return make(model)


def _choose(format: str | None, model: str | None) -> str:  # noqa: A002
    chosen = _FORMATS.get(format or "", format or "")
    family = _models.provider_of(model)
    if chosen == "openai":
        return family if family in ("deepseek", "mistral") else "openai"
    if chosen in PROFILES:
        return chosen
    return family or "openai"


def check_request(
    value: Any,
    *,
    format: str,  # noqa: A002 - the word users know
    model: str | None = None,
    tools: Any = None,
    strict: bool = False,
    original: Any = None,
    profile: str | Profile | None = None,
) -> list[Violation]:
    """What is wrong with a request body or a bare list of messages.

    Linear in the size of the request.

    Args:
        value: The body or the list, as JSON values.
        format: The format it is in.
        model: The model it is for; else the one that the body names.
        tools: Tool definitions sent beside a bare list, in the provider's shape.
        strict: Whether to report the soft rules as well, where the evidence differs.
        original: The request it was cut from, for the rules that compare the two.
        profile: The name of a profile, or a profile, to judge by another one.

    Raises:
        FormatError: It is neither a body nor a list.
        ValueError: No profile has that name.
    """
    if model is None and isinstance(value, dict):
        model = model_named(value)
    if not isinstance(profile, Profile):
        profile = get_profile(format, model, profile)
    found = Findings(profile.rules)
    request = with_tools(open_request(value, profile.list_key, model), tools)
    profile.check(request, found)
    if original is not None and profile.check_edit is not None:
        before = with_tools(open_request(original, profile.list_key, model), tools)
        profile.check_edit(request, before, found)
    return found.violations(strict=strict)
