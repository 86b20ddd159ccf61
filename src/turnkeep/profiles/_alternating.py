from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from turnkeep.policy import Policy

from . import _models
from ._base import Findings, Profile, Request, Rule, by_number
from ._pairs import Half, PairRules, Said, Spot, check_pairs
from ._shared import (
    a_message,
    bad_role,
    items,
    role_of,
)


@attrs.frozen
class Template:
    """What the chat template of one family of local models demands."""

    name: str
    roles: tuple[str, ...] = ("system", "user", "assistant", "tool")
    alternates: bool = False
    one_call: bool = False
    needs_user: bool = False


TEMPLATES: Final = {
    template.name: template
    for template in (
        Template("any", alternates=True, needs_user=True),
        Template("gemma2", roles=("user", "assistant"), alternates=True),
        Template("mistral", alternates=True),
        Template("llama3", one_call=True),
        Template("qwen", needs_user=True),
    )
}
"""The templates known by name; `any` is what most of them accept."""

RULES = by_number(
    Rule(
        "AL-01",
        "The list is not empty.",
        "Send at least one message.",
        sources=("chat templates",),
    ),
    Rule(
        "AL-02",
        "There is no system role.",
        "Put the instructions at the start of the first user message.",
        error="System role not supported",
        sources=("the template of Gemma 1 and 2",),
        models="Gemma 1 and 2",
    ),
    Rule(
        "AL-03",
        "System messages stand only at the beginning.",
        "Move the text to the start of the list.",
        error="System message must be at the beginning.",
        sources=("raullenchai/Rapid-MLX#1543",),
    ),
    Rule(
        "AL-04",
        "There are no other roles than the template knows.",
        "Use the roles user and assistant (and system and tool where the template has "
        "them).",
        error="Only user and assistant roles are supported!",
        sources=("chat templates",),
    ),
    Rule(
        "AL-05",
        "User and assistant messages alternate, starting with the user's; tool "
        "messages and assistant messages with calls do not count.",
        "Join messages of one role, or put an assistant message between two user "
        "messages.",
        error="Conversation roles must alternate user/assistant/user/assistant/...",
        sources=("live probe of templates",),
        models="Gemma 1 and 2, Mistral",
    ),
    Rule(
        "AL-06",
        "A tool message stands only behind an assistant message with calls.",
        "Drop the result, or bring back the message that made the call.",
        error="Message has tool role, but there was no previous assistant message with "
        "a tool call!",
        sources=("cubist38/mlx-openai-server#205",),
    ),
    Rule(
        "AL-07",
        "No assistant message is empty.",
        "Leave the message out.",
        sources=("chat templates",),
    ),
    Rule(
        "AL-08",
        "A message makes one tool call.",
        "Send each call in a message of its own, with its result behind it.",
        error="This model only supports single tool-calls at once!",
        sources=("the template of Llama 3",),
        models="Llama 3.x",
    ),
    Rule(
        "AL-09",
        "At least one user message is left.",
        "Keep a user message.",
        error="No user query found in messages.",
        sources=("the template of Qwen3.5",),
        models="Qwen3.5 and later",
    ),
    Rule(
        "AL-10",
        "The list does not end on unanswered calls.",
        "Add the results, or drop the message with the calls.",
        error="Cannot continue an assistant message that contains tool calls.",
        sources=("chat templates",),
    ),
    Rule(
        "AL-s1",
        "The list does not end on an assistant message.",
        "End with a user message.",
        sources=("chat templates",),
    ),
    Rule(
        "AL-s2",
        "Every call is followed by its result.",
        "Put the results right behind the message with the calls.",
        sources=("chat templates",),
    ),
    Rule(
        "AL-s3",
        "The list does not start on a call.",
        "Start with a user message.",
        sources=("chat templates",),
    ),
)


def _check(template: Template, request: Request, found: Findings) -> None:
    entries = request.entries
    if not entries:
        found.add("AL-01", request.path, "there are no messages")
        return
    others = users = False
    for nth, entry in enumerate(entries):
        role, path = role_of(entry), request.at(nth)
        if role == "system" and "system" not in template.roles:
            found.add("AL-02", path, "a system message stands in the list")
        elif role not in template.roles:
            found.add("AL-04", path, bad_role(entry))
        elif role == "system" and others:
            found.add("AL-03", path, "a system message stands behind other messages")
        elif role == "assistant":
            _check_assistant(entry, path, template, found)
            if not others and calls_of(entry):
                found.add("AL-s3", path, "the list starts on a call")
        users = users or role == "user"
        others = others or role != "system"
    if template.needs_user and not users:
        found.add("AL-09", request.path, "the list has no user message")
    if template.alternates:
        _check_alternation(request, found)
    _check_results(request, template, found)


def calls_of(entry: Any) -> int:
    """How many calls a message makes."""
    return len(items(entry.get("tool_calls"))) if isinstance(entry, Mapping) else 0


def _check_assistant(
    entry: Mapping[str, Any], path: str, template: Template, found: Findings
) -> None:
    calls = calls_of(entry)
    if not calls and not entry.get("content"):
        found.add("AL-07", path, "the assistant message says nothing")
    if template.one_call and calls > 1:
        found.add("AL-08", f"{path}.tool_calls", f"the message makes {calls} calls")


def _check_alternation(request: Request, found: Findings) -> None:
    expected = "user"
    for nth, entry in enumerate(request.entries):
        role = role_of(entry)
        if role not in ("user", "assistant"):
            continue
        if role == "assistant" and calls_of(entry):
            continue
        if role != expected:
            what = f"{a_message(role)} stands where {a_message(expected)} is expected"
            found.add("AL-05", request.at(nth), what)
        expected = "assistant" if role == "user" else "user"


_ASKED = PairRules(
    reach="until-model",
    by_number=True,
    stray=Said("AL-06", "no assistant message with calls stands before it"),
)
_ANSWERED = PairRules(
    reach="behind",
    by_number=True,
    unanswered=Said("AL-s2", "a call has no result right behind it"),
    at_end=Said("AL-10", "the list ends on calls without results"),
)


def _check_results(request: Request, template: Template, found: Findings) -> None:
    spots = []
    for nth, entry in enumerate(request.entries):
        path, role = request.at(nth), role_of(entry)
        calls = calls_of(entry) if role == "assistant" else 0
        spots.append(
            Spot(
                path,
                "an entry",
                calls=[Half(None, path)] * calls,
                results=[Half(None, path)] * (role == "tool"),
                model=role == "assistant",
                only_results=role == "tool",
            )
        )
    if "tool" in template.roles:
        check_pairs(spots, _ASKED, found)
    check_pairs(spots, _ANSWERED, found)
    if spots[-1].model and not spots[-1].calls:
        found.add("AL-s1", spots[-1].path, "the list ends on an assistant message")


_TRIMS = (
    (
        "User and assistant messages must alternate (AL-05): dropping one leaves equal "
        "neighbours. `repair` joins them, and puts a marked bridge message where a "
        "user message stands behind tool results."
    ),
    (
        "System text stands at the beginning (AL-03), or nowhere (AL-02). Put it into "
        "the first user message there; a summary is a user message anyway."
    ),
    (
        "A template may refuse a list without any user message (AL-09). turnkeep never "
        "drops the newest question."
    ),
    "Llama 3 takes one call a message (AL-08).",
)


def profile(model: str | None = None, template: str | None = None) -> Profile:
    """The profile of a local chat template, named or guessed from the model's name.

    Raises:
        KeyError: No template has that name.
    """
    chosen = TEMPLATES[template or _models.template_of(model) or "any"]

    def check(request: Request, found: Findings) -> None:
        """Check a request against the template; linear in its size."""
        _check(chosen, request, found)

    return Profile(
        name="alternating" if chosen.name == "any" else f"alternating/{chosen.name}",
        title=f"Local chat template ({chosen.name})",
        formats=("openai", "ollama", "mistral", "deepseek"),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-call",
            alternates=chosen.alternates,
            first_user=chosen.alternates,
            opens_with="user" if chosen.alternates else "any",
            needs_user=chosen.needs_user,
            ends_with_user=True,
            system_places="start" if "system" in chosen.roles else "never",
            user_after_tool_ok=not chosen.alternates,
            empty_refused=frozenset({"assistant"}),
            empty_text_is_empty=True,
        ),
        check=check,
        model=model,
        trims=_TRIMS,
    )
