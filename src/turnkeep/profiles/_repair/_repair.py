"""Mend a history that no provider would take: little, reported, and only once.

What is mended: results whose call is absent, second results, results in a wrong place,
calls the caller gives up, reasoning items without what followed them, empty contents,
and equal neighbours where roles must alternate. What is never touched: pinned messages
(they may move, unchanged), calls that are awaited, empty results, and ids that are used
again and pair up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

import attrs

from turnkeep.errors import UnknownCallError
from turnkeep.model import Message
from turnkeep.turns import (
    ASSISTANT,
    RESULT,
    Grouping,
    OpenCall,
    early_answers,
    entry_of,
)

from .._base import Profile
from ._content import (
    Change,
    drop_lone_reasoning,
    drop_lost_answers,
    mend_contents,
)
from ._order import bridge_gaps, join_neighbours
from ._pieces import Piece, explode, rejoin

Close: TypeAlias = Literal["all"] | Iterable[str]
"""Ids of calls (or names, where calls have no ids) to close, or all that are open."""

Value = TypeVar("Value")

CLOSED_TEXT = (
    "This tool call was closed without a result: it was interrupted or given up, and "
    "no answer will come. Call the tool again if its result is still needed."
)
"""What the model reads as the result of a call that was closed by hand."""


@attrs.frozen
class Repair(Generic[Value]):
    """A mended history, and what was mended.

    `print(mended)` shows one line for each change.
    """

    value: Value = attrs.field(repr=False)
    """The history in the shape it came in."""

    changes: tuple[Change, ...] = ()
    """What was mended or, though wrong, left alone, in the order it was done."""

    @property
    def changed(self) -> bool:
        """Whether the history is another one now."""
        return any(change.action != "kept" for change in self.changes)

    def __str__(self) -> str:
        """One line for each change."""
        return "\n".join(map(str, self.changes)) or "nothing to mend"


def repair_messages(
    messages: Sequence[Message],
    *,
    profile: Profile,
    close: Close = (),
    stateful: bool = False,
) -> Repair[list[Message]]:
    """The mended history and what was done to it; linear in the history.

    Messages that need nothing come back as the same objects. Repairing again changes
    nothing.

    Args:
        messages: The history.
        profile: Whose rules decide where results stand and what may be empty.
        close: Calls to close with an error result that says so.
        stateful: Whether the provider keeps calls that are not in the history.

    Raises:
        UnknownCallError: No open call has an id of *close*.
    """
    changes: list[Change] = []
    pieces = _behind_calls(explode(messages), changes)
    pieces = _drop(pieces, changes, stateful=stateful)
    pieces = _place(pieces, profile, close, changes)
    numbered = rejoin(messages, pieces)
    if not stateful:
        numbered = drop_lost_answers(numbered, changes)
    policy = profile.policy
    numbered = mend_contents(numbered, policy, changes)
    if policy.pairs_reasoning:
        numbered = drop_lone_reasoning(numbered, changes)
    numbered = join_neighbours(numbered, policy, changes)
    numbered = bridge_gaps(numbered, policy, changes)
    return Repair([message for _, message in numbered], tuple(changes))


def _behind_calls(pieces: list[Piece], changes: list[Change]) -> list[Piece]:
    """Results that stand before the call they must mean, put right behind it."""
    grouping = Grouping(entry_of(piece.message) for piece in pieces)
    early = early_answers(grouping)
    if not early:
        return pieces
    behind: dict[int, list[Piece]] = {}
    for nth, (_, call) in sorted(early.items()):
        changes.append(pieces[nth].change("moved", "it stood before its call"))
        behind.setdefault(call.message, []).append(pieces[nth].moved())
    made: list[Piece] = []
    for nth, piece in enumerate(pieces):
        if nth not in early:
            made.append(piece)
        made += behind.get(nth, ())
    return made


def _drop(
    pieces: Sequence[Piece], changes: list[Change], *, stateful: bool
) -> list[Piece]:
    """Without orphans, second results and placeholders that have been replaced."""
    rows = (entry_of(piece.message) for piece in pieces)
    grouping = Grouping(rows, stateful=stateful)
    reasons = {
        problem.message: (
            f"the call {problem.call_id!r} is not in the history"
            if problem.kind == "orphan_result"
            else f"the call {problem.call_id!r} has its final result already"
        )
        for problem in grouping.problems
    }
    for nth, _ in grouping.superseded:
        reasons[nth] = "its place was taken by a later result"
    kept: list[Piece] = []
    for nth, piece in enumerate(pieces):
        if (reason := reasons.get(nth)) is None:
            kept.append(piece)
            continue
        pinned = piece.message.pinned
        action: Literal["kept", "dropped"] = "kept" if pinned else "dropped"
        changes.append(piece.change(action, f"{reason}{', but it is pinned' * pinned}"))
        if pinned:
            kept.append(piece)
    return kept


def _place(
    pieces: Sequence[Piece], profile: Profile, close: Close, changes: list[Change]
) -> list[Piece]:
    """Put results where the profile wants them, and close what is to be closed."""
    grouping = Grouping(entry_of(piece.message) for piece in pieces)
    placement = profile.policy.results
    moves: dict[int, int] = {}
    if placement == "after-call":
        moves = dict(grouping.displaced)
    elif placement == "after-run":
        moves = {
            nth: _run_end(grouping, grouping.first[grouping.step_of[nth]])
            for nth in grouping.displaced_run
        }
    orphans = {problem.message for problem in grouping.problems}
    behind: dict[int, list[Piece]] = {}
    gone: set[int] = set()
    for nth in sorted(moves.keys() - orphans):
        piece = pieces[nth]
        changes.append(piece.change("moved", "it does not stand behind its call"))
        behind.setdefault(moves[nth], []).append(piece.moved())
        gone.add(nth)
    for call in _to_close(grouping, close):
        anchor = call.message
        if placement != "after-call":
            anchor = _run_end(grouping, call.message)
        if call.answer is not None and not pieces[call.answer[0]].message.pinned:
            gone.add(call.answer[0])
        behind.setdefault(anchor, []).append(_closing(pieces, call, changes))
    return _weave(pieces, grouping, behind, gone)


def _to_close(grouping: Grouping, close: Close) -> list[OpenCall]:
    # What the provider answers, or a picture, no text can close.
    calls = [
        call
        for call in grouping.open_calls
        if call.takes_stand_in or call.kind == "mcp_approval_request"
    ]
    if close == "all":
        return calls
    wanted = {close} if isinstance(close, str) else set(close)
    for key in sorted(wanted - {call.key for call in calls}):
        raise UnknownCallError(key)
    return [call for call in calls if call.key in wanted]


def _closing(pieces: Sequence[Piece], call: OpenCall, changes: list[Change]) -> Piece:
    origin = pieces[call.message]
    result = Message.tool_result(
        call.id,
        CLOSED_TEXT,
        is_error=True,
        tool_name=call.name,
        metadata=call.note,
    )
    piece = Piece(origin.origin, result, added=True)
    changes.append(piece.change("closed", f"the call {call.key!r} had no final result"))
    return piece


def _run_end(grouping: Grouping, start: int) -> int:
    """The last message of the assistant turn that begins at (or holds) *start*."""
    step, last = grouping.step_of[start], start
    for nth in range(start + 1, len(grouping)):
        if grouping.step_of[nth] != step or grouping.kinds[nth] != ASSISTANT:
            break
        last = nth
    return last


def _weave(
    pieces: Sequence[Piece],
    grouping: Grouping,
    behind: dict[int, list[Piece]],
    gone: set[int],
) -> list[Piece]:
    """Put *behind* each anchor, after the results that follow it already."""
    order: list[Piece] = []
    tail: list[Piece] = []
    step = -1
    for nth, piece in enumerate(pieces):
        if nth in gone:
            continue
        follows = grouping.kinds[nth] == RESULT and grouping.step_of[nth] == step
        if tail and not follows:
            order += tail
            tail = []
        order.append(piece)
        if nth in behind:
            tail, step = behind[nth], grouping.step_of[nth]
    return order + tail
