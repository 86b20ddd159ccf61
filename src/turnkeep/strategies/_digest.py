from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from turnkeep.budgets import share_of
from turnkeep.index import HistoryView
from turnkeep.model import DIGEST, Message, ToolCall, ToolResult, mark
from turnkeep.plans import Cause, Drop, Edit, Reserve

from ._base import Composable, share
from ._referents import referents_of

KIND = "digest"

_INTRO = "Left out here: {} messages. What they named and is not named below:"
_TRIES = 8


@attrs.frozen
class Digest(Composable):
    """A short list of the ids and names of what was dropped takes a little room.

    Comes first in a composition, because it keeps room that the others then cut:
    `Digest(0.05) | KeepRecent(0.3, ...)`. One line for each tool (or speaker) whose
    messages went, what calls used most recently first; what is still named in the
    window is left out. In a message of its own (kind `"digest"`), in front of the first
    turn that lost something; an earlier digest is merged into it.

    Evidence: with it `KeepRecent(0.3, Relevance() & LeastRecentlyReferenced())` had all
    that 90.8 % of a coding session's calls used, 86.3 % without (32,000 tokens, cut to
    0.6; `benchmarks/bench_recall.py`).

    Costs the names that the history holds (found once a message), times at most 8
    counts of the digest.

    >>> Digest(0.05)
    Digest(share=0.05)

    Args:
        share:
            Share of the target that it may take.
    """

    share: float = attrs.field(default=0.05, validator=share)

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the room for the digest; an earlier one goes."""

        def write(gone: Sequence[int], room: int) -> Message | None:
            return _write(history, gone, room)

        yield Reserve(share_of(history.target, self.share), write, Cause.DIGEST)
        step_of = history.message_steps
        old = {step_of[n] for n, m in enumerate(history.messages) if m.kind == KIND}
        for nth in sorted(old):
            step = history.steps[nth]
            if step.is_free and all(m.kind == KIND for m in step.messages):
                yield Drop(step, Cause.DIGEST)


def _write(history: HistoryView, gone: Sequence[int], room: int) -> Message | None:
    """The digest of the messages *gone* within *room* tokens, if there is any."""
    lost = set(gone)
    kept: set[str] = set()
    used: dict[str, int] = {}
    newest: dict[str, int] = {}
    shown: set[str] = set()
    tools: dict[str | None, str] = {}
    speakers: dict[int, str] = {}
    for nth, message in enumerate(history.messages):
        named, uses, shows = referents_of(message)
        if uses:
            used.update(dict.fromkeys(uses, nth))
        for block in message.content:
            if type(block) is ToolCall:
                tools[block.id] = block.name
        if nth not in lost:
            kept |= named
        elif named:
            newest.update(dict.fromkeys(named, nth))
            shown |= shows
            speakers[nth] = _speaker(message, tools)
    names = sorted(
        newest.keys() - kept,
        # What only calls named, the model made up itself: it comes last.
        key=lambda name: (
            name not in shown,
            -used.get(name, -1),
            -newest[name],
            name,
        ),
    )
    count = min(len(names), max(room // 2, 1))
    for _ in range(_TRIES):
        if not count:
            break
        lines: dict[str, list[str]] = {}
        for name in names[:count]:
            lines.setdefault(speakers[newest[name]], []).append(name)
        made = _message(lines, len(gone))
        tokens = history.cost(made)
        if tokens <= room:
            return made
        count = min(count * room // tokens, count - 1)
    return None


def _message(lines: Mapping[str, Sequence[str]], gone: int) -> Message:
    text = [_INTRO.format(gone), *(f"{who}: {', '.join(lines[who])}" for who in lines)]
    return Message.user(mark(DIGEST, "\n".join(text)), kind=KIND)


def _speaker(message: Message, tools: Mapping[str | None, str]) -> str:
    """The tool whose call or result it is, else who speaks."""
    for block in message.content:
        if type(block) is ToolCall:
            return block.name
    for block in message.content:
        if type(block) is ToolResult:
            return block.tool_name or tools.get(block.tool_call_id, "tool")
    return message.role.value
