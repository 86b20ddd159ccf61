"""The last touches of a request: where system text stands, and what is joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.formats import get_format
from turnkeep.formats._copies import unshared
from turnkeep.formats._neighbours import join_all, joiner_of
from turnkeep.formats._outline import stands_in_front
from turnkeep.model import Message, Role
from turnkeep.policy import Policy
from turnkeep.turns import is_system_text

_LISTS = ("messages", "contents")
"""Keys of the list in the bodies of formats that join entries."""


def request_of(
    name: str, messages: Sequence[Message], tools: Any, demands: Policy
) -> dict[str, Any]:
    """A request body of format *name*, as its provider takes it. Linear.

    System text that may not stand where it is goes to the front, in its order. Nothing
    in it is shared with *tools*.
    """
    ordered = order(messages, demands)
    body = get_format(name).encode_request(ordered, unshared(tools))
    join = joiner_of(name)
    if join is not None:
        for key in _LISTS:
            if key in body:
                body[key] = join_all(body[key], join)
    return body


def order(messages: Sequence[Message], demands: Policy) -> Sequence[Message]:
    """*messages* with the system text in front that may not stand where it is.

    The user's words before results stand behind them where that is demanded.
    """
    if demands.results_lead and any(map(stands_in_front, messages)):
        messages = [
            m.evolve(layout=None) if stands_in_front(m) else m for m in messages
        ]
    if not demands.system_first and not demands.system_between:
        return messages
    lead = 0
    while lead < len(messages) and is_system_text(messages[lead]):
        lead += 1
    moved = [
        nth
        for nth in range(lead, len(messages))
        if is_system_text(messages[nth])
        and messages[nth].content
        and (demands.system_first or not _stands_right(messages, nth, demands))
    ]
    if not moved:
        return messages
    away = set(moved)
    return [
        *messages[:lead],
        *(messages[nth] for nth in moved),
        *(m for nth, m in enumerate(messages) if nth >= lead and nth not in away),
    ]


def _stands_right(messages: Sequence[Message], nth: int, demands: Policy) -> bool:
    """Whether it follows the user's side and precedes the model, or ends the list."""
    before = after = nth
    while messages[before].role is Role.SYSTEM:
        before -= 1
    while after < len(messages) and messages[after].role is Role.SYSTEM:
        after += 1
    role = messages[before].role
    follows = role is Role.USER or (
        role is Role.TOOL_RESULT and demands.system_after_results
    )
    return follows and (
        after == len(messages)
        or messages[after].role in (Role.ASSISTANT, Role.TOOL_CALL)
    )
