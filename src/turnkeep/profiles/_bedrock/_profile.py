from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnkeep.policy import Policy
from turnkeep.providers import PROVIDERS

from .. import _models
from .._base import Findings, Profile, Request, describe
from .._bound import Piece, first_unbound, frame_change
from .._pairs import Half, PairRules, Said, Spot, check_pairs
from .._shared import (
    FUNCTION_NAME,
    bad_role,
    blank,
    filled,
    first_stray,
    inside,
    items,
    role_of,
)
from ._rules import RULES

_MARKS = PROVIDERS["bedrock"].marks
MARK, MOST_MARKS = (_MARKS.key, _MARKS.most) if _MARKS else ("", 0)
MOST_IMAGES = 20
MOST_DOCUMENTS = 5

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_SYSTEM = ("text", "guardContent", "cachePoint")


def blocks_of(request: Request, nth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The blocks of message *nth* with their paths."""
    entry = request.entries[nth]
    content = entry.get("content") if isinstance(entry, Mapping) else None
    for place, block in items(content):
        yield f"{request.at(nth)}.content[{place}]", block


def _with(
    request: Request, nth: int, member: str
) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (path, inside(block, member))
        for path, block in blocks_of(request, nth)
        if member in block
    ]


def check(request: Request, found: Findings) -> None:
    """Check a request for Bedrock's Converse API; linear in its size."""
    if not request.entries:
        found.add("BR-01", request.path, "there are no messages")
    for nth, entry in enumerate(request.entries):
        _check_message(request, nth, entry, found)
    _check_roles(request, found)
    _check_pairs(request, found)
    _check_frame(request, found)


def _check_message(request: Request, nth: int, entry: Any, found: Findings) -> None:
    path, role = request.at(nth), role_of(entry)
    if role == "system":
        found.add("BR-s4", path, "a system message stands in the list")
    elif role not in ("user", "assistant"):
        found.add("BR-01", path, bad_role(entry))
    content = entry.get("content") if isinstance(entry, Mapping) else None
    if not isinstance(content, (list, tuple)) or not content:
        found.add("BR-04", f"{path}.content", f"content is {describe(content)}")
    if isinstance(content, (list, tuple)) and len(items(content)) < len(content):
        found.add("BR-14", f"{path}.content", "a block is not an object")
    counts: dict[str, int] = {}
    for where, block in blocks_of(request, nth):
        if len(block) != 1:
            names = ", ".join(map(str, block)) or "no member"
            found.add("BR-14", where, f"the block has {names}")
        for member, value in block.items() if len(block) == 1 else ():
            if not isinstance(value, str if member == "text" else Mapping):
                found.add("BR-14", f"{where}.{member}", f"it is {describe(value)}")
        for member in block:
            counts[member] = counts.get(member, 0) + 1
        _check_block(block, role, where, found)
    _check_mix(counts, path, request.model, found)


def _check_block(
    block: Mapping[str, Any], role: str | None, path: str, found: Findings
) -> None:
    if blank(block.get("text")):
        found.add("BR-05", f"{path}.text", "the text is blank")
    if "toolUse" in block:
        _check_use(inside(block, "toolUse"), f"{path}.toolUse", found)
    if "toolResult" in block:
        _check_result(inside(block, "toolResult"), f"{path}.toolResult", found)
    for member in ("toolUse", "toolResult", "image", "document"):
        wanted = "assistant" if member == "toolUse" else "user"
        if member in block and role != wanted:
            what = f"{member} stands in a message of the role {describe(role)}"
            found.add("BR-11", path, what)
    if "reasoningContent" in block and role != "assistant":
        what = f"reasoning stands in a message of the role {describe(role)}"
        found.add("BR-s7", path, what)


def _check_id(value: Any, where: str, found: Findings) -> None:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        found.add("BR-09", f"{where}.toolUseId", f"toolUseId is {describe(value)}")


def _check_use(use: Mapping[str, Any], path: str, found: Findings) -> None:
    _check_id(use.get("toolUseId"), path, found)
    name = use.get("name")
    if not isinstance(name, str) or not FUNCTION_NAME.fullmatch(name):
        found.add("BR-09", f"{path}.name", f"the name is {describe(name)}")
    if "input" not in use:
        found.add("BR-09", path, "the toolUse has no input")


def _check_result(result: Mapping[str, Any], path: str, found: Findings) -> None:
    _check_id(result.get("toolUseId"), path, found)
    content = result.get("content")
    if not isinstance(content, (list, tuple)):
        found.add("BR-13", f"{path}.content", f"content is {describe(content)}")
        return
    if not content and result.get("status") == "error":
        found.add("BR-13", f"{path}.content", "the result is an error and says nothing")
    for nth, part in enumerate(content):
        if not isinstance(part, Mapping) or len(part) != 1:
            what = "a part of the result has not exactly one member"
            found.add("BR-14", f"{path}.content[{nth}]", what)


def _check_mix(
    counts: Mapping[str, int], path: str, model: str | None, found: Findings
) -> None:
    if counts.get("document") and not counts.get("text"):
        found.add("BR-12", path, "the message has a document and no text")
    if counts.get("image", 0) > MOST_IMAGES:
        found.add("BR-s1", path, f"the message has {counts['image']} images")
    if counts.get("document", 0) > MOST_DOCUMENTS:
        found.add("BR-s1", path, f"the message has {counts['document']} documents")
    if _models.is_claude(model) or not counts.get("text"):
        return
    for member in ("toolResult", "toolUse"):
        if counts.get(member):
            found.add("BR-s2", path, f"{member} shares its message with text")


def _check_roles(request: Request, found: Findings) -> None:
    spoken = [
        (nth, role)
        for nth, entry in enumerate(request.entries)
        if (role := role_of(entry)) in ("user", "assistant")
    ]
    opener = role_of(request.entries[0]) if request.entries else None
    if opener == "system":
        found.add("BR-02", request.at(0), "the first message is a system message")
    elif spoken and spoken[0][1] == "assistant":
        what = "the first message is the assistant's"
        found.add("BR-02", request.at(spoken[0][0]), what)
    previous = None
    for nth, role in spoken:
        if role == previous:
            what = f"the {role} message follows another one of the same role"
            found.add("BR-03", request.at(nth), what)
        previous = role
    if previous == "assistant":
        what = "the list ends on an assistant message"
        found.add("BR-s3", request.at(spoken[-1][0]), what)


_PAIRS = PairRules(
    reach="next",
    unanswered=Said("BR-06", "the next message has no toolResult for {ids}"),
    unknown=Said("BR-07", "the result of {id} has no toolUse in the message before"),
    twice=Said("BR-08", "{id} has a result in this message already"),
    again=Said("BR-08", "{id} names another toolUse of this message"),
)


def _check_pairs(request: Request, found: Findings) -> None:
    """BR-06 to BR-08: each message answers the one before it, whole."""
    spots = [
        Spot(
            request.at(nth),
            "a message",
            calls=_halves(request, nth, "toolUse"),
            results=_halves(request, nth, "toolResult"),
        )
        for nth, entry in enumerate(request.entries)
        if role_of(entry) != "system"
    ]
    check_pairs(spots, _PAIRS, found)


def _halves(request: Request, nth: int, member: str) -> list[Half]:
    return [
        Half(half["toolUseId"], path)
        for path, half in _with(request, nth, member)
        if isinstance(half.get("toolUseId"), str)
    ]


def _check_frame(request: Request, found: Findings) -> None:
    """What stands around the list: tools, system text and cache points."""
    if not request.setting("toolConfig"):
        for nth in range(len(request.entries)):
            blocks = blocks_of(request, nth)
            path = next(
                (p for p, b in blocks if {"toolUse", "toolResult"} & b.keys()), ""
            )
            if path:
                number = "BR-s6" if request.body is None else "BR-10"
                found.add(number, path, "tool blocks are sent without toolConfig")
                break
    system = request.setting("system")
    marks = 0
    for nth, block in enumerate(system if isinstance(system, (list, tuple)) else ()):
        where = f"$.system[{nth}]"
        members = list(block) if isinstance(block, Mapping) else []
        marks += MARK in members
        if len(members) != 1 or members[0] not in _SYSTEM:
            names = ", ".join(map(str, members)) or describe(block)
            found.add("BR-19", where, f"the system block has {names}")
        elif members[0] == "text" and not filled(block["text"]):
            found.add("BR-19", where, "the text of the system block is empty")
    if system is not None and not isinstance(system, (list, tuple)):
        found.add("BR-19", "$.system", f"system is {describe(system)}, not a list")
    marks += sum(
        MARK in tool
        for _, tool in items(inside(request.body, "toolConfig").get("tools"))
    )
    marks += sum(
        MARK in block
        for nth in range(len(request.entries))
        for _, block in blocks_of(request, nth)
    )
    if marks > MOST_MARKS:
        found.add("BR-s5", request.path, f"there are {marks} cache points")


def _pieces(request: Request) -> list[Piece]:
    return [
        Piece(str(role_of(entry)), block, "reasoningContent" in block, path)
        for nth, entry in enumerate(request.entries)
        for path, block in blocks_of(request, nth)
        if MARK not in block
    ]


def check_edit(request: Request, before: Request, found: Findings) -> None:
    """BX-01 and AE-03: compare with the request *before* it; linear in both."""
    pieces, earlier = _pieces(request), _pieces(before)
    kept = [(piece.path, piece.value) for piece in pieces if piece.thinking]
    stray = first_stray(kept, [piece.value for piece in earlier if piece.thinking])
    if stray is not None:
        what = "this reasoning is not what the model sent, or not in its place"
        found.add("BX-01", stray, what)
    if not _models.binds_thinking(request.model or before.model):
        return
    frame = frame_change(request, before, "system", "toolConfig")
    unbound = first_unbound(pieces, earlier, frame=frame)
    if unbound is not None:
        what = f"this reasoning is bound to another conversation: {unbound.reason}"
        found.add("AE-03", unbound.path, what)


_TRIMS = (
    (
        "User and assistant messages must alternate and start with the user's (BR-02, "
        "BR-03): dropping one leaves equal neighbours. turnkeep drops the question and "
        "the last message of a turn together, after the rest of it; where a stand-in "
        "or a summary meets another user message it joins them, as the plan says."
    ),
    (
        "All results of a turn must stand in one message (BR-06, BR-07). turnkeep "
        "moves them as one step and joins late ones with the others."
    ),
    (
        "Emptied or blank blocks are refused (BR-04, BR-05), and so is a document "
        "whose text went (BR-12). turnkeep removes messages whole."
    ),
    "Tool blocks need toolConfig (BR-10). turnkeep keeps it while any are left.",
    (
        "Claude's reasoning is bound to what stood before it on Bedrock too (AE-03). "
        "turnkeep strips all that was signed before a change."
    ),
)


def profile(model: str | None = None) -> Profile:
    """The profile of Bedrock's Converse API, for *model* where it is known."""
    binds = _models.binds_thinking(model)
    claude = _models.is_claude(model) is not False
    return Profile(
        name="bedrock",
        title="AWS Bedrock Converse",
        formats=("bedrock",),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-call",
            joins_results=True,
            alternates=True,
            opens_with="user",
            ends_with_user=True,
            binds_thinking=binds is True,
            may_bind_thinking=claude and binds is None,
            thinking_whole=claude,
            system_places="outside",
            empty_refused=frozenset({"system", "user", "assistant"}),
            text_refused="blank",
        ),
        check=check,
        check_edit=check_edit,
        model=model,
        trims=_TRIMS,
    )
