"""Contents that a provider refuses: empty ones, and reasoning on its own."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

from turnkeep.model import Block, Message, Role, Text, Thinking, freeze
from turnkeep.model._layout import Layout
from turnkeep.policy import Policy
from turnkeep.turns import Grouping, entry_of, without_answers

Action: TypeAlias = Literal[
    "dropped", "moved", "closed", "emptied", "merged", "added", "kept"
]
"""What was done; `kept` is what should have been mended and must not be."""

Numbered: TypeAlias = list[tuple[int, Message]]
"""Messages with the index of the one they come from."""


@attrs.frozen
class Change:
    """One thing that was mended."""

    action: Action
    index: int
    """Index in the history given."""
    id: str | None
    """Id of the message, where it has one."""
    reason: str
    call_id: str | None = None

    def __str__(self) -> str:
        """In words."""
        name = self.id if self.id is not None else f"message {self.index}"
        return f"{name} {self.action}: {self.reason}"


def mend_contents(
    numbered: Numbered, policy: Policy, changes: list[Change]
) -> Numbered:
    """Without refused texts, and without messages that hold nothing else. Linear."""
    out: Numbered = []
    for index, message in numbered:
        mended = _mended(message, policy)
        if mended is message:
            out.append((index, message))
            continue
        reason = "it has no content" if mended is None else "it has an empty part"
        action: Action = "dropped" if mended is None else "emptied"
        if message.pinned:
            action, reason = "kept", f"{reason}, but it is pinned"
        changes.append(Change(action, index, message.id, reason))
        if message.pinned:
            out.append((index, message))
        elif mended is not None:
            out.append((index, mended))
    return out


def _mended(message: Message, policy: Policy) -> Message | None:
    """The message as it would be taken; none when nothing is left of it."""
    role = "assistant" if message.role is Role.TOOL_CALL else message.role.value
    if message.role is Role.TOOL_RESULT:
        return message
    blocks = message.content
    texts = [block for block in blocks if isinstance(block, Text)]
    only_text = len(texts) == len(blocks)
    if policy.text_refused != "none":
        blocks = tuple(block for block in blocks if not _refused(block, policy))
    if policy.blank_alone_refused and only_text and blocks:
        is_blank = not any(text.text.strip() for text in texts)
        blocks = () if is_blank else blocks
    if policy.empty_text_is_empty and only_text:
        blocks = blocks if any(text.text for text in texts) else ()
    if not blocks and (role in policy.empty_refused or message.content):
        return None
    if len(blocks) < len(message.content):
        message = message.evolve(content=blocks)
    return _without_empty_arrays(message, policy)


def _without_empty_arrays(message: Message, policy: Policy) -> Message:
    """The message without `tool_calls: []`, and without `content: []` beside calls."""
    refused = policy.empty_arrays_refused
    if "tool_calls" in refused and message.extra.get("tool_calls") == ():
        extra = {k: v for k, v in message.extra.items() if k != "tool_calls"}
        message = message.evolve(extra=freeze(extra))
    only_calls = len(message.tool_calls) == len(message.content) > 0
    # How an empty array beside calls was spelled is in the layout alone.
    if (
        "content" in refused
        and only_calls
        and Layout.read(message.layout).is_empty_list
    ):
        message = message.evolve(layout=None)
    return message


def _refused(block: Block, policy: Policy) -> bool:
    if not isinstance(block, Text):
        return False
    if "thoughtSignature" in block.extra or "thought_signature" in block.extra:
        # Gemini signs empty texts, and wants the signature back.
        return False
    if policy.text_refused == "blank":
        return not block.text.strip()
    return not block.text


def drop_lone_reasoning(numbered: Numbered, changes: list[Change]) -> Numbered:
    """Without stored reasoning items whose follower is gone. Linear, from the end."""
    out: Numbered = []
    follower: Message | None = None
    for index, message in reversed(numbered):
        if _is_stored_reasoning(message) and (
            follower is None or follower.role not in (Role.ASSISTANT, Role.TOOL_CALL)
        ):
            reason = "the item that came behind this reasoning is gone"
            if not message.pinned:
                changes.append(Change("dropped", index, message.id, reason))
                continue
            reason += ", but it is pinned"
            changes.append(Change("kept", index, message.id, reason))
        out.append((index, message))
        follower = message
    return out[::-1]


def drop_lost_answers(numbered: Numbered, changes: list[Change]) -> Numbered:
    """Without a provider's own answers to calls that are not there. Linear."""
    grouping = Grouping(entry_of(message) for _, message in numbered)
    if not grouping.lost or grouping.stateful:
        return numbered
    out: Numbered = []
    for nth, (index, message) in enumerate(numbered):
        ids = grouping.lost.get(nth)
        left = message if ids is None else without_answers(message, ids)
        if left is not message and ids is not None:
            reason = f"the call {ids[0]!r} is not in the history"
            if message.pinned:
                left, reason = message, f"{reason}, but it is pinned"
            action: Action = "kept" if message.pinned else "dropped"
            changes.append(Change(action, index, message.id, reason, ids[0]))
        if left is not None:
            out.append((index, left))
    return out


def _is_stored_reasoning(message: Message) -> bool:
    return bool(message.content) and all(
        isinstance(block, Thinking) and not block.data for block in message.content
    )
