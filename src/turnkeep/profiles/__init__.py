"""What each provider demands of a request: rules, and how to keep them.

A profile is chosen by format and model, or by name. Profiles work on wire JSON and know
nothing of the engine; the engine reads their `Policy`.

Not public: it may change in any release, all but `Change`, which `repair` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from turnkeep.errors import Violation
from turnkeep.model._checks import near
from turnkeep.policy import Policy
from turnkeep.providers import PROVIDERS, by_format, load, provider_of

from ._base import (
    Findings,
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

_TEMPLATES: Final = "turnkeep.profiles._alternating:profile"

PROFILES: Final[dict[str, str]] = {
    **{row.name: row.profile for row in PROVIDERS.values()},
    **dict.fromkeys(
        (
            "alternating",
            "alternating/gemma2",
            "alternating/mistral",
            "alternating/llama3",
            "alternating/qwen",
        ),
        _TEMPLATES,
    ),
}
"""Every profile and the function that makes it, loaded on first use: those of the
providers as their table says, and those of local chat templates."""


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
        hint = near(chosen, PROFILES)
        msg = f"no profile {chosen!r}; there are {', '.join(PROFILES)}{hint}"
        raise ValueError(msg)
    make: Callable[..., Profile] = load(PROFILES[chosen])
    if PROFILES[chosen] == _TEMPLATES:
        _, _, template = chosen.partition("/")
        return make(model, template or None)
    return make(model)


def _choose(format: str | None, model: str | None) -> str:  # noqa: A002
    row, maker = by_format(format), provider_of(model)
    if row is None:
        if format in PROFILES:
            return format or ""
        row = maker or PROVIDERS["openai"]
    if row.name == "openai" and maker is not None and maker.chat:
        return maker.name
    return row.name


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
