"""Reasoning that must go back as it came: what the edit rules compare.

Works on pieces: the blocks of a list in order, however its format spells them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from turnkeep.model import same

from ._base import Request
from ._shared import key_of


@attrs.frozen
class Piece:
    """One block of a list, without cache marks, which change nothing."""

    role: str
    value: Any
    thinking: bool
    path: str

    def equals(self, other: Piece) -> bool:
        """Whether both say the same in the same role."""
        return self.role == other.role and same(self.value, other.value)


@attrs.frozen
class Unbound:
    """A kept thinking block that is no longer valid, and why."""

    path: str
    reason: str


def plain(value: Any) -> Any:
    """*value* without the cache marks at any depth of it."""
    if isinstance(value, Mapping):
        return {
            key: plain(item) for key, item in value.items() if key != "cache_control"
        }
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def first_unbound(
    kept: Sequence[Piece], before: Sequence[Piece], *, frame: str | None = None
) -> Unbound | None:
    """The first thinking of *kept* whose prefix differs from *before*, if any.

    A leading run of thinking blocks may be gone. Linear in both.

    Args:
        kept: The pieces of the trimmed list.
        before: The pieces of the list it was cut from.
        frame: What changed around the list (system text, tools), in words.
    """
    known = {key_of(piece.value) for piece in before if piece.thinking}
    change = frame
    cursor = kept_so_far = 0
    gap = False
    for piece in kept:
        while (
            cursor < len(before)
            and before[cursor].thinking
            and not (piece.thinking and piece.equals(before[cursor]))
        ):
            gap = True
            cursor += 1
        matches = cursor < len(before) and piece.equals(before[cursor])
        cursor += matches
        if piece.thinking:
            if change is None and gap and kept_so_far:
                change = "thinking between it and an earlier kept block is gone"
            if change is None and not matches:
                change = f"what stood before {piece.path} is gone or differs"
            if change is not None and key_of(piece.value) in known:
                return Unbound(piece.path, change)
            kept_so_far += 1
            gap = False
        elif not matches and change is None:
            change = f"{piece.path} is not what stood there before"
    return None


def frame_change(request: Request, before: Request, *keys: str) -> str | None:
    """Which of *keys* around the list changed, in words.

    Unknown, so nothing, where a body is missing.
    """
    if request.body is None or before.body is None:
        return None
    for key in keys:
        if not same(_frame(request, key), _frame(before, key)):
            return f"`{key}` differs"
    return None


def _frame(request: Request, key: str) -> Any:
    value = request.setting(key)
    if isinstance(value, str):
        # Text and one text block say the same.
        value = [{"type": "text", "text": value}]
    return plain(value or None)
