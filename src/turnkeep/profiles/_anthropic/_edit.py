"""What a trimmed Anthropic request may not have changed: rules AE-01 to AE-03."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import _models
from .._anthropic_turns import (
    THINKING,
    Turn,
    blocks_of,
    group,
    round_in_progress,
    rounds_in_progress,
)
from .._base import Findings, Request
from .._bound import Piece, first_unbound, frame_change, plain
from .._shared import first_stray, inside, role_of
from ._server_tools import seals


def check_edit(request: Request, before: Request, found: Findings) -> None:
    """Compare a trimmed request with the one *before* it; linear in both."""
    pieces, earlier = _pieces(request), _pieces(before)
    kept = [(piece.path, piece.value) for piece in pieces if piece.thinking]
    stray = first_stray(kept, [piece.value for piece in earlier if piece.thinking])
    if stray is not None:
        what = "this thinking block is not what the model sent, or not in its place"
        found.add("AE-01", stray, what)
    _check_round(request, before, found)
    known = {seal for _, seal in _seals(before)}
    for path, seal in _seals(request):
        if seal not in known:
            found.add("AN-34", path, "this is not what the server sent")
    binding = inside(inside(request.body, "thinking"), "block_binding")
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        return
    unbound = first_unbound(
        pieces, earlier, frame=frame_change(request, before, "system", "tools")
    )
    if unbound is not None:
        model = request.model or before.model
        number = "AE-03" if _models.binds_thinking(model) else "AE-s2"
        what = f"this thinking block is bound to another conversation: {unbound.reason}"
        found.add(number, unbound.path, what)


def _seals(request: Request) -> Iterator[tuple[str, Any]]:
    for nth, entry in enumerate(request.entries):
        for block in blocks_of(entry, nth):
            yield from seals(request, block)


def _pieces(request: Request) -> list[Piece]:
    return [
        Piece(
            str(role_of(entry)),
            plain(block.value),
            block.kind in THINKING,
            block.path(request),
        )
        for nth, entry in enumerate(request.entries)
        for block in blocks_of(entry, nth)
    ]


def _check_round(request: Request, before: Request, found: Findings) -> None:
    """AE-02, or AE-s1 where thinking is not enabled and all of it is gone.

    Earlier rounds of the same turn may leave whole, so only the newest is compared.
    """
    turns = group(request.entries)
    now, then = round_in_progress(turns), round_in_progress(group(before.entries))
    if now is None or then is None or not _calls(now) & _calls(then):
        return
    kept, had = _thinking([now]), _thinking([then])
    if first_stray([("", value) for value in had], kept) is None:
        return
    number = "AE-02"
    loop = _thinking(rounds_in_progress(turns))
    if not loop and inside(request.body, "thinking").get("type") != "enabled":
        number = "AE-s1"
    what = (
        f"the tool round in progress had {len(had)} thinking blocks and has "
        f"{len(kept)} now"
    )
    found.add(number, request.at(now.blocks[0].entry), what)


def _thinking(turns: Sequence[Turn]) -> list[Any]:
    return [
        plain(block.value)
        for turn in turns
        for block in turn.blocks
        if block.kind in THINKING
    ]


def _calls(turn: Turn) -> set[str]:
    return {
        str(block.value.get("id")) for block in turn.blocks if block.kind == "tool_use"
    }
