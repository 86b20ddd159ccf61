"""The rules that OpenAI's chat API shares with those that copy it.

Each check takes the family's prefix, so that `OC-12` and `DS-12` are one piece of code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ._base import Findings, Request, Rule, describe
from ._pairs import Half, PairRules, Said, Spot, check_pairs
from ._shared import FUNCTION_NAME, items, role_of

LONGEST_ID = 40
"""Characters an id may have on older OpenAI servers (OC-s2)."""


def pairing_rules(prefix: str, *, provider: str) -> tuple[Rule, ...]:
    """The rules that *provider* shares with OpenAI's chat API, under its own prefix."""
    return (
        Rule(
            f"{prefix}-01",
            "`messages` is a non-empty array.",
            "Send at least one message.",
            error="[] is too short - 'messages'",
            sources=("live probe, published September 2026",),
        ),
        Rule(
            f"{prefix}-03",
            "The content of system, developer, user and tool messages is text or an "
            "array, never null.",
            'Give the message content, or "" where there is nothing to say.',
            error="Invalid value for 'content': expected a string, got null.",
            sources=("run-llama/llama_index#17555",),
        ),
        Rule(
            f"{prefix}-04",
            "Assistant content may be null or absent only beside tool calls (or a "
            "function call, audio or a refusal).",
            "Give the message text or calls, or leave it out.",
            error="Invalid value for 'content': expected a string, got null.",
            sources=("run-llama/llama_index#17921", "vercel/ai#13744"),
        ),
        Rule(
            f"{prefix}-08",
            "`tool_calls`, where present, is not empty.",
            "Leave the key out instead of sending an empty array.",
            error="Invalid 'messages[6].tool_calls': empty array. Expected an array "
            "with minimum length 1, but got an empty array instead",
            sources=(f"{provider}'s error text",),
        ),
        Rule(
            f"{prefix}-09",
            "Each call has an id, a type (function or custom), a name and its "
            "arguments (or input) as text.",
            "Complete the call; arguments are JSON written as a string.",
            sources=("openai SDK 3.57.0",),
        ),
        Rule(
            f"{prefix}-10",
            "A tool message stands in the unbroken run of tool messages right after "
            "an assistant message with calls.",
            "Drop this result, or bring back the assistant message that made the "
            "call and put the result right behind it.",
            error="Invalid parameter: messages with role 'tool' must be a response to "
            "a preceeding message with 'tool_calls'.",
            sources=(
                "simonw/llm#937",
                "openai/openai-go#43",
                "FoundationAgents/OpenManus#744",
            ),
        ),
        Rule(
            f"{prefix}-11",
            "The `tool_call_id` of a tool message names a call of that assistant "
            "message.",
            "Drop this result, or put it behind the message that made its call.",
            error="Invalid parameter: 'tool_call_id' of 'xxx' not found in "
            "'tool_calls' of previous message.",
            sources=(f"{provider}'s error text",),
        ),
        Rule(
            f"{prefix}-12",
            "Every call is answered in the run of tool messages right after it; "
            "nothing may stand between, and the end of the list excuses nothing.",
            "Put a tool message for each call right behind it, or drop the call "
            "together with its other results.",
            error="An assistant message with 'tool_calls' must be followed by tool "
            "messages responding to each 'tool_call_id'. The following tool_call_ids "
            "did not have response messages: call_..",
            sources=(
                "BerriAI/litellm#10083",
                "router-for-me/CLIProxyAPI#2798",
                "agno-agi/agno#3105",
            ),
        ),
        Rule(
            f"{prefix}-13",
            "Each call has one result in its run.",
            "Keep one of the results and drop the others.",
            error="Invalid parameter: Duplicate value for 'tool_call_id' of 'call_..', "
            "in messages[7] and messages[8].",
            sources=("agno-agi/agno#5116",),
        ),
        Rule(
            f"{prefix}-s1",
            "No id stands twice in one `tool_calls` list.",
            "Give each call of a message an id of its own.",
            error="duplicate tool_call_id",
            sources=("openclaw/openclaw#47136",),
        ),
        Rule(
            f"{prefix}-s2",
            "A call id has at most 40 characters.",
            "Shorten the id, in the call and in its result alike.",
            error="Invalid 'messages[10].tool_calls[0].id': string too long. Expected "
            "a string with maximum length 40",
            sources=(
                "agno-agi/agno#5382",
                "microsoft/autogen#6377",
                "vercel/ai#17233 (51 characters were accepted)",
            ),
        ),
        Rule(
            f"{prefix}-s3",
            "Function names in the history match `[a-zA-Z0-9_-]{1,64}`.",
            "Rename the function in the call.",
            error="Invalid 'tools[0].function.name': string does not match pattern.",
            sources=("openai SDK 3.57.0",),
        ),
    )


def check_messages(request: Request, found: Findings, prefix: str) -> None:
    """Everything that `pairing_rules` states; linear in the request."""
    if not request.entries:
        found.add(f"{prefix}-01", request.path, "there are no messages")
    for nth, entry in enumerate(request.entries):
        if not isinstance(entry, Mapping):
            continue
        _check_content(entry, request.at(nth), found, prefix)
        if entry.get("role") == "assistant":
            _check_calls(entry, request.at(nth), found, prefix)
    check_runs(request, found, prefix)


def _check_content(
    entry: Mapping[str, Any], path: str, found: Findings, prefix: str
) -> None:
    content = entry.get("content")
    if isinstance(content, (str, list, tuple)):
        return
    role = entry.get("role")
    if role in ("system", "developer", "user", "tool"):
        what = f"the {role} message's content is {describe(content)}"
        found.add(f"{prefix}-03", f"{path}.content", what)
    elif role == "assistant" and not (content is None and _says_otherwise(entry)):
        what = f"the assistant message's content is {describe(content)}"
        if content is None:
            what += " and it makes no calls"
        found.add(f"{prefix}-04", f"{path}.content", what)


def _says_otherwise(entry: Mapping[str, Any]) -> bool:
    return any(
        entry.get(key) for key in ("tool_calls", "function_call", "audio", "refusal")
    )


def _check_calls(
    entry: Mapping[str, Any], path: str, found: Findings, prefix: str
) -> None:
    calls = entry.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, (list, tuple)) or not calls:
        what = f"tool_calls is {describe(calls)}"
        found.add(f"{prefix}-08", f"{path}.tool_calls", what)
        return
    seen: set[str] = set()
    for nth, call in enumerate(calls):
        where = f"{path}.tool_calls[{nth}]"
        if (fault := _call_fault(call)) is not None:
            found.add(f"{prefix}-09", where, fault)
        if not isinstance(call, Mapping):
            continue
        if isinstance(name := call_name(call), str) and not FUNCTION_NAME.fullmatch(
            name
        ):
            found.add(f"{prefix}-s3", where, f"the function is named {describe(name)}")
        if not isinstance(call_id := call.get("id"), str):
            continue
        if call_id in seen:
            found.add(
                f"{prefix}-s1", where, f"id {call_id!r} was used by a call before"
            )
        seen.add(call_id)
        if len(call_id) > LONGEST_ID:
            what = f"id {describe(call_id)} has {len(call_id)} characters"
            found.add(f"{prefix}-s2", where, what)


def call_name(call: Mapping[str, Any]) -> Any:
    """The name of the function or tool that a call names; none where it names none."""
    detail = call.get("custom" if call.get("type") == "custom" else "function")
    return detail.get("name") if isinstance(detail, Mapping) else None


def _call_fault(call: Any) -> str | None:
    if not isinstance(call, Mapping):
        return f"the call is {describe(call)}"
    if not isinstance(call.get("id"), str):
        return f"the call's id is {describe(call.get('id'))}"
    kind = call.get("type")
    if kind not in ("function", "custom"):
        return f"the type of call {call['id']!r} is {describe(kind)}"
    detail = call.get(kind)
    if not isinstance(detail, Mapping):
        return f"call {call['id']!r} has no {kind!r} object"
    field = "arguments" if kind == "function" else "input"
    for key in ("name", field):
        if not isinstance(detail.get(key), str):
            return f"{key} of call {call['id']!r} is {describe(detail.get(key))}"
    return None


def check_runs(request: Request, found: Findings, prefix: str) -> None:
    """Rules 10 to 13: each run of tool messages answers the message before it."""
    check_pairs(_spots(request), _pair_rules(prefix), found)


def _spots(request: Request) -> Iterator[Spot]:
    for nth, entry in enumerate(request.entries):
        path, role = request.at(nth), role_of(entry)
        if role == "tool":
            half = Half(entry.get("tool_call_id"), path, f"{path}.tool_call_id")
            yield Spot(path, "a result", results=(half,), only_results=True)
            continue
        calls = items(entry.get("tool_calls")) if role == "assistant" else ()
        yield Spot(
            path,
            _who(role),
            calls=[
                Half(call["id"], f"{path}.tool_calls[{place}]")
                for place, call in calls
                if isinstance(call.get("id"), str)
            ],
        )


def _who(role: str | None) -> str:
    if role == "assistant":
        return "an assistant message that makes no calls"
    return "another entry" if role is None else f"a {role} message"


@cache
def _pair_rules(prefix: str) -> PairRules:
    return PairRules(
        reach="behind",
        stray=Said(f"{prefix}-10", "the result of {id} stands behind {behind}"),
        unknown=Said(f"{prefix}-11", "tool_call_id {id} is no call of {opener}"),
        unanswered=Said(
            f"{prefix}-12",
            "the call {ids} has no result right behind it",
            "the calls {ids} have no result right behind them",
        ),
        twice=Said(f"{prefix}-13", "the result of {id} stands in {first} already"),
    )
