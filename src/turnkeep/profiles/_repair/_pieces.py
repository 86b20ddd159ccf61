"""Messages taken apart into one result each, and put together again."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnkeep.model import Block, Message, Role, ToolResult

from ._content import Action, Change


@attrs.frozen
class Piece:
    """A message, or the part of it that holds one result."""

    origin: int
    """Index of the message it comes from, or that called for it."""
    message: Message
    nth: int = 0
    """Which part of its message it is."""
    parts: int = 1
    """How many parts its message has."""
    added: bool = False
    """Whether it was not in the history."""

    def change(self, action: Action, reason: str) -> Change:
        """What happened to it."""
        results = self.message.tool_results
        call_id = results[0].tool_call_id or results[0].tool_name if results else None
        return Change(action, self.origin, self.message.id, reason, call_id)

    def moved(self) -> Piece:
        """The same, as no part of its message any more, unless it is all of it."""
        return self if self.parts == 1 else attrs.evolve(self, parts=-1)


def explode(messages: Sequence[Message]) -> list[Piece]:
    """One piece a message, or one a result where it holds more than one thing.

    Blocks that are not results stay with the result before them in a message of
    results, and make a piece of their own, the last, in a user message. Pinned messages
    stay whole. Linear.
    """
    pieces: list[Piece] = []
    for origin, message in enumerate(messages):
        groups = [] if message.pinned else _groups(message)
        if len(groups) < 2:
            pieces.append(Piece(origin, message))
            continue
        pieces += (
            Piece(origin, _part(message, group), nth, len(groups))
            for nth, group in enumerate(groups)
        )
    return pieces


def _groups(message: Message) -> list[list[Block]]:
    if not message.tool_results or message.role is Role.ASSISTANT:
        return []
    groups: list[list[Block]] = []
    rest: list[Block] = []
    apart = message.role is not Role.TOOL_RESULT
    for block in message.content:
        if isinstance(block, ToolResult):
            groups.append([block])
        elif apart or not groups:
            rest.append(block)
        else:
            groups[-1].append(block)
    if rest and apart:
        return [*groups, rest]
    if rest:
        groups[0] = rest + groups[0]
    return groups


def _part(message: Message, blocks: Sequence[Block]) -> Message:
    is_result = any(isinstance(block, ToolResult) for block in blocks)
    role = Role.TOOL_RESULT if is_result else message.role
    return message.evolve(role=role, content=tuple(blocks))


def rejoin(
    messages: Sequence[Message], pieces: Sequence[Piece]
) -> list[tuple[int, Message]]:
    """Messages of *pieces*, each with the index of its origin.

    Whole messages come back as they were; parts that still follow each other make one
    message; of parts that were torn apart the last keeps the id.
    """
    out: list[tuple[int, Message]] = []
    run: list[Piece] = []
    last = {piece.origin: nth for nth, piece in enumerate(pieces) if not piece.added}

    def flush(stop: int) -> None:
        if run:
            keeps_id = last[run[0].origin] < stop
            out.append((run[0].origin, _joined(messages, run, keeps_id=keeps_id)))
            run.clear()

    for nth, piece in enumerate(pieces):
        if run and not _continues(run[-1], piece):
            flush(nth)
        if piece.parts == 1:
            flush(nth)
            out.append((piece.origin, piece.message))
        else:
            run.append(piece)
    flush(len(pieces))
    return out


def _continues(before: Piece, piece: Piece) -> bool:
    return (
        before.origin == piece.origin
        and before.parts == piece.parts != -1
        and not piece.added
    )


def _joined(
    messages: Sequence[Message], run: Sequence[Piece], *, keeps_id: bool
) -> Message:
    origin = messages[run[0].origin]
    if len(run) == run[0].parts:
        return origin
    blocks = tuple(block for piece in run for block in piece.message.content)
    role = origin.role
    if all(isinstance(block, ToolResult) for block in blocks):
        role = Role.TOOL_RESULT
    joined = origin.evolve(role=role, content=blocks)
    if keeps_id or origin.id is None:
        return joined
    return joined.evolve(id=f"{origin.id}/{run[0].nth}")
