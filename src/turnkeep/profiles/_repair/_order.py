"""An order that a provider refuses: equal neighbours, a wrong start, a wrong place."""

from __future__ import annotations

from collections.abc import Sequence

from turnkeep.index import BRIDGE_ANSWER
from turnkeep.model import BRIDGE, Block, Message, Role, Text, mark
from turnkeep.model._layout import Layout
from turnkeep.policy import Policy

from ._content import Change, Numbered

BRIDGE_START = mark(
    BRIDGE, "Earlier messages are not part of this conversation any more."
)
"""Stands first where the provider demands a user message there and none is left."""


def bridge_gaps(numbered: Numbered, policy: Policy, changes: list[Change]) -> Numbered:
    """With the messages that the provider demands and the history lacks. Linear."""
    out: Numbered = []
    opens = True
    lacks_user = policy.needs_user and not any(
        message.role is Role.USER for _, message in numbered
    )
    for index, message in numbered:
        before = out[-1][1] if out else None
        if opens and _may_not_open(message, policy, lacks_user=lacks_user):
            out.append((index, Message.user(BRIDGE_START, kind="bridge")))
            reason = "the list would start with the assistant's side"
            changes.append(Change("added", index, None, reason))
        elif (
            policy.alternates
            and not policy.joins_results
            and before is not None
            and before.role is Role.TOOL_RESULT
            and message.role is Role.USER
        ):
            out.append((index, Message.assistant(BRIDGE_ANSWER, kind="bridge")))
            reason = "a user message would follow tool results"
            changes.append(Change("added", index, None, reason))
        opens = opens and message.role is Role.SYSTEM
        out.append((index, message))
    return out


def _may_not_open(message: Message, policy: Policy, *, lacks_user: bool) -> bool:
    if message.role in (Role.USER, Role.SYSTEM):
        return False
    if lacks_user:
        return True
    if policy.opens_with == "no-call":
        return bool(message.tool_calls)
    return policy.opens_with == "user" and not (
        # Templates that alternate do not count messages with calls.
        message.tool_calls and not policy.joins_results
    )


def join_neighbours(
    numbered: Numbered, policy: Policy, changes: list[Change]
) -> Numbered:
    """Neighbours that the provider wants as one message. Linear.

    Where the format writes what is not as it came behind what stands before it
    (Bedrock, Gemini), forgetting how a message was spelled is enough; elsewhere the
    texts become one message. Text that stood in front of results goes behind them.
    """
    out: Numbered = []
    for index, message in numbered:
        before = out[-1][1] if out else None
        if before is None:
            out.append((index, message))
        elif policy.joins_results:
            out.append((index, _respelled(before, message, index, policy, changes)))
        elif policy.alternates and _both_speak(before, message):
            if before.pinned or message.pinned:
                reason = "equal roles stand in a row, but one is pinned"
                changes.append(Change("kept", index, message.id, reason))
                out.append((index, message))
                continue
            reason = f"joined with the {message.role.value} message before it"
            changes.append(Change("merged", index, message.id, reason))
            out[-1] = (out[-1][0], _as_one(before, message))
        elif (
            policy.results == "after-run"
            and before.role is Role.TOOL_RESULT
            and message.role is Role.USER
            and Layout.read(message.layout).between
        ):
            reason = "its text stood before or between tool results"
            changes.append(Change("moved", index, message.id, reason))
            out.append((index, message.evolve(layout=None)))
        else:
            out.append((index, message))
    return out


def _respelled(
    before: Message,
    message: Message,
    index: int,
    policy: Policy,
    changes: list[Change],
) -> Message:
    if not _belong_together(before, message, policy):
        return message
    if message.layout is None or before.layout is None:
        return message
    if before.role is Role.TOOL_RESULT and Layout.read(message.layout).joined:
        return message
    reason = f"joined with the {before.role.value} message before it"
    changes.append(Change("merged", index, message.id, reason))
    return message.evolve(layout=None)


def _belong_together(before: Message, message: Message, policy: Policy) -> bool:
    if before.role is message.role is Role.TOOL_RESULT:
        return True
    if _side(before) != _side(message):
        return False
    return policy.alternates or (
        not policy.call_after_assistant_ok
        and _side(message) == "assistant"
        and bool(message.tool_calls)
        and not before.tool_calls
    )


def _side(message: Message) -> str:
    if message.role in (Role.USER, Role.TOOL_RESULT):
        return "user"
    return "system" if message.role is Role.SYSTEM else "assistant"


def _both_speak(before: Message, message: Message) -> bool:
    speakers = (Role.USER, Role.ASSISTANT)
    return (
        before.role is message.role
        and message.role in speakers
        and not before.tool_calls
        and not message.tool_calls
    )


def _as_one(before: Message, message: Message) -> Message:
    blocks: Sequence[Block] = (*before.content, *message.content)
    texts = [block.text for block in blocks if isinstance(block, Text)]
    if len(texts) == len(blocks):
        blocks = (Text("\n\n".join(texts)),)
    return before.evolve(content=tuple(blocks))
