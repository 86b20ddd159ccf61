from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnkeep.policy import Policy

from .._base import Findings, Profile, Request, describe
from .._pairs import Half, PairRules, Said, Spot, check_pairs
from .._shared import filled, items
from ._items import (
    ITEM_TYPES,
    OTHER_PAIRS,
    OUTPUTS,
    check_edit,
    follows_reasoning,
    type_of,
)
from ._rules import RULES

ROLES = ("user", "assistant", "system", "developer")
LONGEST_CALL_ID = 64
PLACEHOLDERS = ("__fake_id__",)
"""Ids of every item that an SDK makes, which it leaves out when it sends them
(openai-agents: `FAKE_RESPONSES_ID`)."""

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_ID_PREFIX = {
    "message": "msg",
    "function_call": "fc",
    "reasoning": "rs",
    "custom_tool_call": "ctc",
}
_ID = re.compile(r"[A-Za-z0-9_-]+")
_SAID = ("output_text", "refusal")
_TEXTS = ("input_text", "output_text")
_READ = ("input_text", "input_image", "input_file")


def check(request: Request, found: Findings) -> None:
    """Check a request for OpenAI's Responses API; linear in its size."""
    if not request.entries:
        found.add("OR-01", request.path, "the input is an empty list")
    if request.setting("input") == "":
        found.add("OR-s6", request.path, "the input is an empty text")
    ids: dict[str, int] = {}
    for nth, item in enumerate(request.entries):
        path, kind = request.at(nth), type_of(item)
        if kind not in ITEM_TYPES:
            what = f"the type is {describe(kind)}" if kind else "the item has no type"
            found.add("OR-02", path, what)
        if not isinstance(item, Mapping):
            continue
        named = kind == "local_shell_call_output" and item.get("call_id") is None
        if item.get("id") not in (None, *PLACEHOLDERS) and not named:
            _check_id(item["id"], kind, path, found)
            if isinstance(item["id"], str) and item["id"] in ids:
                what = (
                    f"{request.at(ids[item['id']])} has the id {item['id']!r} already"
                )
                found.add("OR-07", f"{path}.id", what)
            ids.setdefault(str(item["id"]), nth)
        call_id = item.get("call_id")
        if isinstance(call_id, str) and len(call_id) > LONGEST_CALL_ID:
            what = f"the call_id has {len(call_id)} characters"
            found.add("OR-11", f"{path}.call_id", what)
        _check_item(item, kind, path, found)
    _check_pairs(request, found)
    _check_reasoning(request, found)


def _check_id(value: Any, kind: str | None, path: str, found: Findings) -> None:
    prefix = _ID_PREFIX.get(kind or "", "")
    if not isinstance(value, str) or not _ID.fullmatch(value):
        what = f"the id is {describe(value)}"
    elif not value.startswith(prefix):
        what = f"the id {describe(value)} does not start with {prefix!r}"
    else:
        return
    found.add("OR-10", f"{path}.id", what)


def _check_item(
    item: Mapping[str, Any], kind: str | None, path: str, found: Findings
) -> None:
    match kind:
        case "message":
            _check_message(item, path, found)
        case "function_call" | "custom_tool_call":
            for key in ("call_id", "name"):
                if not filled(item.get(key)):
                    what = f"{key} of the {kind} is {describe(item.get(key))}"
                    found.add("OR-12", f"{path}.{key}", what)
            key = _CALLS[kind]
            if not isinstance(item.get(key), str):
                what = f"{key} of the {kind} is {describe(item.get(key))}"
                found.add("OR-12", f"{path}.{key}", what)
        case "function_call_output" | "custom_tool_call_output":
            output = item.get("output")
            is_parts = isinstance(output, (list, tuple)) and len(items(output)) == len(
                output
            )
            if not isinstance(output, str) and not is_parts:
                found.add("OR-13", f"{path}.output", f"output is {describe(output)}")
        case "reasoning":
            if not isinstance(item.get("summary"), (list, tuple)):
                what = f"summary of the reasoning is {describe(item.get('summary'))}"
                found.add("OR-09", f"{path}.summary", what)
        case _:
            pass


def _check_message(item: Mapping[str, Any], path: str, found: Findings) -> None:
    role = item.get("role")
    if role not in ROLES:
        found.add("OR-03", f"{path}.role", f"the role is {describe(role)}")
        return
    content = item.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, (list, tuple)):
        found.add("OR-04", f"{path}.content", f"content is {describe(content)}")
        return
    allowed = _SAID if role == "assistant" else _READ
    for nth, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in allowed:
            what = f"a part of type {describe(kind)} stands in a message of the {role}"
            found.add("OR-04", f"{path}.content[{nth}]", what)
        elif kind in _TEXTS and not isinstance(part.get("text"), str):
            what = f"the text of the part is {describe(part.get('text'))}"
            found.add("OR-04", f"{path}.content[{nth}]", what)


_PAIRS = PairRules(
    reach="anywhere",
    each=True,
    unanswered=Said("OR-05", "no output answers the call {id}"),
    unknown=Said("OR-06", "no call has the call_id {id}"),
    again=Said("OR-s1", "call_id {id} stands in {first} already"),
    twice=Said("OR-s2", "call_id {id} stands in {first} already"),
    early=Said("OR-s4", "the output of {id} stands before its call"),
)


def _check_pairs(request: Request, found: Findings) -> None:
    """OR-05, OR-06 and the soft rules on pairing: by call_id over the whole input."""
    spots: list[Spot] = []
    others: set[str] = set()
    references = request.setting("previous_response_id", "conversation") is not None
    for nth, item in enumerate(request.entries):
        kind, path = type_of(item), request.at(nth)
        references = references or kind == "item_reference"
        call_id = item.get("call_id") if isinstance(item, Mapping) else None
        if kind is None or not isinstance(call_id, str):
            continue
        half = (Half(call_id, path, f"{path}.call_id"),)
        if kind in _CALLS:
            spots.append(Spot(path, kind, calls=half))
        elif kind in OUTPUTS:
            spots.append(Spot(path, kind, results=half))
        elif kind.endswith("_call"):
            # A function's output may answer a tool search that the client carried out.
            others.add(call_id)
    check_pairs(spots, _PAIRS, found, elsewhere=lambda key: references or key in others)
    for call_kind, output_kind in OTHER_PAIRS.items():
        _check_other_pairs(request, call_kind, output_kind, found)


def _check_other_pairs(
    request: Request, call_kind: str, output_kind: str, found: Findings
) -> None:
    spots: list[Spot] = []
    for nth, item in enumerate(request.entries):
        kind = type_of(item)
        if kind in (call_kind, output_kind):
            half = (Half(str(item.get("call_id")), request.at(nth)),)
            calls, results = (half, ()) if kind == call_kind else ((), half)
            spots.append(Spot(request.at(nth), kind, calls, results))
    lone = Said("OR-s3", f"{call_kind} {{id}} and its output are not both there")
    rules = PairRules(reach="anywhere", each=True, unanswered=lone, unknown=lone)
    check_pairs(spots, rules, found)


def _check_reasoning(request: Request, found: Findings) -> None:
    stored = request.setting("store") is not False
    entries = request.entries
    for nth, item in enumerate(entries):
        if type_of(item) != "reasoning":
            continue
        following = entries[nth + 1] if nth + 1 < len(entries) else None
        if follows_reasoning(following):
            continue
        what = f"the item that came behind reasoning {describe(item.get('id'))} is gone"
        if item.get("encrypted_content"):
            found.add("OR-s5", request.at(nth), what)
        elif stored:
            found.add("OR-08", request.at(nth), what)


_TRIMS = (
    (
        "A call without its output, or an output without its call, is refused wherever "
        "in the input they stand (OR-05, OR-06). turnkeep moves both as one step."
    ),
    (
        "A reasoning item and the item behind it belong together (OR-08, OX-01). "
        "turnkeep drops both, and takes no edit that would part them."
    ),
    "An item id is used once (OR-07). turnkeep never copies an id to another item.",
)


def profile(model: str | None = None) -> Profile:
    """The profile of OpenAI's Responses API."""
    return Profile(
        name="openai-responses",
        title="OpenAI Responses",
        formats=("openai-responses",),
        list_key="input",
        rules=RULES,
        policy=Policy(
            results="anywhere", pairs_reasoning=True, compacts_as="openai-responses"
        ),
        check=check,
        check_edit=check_edit,
        model=model,
        trims=_TRIMS,
    )
