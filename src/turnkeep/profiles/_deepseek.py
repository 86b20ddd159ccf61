from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from turnkeep.policy import Policy

from . import _models
from ._base import Findings, Profile, Request, Rule, by_number
from ._chat import check_messages, pairing_rules
from ._shared import (
    Seals,
    a_message,
    bad_role,
    inside,
    items,
    key_of,
    name_list,
    role_of,
)

ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
_IMAGES = ("image", "image_url", "input_image")
_GUIDE = "https://api-docs.deepseek.com/guides/thinking_mode"

RULES = by_number(
    *pairing_rules("DS", provider="DeepSeek"),
    Rule(
        "DS-02",
        "The role is system, user, assistant or tool (or latest_reminder); there is no "
        "developer role.",
        "Send developer text with the role system.",
        error="messages[0].role: unknown variant `developer`, expected one of "
        "`system`, `user`, `assistant`, `tool`, `latest_reminder`",
        sources=("DeepSeek's error text",),
    ),
    Rule(
        "DS-06",
        "Images stand in user messages only.",
        "Move the image into a user message, or leave it out.",
        error="400",
        sources=("DeepSeek's API",),
    ),
    Rule(
        "DS-20",
        "In thinking mode every assistant message with tool calls keeps its "
        "`reasoning_content` in all later requests, also behind the next user message.",
        "Send the reasoning_content that came with the call, or drop the message "
        "together with its results.",
        error="The `reasoning_content` in the thinking mode must be passed back to the "
        "API.",
        sources=(
            _GUIDE,
            "anomalyco/opencode#24722",
            "abhigyanpatwari/GitNexus#43",
            "charmbracelet/crush#2754",
        ),
        models="V4, flash, pro and the reasoner, unless thinking is disabled",
    ),
    Rule(
        "DX-01",
        "The `reasoning_content` of a kept message with calls is unchanged.",
        "Send the reasoning_content exactly as it came.",
        error="The `reasoning_content` in the thinking mode must be passed back to the "
        "API.",
        sources=(_GUIDE,),
        edit=True,
        models="models in thinking mode",
    ),
    Rule(
        "DS-s4",
        "Only the last message is a prefix to continue.",
        "Remove `prefix` from the message.",
        sources=("DeepSeek's documentation of prefix completion",),
    ),
    Rule(
        "DS-s5",
        "User and assistant messages do not follow one of the same role.",
        "Join the two messages.",
        error="deepseek-reasoner does not support successive user or assistant "
        "messages (messages[1] and messages[2] in your input)",
        sources=("DeepSeek's error text",),
        models="the old deepseek-reasoner (R1)",
    ),
    Rule(
        "DS-s6",
        "Messages with calls keep their `reasoning_content`; here it is unknown "
        "whether the model is in thinking mode.",
        "Name the model, or send the reasoning_content that came with the call.",
        sources=(_GUIDE,),
    ),
    Rule(
        "DS-s7",
        "In thinking mode the answer behind tool results keeps its "
        "`reasoning_content` as well.",
        "Send the reasoning_content that came with the answer.",
        sources=(_GUIDE,),
    ),
)


def _asked(body: Mapping[str, Any] | None) -> bool | None:
    """What a body says about thinking; the SDK passes it on under `extra_body`."""
    for place in (body, inside(body, "extra_body")):
        kind = inside(place, "thinking").get("type")
        if kind in ("enabled", "disabled"):
            return bool(kind == "enabled")
    return None


def thinks(request: Request) -> bool | None:
    """Whether the request is in thinking mode, as far as it says."""
    asked = _asked(request.body)
    if asked is not None:
        return asked
    return _models.deepseek_thinks(request.model)


def check(request: Request, found: Findings) -> None:
    """Check a request for DeepSeek's chat API; linear in its size."""
    check_messages(request, found, "DS")
    mode = thinks(request)
    old = _models.is_old_reasoner(request.model)
    previous = None
    for nth, entry in enumerate(request.entries):
        path = request.at(nth)
        role = role_of(entry)
        if role not in ROLES:
            found.add("DS-02", path, bad_role(entry))
            previous = None
            continue
        if role != "user":
            for place, part in items(entry.get("content")):
                if part.get("type") in _IMAGES:
                    where = f"{path}.content[{place}]"
                    found.add("DS-06", where, f"an image stands in {a_message(role)}")
        if role == "assistant":
            _check_reasoning(entry, path, mode, previous == "tool", found)
            if entry.get("prefix") is True and nth < len(request.entries) - 1:
                found.add("DS-s4", f"{path}.prefix", "other messages follow the prefix")
        if old and role == previous and role in ("user", "assistant"):
            found.add("DS-s5", path, f"the {role} message follows another one")
        previous = role


def _check_reasoning(
    entry: Mapping[str, Any],
    path: str,
    mode: bool | None,
    after_results: bool,
    found: Findings,
) -> None:
    if mode is False or isinstance(entry.get("reasoning_content"), str):
        return
    where = f"{path}.reasoning_content"
    if entry.get("tool_calls"):
        ids = name_list(call_ids(entry))
        what = f"the message with the calls {ids} has no reasoning_content"
        found.add("DS-20" if mode else "DS-s6", where, what)
    elif mode and after_results:
        what = "the answer behind the tool results has no reasoning_content"
        found.add("DS-s7", where, what)


def call_ids(entry: Any) -> list[str]:
    """The ids of the calls that a message makes, as text."""
    calls = entry.get("tool_calls") if role_of(entry) == "assistant" else None
    return [str(call.get("id")) for _, call in items(calls)]


def check_edit(request: Request, before: Request, found: Findings) -> None:
    """DX-01: compare a trimmed request with the one *before* it; linear in both."""
    if thinks(request) is False:
        return
    seals = Seals((key, reasoning) for _, key, reasoning in _reasoned(before))
    for nth, key, reasoning in _reasoned(request):
        if seals.broken(key, reasoning):
            ids = name_list(call_ids(request.entries[nth]))
            what = f"the reasoning_content beside {ids} was changed or removed"
            found.add("DX-01", f"{request.at(nth)}.reasoning_content", what)


def _reasoned(request: Request) -> Iterator[tuple[int, str, Any]]:
    """The calls of each message that makes some, with the reasoning beside them."""
    for nth, entry in enumerate(request.entries):
        if call_ids(entry):
            yield nth, key_of(entry["tool_calls"]), entry.get("reasoning_content")


_TRIMS = (
    (
        "A cut between a call and its results leaves one without the other (DS-10, "
        "DS-12). turnkeep moves a message with calls and all of its results as one "
        "step."
    ),
    (
        "Reasoning of messages with calls must be passed back for as long as they are "
        "sent (DS-20). turnkeep keeps it with every kept call, however old; the "
        "reasoning of other turns may go."
    ),
    (
        "Instructions in developer messages are refused (DS-02). turnkeep writes them "
        "as system messages."
    ),
)


def _adapt(policy: Policy, body: Mapping[str, Any]) -> Policy:
    """By whether the request switches thinking on or off."""
    asked = _asked(body)
    if asked is None:
        return policy
    return attrs.evolve(policy, reasoning_with_calls=asked)


def profile(model: str | None = None) -> Profile:
    """The profile of DeepSeek's chat API, for *model* where it is known."""
    return Profile(
        name="deepseek",
        title="DeepSeek",
        formats=("deepseek", "openai"),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-call",
            reasoning_with_calls=_models.deepseek_thinks(model) is not False,
            alternates=_models.is_old_reasoner(model),
            empty_arrays_refused=frozenset({"tool_calls"}),
            empty_refused=frozenset({"system", "user", "assistant"}),
        ),
        check=check,
        check_edit=check_edit,
        adapt=_adapt,
        model=model,
        trims=_TRIMS,
    )
