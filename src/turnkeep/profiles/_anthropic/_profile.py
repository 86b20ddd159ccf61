from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from turnkeep.policy import Policy

from .. import _models
from .._anthropic_turns import (
    THINKING,
    Turn,
    blocks_of,
    check_turns,
    group,
    rounds_in_progress,
)
from .._base import Findings, Profile, Request, describe
from .._images import check_images
from .._shared import (
    a_message,
    inside,
    items,
    role_of,
)
from ._blocks import check_block, check_message, is_directive
from ._edit import check_edit
from ._marks import check_marks
from ._rules import RULES
from ._server_tools import check_server_tools, is_paused, is_server_result
from ._tools import check_tools

MOST_MESSAGES = 100_000

_SYSTEM_PARTS = ("text", "tool_addition", "tool_removal")
"""Blocks of a system message in the list: text, and the beta's changes of tools."""


def check(request: Request, found: Findings) -> None:
    """Check a request for Anthropic's Messages API; linear in its size."""
    entries = request.entries
    if not entries or len(entries) > MOST_MESSAGES:
        found.add("AN-01", request.path, f"there are {len(entries)} messages")
    blocks = [blocks_of(entry, nth) for nth, entry in enumerate(entries)]
    turns = group(entries, blocks)
    if turns and turns[0].role == "assistant":
        found.add("AN-s1", request.at(0), "the first message is the assistant's")
    for nth, entry in enumerate(entries):
        check_message(request, nth, found)
        role = role_of(entry)
        for block in blocks[nth]:
            check_block(request, block, role, found)
    _check_system_messages(request, found)
    check_turns(request, turns, found)
    _check_end(request, found)
    if isinstance(thinking := request.setting("thinking"), Mapping):
        _check_thinking(request, turns, thinking, found)
    check_server_tools(request, turns, found)
    _check_system(request, found)
    check_tools(request, turns, found)
    check_marks(request, found)
    check_images(request, turns, found)


def _check_system_messages(request: Request, found: Findings) -> None:
    """Rule AN-03 over each run of system messages."""
    entries = request.entries
    refused = _models.takes_system_in_list(request.model) is False
    nth = 0
    while nth < len(entries):
        start = nth
        while nth < len(entries) and role_of(entries[nth]) == "system":
            nth += 1
        for place in range(start, nth):
            path = request.at(place)
            if place > start:
                found.add("AN-s5", path, "a system message stands right before it")
            if refused:
                what = f"{request.model} takes no system messages in the list"
                found.add("AN-03", path, what)
            elif not is_directive(entries[place]):
                _check_place(request, place, (start, nth), found)
        nth = max(nth, start + 1)


def _check_place(
    request: Request, nth: int, run: tuple[int, int], found: Findings
) -> None:
    entries, path = request.entries, request.at(nth)
    before = entries[run[0] - 1] if run[0] else None
    after = entries[run[1]] if run[1] < len(entries) else None
    if before is None:
        found.add("AN-03", path, "the list starts with a system message")
    elif role_of(before) != "user" and not _ends_in_server_result(before):
        what = "the system message stands behind an assistant message"
        found.add("AN-03", path, what)
    elif after is not None and role_of(after) != "assistant":
        what = f"the system message stands before {a_message(role_of(after))}"
        found.add("AN-03", path, what)
    elif any(
        b.get("type") not in _SYSTEM_PARTS
        for _, b in items(entries[nth].get("content"))
    ):
        found.add("AN-03", path, "the system message holds more than text")


def _ends_in_server_result(entry: Any) -> bool:
    blocks = items(entry.get("content")) if role_of(entry) == "assistant" else []
    return bool(blocks) and is_server_result(blocks[-1][1].get("type"))


def _check_end(request: Request, found: Findings) -> None:
    if not request.entries or role_of(request.entries[-1]) != "assistant":
        return
    nth = len(request.entries) - 1
    path = request.at(nth)
    blocks = blocks_of(request.entries[-1], nth)
    refuses = _models.refuses_prefill(request.model)
    if blocks and is_paused(blocks[-1]):
        return
    if refuses:
        what = (
            f"the list ends on an assistant message, and {request.model} refuses that"
        )
        found.add("AN-09", path, what)
    elif refuses is None:
        what = "the list ends on an assistant message, which newer models refuse"
        found.add("AN-s10", path, what)
    if not blocks:
        return
    last = blocks[-1]
    text = last.value.get("text") if last.kind == "text" else None
    if isinstance(text, str) and text != text.rstrip():
        found.add("AN-08", last.path(request), "the last text ends in white space")
    if last.kind in THINKING:
        found.add("AN-19", last.path(request), f"the list ends in a {last.kind} block")


def _check_thinking(
    request: Request,
    turns: Sequence[Turn],
    thinking: Mapping[str, Any],
    found: Findings,
) -> None:
    if thinking.get("type") != "enabled" or not turns:
        return
    going_on = turns[-1].role == "assistant"
    opened = rounds_in_progress(turns) or (turns[-1:] if going_on else [])
    if not opened or not opened[0].blocks:
        return
    first = opened[0].blocks[0]
    if first.kind not in THINKING:
        what = (
            "thinking is enabled, and "
            + ("the message to continue" if going_on else "the tool round in progress")
            + f" opens with {describe(first.kind)}"
        )
        found.add("AN-18", first.path(request), what)
    newest = opened[-1].blocks
    if len(opened) > 1 and newest and newest[0].kind not in THINKING:
        what = f"the newest message of the tool round opens with {newest[0].kind!r}"
        found.add("AN-s11", newest[0].path(request), what)


def _check_system(request: Request, found: Findings) -> None:
    system = request.setting("system")
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, (list, tuple)):
        found.add("AN-26", "$.system", f"system is {describe(system)}")
        return
    for nth, block in enumerate(system):
        where = f"$.system[{nth}]"
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind != "text" or not isinstance(block.get("text"), str):
            found.add("AN-26", where, f"system holds a block of type {describe(kind)}")
        elif not block["text"]:
            found.add("AN-06", where, "the text block is empty")


_TRIMS = (
    (
        "A cut between tool_use and tool_result leaves one without the other (AN-10, "
        "AN-11). turnkeep moves a call and all of its results as one step, and puts "
        "the results in front of whatever else the user turn holds (AN-12)."
    ),
    (
        "Signed thinking is bound to what stood before it (AE-03). Where something "
        "has to change, turnkeep strips all thinking that was signed before, and "
        "counts without it; what the model thinks behind the cut stays. The thinking "
        "of a tool round in progress is kept whole (AE-02) or goes whole, while older "
        "rounds of its loop may go; with thinking enabled it must stay (AN-18), and "
        "where that leaves no room the error has the cause `signature`."
    ),
    (
        "System text right behind a tool round's results is part of that step (AN-03) "
        "and leaves with it; elsewhere it is held."
    ),
    (
        "Newer models refuse a list that ends on an assistant message (AN-09). "
        "turnkeep never drops the newest question; where a late result moves up to "
        "its call and would leave an answer at the end, a marked bridge message "
        "follows, counted and named in the plan."
    ),
    (
        "Emptied blocks and messages are refused (AN-05, AN-06, AN-07). turnkeep "
        "removes them whole."
    ),
    (
        "Marks for the prompt cache are limited to 4 (AN-20). A window never has more "
        "of them than its history."
    ),
    "A request holds at most 32 MB and 600 images (AN-22).",
)


def _adapt(policy: Policy, body: Mapping[str, Any]) -> Policy:
    """By whether thinking is enabled, and what becomes of blocks bound elsewhere."""
    thinking = inside(body, "thinking")
    binding = inside(thinking, "block_binding")
    if thinking.get("type") == "enabled":
        policy = attrs.evolve(policy, thinking_required=True)
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        policy = attrs.evolve(policy, binds_thinking=False, may_bind_thinking=False)
    return policy


def profile(model: str | None = None) -> Profile:
    """The profile of Anthropic's Messages API, for *model* where it is known."""
    binds = _models.binds_thinking(model)
    return Profile(
        name="anthropic",
        title="Anthropic Messages",
        formats=("anthropic",),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-run",
            first_user=True,
            ends_with_user=_models.refuses_prefill(model) is not False,
            binds_thinking=binds is True,
            may_bind_thinking=binds is None,
            thinking_whole=True,
            system_places=(
                "after-user" if _models.takes_system_in_list(model) else "outside"
            ),
            system_joins_rounds=True,
            empty_refused=frozenset({"system", "user"}),
            text_refused="empty",
            blank_alone_refused=True,
            compacts_as="anthropic",
        ),
        check=check,
        check_edit=check_edit,
        adapt=_adapt,
        model=model,
        trims=_TRIMS,
    )
