"""An Anthropic message list as turns of blocks, and the pairing between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from ._base import Findings, Request
from ._pairs import Half, PairRules, Said, Spot, check_pairs
from ._shared import role_of

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


_PAIRS = PairRules(
    reach="next",
    unanswered=Said(
        "AN-10",
        "no result in the next user turn answers the call {ids}",
        "no result in the next user turn answers the calls {ids}",
    ),
    unknown=Said(
        "AN-11", "the result of {id} has no call in the assistant turn before it"
    ),
    apart=Said("AN-12", "the result of {id} stands behind other content of its turn"),
    again=Said("AN-13", "the id {id} is used by a call of the same turn already"),
    twice=Said("AN-14", "{id} has a result already"),
    reused=Said("AN-s8", "id {id} named a call of an earlier turn"),
)


def check_turns(request: Request, turns: Sequence[Turn], found: Findings) -> None:
    """Rules AN-10 to AN-14 and AN-s8; linear in the request."""
    check_pairs([_spot(request, turn) for turn in turns], _PAIRS, found)


def _spot(request: Request, turn: Turn) -> Spot:
    """A turn as pairing sees it: the model's calls, or the user's results."""
    if turn.role == "assistant":
        calls = [
            Half(block.value["id"], path, f"{path}.id")
            for block in turn.blocks
            if block.kind == "tool_use" and isinstance(block.value.get("id"), str)
            for path in (block.path(request),)
        ]
        return Spot("", turn.role, calls=calls)
    results: list[Half] = []
    leading = True
    for block in turn.blocks:
        leading = leading and block.kind == "tool_result"
        if block.kind == "tool_result":
            path, call_id = block.path(request), block.value.get("tool_use_id")
            results.append(Half(call_id, path, f"{path}.tool_use_id", leading))
    return Spot("", turn.role, results=results)


def round_in_progress(turns: Sequence[Turn]) -> Turn | None:
    """The last assistant turn, if it makes calls; none otherwise.

    Whatever stands behind its results belongs to it, and so do results that are still
    to come.
    """
    for turn in reversed(turns[-2:]):
        if turn.role == "assistant":
            calls = any(block.kind == "tool_use" for block in turn.blocks)
            return turn if calls else None
    return None


def rounds_in_progress(turns: Sequence[Turn]) -> list[Turn]:
    """The assistant turns of the loop that the round in progress ends, oldest first.

    It reaches back over user turns that hold nothing but results.
    """
    newest = round_in_progress(turns)
    if newest is None:
        return []
    found: list[Turn] = []
    start = next(n for n in (len(turns) - 1, len(turns) - 2) if turns[n] is newest)
    for nth in range(start, -1, -2):
        found.append(turns[nth])
        before = turns[nth - 1] if nth else None
        if before is None or any(b.kind != "tool_result" for b in before.blocks):
            break
    return found[::-1]
