"""Thinking of earlier turns, which some of Claude's models leave out by themselves.

https://platform.claude.com/docs/en/build-with-claude/thinking and .../token-counting:
older models strip it where a user message that is no tool result follows; newer ones
keep it, and bill it. The current turn's always counts.
"""

from __future__ import annotations

from collections.abc import Callable

from turnkeep.model import Message, Thinking
from turnkeep.providers import parse_model

_KEPT_FROM = {"opus": (4, 5), "sonnet": (4, 6), "haiku": (4, 6)}
"""The first version of each tier that keeps old thinking; of Haiku the first that is
not known to strip it."""


def leaves_out_old_thinking(model: str | None) -> bool:
    """Whether *model* leaves out what it thought before the newest question.

    >>> leaves_out_old_thinking("claude-sonnet-4-5")
    True
    >>> leaves_out_old_thinking("claude-opus-4-5")
    False
    """
    name = parse_model(model or "")
    if name.maker != "anthropic" or name.version is None:
        return False
    kept_from = _KEPT_FROM.get(name.tier or "")
    return kept_from is not None and name.version < kept_from


def leaves_out_thinking(counter: object) -> bool:
    """Whether *counter*, which may be a user's own, counts for such a model."""
    return bool(getattr(counter, "leaves_out_thinking", False))


def lean_cost(message: Message, cost: Callable[[Message], int]) -> int:
    """What *message* costs by *cost* once its thinking is left out."""
    left = without_thinking(message)
    return 0 if left is None else cost(left)


def without_thinking(message: Message) -> Message | None:
    """*message* as it counts once its thinking is left out; none where nothing does.

    The message itself where it holds none, or where its host has counted it.
    """
    content = message.content
    if message.token_count is not None:
        return message
    left = tuple([block for block in content if not isinstance(block, Thinking)])
    if len(left) == len(content):
        return message
    return message.evolve(content=left) if left else None


def is_left_out(message: Message) -> bool:
    """Whether leaving its thinking out makes a difference to what it counts."""
    return without_thinking(message) is not message
