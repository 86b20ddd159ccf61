from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from turnkeep.policy import Policy

from ._base import Findings, Profile, Request, Rule, by_number, describe
from ._pairs import Half, PairRules, Said, Spot, check_pairs
from ._shared import (
    FUNCTION_NAME,
    a_message,
    bad_role,
    inside,
    items,
    role_of,
)

_COMMON = "mistral-common 1.13.1, validator.py (serving, tokenizer v13)"
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
_NO_ID = (None, "", "null")
_IMAGES = ("image", "image_url")

_AFTER = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool", "user"),
}

RULES = by_number(
    Rule(
        "MI-01",
        "There is at least one message.",
        "Send at least one message.",
        error="Conversation must have at least one message",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-02",
        "The role is system, user, assistant or tool.",
        "Use one of these roles; developer text has the role system.",
        sources=("mistralai SDK 3.7.0",),
    ),
    Rule(
        "MI-03",
        "Behind system comes user, assistant or system; behind user assistant, system "
        "or user; behind assistant assistant, user or tool; behind tool assistant, "
        "tool (or user).",
        "Put the messages in such an order; results stand right behind their calls.",
        error="Unexpected role 'tool' after role 'user' "
        "(invalid_request_message_order, code 3230)",
        sources=(_COMMON, "charmbracelet/crush#279"),
    ),
    Rule(
        "MI-04",
        "Calls and results match, by number and id, before the next assistant message "
        "and at the end of the list.",
        "Put one tool message for each call behind it, or drop the call together with "
        "its other results.",
        error="Not the same number of function calls and responses (code 3230); "
        "Unexpected tool call id .. in tool results",
        sources=(_COMMON, "NousResearch/hermes-agent#11722"),
    ),
    Rule(
        "MI-05",
        'Ids of calls and results are there, and are not "null".',
        "Give the call an id, and its result the same one.",
        error="Tool call id has to be defined.",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-06",
        "No id stands twice in the calls of a message or in its results.",
        "Keep one of the results, or give each call an id of its own.",
        error="Duplicate tool call id .. in tool results",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-07",
        "The last message is the user's or a tool's, or an assistant message with "
        "prefix: true.",
        'End with a user message, or mark the last message with "prefix": true.',
        error="Expected last role User or Tool (or Assistant with prefix True) for "
        "serving but got assistant",
        sources=(_COMMON, "NEKOparapa/AiNiee#641"),
    ),
    Rule(
        "MI-08",
        "Only the last message is a prefix.",
        "Remove `prefix` from the message.",
        error="Assistant message with prefix True must be last message",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-09",
        "`tool_calls` is an array.",
        "Send an array, or leave the key out.",
        sources=("mistralai SDK 3.7.0",),
    ),
    Rule(
        "MI-10",
        "Names of functions match `[a-zA-Z0-9_-]{1,64}`.",
        "Rename the function.",
        error="Function name was .. but must be a-z, A-Z, 0-9, or contain underscores "
        "and dashes, with a maximum length of 64.",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-11",
        "A single message is the user's or a system message.",
        "Add the user message that it belongs to.",
        error="Conversation must start with a user message or system message",
        sources=(_COMMON,),
    ),
    Rule(
        "MI-12",
        "A system message has content, and no images.",
        "Give it text, or leave it out.",
        error="System prompt must have content",
        sources=(_COMMON, "mistralai SDK 3.7.0"),
    ),
    Rule(
        "MI-13",
        "The arguments of a call are text or an object.",
        "Send the arguments as JSON text or as an object.",
        sources=(_COMMON, "mistralai SDK 3.7.0"),
    ),
    Rule(
        "MI-14",
        "An assistant message has content or calls.",
        "Leave the message out.",
        error="Assistant message must have either content or tool_calls, but not none. "
        "(invalid_request_assistant_message, code 3240)",
        sources=("Mistral's error text",),
    ),
    Rule(
        "MI-15",
        "Content is text or an array of parts, each an object with a type.",
        "Send the content as text.",
        error="422 Unprocessable Entity",
        sources=("mistralai SDK 3.7.0",),
    ),
    Rule(
        "MI-s1",
        "No user message stands right behind a tool message.",
        "Keep (or add) the assistant's answer between them.",
        error="Unexpected role 'user' after role 'tool' (code 3230)",
        sources=(
            "datapizza-labs/datapizza-ai#98",
            "avante-corp/avante.nvim#2695",
            "anomalyco/opencode#7488",
        ),
        models="mistral-common up to 1.11, and the servers built on it",
    ),
    Rule(
        "MI-s2",
        "Ids of calls are exactly 9 letters and digits.",
        "Rewrite the id, in the call and in its result alike.",
        error="Tool call id was call_.. but must be a-z, A-Z, 0-9, with a length of 9.",
        sources=(_COMMON,),
        models="tokenizers v3 to v11",
    ),
    Rule(
        "MI-s4",
        "The last message is no system message.",
        "End with a user message.",
        sources=(_COMMON,),
    ),
)


def check(request: Request, found: Findings) -> None:
    """Check a request for Mistral's chat API; linear in its size."""
    if not request.entries:
        found.add("MI-01", request.path, "there are no messages")
        return
    last = len(request.entries) - 1
    for nth, entry in enumerate(request.entries):
        role, path = role_of(entry), request.at(nth)
        if role not in _AFTER:
            found.add("MI-02", path, bad_role(entry))
            continue
        _check_content(entry.get("content"), f"{path}.content", found)
        if role == "system":
            _check_system(entry, path, found)
        elif role == "tool":
            _check_result(entry, path, found)
        elif role == "assistant":
            _check_assistant(entry, path, nth == last, found)
    for nth, tool in items(request.setting("tools")):
        where = f"$.tools[{nth}].function.name"
        _check_name(inside(tool, "function").get("name"), where, found)
    _check_order(request, found)
    _check_pairs(request, found)


def _check_name(name: Any, where: str, found: Findings) -> None:
    if isinstance(name, str) and not FUNCTION_NAME.fullmatch(name):
        found.add("MI-10", where, f"the function is named {describe(name)}")


def _check_content(content: Any, where: str, found: Findings) -> None:
    if not isinstance(content, (str, list, tuple, type(None))):
        found.add("MI-15", where, f"the content is {describe(content)}")
    for nth, part in enumerate(content if isinstance(content, (list, tuple)) else ()):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(kind, str):
            what = f"the part is {describe(part)}"
            if isinstance(part, Mapping):
                what = f"the type of the part is {describe(kind)}"
            found.add("MI-15", f"{where}[{nth}]", what)
        elif kind == "text" and not isinstance(part.get("text"), str):
            what = f"the text of the part is {describe(part.get('text'))}"
            found.add("MI-15", f"{where}[{nth}]", what)


def _check_system(entry: Mapping[str, Any], path: str, found: Findings) -> None:
    content = entry.get("content")
    if content is None:
        found.add("MI-12", f"{path}.content", "the system message has no content")
    for nth, part in items(content):
        if part.get("type") in _IMAGES:
            where = f"{path}.content[{nth}]"
            found.add("MI-12", where, "an image stands in a system message")


def _check_id(call_id: Any, where: str, found: Findings) -> None:
    if call_id in _NO_ID or not isinstance(call_id, str):
        found.add("MI-05", where, f"the id is {describe(call_id)}")
    elif not _SHORT_ID.fullmatch(call_id):
        found.add("MI-s2", where, f"the id is {describe(call_id)}")


def _check_result(entry: Mapping[str, Any], path: str, found: Findings) -> None:
    _check_id(entry.get("tool_call_id"), f"{path}.tool_call_id", found)
    _check_name(entry.get("name"), f"{path}.name", found)


def _check_assistant(
    entry: Mapping[str, Any], path: str, is_last: bool, found: Findings
) -> None:
    calls = entry.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        found.add("MI-09", f"{path}.tool_calls", f"tool_calls is {describe(calls)}")
    if not entry.get("content") and not calls:
        found.add("MI-14", path, "the assistant message has neither content nor calls")
    if entry.get("prefix") is True and not is_last:
        found.add("MI-08", f"{path}.prefix", "other messages follow the prefix")
    for nth, call in items(calls):
        where = f"{path}.tool_calls[{nth}]"
        _check_id(call.get("id"), f"{where}.id", found)
        function = inside(call, "function")
        name = function.get("name")
        if not isinstance(name, str):
            what = f"the function is named {describe(name)}"
            found.add("MI-10", f"{where}.function.name", what)
        _check_name(name, f"{where}.function.name", found)
        if not isinstance(function.get("arguments"), (str, Mapping)):
            what = f"the arguments are {describe(function.get('arguments'))}"
            found.add("MI-13", f"{where}.function.arguments", what)


def _check_order(request: Request, found: Findings) -> None:
    entries = request.entries
    roles = [role_of(entry) for entry in entries]
    if len(roles) == 1 and roles[0] in ("assistant", "tool"):
        what = (
            f"the only message is {'an' if roles[0] == 'assistant' else 'a'} {roles[0]}"
        )
        found.add("MI-11", request.at(0), f"{what} message")
    for nth, (role, following) in enumerate(pairwise(roles), 1):
        if role == "tool" and following == "user":
            what = "the user message stands right behind a tool message"
            found.add("MI-s1", request.at(nth), what)
        elif role in _AFTER and following in _AFTER and following not in _AFTER[role]:
            what = f"the {following} message stands right behind {a_message(role)}"
            found.add("MI-03", request.at(nth), what)
    if roles[-1] == "assistant" and entries[-1].get("prefix") is not True:
        what = "the list ends on an assistant message without prefix"
        found.add("MI-07", request.at(len(roles) - 1), what)
    elif roles[-1] == "system":
        what = "the list ends on a system message"
        found.add("MI-s4", request.at(len(roles) - 1), what)


_PAIRS = PairRules(
    reach="until-model",
    unanswered=Said("MI-04", "no result answers {ids}"),
    unknown=Said("MI-04", "the result of {id} has no call before it"),
    twice=Said("MI-06", "the call {id} has a result already"),
    again=Said("MI-06", "the id {id} names two calls of this message"),
)


def _check_pairs(request: Request, found: Findings) -> None:
    """MI-04 and MI-06: as mistral-common counts, between assistant messages."""
    check_pairs(_spots(request), _PAIRS, found)


def _spots(request: Request) -> Iterator[Spot]:
    for nth, entry in enumerate(request.entries):
        path, role = request.at(nth), role_of(entry)
        if role == "tool" and isinstance(call_id := entry.get("tool_call_id"), str):
            half = Half(call_id, path, f"{path}.tool_call_id")
            yield Spot(path, "a result", results=(half,))
        elif role == "assistant":
            calls = [
                Half(call["id"], f"{path}.tool_calls", f"{path}.tool_calls[{at}].id")
                for at, call in items(entry.get("tool_calls"))
                if isinstance(call.get("id"), str)
            ]
            yield Spot(path, "an assistant message", calls=calls, model=True)


_TRIMS = (
    (
        "Roles must come in a certain order (MI-03), so that a hole in the list may "
        "be refused. turnkeep drops whole steps and keeps what stands beside system "
        "text; where a user message would follow a "
        "tool result, which older servers refuse (MI-s1), it keeps the turn's answer "
        "or adds a marked bridge message, counted and named in the plan."
    ),
    (
        "Calls and results must match one to one (MI-04). turnkeep moves a call and "
        "all of its results as one step."
    ),
    "A list may not end on an assistant message (MI-07). The newest question stays.",
    "An assistant message may not be left empty (MI-14). turnkeep removes it whole.",
)


def profile(model: str | None = None) -> Profile:
    """The profile of Mistral's chat API."""
    return Profile(
        name="mistral",
        title="Mistral chat",
        formats=("mistral", "openai"),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-call",
            ends_with_user=True,
            system_places="after-user",
            user_after_tool_ok=False,
            empty_refused=frozenset({"system", "assistant"}),
            empty_text_is_empty=True,
        ),
        check=check,
        model=model,
        trims=_TRIMS,
    )
