"""An Anthropic message list as turns of blocks, and the pairing inside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ._base import Findings, Request, describe
from ._shared import name_list, role_of

THINKING = ("thinking", "redacted_thinking")


@attrs.frozen
class Block:
    """One content block, and where it stands."""

    entry: int
    nth: int | None
    """Its position in the content; none for content that is a string."""
    value: Mapping[str, Any]

    @property
    def kind(self) -> Any:
        """Its type."""
        return self.value.get("type")

    def path(self, request: Request) -> str:
        """Its JSON path."""
        where = f"{request.at(self.entry)}.content"
        return where if self.nth is None else f"{where}[{self.nth}]"


@attrs.frozen
class Turn:
    """Messages of one role in a row: the API merges them before it looks."""

    role: str
    blocks: list[Block] = attrs.field(factory=list)

    @property
    def results(self) -> bool:
        """Whether it holds tool results."""
        return any(block.kind == "tool_result" for block in self.blocks)


def blocks_of(entry: Any, nth: int) -> list[Block]:
    """The blocks of one message; a string counts as one text block."""
    is_object = type(entry) is dict or isinstance(entry, Mapping)
    content = entry.get("content") if is_object else None
    if isinstance(content, str):
        return [Block(nth, None, {"type": "text", "text": content})]
    if not isinstance(content, (list, tuple)):
        return []
    return [
        Block(nth, place, value)
        for place, value in enumerate(content)
        if type(value) is dict or isinstance(value, Mapping)
    ]


def group(
    entries: Sequence[Any], blocks: Sequence[list[Block]] | None = None
) -> list[Turn]:
    """User and assistant messages as turns; system messages do not part them.

    Args:
        entries:
            The messages.
        blocks:
            The blocks of each, where they have been found already.
    """
    turns: list[Turn] = []
    for nth, entry in enumerate(entries):
        role = role_of(entry)
        if role not in ("user", "assistant"):
            continue
        if not turns or turns[-1].role != role:
            turns.append(Turn(role))
        found = blocks_of(entry, nth) if blocks is None else blocks[nth]
        turns[-1].blocks.extend(found)
    return turns


def check_pairs(request: Request, turns: Sequence[Turn], found: Findings) -> None:
    """Rules AN-10 to AN-14 and AN-s8; linear in the request."""
    seen: set[str] = set()
    calls: dict[str, Block] = {}
    for turn in turns:
        if turn.role == "user":
            _check_results(request, turn, calls, found)
            calls = {}
            continue
        calls = _calls_of(request, turn, found)
        for call_id in calls.keys() & seen:
            where = f"{calls[call_id].path(request)}.id"
            found.add("AN-s8", where, f"id {call_id!r} named a call of an earlier turn")
        seen.update(calls)
    _report_open(request, list(calls.values()), found)


def _calls_of(request: Request, turn: Turn, found: Findings) -> dict[str, Block]:
    calls: dict[str, Block] = {}
    for block in turn.blocks:
        if block.kind != "tool_use" or not isinstance(block.value.get("id"), str):
            continue
        call_id = block.value["id"]
        if call_id in calls:
            what = f"the id {call_id!r} is used by a call of the same turn already"
            found.add("AN-13", f"{block.path(request)}.id", what)
        calls.setdefault(call_id, block)
    return calls


def _check_results(
    request: Request, turn: Turn, calls: Mapping[str, Block], found: Findings
) -> None:
    answered: set[str] = set()
    leading = True
    for block in turn.blocks:
        if block.kind != "tool_result":
            leading = False
            continue
        call_id = block.value.get("tool_use_id")
        where = block.path(request)
        if not isinstance(call_id, str) or call_id not in calls:
            what = (
                f"the result of {describe(call_id)} has no call in the assistant turn "
                "before it"
            )
            found.add("AN-11", f"{where}.tool_use_id", what)
        elif call_id in answered:
            found.add(
                "AN-14", f"{where}.tool_use_id", f"{call_id!r} has a result already"
            )
        elif not leading:
            what = f"the result of {call_id!r} stands behind other content of its turn"
            found.add("AN-12", where, what)
        if isinstance(call_id, str):
            answered.add(call_id)
    missing = [call for call_id, call in calls.items() if call_id not in answered]
    _report_open(request, missing, found)


def _report_open(request: Request, missing: list[Block], found: Findings) -> None:
    if missing:
        ids = name_list([call.value["id"] for call in missing])
        noun = "calls" if len(missing) > 1 else "call"
        what = f"no result in the next user turn answers the {noun} {ids}"
        found.add("AN-10", missing[0].path(request), what)


def open_round(turns: Sequence[Turn]) -> list[Turn]:
    """The assistant turns of the tool round in progress, oldest first.

    A round is in progress when the list ends on results. It reaches back over user
    turns that hold nothing but results.
    """
    if not turns or turns[-1].role != "user" or not turns[-1].results:
        return []
    found: list[Turn] = []
    for nth in range(len(turns) - 2, -1, -2):
        found.append(turns[nth])
        before = turns[nth - 1] if nth else None
        if before is None or any(b.kind != "tool_result" for b in before.blocks):
            break
    return found[::-1]
